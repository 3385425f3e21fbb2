"""Cosine thresholds of ArbGraph, which belong to an encoder (Eq. 1 and 2, 3.2).

Complete. A cosine of 0.5 means one thing with one encoder and another with the next, so a threshold
is stored with the encoder's name, and one encoder's is never used with another.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from ..errors import InputError
from ..runtime.embedder import DEFAULT_ENCODER


class Thresholds(NamedTuple):
    """Cosines in [-1, 1], inclusive.

    Attributes:
        query: tau_q: a claim below it is not about the question (Eq. 1).
        similarity: tau_sim: pairs from it on are verified (Eq. 2).
        merge: Two claims from it on are one, when they agree (3.2).
    """

    query: float
    similarity: float
    merge: float


THRESHOLDS = MappingProxyType(
    {
        # ours, by benchmarks/pair_screening.py. query: keeps 0.965 of 1,148 sentences that hold the
        # answer (RAMDocs), drops 0.235 of those of noise documents. similarity: 0.91 of 100 real
        # contradictions (0.92 with the second rule, 0.40: 0.88 and 0.90), 0.07 of unrelated pairs.
        # merge: with agreement no contradiction merges from 0.70 on; ours has room below 0.838.
        DEFAULT_ENCODER: Thresholds(query=0.1, similarity=0.38, merge=0.8),
        # query: paper, 4.1.4; merge: released code; similarity: ours, not measured, the paper
        # names no value.
        "BAAI/bge-large-en-v1.5": Thresholds(query=0.3, similarity=0.6, merge=0.88),
    }
)


def thresholds_for(encoder: str) -> Thresholds:
    """Look up the thresholds that were calibrated for an encoder.

    Args:
        encoder: The encoder's `name`.

    Returns:
        Its thresholds.

    Raises:
        InputError: None are known for it.

    Example:
        >>> thresholds_for("BAAI/bge-large-en-v1.5").query
        0.3
    """
    if encoder not in THRESHOLDS:
        raise InputError(
            f"No thresholds are known for the encoder {encoder!r}; give query, similarity and "
            f"merge thresholds explicitly, calibrate them with `referee tune`, or use "
            f"{' or '.join(map(repr, THRESHOLDS))}."
        )
    return THRESHOLDS[encoder]
