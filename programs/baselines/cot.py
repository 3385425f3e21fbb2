"""Baseline CoT: a chain of thought over the documents, then the long answer (ArbGraph §4.1.3)."""

from __future__ import annotations

from typing import Any, ClassVar

import dspy

from ...signatures import ReasonAtLength
from ..rag import StandardRAG


class ChainOfThought(StandardRAG):
    """Reasons over all documents, then answers, in one reply (Wei et al. 2022).

    As in the paper: zero-shot reasoning before the answer, all documents in one prompt. Differs:
    the reasoning is a field of its own (``stages["reasoning"]``), so that no metric takes it for a
    part of the answer; demonstrations come from `compile_program` instead of by hand.

    Requests per question: 1.
    """

    name: ClassVar[str] = "cot"
    signature: ClassVar[Any] = ReasonAtLength
    did: ClassVar[str] = "reasoned over"

    def stages(self, reply: dspy.Prediction) -> dict[str, Any]:
        """The reasoning."""
        return {"reasoning": reply.reasoning.strip()}
