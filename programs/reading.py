"""From replies to answers: what each context says, with the sentence that says it (MACR §3.5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from ..metrics.refusal import clean_answer, is_no_answer
from ..runtime.failures import failure
from ..runtime.records import Answer, Document
from .base import Case
from .evidence import find_evidence, is_grounded
from .independence import independent_groups
from .restating import without_restatement
from .steps import Call, Reply

# A short answer needs few tokens, and what comes after a line end is never part of it.
SHORT_ANSWER = {"temperature": 0.0, "max_tokens": 48, "stop": ["\n"]}


def readings(case: Case, predictor: dspy.Predict) -> list[Call]:
    """One call for each document that has text: what does it answer?"""
    return [
        Call(
            predictor,
            {"document": case.passage(document), "question": case.question},
            role="reader",
        )
        for document in case.documents
        if document.text.strip()
    ]


def read_answers(case: Case, replies: Sequence[Reply]) -> tuple[Answer, ...]:
    """One answer for each document, in order, from the replies to `readings`."""
    pending = iter(replies)
    return tuple(
        read_answer(next(pending), document, case.question)
        if document.text.strip()
        else Answer(document_id=document.id, status="empty document")
        for document in case.documents
    )


def read_answer(reply: Reply, document: Document | None, question: str) -> Answer:
    """What a reply says: an answer with its evidence, no answer, or how the call failed.

    Args:
        reply: A Prediction with ``answer``, or the failure.
        document: Where the answer comes from; None for the model's own memory.
        question: What was asked.
    """
    source = document.id if document else None
    if isinstance(reply, Exception):
        status, sentence = failure(reply)
        return Answer(document_id=source, status=status, error=sentence)
    text = without_restatement(question, clean_answer(reply.answer))
    if is_no_answer(text):
        return Answer(document_id=source, status="no answer")
    if document is None:
        return Answer(text=text)
    evidence = find_evidence(text, question, document.text)
    return Answer(text=text, document_id=source, evidence=evidence, date=document.date)


def independent_sources(answers: Sequence[Answer], documents: Mapping[str, Document]) -> int:
    """How many independent documents really say an answer.

    A document whose text does not hold the answer is no evidence for it, whatever the model read
    there; only yes and no need not stand in the text.

    Args:
        answers: Equal answers of several documents.
        documents: All documents by id.
    """
    said = [documents[a.document_id or ""] for a in answers if _holds(documents, a)]
    return len(independent_groups(said))


def _holds(documents: Mapping[str, Document], answer: Answer) -> bool:
    if answer.evidence or answer.text.casefold().strip(" .") in ("yes", "no"):
        return True
    return is_grounded(answer.text, documents[answer.document_id or ""].text)


def stating(answer: Answer, case: Case) -> tuple[Answer, ...]:
    """The documents that state an answer word for word, each with its sentence."""
    if answer.status != "answered":
        return ()
    found = [(d, find_evidence(answer.text, case.question, d.text)) for d in case.documents]
    return tuple(
        Answer(text=answer.text, document_id=d.id, evidence=evidence, date=d.date)
        for d, evidence in found
        if evidence is not None
    )


def taken_logprobs(reply: dspy.Prediction) -> list[Mapping[str, Any]]:
    """The tokens of a reply, each with ``logprob`` and ``top_logprobs``; none without them.

    They are taken out of the prediction, which demonstrations are made of.
    """
    found = reply._store.pop("logprobs", None)
    return list((found or {}).get("content") or [])
