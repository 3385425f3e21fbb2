"""How candidate pairs of claims relate: code where it is sure, else several a request (§3.3.3)."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import dspy

from ..runtime.failures import failure
from ..signatures import ClaimPair, RelateClaims
from .analyzer import asks_model
from .base import Case
from .certain_relations import certain_relation
from .rival_values import SUSPICION, rival_values
from .settings import ArbSettings
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
        ask_model: Whether the rest goes to the model; else code decides what it can, and rival
            values are suspected contradictions. None: unless the model is an embedded one: those
            are no better than chance at it (docs/benchmarks.md).
    """

    def __init__(self, *, ask_model: bool | None = None) -> None:
        super().__init__()
        self.ask_model = ask_model
        self.relate = dspy.Predict(RelateClaims, temperature=0.0)

    def asking(self) -> Verifier:
        """The same predictor, asked whatever the model."""
        other = copy.copy(self)
        other.ask_model = True
        return other

    def request_bound(self, pairs: int, settings: ArbSettings) -> int:
        """Requests at most for so many candidate pairs: all of them, and all again in halves."""
        if self.ask_model is False:
            return 0
        sizes = settings.batch, max(1, settings.batch // 2)
        return sum(math.ceil(pairs / size) for size in sizes)

    def steps(
        self,
        case: Case,
        texts: Sequence[str],
        pairs: Sequence[IndexPair],
        settings: ArbSettings,
        most: int | None = None,
    ) -> Steps[dict[IndexPair, Verified]]:
        """One wave of requests; pairs left out of a reply are asked once more.

        Args:
            case: The case.
            texts: Claims.
            pairs: Candidate pairs as indices of ``texts``, the most telling first.
            settings: Pairs in one request (``batch``), and whether pairs that code is sure of are
                not asked (``certain``).
            most: Requests at most, when a budget bounds them.

        Returns:
            Relations of the pairs that could be decided; what is missing was noted.
        """
        batch, found = settings.batch, _certain(texts, pairs) if settings.certain else {}
        if not asks_model(self.ask_model, case, self.relate, "verifier"):
            return _suspected(texts, pairs) | found
        open_pairs = [pair for pair in pairs if pair not in found]
        asked = open_pairs if most is None else open_pairs[: most * batch]
        if len(asked) < len(open_pairs):
            left = len(open_pairs) - len(asked)
            case.meter.spent(f"{left} candidate pairs were not verified: the budget.")
        lost: dict[IndexPair, str] = {}
        sizes = (batch, max(1, batch // 2)) if most is None else (batch,)
        for size in sizes:  # what a reply left out is asked in halves
            waiting = [pair for pair in asked if pair not in found and pair not in lost]
            batches = [waiting[i : i + size] for i in range(0, len(waiting), size)]
            if not batches:
                break
            replies = yield Wave("relations", [self._call(texts, some) for some in batches])
            for some, reply in zip(batches, replies, strict=True):
                found |= _read(reply, some, lost)
        for sentence, pairs_lost in Counter(lost.values()).items():
            case.meter.note(f"{pairs_lost} candidate pairs were not verified: {sentence}")
        unknown = sum(pair not in found and pair not in lost for pair in asked)
        if unknown:
            case.meter.note(f"{unknown} candidate pairs got no readable relation: no edge.")
        return found

    def _call(self, texts: Sequence[str], pairs: Sequence[IndexPair]) -> Call:
        items = [
            ClaimPair(pair=n, first=texts[i], second=texts[j])
            for n, (i, j) in enumerate(pairs, start=1)
        ]
        bound = {"max_tokens": 40 + _TOKENS_A_PAIR * len(items)}
        return Call(self.relate, {"pairs": items}, bound, role="verifier")


def _certain(texts: Sequence[str], pairs: Sequence[IndexPair]) -> dict[IndexPair, Verified]:
    sure = {pair: certain_relation(texts[pair[0]], texts[pair[1]]) for pair in pairs}
    return {p: Verified(r.label, 1.0, "code") for p, r in sure.items() if r is not None}


def _suspected(texts: Sequence[str], pairs: Sequence[IndexPair]) -> dict[IndexPair, Verified]:
    """Rival values are contradictions, everything else is neutral."""
    rivals = {pair: rival_values(texts[pair[0]], texts[pair[1]]) for pair in pairs}
    return {
        pair: Verified("contradiction", SUSPICION, "code") if rival else NEUTRAL
        for pair, rival in rivals.items()
    }


def _read(
    reply: Reply, pairs: Sequence[IndexPair], lost: dict[IndexPair, str]
) -> dict[IndexPair, Verified]:
    """The relations in one reply, the first for each pair; of pairs that are lost, why."""
    if isinstance(reply, Exception):
        status, sentence = failure(reply)
        if status != "parse_error":  # asking again would fail again
            lost.update(dict.fromkeys(pairs, sentence))
        return {}
    found: dict[IndexPair, Verified] = {}
    for item in reply.relations.root:
        if 1 <= item.pair <= len(pairs):
            said = Verified(item.relation, item.confidence, "model")
            found.setdefault(pairs[item.pair - 1], said)
    return found
