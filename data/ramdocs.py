"""RAMDocs: ambiguous questions with correct, false and noisy documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field, texts
from .rows import Row

ROLES = {"correct": "correct", "misinfo": "misinformation", "noise": "noise"}


def convert(raw: Mapping[str, Any]) -> Row:
    """One question; every gold answer is right, for another reading of the question."""
    documents = field(raw, "documents", list)
    return Row(
        id=f"ramdocs-{raw['number']}",
        question=field(raw, "question"),
        documents=tuple(Document(text=field(d, "text")) for d in documents),
        answers=texts(field(raw, "gold_answers", list)),
        wrong_answers=texts(raw.get("wrong_answers")),
        roles=tuple(ROLES.get(str(d.get("type")), "unknown") for d in documents),
        stated=tuple(str(d.get("answer") or "") for d in documents),
        dataset="ramdocs",
    )


SOURCE = Source(
    Card(
        "ramdocs",
        what="Ambiguous questions with correct, rewritten and noisy web documents.",
        gold="world-true; several answers are right for different readings of the question",
        licence="MIT",
        as_of="2025-04-17",
    ),
    convert,
    revision="9c041bfd158c603b615883d9a931b00cbc141494",
    hub="HanNight/RAMDocs",
)
