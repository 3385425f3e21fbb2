"""Demonstration, validation and test rows that share neither an id nor a question (MACR §4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import InputError
from .rows import Row, drawn


@dataclass(frozen=True)
class Split:
    """Three parts of a data set; only the test part is ever reported."""

    demonstration: tuple[Row, ...]
    validation: tuple[Row, ...]
    test: tuple[Row, ...]


def split(
    rows: Iterable[Row], seed: int = 0, size: int = 1000, shares: Sequence[float] = (1, 2, 7)
) -> Split:
    """At most ``size`` rows drawn by the seed and divided by ``shares``.

    Of rows with one id, or one question but for case and spaces, only the first drawn is kept. What
    does not divide evenly goes to the test part, so that no row is lost.

    Args:
        rows: Rows of one data set.
        seed: Which rows, and which part each is in.
        size: Rows in all three parts together, at most.
        shares: Sizes of the parts, relative to each other.

    Raises:
        InputError: The shares are not three numbers of 0 or more, or the size is below 1.
    """
    if len(shares) != 3 or min(shares) < 0 or not sum(shares):
        raise InputError(f"shares are {tuple(shares)}: give three numbers, such as 1, 2, 7.")
    if size < 1:
        raise InputError(f"size is {size}: give a number of rows above 0.")
    chosen = _different(drawn(list(rows), seed), size)
    first = int(len(chosen) * shares[0] / sum(shares))
    second = first + int(len(chosen) * shares[1] / sum(shares))
    return Split(tuple(chosen[:first]), tuple(chosen[first:second]), tuple(chosen[second:]))


def _different(rows: Iterable[Row], size: int) -> list[Row]:
    ids: set[str] = set()
    questions: set[str] = set()
    kept: list[Row] = []
    for row in rows:
        question = " ".join(row.question.casefold().split())
        if row.id in ids or question in questions:
            continue
        ids.add(row.id)
        questions.add(question)
        kept.append(row)
        if len(kept) == size:
            break
    return kept
