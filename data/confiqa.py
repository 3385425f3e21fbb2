"""ConFiQA: an original and a counterfactual context (QA, multi-hop MR, multi-conflict MC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field, texts
from .rows import Row

PARTS = {
    "confiqa": ("QA", "one hop, one counterfactual"),
    "confiqa-mr": ("MR", "several hops, one counterfactual"),
    "confiqa-mc": ("MC", "several hops, several counterfactuals"),
}


def convert(raw: Mapping[str, Any]) -> Row:
    """One question with two contexts; the benchmark rewards the other side (`cf_answer`)."""
    name = str(raw.get("file") or "confiqa").removesuffix(".json").lower()
    return Row(
        id=f"{name}-{raw['number']}",
        question=field(raw, "question"),
        documents=(
            Document(text=field(raw, "orig_context")),
            Document(text=field(raw, "cf_context")),
        ),
        answers=texts(field(raw, "orig_answer"), raw.get("orig_alias")),
        wrong_answers=texts(field(raw, "cf_answer"), raw.get("cf_alias")),
        roles=("correct", "counterfactual"),
        dataset="confiqa",
        conflict_type="misinformation",
    )


SOURCES = {
    name: Source(
        Card(
            name,
            what=f"ConFiQA-{part}: an original and a counterfactual context, {what}.",
            gold="world-true: the original answer, as in MACR; the benchmark itself rewards the "
            "counterfactual one",
            licence="none in the repository",
            as_of="2024-12-20",
        ),
        convert,
        revision="main",
        files=(
            "https://raw.githubusercontent.com/byronBBL/Context-DPO/{revision}/ConFiQA/"
            f"ConFiQA-{part}.json",
        ),
    )
    for name, (part, what) in PARTS.items()
}
