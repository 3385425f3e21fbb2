"""The second rule for candidate pairs: one subject, and another number, date or name.

Complete. A contradiction can be far in cosine (of real ones one in eight reaches 0.75 with MiniLM),
so cosine alone misses most or asks about nearly everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .agreement import claim_facts
from .clusters import answer_tokens
from .opposites import content_words
from .pair_mining import BestPairs, Keys, Singles, check_options, exact_cosines, unit_rows

Bools = NDArray[np.bool_]
_BLOCK = 1024  # rows; the boolean tables of two blocks hold a few MB
_NOISE = 1e-6  # single-precision products are off by this much
_FIRST_WORDS = 2  # ours
_NEVER = 2.0  # above every cosine


@dataclass(frozen=True)
class Candidates:
    """Pairs worth a verification.

    Attributes:
        pairs: int64[m, 2], indices i < j, most similar first.
        similarity: float32[m], their cosines.
        cut: Pairs that a rule found and the budget did not keep.
    """

    pairs: Keys
    similarity: Singles
    cut: int


def entity_pairs(
    texts: Sequence[str], vectors: ArrayLike, max_pairs: int | None = None
) -> tuple[Keys, Singles]:
    """Return pairs that name one subject and differ in a number, a date or a name.

    An index from the words of names to claims finds those that share one; no loop over pairs.

    Args:
        texts: n claims.
        vectors: float[n, d], a row per claim, for the ranking.
        max_pairs: Keep at most so many, the most similar ones; None keeps all.

    Returns:
        As `mine_pairs`: int64[m, 2] and float32[m], most similar first, ties by index.

    Raises:
        InputError: There is not one vector per claim, or an option is out of range.
    """
    found = _screened(texts, vectors, _NEVER, max_pairs)
    return found.pairs, found.similarity


def candidate_pairs(
    texts: Sequence[str], vectors: ArrayLike, threshold: float, max_pairs: int | None = None
) -> Candidates:
    """Return the pairs that either rule finds: similar, or one subject and another value.

    Args:
        texts: n claims.
        vectors: float[n, d], a row per claim.
        threshold: tau_sim, inclusive, in [-1, 1]; it belongs to the encoder.
        max_pairs: Keep at most so many, the most similar ones; None keeps all.

    Returns:
        The pairs, and how many were cut. Pairs of one and the same sentence or document are in.

    Raises:
        InputError: There is not one vector per claim, or an option is out of range.

    Example:
        >>> texts = ["Tesla is based in Austin.", "Tesla has its seat in Palo Alto."]
        >>> candidate_pairs(texts, [[1, 0], [0, 1]], threshold=0.9).pairs.tolist()
        [[0, 1]]
    """
    check_options(threshold, max_pairs)
    return _screened(texts, vectors, threshold, max_pairs)


def _screened(
    texts: Sequence[str], vectors: ArrayLike, threshold: float, max_pairs: int | None
) -> Candidates:
    check_options(0.0, max_pairs)
    unit, rows = unit_rows(vectors)
    if len(np.asarray(vectors)) != len(texts):
        raise InputError(f"There are {len(texts)} texts and {len(vectors)} vectors; give one each.")  # type: ignore[arg-type]
    index = _Index([texts[row] for row in rows])
    best, total = BestPairs(-1.0, max_pairs), 0
    for keys, cosines in _blocks(unit, index, threshold):
        total += len(keys)
        best.add(keys, cosines)
    keys, _ = best.result()
    i, j = np.divmod(keys, max(1, len(rows)))
    cosines = np.clip(exact_cosines(unit, i, j), -1, 1)
    first = np.lexsort((keys, -cosines))[:max_pairs]
    pairs = rows[np.stack([i[first], j[first]], axis=1)]
    return Candidates(pairs, cosines[first], total - len(pairs))


def _blocks(unit: Singles, index: _Index, threshold: float) -> Iterator[tuple[Keys, Singles]]:
    """Pairs i < j that a rule finds, block by block of the upper triangle."""
    n = len(unit)
    for top in range(0, n, _BLOCK):
        for left in range(top, n, _BLOCK):
            rows, columns = (slice(at, min(at + _BLOCK, n)) for at in (top, left))
            product = unit[rows] @ unit[columns].T
            wanted = (product >= threshold - _NOISE) | index.related(rows, columns)
            if top == left:
                wanted &= ~np.tri(*product.shape, dtype=np.bool_)
            i, j = np.nonzero(wanted)
            yield (i + top) * n + (j + left), product[i, j]


class _Index:
    """Which claims share a subject, and a number for what each states of every kind."""

    def __init__(self, texts: Sequence[str]) -> None:
        read = [_read(text) for text in texts]
        places: dict[str, list[int]] = {}
        for at, claim in enumerate(read):
            for key in claim.subjects:
                places.setdefault(key, []).append(at)
        self._places = {key: np.array(found) for key, found in places.items()}
        self._subjects = [claim.subjects for claim in read]
        self._values = [_numbered([claim.values[kind] for claim in read]) for kind in range(3)]

    def related(self, rows: slice, columns: slice) -> Bools:
        """Claims of the rows by claims of the columns: one subject and another value."""
        shared = np.zeros((rows.stop - rows.start, columns.stop - columns.start), np.bool_)
        for line, subjects in zip(shared, self._subjects[rows], strict=True):
            for key in subjects:
                places = self._places[key]
                low, high = np.searchsorted(places, (columns.start, columns.stop))
                line[places[low:high] - columns.start] = True
        differ = np.zeros_like(shared)
        for values in self._values:
            mine, its = values[rows, None], values[None, columns]
            differ |= (mine != its) & (mine > 0) & (its > 0)
        return shared & differ


def _numbered(values: Sequence[frozenset[str]]) -> NDArray[np.int32]:
    """A number for each distinct value; 0 for none."""
    numbers: dict[frozenset[str], int] = {frozenset(): 0}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)


@dataclass(frozen=True)
class _Claim:
    subjects: frozenset[str]
    values: tuple[frozenset[str], ...]


def _read(text: str) -> _Claim:
    """The words of the names in a claim; its numbers, dates and names."""
    facts = claim_facts(text)
    folded = [answer_tokens(name) for name in facts.names]
    # Without names the first words that carry meaning stand for the subject.
    keys = frozenset(token for tokens in folded for token in content_words(tokens))
    return _Claim(
        keys or frozenset(facts.words[:_FIRST_WORDS]),
        (
            frozenset(f"{q.value:.6g} {q.unit}" for q, _ in facts.numbers),
            frozenset(date.iso for date, _ in facts.dates),
            frozenset(" ".join(tokens) for tokens in folded),
        ),
    )
