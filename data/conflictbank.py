"""ConflictBank: default evidence against misinformation, temporal and semantic evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field, texts
from .rows import Row

EVIDENCE = {
    "correct": "default_evidence",
    "misinformation": "misinformation_conflict_evidence_evidence",  # as published
    "temporal": "temporal_conflict_evidence",
    "semantic": "semantic_conflict_evidence",
}


def convert(raw: Mapping[str, Any]) -> Row:
    """One question with up to four evidences; the answers are read off the options."""
    options = field(raw, "options", list)
    found = {
        role: raw.get(name) or raw.get(f"{role}_conflict_evidence")
        for role, name in EVIDENCE.items()
    }
    given = {role: str(text) for role, text in found.items() if text}
    return Row(
        id=f"conflictbank-{raw['number']}",
        question=field(raw, "question"),
        documents=tuple(Document(text=text) for text in given.values()),
        answers=texts(_option(options, field(raw, "correct_option"))),
        wrong_answers=texts(_option(options, field(raw, "replace_option"))),
        roles=tuple(given),
        dataset="conflictbank",
        conflict_type=next((role for role in given if role != "correct"), ""),
    )


def _option(options: list[Any], letter: str) -> str:
    index = ord(letter.strip().upper()[:1] or "?") - ord("A")
    return str(options[index]) if 0 <= index < len(options) else ""


SOURCE = Source(
    Card(
        "conflictbank",
        what="Questions on Wikidata facts with four model-written evidences of about 2,000 "
        "characters; the temporal ones are dated in the future.",
        gold="world-true: the object of the default evidence",
        licence="CC BY-SA 4.0",
        as_of="2024-08-22",
    ),
    convert,
    revision="main",
    hub="Warrieryes/CB_qa",
    split="train",
)
