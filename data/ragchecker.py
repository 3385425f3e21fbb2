"""The format of RAGChecker's inputs and outputs: question, reference, retrieved chunks, claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field
from .rows import Row


def convert(raw: Mapping[str, Any]) -> Row:
    """One question with the retrieved chunks; facts are the reference's claims, where extracted.

    The response of another system, which the file also holds, is neither context nor gold.
    """
    chunks = raw.get("retrieved_context") or []
    return Row(
        id=str(raw.get("query_id") or f"ragchecker-{raw['number']}"),
        question=field(raw, "query"),
        documents=tuple(Document(text=field(c, "text")) for c in chunks),
        answers=(field(raw, "gt_answer"),),
        roles=("unknown",) * len(chunks),
        dataset="ragchecker",
        facts=tuple(_sentence(claim) for claim in raw.get("gt_answer_claims") or ()),
    )


def _sentence(claim: Any) -> str:
    """A claim is a triplet of texts, or a text."""
    return claim if isinstance(claim, str) else " ".join(str(part) for part in claim)


SOURCE = Source(
    Card(
        "ragchecker",
        what="Long reference answers with retrieved chunks. The address holds the published "
        "example; give your own file in this format as ragchecker:PATH.",
        gold="long reference answer; facts are its claims",
        licence="Apache-2.0",
    ),
    convert,
    revision="22c2a43ddacb9675d08503f56e69a46f0728cb0b",
    files=(
        "https://raw.githubusercontent.com/amazon-science/RAGChecker/{revision}/examples/"
        "checking_outputs.json",
    ),
)
