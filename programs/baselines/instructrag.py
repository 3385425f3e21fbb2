"""Baseline InstructRAG-ICL: answers with rationales, shown by demonstrations (Wei et al., 2024).

Same as in the paper ("InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized
Rationales"): the model itself explains, once, for questions of a demonstration split how their
documents lead to the known answer; these rationales then stand as demonstrations before every
question, and the model writes a rationale before its answer. `optimizers.rationales` makes them:
``referee compile instructrag --data FILE --out DIR``.

What differs: two demonstrations that fit a small window, each with what its documents share with
the rationale (the paper shows no documents there); a rationale that does not name the known answer
is dropped in code; the short answer is a field of its own.

Requests per question: 1. Uncompiled it has no demonstrations, and says so in a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ...runtime.records import Document, Verdict
from ...signatures.baselines_short import AnswerWithRationale
from ..base import Case, Program
from ..icl import layout
from ..outcomes import from_single_answer
from ..reading import stating
from ..steps import Call, Steps, Wave
from .replies import read_typed

UNCOMPILED = (
    "There are no rationales as demonstrations: `referee compile instructrag` makes them; without "
    "them this is a prompt for a rationale, not InstructRAG."
)


class InstructRAG(Program):
    """Rationale, then answer, after demonstrations of both."""

    name: ClassVar[str] = "instructrag"
    optimizer: ClassVar[str] = "rationales"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answer = dspy.Predict(AnswerWithRationale, temperature=0.0, max_tokens=300)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Verdict]:
        """One request."""
        if not self.answer.demos:
            case.meter.note(UNCOMPILED)
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="reader")])
        answer = read_typed(reply, None, case.question)
        why = "" if isinstance(reply, Exception) else reply.rationale.strip()
        how = why or f"The model read all {len(case.documents)} documents in one prompt."
        return from_single_answer(answer, stating(answer, case), how)
