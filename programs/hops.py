"""Answers across documents: whether the documents that are cited really hang together."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.records import Answer, Document
from .names import holds, names


def first_hop(
    question: str, stated: Sequence[Answer], documents: Sequence[Document]
) -> Document | None:
    """The document that leads from the question to the sentence that states the answer.

    Args:
        question: What was asked.
        stated: The answer in the documents that state it, with the sentence.
        documents: All documents.

    Returns:
        A document that names something the question names, and shares a name with a sentence that
        states the answer (it may be that sentence's own); None when the chain is broken.
    """
    asked = [name.tokens for name in names(question)]
    for answer in stated:
        sentence = answer.evidence.text if answer.evidence else ""
        if any(holds(sentence, tokens) for tokens in asked):
            return next(d for d in documents if d.id == answer.document_id)
        links = [n.tokens for n in names(sentence) if n.text not in answer.text]
        for document in documents:
            leads = any(holds(document.text, tokens) for tokens in asked)
            if leads and any(holds(document.text, link) for link in links):
                return document
    return None
