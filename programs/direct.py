"""Baseline: the model's own knowledge, without any document (MACR §4.1, "Direct Answer")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ..runtime.records import Document, Verdict
from ..signatures import AnswerFromMemory
from .base import Case, Program
from .outcomes import from_single_answer
from .reading import SHORT_ANSWER, read_answer
from .steps import Call, Steps, Wave


class Direct(Program):
    """Answers from memory; documents are ignored."""

    name: ClassVar[str] = "direct"
    needs_documents: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.recall = dspy.Predict(AnswerFromMemory, **SHORT_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Verdict]:
        """One request."""
        call = Call(self.recall, {"question": case.question}, role="reader")
        (reply,) = yield Wave("answer", [call])
        answer = read_answer(reply, None, case.question)
        return from_single_answer(answer, (), "The model answers from its own memory.")
