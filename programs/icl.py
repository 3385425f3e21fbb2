"""Baseline: all documents in one prompt (MACR §4.1, "In-Context Learning")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ..runtime.passages import numbered
from ..runtime.records import Document, Verdict
from ..signatures import AnswerFromDocuments
from .base import Case, Program
from .outcomes import from_single_answer
from .reading import SHORT_ANSWER, read_answer, stating
from .steps import Call, Steps, Wave


class InContext(Program):
    """Answers from all documents at once; the model settles conflicts as it likes."""

    name: ClassVar[str] = "icl"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answer = dspy.Predict(AnswerFromDocuments, **SHORT_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request."""
        return 1, 1

    def steps(self, case: Case) -> Steps[Verdict]:
        """One request."""
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="reader")])
        answer = read_answer(reply, None, case.question)
        return from_single_answer(
            answer,
            stating(answer, case),
            f"The model read all {len(case.documents)} documents in one prompt.",
        )


def layout(case: Case) -> str:
    """All documents that have text, numbered, each with its date where one is known."""
    documents = [d for d in case.documents if d.text.strip()]
    texts = (f"{_dated(d)}{case.passage(d, share=len(documents))}" for d in documents)
    return "\n\n".join(numbered(texts))


def _dated(document: Document) -> str:
    return f"({document.date}) " if document.date else ""
