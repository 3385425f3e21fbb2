"""How candidate pairs of claims relate: code where it is sure, else several a request (§3.3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import dspy

from ..signatures import ClaimPair, RelateClaims
from .analyzer import asks_model
from .base import Case
from .certain_relations import certain_relation
from .failures import failure
from .rival_values import SUSPICION, rival_values
from .steps import Call, Reply, Steps, Wave

RelationName = Literal["support", "contradiction", "neutral"]
_TOKENS_A_PAIR = 32  # of a reply
IndexPair = tuple[int, int]


class Verified(NamedTuple):
    """How two claims relate.

    Attributes:
        relation: Support, contradiction or neutral.
        confidence: In [0, 1]; 1 where code decided.
        by: Who decided.
    """

    relation: RelationName
    confidence: float
    by: Literal["code", "model"]


NEUTRAL = Verified("neutral", 1.0, "code")


class Verifier(dspy.Module):
    """Relates pairs of claims.

    Args:
        certain: Whether pairs that code is sure of are not asked.
        ask_model: Whether the rest goes to the model; else code decides what it can, and rival
            values are suspected contradictions. None: unless the model is an embedded one: those
            are no better than chance at it (docs/benchmarks.md).
    """

    def __init__(self, *, certain: bool = True, ask_model: bool | None = None) -> None:
        super().__init__()
        self.certain, self.ask_model = certain, ask_model
        self.relate = dspy.Predict(RelateClaims, temperature=0.0)

    def steps(
        self,
        case: Case,
        texts: Sequence[str],
        pairs: Sequence[IndexPair],
        batch: int,
        most: int | None = None,
    ) -> Steps[dict[IndexPair, Verified]]:
        """One wave of requests with ``batch`` pairs each; pairs left out of a reply once more.

        Args:
            case: The case.
            texts: Claims.
            pairs: Candidate pairs as indices of ``texts``, the most telling first.
            batch: Pairs in one request.
            most: Requests at most, when a budget bounds them.

        Returns:
            Relations of the pairs that could be decided; what is missing was noted.
        """
        found = self._certain(texts, pairs)
        if not asks_model(self.ask_model, case, self.relate, "verifier"):
            return _suspected(texts, pairs) | found
        open_pairs = [pair for pair in pairs if pair not in found]
        asked = open_pairs if most is None else open_pairs[: most * batch]
        if len(asked) < len(open_pairs):
            left = len(open_pairs) - len(asked)
            case.meter.note(f"{left} candidate pairs were not verified: the budget.")
        for size in (batch, max(1, batch // 2)):  # what a reply left out is asked in halves
            waiting = [pair for pair in asked if pair not in found]
            if not waiting or (most is not None and size != batch):
                break
            batches = [waiting[i : i + size] for i in range(0, len(waiting), size)]
            replies = yield Wave("relations", [self._call(texts, some) for some in batches])
            lost: set[IndexPair] = set()
            for some, reply in zip(batches, replies, strict=True):
                found |= _read(case, reply, some, lost)
            asked = [pair for pair in asked if pair not in lost]
        unknown = len([pair for pair in asked if pair not in found])
        if unknown:
            case.meter.note(f"{unknown} candidate pairs got no readable relation: no edge.")
        return found

    def _certain(
        self, texts: Sequence[str], pairs: Sequence[IndexPair]
    ) -> dict[IndexPair, Verified]:
        if not self.certain:
            return {}
        sure = {pair: certain_relation(texts[pair[0]], texts[pair[1]]) for pair in pairs}
        return {p: Verified(r.label, 1.0, "code") for p, r in sure.items() if r is not None}

    def _call(self, texts: Sequence[str], pairs: Sequence[IndexPair]) -> Call:
        items = [
            ClaimPair(pair=n, first=texts[i], second=texts[j])
            for n, (i, j) in enumerate(pairs, start=1)
        ]
        bound = {"max_tokens": 40 + _TOKENS_A_PAIR * len(items)}
        return Call(self.relate, {"pairs": items}, bound, role="verifier")


def _suspected(texts: Sequence[str], pairs: Sequence[IndexPair]) -> dict[IndexPair, Verified]:
    """Rival values are contradictions, everything else is neutral."""
    rivals = {pair: rival_values(texts[pair[0]], texts[pair[1]]) for pair in pairs}
    return {
        pair: Verified("contradiction", SUSPICION, "code") if rival else NEUTRAL
        for pair, rival in rivals.items()
    }


def _read(
    case: Case, reply: Reply, pairs: Sequence[IndexPair], lost: set[IndexPair]
) -> dict[IndexPair, Verified]:
    """The relations in one reply; the first for each pair counts."""
    if isinstance(reply, Exception):
        status, sentence = failure(reply)
        if status != "parse_error":  # asking again would fail again
            lost.update(pairs)
            case.meter.note(f"{len(pairs)} candidate pairs were not verified: {sentence}")
        return {}
    found: dict[IndexPair, Verified] = {}
    for item in reply.relations.root:
        if 1 <= item.pair <= len(pairs):
            said = Verified(item.relation, item.confidence, "model")
            found.setdefault(pairs[item.pair - 1], said)
    return found
