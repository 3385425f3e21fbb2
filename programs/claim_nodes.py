"""From claims to nodes and candidate pairs: filter, alignment, mining (ArbGraph §3.2-3.3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..runtime.embedder import Encoder
from ..runtime.records import Claim, Document, Mention
from .agreement import merge
from .base import Case
from .claims import Extracted
from .independence import independent_groups
from .pair_mining import mine_pairs
from .pair_rules import candidate_pairs
from .settings import ArbSettings
from .steps import Steps, Task, Wave
from .thresholds import Thresholds

Vectors = NDArray[np.float32]
_LISTED = 200_000  # ours: candidate pairs looked at, before those of one document are left out


@dataclass(frozen=True)
class Screened:
    """Canonical claims that bear on the question, and those that do not.

    Attributes:
        nodes: In order of the documents, with ids ``c1``, ``c2``, ...
        vectors: float32[n, d], unit rows, one for each node.
        filtered: Claims below tau_q, with ids that go on counting.
    """

    nodes: list[Claim] = field(default_factory=list)
    vectors: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))
    filtered: list[Claim] = field(default_factory=list)

    def similarity(self, i: int, j: int) -> float:
        """Cosine of two nodes."""
        return float(self.vectors[i] @ self.vectors[j])


def screened(
    case: Case,
    claims: Sequence[Extracted],
    encoder: Encoder,
    thresholds: Thresholds,
    filtering: bool,
) -> Steps[Screened]:
    """Align, one node for what says the same (3.2); then filter by the question (Eq. 1).

    In this order a node keeps all who state it: it stays when one of its wordings is near enough.

    Args:
        case: The case.
        claims: As extracted.
        encoder: Of unit vectors.
        thresholds: tau_q and the merging threshold, of this encoder.
        filtering: Whether tau_q applies.
    """
    if not claims:
        return Screened()
    texts = [case.question, *(claim.text for claim in claims)]
    (encoded,) = yield Wave("encoding", [Task(lambda: encoder.encode(texts))])
    if isinstance(encoded, Exception):
        raise encoded  # without vectors there is no graph
    question, vectors = encoded[0], encoded[1:]
    relevance = vectors @ question
    groups = merge(texts[1:], vectors, thresholds.merge)
    near = [not filtering or relevance[group].max() >= thresholds.query for group in groups]
    kept = [group for group, stays in zip(groups, near, strict=True) if stays]
    left = [group for group, stays in zip(groups, near, strict=True) if not stays]
    origins = origin_of(case.documents)
    ids = (f"c{n}" for n in range(1, len(groups) + 1))
    off = f"off the question: cosine below {thresholds.query:g}"
    nodes = [_node(next(ids), group, claims, relevance, origins) for group in kept]
    filtered = [_node(next(ids), group, claims, relevance, origins, off) for group in left]
    return Screened(nodes, vectors[[group[0] for group in kept]], filtered)


def candidates(
    case: Case, claims: Screened, thresholds: Thresholds, settings: ArbSettings
) -> list[tuple[int, int]]:
    """Pairs of nodes that may support or contradict each other, most similar first (Eq. 2)."""
    texts = [claim.text for claim in claims.nodes]
    if settings.mismatched:
        pairs = candidate_pairs(texts, claims.vectors, thresholds.similarity, _LISTED).pairs
    else:
        pairs, _ = mine_pairs(claims.vectors, thresholds.similarity, _LISTED)
    found = [(int(i), int(j)) for i, j in pairs]
    if not settings.within_document:
        found = [p for p in found if _apart(claims.nodes[p[0]], claims.nodes[p[1]])]
    if len(found) > settings.max_pairs:
        cut, more = len(found) - settings.max_pairs, "at least " * (len(pairs) == _LISTED)
        case.meter.note(f"{cut} of {more}{len(found)} candidate pairs were cut: max_pairs.")
    return found[: settings.max_pairs]


def origin_of(documents: Sequence[Document]) -> dict[str, int]:
    """For each document the number of its origin: near-copies of one text have one."""
    groups = independent_groups(documents)
    return {documents[i].id: n for n, group in enumerate(groups) for i in group}


def _apart(one: Claim, other: Claim) -> bool:
    """Whether two claims do not both stand in one and the same document only."""
    return len({*one.document_ids, *other.document_ids}) > 1


def _node(
    id: str,
    group: Sequence[int],
    claims: Sequence[Extracted],
    relevance: NDArray[np.float32],
    origins: Mapping[str, int],
    reason: str = "",
) -> Claim:
    places: dict[str, Mention] = {}
    for n in group:
        claim = claims[n]
        mention = Mention(
            document_id=claim.document.id, evidence=claim.evidence, date=claim.document.date
        )
        places.setdefault(claim.document.id, mention)
    return Claim(
        id=id,
        text=claims[group[0]].text,
        mentions=tuple(places.values()),
        sources=len({origins[d] for d in places}),
        relevance=round(max(float(relevance[n]) for n in group), 4),
        reason=reason,
    )
