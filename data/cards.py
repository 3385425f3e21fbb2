"""Cards: what a data set is and which side of a conflict its gold is on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from .rows import Row

WORLD = "world-true"


@dataclass(frozen=True)
class Card:
    """What is known about a data set.

    Attributes:
        name: As `load` takes it, or the file's name.
        what: One sentence on its rows.
        gold: Gold direction: what ``answers`` means.
        version: Release, revision or commit that was read; says so where it is not verified.
        licence: As found; empty when unknown.
        as_of: Date the answers hold (ISO 8601), or empty. It becomes the date of rows without one.
        origin: Hub id, address or path the rows were read from.
        rows: Number of rows that were read.
        left_out: Rows that were asked for but do not have the contexts that were asked for.
        sha256: Hash of the rows as read, in order.
    """

    name: str
    what: str = ""
    gold: str = WORLD
    version: str = ""
    licence: str = ""
    as_of: str = ""
    origin: str = ""
    rows: int = 0
    left_out: int = 0
    sha256: str = ""


def rows_hash(rows: Iterable[Row]) -> str:
    """SHA-256 over all that the rows say, in order."""
    digest = hashlib.sha256()
    for row in rows:
        plain = {**vars(row), "documents": [d.model_dump() for d in row.documents]}
        line = json.dumps(plain, sort_keys=True, ensure_ascii=False)
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def filled(card: Card, rows: tuple[Row, ...], left_out: int) -> Card:
    """The card with what only reading tells."""
    return dataclasses.replace(card, rows=len(rows), left_out=left_out, sha256=rows_hash(rows))
