"""`load`: every data set by name, and the user's own files by path."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import InputError
from .cards import Card, filled
from .own import SUFFIXES, read_own
from .rows import Row, drawn


@dataclass(frozen=True)
class Dataset:
    """Rows with the card that says what they are.

    Attributes:
        name: Registered name, or the name of the file.
        rows: In the order the seed gives, documents shuffled by it too.
        card: Gold direction, version, licence, as-of date and hash of the rows.
    """

    name: str
    rows: tuple[Row, ...]
    card: Card


@dataclass(frozen=True)
class _Opened:
    """A data set before a row is drawn: converting waits, so a large one costs what is drawn."""

    card: Card
    raw: Sequence[Any]
    convert: Callable[[Any], Row] = lambda row: row


BUNDLED: Mapping[str, Card] = {
    "conflicts": Card(
        "conflicts",
        what="Short questions with 2-4 contexts each, conflicting or only seeming to.",
        gold="world-true as of each row's date; empty where no context tells",
        version="1",
        licence="MIT",
    ),
    "long": Card(
        "long",
        what="Questions for a long answer, documents with planted false claims, gold facts.",
        gold="facts are world-true; wrong_answers are the false claims that were planted",
        version="1",
        licence="MIT",
    ),
}


def load(
    source: str,
    *,
    limit: int | None = None,
    seed: int = 0,
    contexts: int | None = None,
    revision: str | None = None,
    keep: Callable[[Row], bool] | None = None,
) -> Dataset:
    """Rows of a data set, drawn and shuffled by a seed.

    Args:
        source: A registered name (`DATASETS`), or a path to .jsonl, .csv or .parquet.
        limit: At most this many rows; None for all.
        seed: Which rows, in which order, and the order of each row's documents.
        contexts: Reduce each row to this many contexts (2-4), exactly one of them correct (MACR,
            Table II); rows that cannot be reduced so are left out and counted in the card.
        revision: Another revision of a hub data set than the pinned one.
        keep: Only rows that it accepts are drawn; None for all.

    Raises:
        InputError: The name, the file, a row or an option is wrong, or the hub cannot be reached.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: give a number of rows above 0, or None for all.")
    if contexts is not None and contexts not in (2, 3, 4):
        raise InputError(f"contexts is {contexts}: choose 2, 3 or 4.")
    opened = _open(source, revision)
    if keep is not None:
        kept = [row for row in map(opened.convert, opened.raw) if keep(row)]
        opened = _Opened(opened.card, kept)
    rows, left_out = _draw(opened, limit, seed, contexts)
    if contexts and not rows:
        raise InputError(
            f"{source} has no row with a correct and {contexts - 1} conflicting contexts: "
            "ask for fewer contexts."
        )
    return Dataset(opened.card.name, rows, filled(opened.card, rows, left_out))


def _draw(
    opened: _Opened, limit: int | None, seed: int, contexts: int | None
) -> tuple[tuple[Row, ...], int]:
    rows = (_dated(opened.convert(raw), opened.card) for raw in drawn(opened.raw, seed))
    if contexts is None:
        return tuple(row.shuffled(seed) for row in islice(rows, limit)), 0
    kept: list[Row] = []
    left_out = 0
    for row in rows:
        if len(kept) == limit:
            break
        reduced = row.with_contexts(contexts, seed)
        if reduced is None:
            left_out += 1
        else:
            kept.append(reduced.shuffled(seed))
    return tuple(kept), left_out


def _dated(row: Row, card: Card) -> Row:
    return row if row.date or not card.as_of else dataclasses.replace(row, date=card.as_of)


def _open(source: str, revision: str | None) -> _Opened:
    if source in BUNDLED:
        path = Path(str(files("referee.data").joinpath(f"{source}.jsonl")))
        return _Opened(BUNDLED[source], read_own(path))
    if Path(source).suffix.lower() in SUFFIXES:
        path = Path(source)
        return _Opened(Card(path.stem, origin=str(path)), read_own(path))
    near = difflib.get_close_matches(source, BUNDLED, n=1)
    meant = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(BUNDLED)}"
    raise InputError(
        f"There is no data set {source!r}: {meant}, or give a path to {', '.join(SUFFIXES)}."
    )
