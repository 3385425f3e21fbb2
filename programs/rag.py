"""Baseline: retrieve and generate, all documents in one prompt (ArbGraph §4.1, "Standard RAG")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ..metrics.refusal import is_no_answer
from ..runtime.failures import failure
from ..runtime.records import Document, Report
from ..signatures import AnswerAtLength
from .base import Case, Program
from .composition import LONGEST_ANSWER
from .icl import layout
from .steps import Call, Steps, Wave


class StandardRAG(Program):
    """Writes a long answer from all documents at once; no claims, no citations."""

    name: ClassVar[str] = "rag"
    roles: ClassVar[tuple[str, ...]] = ("writer",)
    long_answers: ClassVar[bool] = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answer = dspy.Predict(AnswerAtLength, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Report]:
        """One request."""
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="writer")])
        if isinstance(reply, Exception):
            status, sentence = failure(reply)
            return Report(status=status, explanation=sentence)
        text = reply.answer.strip()
        if is_no_answer(text):
            reason = "Abstained: the model finds no answer in the documents."
            return Report(status="abstained", abstained=True, explanation=reason)
        how = f"The model read all {len(case.documents)} documents in one prompt."
        return Report(text=text, explanation=how)
