"""Baseline: one answer per context, and the largest cluster of independent documents wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ..runtime.records import Alternative, Answer, Document, Verdict
from ..signatures import AnswerFromDocument
from .base import Case, Program
from .clusters import cluster_answers
from .outcomes import failure_notes, without_answer
from .reading import SHORT_ANSWER, independent_sources, read_answers, readings
from .steps import Steps, Wave


@dataclass(frozen=True)
class Cluster:
    """Equal answers of several documents.

    Attributes:
        text: The wording shown: the most frequent, then the first.
        answers: The answers, in order of the documents.
        sources: Independent documents among them that really hold the answer.
    """

    text: str
    answers: tuple[Answer, ...]
    sources: int

    @property
    def document_ids(self) -> tuple[str, ...]:
        """Ids of the documents that answer so."""
        return tuple(a.document_id or "" for a in self.answers)


class Vote(Program):
    """Asks each document alone; counts independent documents per answer in code."""

    name: ClassVar[str] = "vote"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.read = dspy.Predict(AnswerFromDocument, **SHORT_ANSWER)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One request per document."""
        return len(documents), len(documents)

    def steps(self, case: Case) -> Steps[Verdict]:
        """One wave: a request per document."""
        replies = yield Wave("answers", readings(case, self.read))
        return count_votes(read_answers(case, replies), case.documents)


def count_votes(answers: Sequence[Answer], documents: Sequence[Document]) -> Verdict:
    """Decide by the number of independent sources.

    Args:
        answers: One per document.
        documents: The documents.

    Returns:
        The verdict. Of answers with equally many sources the one that comes first is taken, and
        the tie is said.
    """
    clusters = ranked_clusters(answers, documents)
    if not clusters:
        return without_answer(answers, f"{len(documents)} documents were read one by one.")
    best, *others = clusters
    tied = [c for c in others if c.sources == best.sources]
    total = sum(c.sources for c in clusters) or 1
    spent = any(a.status == "budget" for a in answers)
    return Verdict(
        answer=best.text,
        explanation=_explanation(best, others, tied, answers),
        confidence=round(best.sources / total, 4),
        alternatives=tuple(Alternative(answer=c.text, document_ids=c.document_ids) for c in others),
        answers=tuple(answers),
        status="budget" if spent else "ok",
        notes=failure_notes(answers),
    )


def ranked_clusters(answers: Sequence[Answer], documents: Sequence[Document]) -> list[Cluster]:
    """Clusters of equal answers, most independent sources first, then in order of appearance."""
    by_id = {d.id: d for d in documents}
    given = [a for a in answers if a.status == "answered"]
    clusters = [
        _cluster([given[i] for i in members], by_id)
        for members in cluster_answers([a.text for a in given])
    ]
    return sorted(clusters, key=lambda c: -c.sources)


def _cluster(answers: Sequence[Answer], documents: dict[str, Document]) -> Cluster:
    texts = [a.text for a in answers]
    sources = independent_sources(answers, documents)
    return Cluster(max(texts, key=texts.count), tuple(answers), sources)


def _explanation(
    best: Cluster, others: Sequence[Cluster], tied: Sequence[Cluster], answers: Sequence[Answer]
) -> str:
    says = "; ".join(
        f"{_who(c)} say{'s' * (len(c.answers) == 1)} “{c.text}”" for c in (best, *others)
    )
    silent = [a.document_id or "" for a in answers if a.status == "no answer"]
    parts = [f"{says}."]
    if silent:
        parts.append(f"{', '.join(silent)} give{'s' * (len(silent) == 1)} no answer.")
    if tied:
        names = " and ".join(f"“{c.text}”" for c in (best, *tied))
        parts.append(
            f"{names} have equally many independent sources: this is a tie, not a decision, and "
            "the answer that comes first is shown."
        )
    elif others:
        parts.append(f"“{best.text}” has the most independent sources.")
    return " ".join(parts)


def _who(cluster: Cluster) -> str:
    copies = len(cluster.answers) - cluster.sources if cluster.sources else 0
    ids = ", ".join(cluster.document_ids)
    return f"{ids} ({copies} of them copies)" if copies > 0 else ids
