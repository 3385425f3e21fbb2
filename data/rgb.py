"""RGB, counterfactual robustness: correct snippets, falsified ones and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field, texts
from .rows import Row

PARTS = {"correct": "positive", "counterfactual": "positive_wrong", "noise": "negative"}


def convert(raw: Mapping[str, Any]) -> Row:
    """One question with all its snippets; the answer may be a text, or aliases in nested lists."""
    snippets = [(role, text) for role, name in PARTS.items() for text in texts(raw.get(name))]
    name = str(raw.get("file") or "en_fact").removesuffix(".json")
    return Row(
        id=f"rgb-{name}-{raw.get('id', raw['number'])}",
        question=field(raw, "query"),
        documents=tuple(Document(text=text) for _, text in snippets),
        answers=texts(raw.get("answer")),
        wrong_answers=texts(raw.get("fakeanswer")),
        roles=tuple(role for role, _ in snippets),
        dataset="rgb",
        conflict_type="misinformation",
    )


SOURCES = {
    name: Source(
        Card(
            name,
            what=f"Questions on news with search snippets, some falsified; {language}.",
            gold="world-true",
            licence="CC BY-NC-SA 4.0 (non-commercial)",
            as_of="2023-09-04",
        ),
        convert,
        revision="d2293eec8c76467c1572b3ebedcaca4e9b4e82f4",
        files=(
            f"https://raw.githubusercontent.com/chen700564/RGB/{{revision}}/data/{part}_fact.json",
        ),
    )
    for name, part, language in (("rgb", "en", "English"), ("rgb-zh", "zh", "Chinese"))
}
