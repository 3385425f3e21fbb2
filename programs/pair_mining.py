"""Candidate pairs: claims similar enough to be worth a verification (ArbGraph, Eq. 2)."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Table = NDArray[Any]
Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Keys = NDArray[np.int64]

_BLOCK = 2048  # rows; one product of two blocks holds 16 MB
_NOISE = 2e-6  # more than single-precision products are off
_RESCORED = 250_000  # pairs scored again in double precision
_ROOM = 1 << 18  # candidates gathered before the worst are dropped
_NOTHING = -2.0  # below every cosine


def mine_pairs(
    embeddings: ArrayLike, threshold: float, max_pairs: int | None = None
) -> tuple[Keys, Singles]:
    """Return all pairs of rows with cosine >= `threshold`, most similar first.

    Products of row blocks in single precision, upper triangle only: time is that of the product,
    memory is one single-precision copy of the rows, buffers of a fixed size, and the pairs found
    (with `max_pairs` a small multiple of it, whatever the threshold). What is found is scored
    again in double precision, so that equal rows tie exactly. Beyond 250,000 pairs single
    precision stays, and pairs closer than 2e-6 to each other or to the threshold may go either
    way.

    Args:
        embeddings: float[n, d], n >= 0; rows need not have unit length. A row of zeros has no
            direction and pairs with nothing, whatever the threshold.
        threshold: tau_sim, inclusive, in [-1, 1].
        max_pairs: Keep at most so many, the most similar ones; None keeps all.

    Returns:
        Row indices i < j, int64[m, 2], and their cosines, float32[m] in [-1, 1]: similarity
        descending, ties by (i, j).

    Raises:
        InputError: The embeddings are no finite table, or an option is out of range.

    Example:
        >>> pairs, similarities = mine_pairs([[1, 0], [0, 1], [3, 4], [6, 8]], threshold=0.7)
        >>> pairs.tolist(), similarities.round(2).tolist()
        ([[2, 3], [1, 2], [1, 3]], [1.0, 0.800000011920929, 0.800000011920929])
    """
    check_options(threshold, max_pairs)
    unit, rows = unit_rows(embeddings)
    found = BestPairs(threshold, max_pairs)
    if max_pairs != 0:
        for keys, cosines in _blocks(unit, found):
            found.add(keys, cosines)
    keys, cosines = found.result()
    i, j = np.divmod(keys, max(1, len(rows)))
    if len(keys) <= _RESCORED:
        cosines = exact_cosines(unit, i, j)
    cosines = np.clip(cosines, -1, 1)
    inside = np.flatnonzero(cosines >= np.float32(threshold))
    best = inside[np.lexsort((keys[inside], -cosines[inside]))][:max_pairs]
    return rows[np.stack([i[best], j[best]], axis=1)], cosines[best]


class BestPairs:
    """The pairs found so far, as keys `i * n + j`; with a limit only the best of them."""

    def __init__(self, threshold: float, limit: int | None) -> None:
        self.cut = float(threshold) - _NOISE
        # Some more than asked for: single precision does not rank the last of them exactly.
        self._keep = None if limit is None else limit + limit // 4 + 1024
        self._chunks: list[tuple[Keys, Singles]] = []
        self._size = 0

    def add(self, keys: Keys, cosines: Singles) -> None:
        """Take more pairs, and raise the cut when there are too many."""
        self._chunks.append((keys, cosines))
        self._size += len(keys)
        if self._keep is not None and self._size > 2 * self._keep + _ROOM:
            self._drop_worst(self._keep)

    def result(self) -> tuple[Keys, Singles]:
        """All pairs that are left."""
        if self._keep is not None and self._size > self._keep + _ROOM:
            self._drop_worst(self._keep)
        return self._joined()

    def _joined(self) -> tuple[Keys, Singles]:
        if not self._chunks:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        keys, cosines = zip(*self._chunks, strict=True)
        return np.concatenate(keys), np.concatenate(cosines)

    def _drop_worst(self, keep: int) -> None:
        keys, cosines = self._joined()
        steps = np.rint(cosines / _NOISE).astype(np.int32)  # rounding noise is no difference
        cut = np.partition(steps, -keep)[-keep]
        better, tied = np.flatnonzero(steps > cut), np.flatnonzero(steps == cut)
        room = keep - len(better)
        if len(tied) > room:
            tied = tied[np.argpartition(keys[tied], room - 1)[:room]]
        kept = np.concatenate([better, tied])
        self._chunks, self._size = [(keys[kept], cosines[kept])], keep
        self.cut = max(self.cut, (float(cut) - 0.5) * _NOISE)


def _blocks(unit: Singles, found: BestPairs) -> Iterator[tuple[Keys, Singles]]:
    """Pairs i < j not below the cut of the moment, block by block of the upper triangle."""
    n = len(unit)
    buffer = np.empty(min(_BLOCK, n) ** 2, np.float32)
    for top in range(0, n, _BLOCK):
        rows = unit[top : top + _BLOCK]
        for left in range(top, n, _BLOCK):
            columns = unit[left : left + _BLOCK]
            flat = buffer[: len(rows) * len(columns)]
            product = flat.reshape(len(rows), len(columns))
            np.matmul(rows, columns.T, out=product)
            if top == left:
                product[np.tri(len(rows), dtype=np.bool_)] = _NOTHING
            hits = np.flatnonzero(flat >= found.cut)
            if hits.size:
                i, j = np.divmod(hits, len(columns))
                yield (i + top) * n + (j + left), flat[hits]


def exact_cosines(unit: Singles, i: Keys, j: Keys) -> Singles:
    """The cosines again, in double precision, rounded once at the end."""
    cosines = np.empty(len(i), np.float32)
    for start in range(0, len(i), _BLOCK):
        chosen = slice(start, start + _BLOCK)
        one, other = unit[i[chosen]].astype(np.float64), unit[j[chosen]].astype(np.float64)
        squares = _dots(one, one) * _dots(other, other)
        cosines[chosen] = _dots(one, other) / np.sqrt(squares)
    return cosines


def _dots(one: Reals, other: Reals) -> Reals:
    return np.asarray(np.einsum("ij,ij->i", one, other))


def unit_rows(embeddings: ArrayLike) -> tuple[Singles, Keys]:
    """The rows that have a direction, with length 1, and their indices."""
    table = _table(embeddings)
    rows = np.flatnonzero(table.any(axis=1))
    return _unit(table, rows), rows


def _unit(table: Table, rows: Keys) -> Singles:
    unit = np.empty((len(rows), table.shape[1]), np.float32)
    for start in range(0, len(rows), _BLOCK):
        unit[start : start + _BLOCK] = _directions(table[rows[start : start + _BLOCK]])
    return unit


def _directions(rows: Table) -> Reals:
    """The rows with length 1; scaled first, so that no square overflows or vanishes."""
    scaled = rows / np.abs(rows.astype(np.float64)).max(axis=1, keepdims=True)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def _table(embeddings: ArrayLike) -> Table:
    try:
        table = np.asarray(embeddings)
    except ValueError as error:
        raise InputError("embeddings have rows of different lengths: pass a full table.") from error
    if table.size == 0 and table.ndim == 1:
        table = table.reshape(0, 0)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        shape = f"shape {table.shape} and type {table.dtype}"
        raise InputError(f"embeddings have {shape}: pass n rows of d numbers.")
    if not np.isfinite(table).all():
        raise InputError("embeddings hold a value that is nan or infinite: drop such rows.")
    return table


def check_options(threshold: float, max_pairs: int | None) -> None:
    """Refuse a threshold that is no cosine and a budget that is no count."""
    if not isinstance(threshold, Real) or not -1 <= threshold <= 1:
        raise InputError(f"threshold is {threshold!r}: pass a cosine from -1 to 1.")
    if max_pairs is not None and (not isinstance(max_pairs, Integral) or max_pairs < 0):
        raise InputError(f"max_pairs is {max_pairs!r}: pass a whole number, or None for all.")
