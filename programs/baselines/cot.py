"""Baseline CoT: a chain of thought over the documents, then the long answer (ArbGraph §4.1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ...runtime.records import Document, Report
from ...signatures import ReasonAtLength
from ..base import Case, Program
from ..composition import LONGEST_ANSWER
from ..icl import layout
from ..steps import Call, Steps, Wave
from .long_reports import broken, finished


class ChainOfThought(Program):
    """Reasons over all documents, then answers, in one reply (Wei et al. 2022).

    As in the paper: zero-shot reasoning before the answer, all documents in one prompt. Differs:
    the reasoning is a field of its own (``stages["reasoning"]``), so that no metric takes it for a
    part of the answer; demonstrations come from `compile_program` instead of by hand.

    Requests per question: 1.
    """

    name: ClassVar[str] = "cot"
    roles: ClassVar[tuple[str, ...]] = ("writer",)
    long_answers: ClassVar[bool] = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answer = dspy.Predict(ReasonAtLength, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Report]:
        """One request."""
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="writer")])
        if isinstance(reply, Exception):
            return broken(reply)
        how = f"The model reasoned over all {len(case.documents)} documents in one prompt."
        return finished(reply.answer, how, {"reasoning": reply.reasoning.strip()})
