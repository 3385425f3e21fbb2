"""What the baselines share: typed replies read as answers, sources of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import dspy

from ...metrics.refusal import clean_answer, is_no_answer
from ...runtime.records import Alternative, Answer, Document
from ..clusters import cluster_answers, same_answer
from ..reading import read_answer
from ..steps import Reply


def with_text(documents: Sequence[Document]) -> list[Document]:
    """The documents that are read: one without text is not shown to a model."""
    return [d for d in documents if d.text.strip()]


def read_typed(reply: Reply, document: Document | None, question: str) -> Answer:
    """As `read_answer`, for an answer beside other outputs.

    A model that refuses in plain words instead of the JSON it was asked for gives no answer; it is
    not an unreadable reply.
    """
    if isinstance(reply, dspy.AdapterParseError):
        said = clean_answer(str(reply.lm_response or ""))
        if any(map(str.isalpha, said)) and is_no_answer(said):
            source = document.id if document else None
            return Answer(document_id=source, status="no answer")
    return read_answer(reply, document, question)


def alternatives(
    answer: str, others: Sequence[str], answers: Sequence[Answer]
) -> tuple[Alternative, ...]:
    """Answers other than the one that was chosen, each once, with the documents that give them.

    Args:
        answer: The one that was chosen.
        others: Candidates in order of preference; refusals and equals of ``answer`` are dropped.
        answers: What single documents answer.
    """
    texts = [t for t in map(clean_answer, others) if not is_no_answer(t)]
    rest = [t for t in texts if not same_answer(t, answer)]
    return tuple(
        Alternative(answer=rest[members[0]], document_ids=_sources(rest[members[0]], answers))
        for members in cluster_answers(rest)
    )


def _sources(text: str, answers: Sequence[Answer]) -> tuple[str, ...]:
    ids = (a.document_id for a in answers if a.text and same_answer(a.text, text))
    return tuple(dict.fromkeys(i for i in ids if i is not None))
