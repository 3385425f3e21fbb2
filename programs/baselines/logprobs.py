"""Log-probabilities of an answer's tokens, where the backbone reports them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from ...errors import InputError

TOP = 5  # candidates per token: what hosted providers give at most is 5 to 20
ASKED = {"logprobs": True, "top_logprobs": TOP}
"""Options of a request that ask for them; a backbone that refuses them answers without."""


def as_nats(threshold: Any) -> float:
    """A checked difference of entropies, in nats.

    Raises:
        InputError: It is no finite number.
    """
    if not isinstance(threshold, Real) or not math.isfinite(threshold):
        raise InputError(f"threshold is {threshold!r}: give a difference of entropies in nats.")
    return float(threshold)


def mean_entropy(tokens: Sequence[Mapping[str, Any]]) -> float | None:
    """Mean entropy of the next-token distributions in nats, at least 0; None without tokens.

    A distribution is known by its top candidates, renormalised. Where a backbone reports none but
    the chosen token, its surprisal stands for the entropy, whose estimate by one draw it is.
    """
    if not tokens:
        return None
    return math.fsum(map(_entropy, tokens)) / len(tokens)


def _entropy(token: Mapping[str, Any]) -> float:
    top = [math.exp(min(0.0, t["logprob"])) for t in token.get("top_logprobs") or ()]
    total = math.fsum(top)
    if len(top) < 2 or total <= 0:
        return max(0.0, -float(token["logprob"]))
    shares = [p / total for p in top if p > 0]
    return max(0.0, -math.fsum(p * math.log(p) for p in shares))
