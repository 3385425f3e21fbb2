"""`load`: every data set by name, and the user's own files by path."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..runtime.records import Document
from . import benchdata, confiqa, conflictbank, longfact, mquake, ragchecker, ramdocs, rgb
from .cards import Card, filled
from .hub import Source, fetch, read_raw
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


PUBLISHED: Mapping[str, Source] = {
    "conflictbank": conflictbank.SOURCE,
    **confiqa.SOURCES,
    **mquake.SOURCES,
    "ramdocs": ramdocs.SOURCE,
    **rgb.SOURCES,
    "ragchecker": ragchecker.SOURCE,
    "longfact": longfact.SOURCE,
}
DATASETS = (*BUNDLED, *PUBLISHED)  # every name that `load` takes


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
        source: A registered name (`DATASETS`); ``NAME:PATH`` for a local copy of a published data
            set, a raw file or a folder of them; or a path to the user's .jsonl, .csv or .parquet.
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
    rows = (_dated(_valid(opened.convert(raw)), opened.card) for raw in drawn(opened.raw, seed))
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


def _valid(row: Row) -> Row:
    """Refuse what no model and no file can take: half of a pair of surrogates."""
    for name, value in dataclasses.asdict(row).items():
        try:
            json.dumps(value, ensure_ascii=False, default=Document.model_dump).encode()
        except UnicodeEncodeError:
            raise InputError(f"Row {row.id!r}, field {name!r} is not valid Unicode.") from None
    return row


def _dated(row: Row, card: Card) -> Row:
    return row if row.date or not card.as_of else dataclasses.replace(row, date=card.as_of)


def _open(source: str, revision: str | None) -> _Opened:
    name, _, path = source.partition(":")
    if source in BUNDLED:
        bundled = Path(str(files("referee.data").joinpath(f"{source}.jsonl")))
        return _Opened(BUNDLED[source], read_own(bundled))
    if name in PUBLISHED:
        return _published(PUBLISHED[name], path, revision)
    if Path(source).suffix.lower() in SUFFIXES:
        return _own(Path(source))
    near = difflib.get_close_matches(source, DATASETS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(DATASETS)}"
    raise InputError(
        f"There is no data set {source!r}: {meant}, or give a path to {', '.join(SUFFIXES)}."
    )


def _published(source: Source, path: str, revision: str | None) -> _Opened:
    if path:
        card = dataclasses.replace(source.card, origin=path, version="local copy")
        return _Opened(card, read_raw(path), source.convert)
    at = revision or source.revision
    pinned = at if at != "main" else "main (not pinned)"
    origin = source.hub or source.files[0].format(revision=at)
    card = dataclasses.replace(source.card, origin=origin, version=pinned)
    return _Opened(card, fetch(source, revision), source.convert)


def _own(path: Path) -> _Opened:
    rows = read_own(path)
    known = benchdata.CARDS.get(path.stem) if rows[0].dataset else None
    card = known or Card(path.stem, what="The user's own rows.", gold="as the file says")
    return _Opened(dataclasses.replace(card, origin=str(path)), rows)
