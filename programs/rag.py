"""Baseline: retrieve and generate, all documents in one prompt (ArbGraph §4.1, "Standard RAG")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ..runtime.records import Document, Report
from ..signatures import AnswerAtLength
from .base import Case, Program
from .baselines.long_reports import broken, finished
from .composition import LONGEST_ANSWER
from .icl import layout
from .steps import Call, Steps, Wave


class StandardRAG(Program):
    """Writes a long answer from all documents at once; no claims, no citations."""

    name: ClassVar[str] = "rag"
    roles: ClassVar[tuple[str, ...]] = ("writer",)
    long_answers: ClassVar[bool] = True
    signature: ClassVar[Any] = AnswerAtLength
    did: ClassVar[str] = "read"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answer = dspy.Predict(self.signature, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Report]:
        """One request."""
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="writer")])
        if isinstance(reply, Exception):
            return broken(reply)
        how = f"The model {self.did} all {len(case.documents)} documents in one prompt."
        return finished(reply.answer, how, self.stages(reply))

    def stages(self, reply: dspy.Prediction) -> dict[str, Any]:
        """What the reply holds beside the answer."""
        return {}
