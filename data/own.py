"""The user's own rows: JSONL, CSV or Parquet in the format of `docs/data.md`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .rows import OWN, Row, read_row, read_rows

SUFFIXES = (".jsonl", ".csv", ".parquet")
LISTS = ("answers", "wrong_answers", "facts", "contexts")


def read_own(path: str | Path) -> list[Row]:
    """Rows of a file; source and title of a context reach the program, gold never does.

    Raises:
        InputError: Names the row and the field that is wrong, or what is wrong with the file.
    """
    path = Path(path)
    read = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}.get(path.suffix.lower())
    if read is None:
        raise InputError(f"{path} cannot be read: give a file that ends in {', '.join(SUFFIXES)}.")
    rows = read(path)
    if not rows:
        raise InputError(f"{path} holds no rows: write at least one.")
    check_ids(rows, path)
    return rows


def _jsonl(path: Path) -> list[Row]:
    return read_rows(path, OWN)


def _csv(path: Path) -> list[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _table(csv.DictReader(lines), path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): give a CSV file in UTF-8.") from None


def _parquet(path: Path) -> list[Row]:
    import pyarrow
    from pyarrow import parquet

    try:
        records = parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path} cannot be read ({error}): give a Parquet file.") from None
    return _table(records, path)


def _table(records: Iterable[Mapping[str, Any]], path: Path) -> list[Row]:
    rows = []
    for n, record in enumerate(records, start=1):
        where = f"{path}, row {n}"
        cells = {name: _cell(name, value, where) for name, value in record.items()}
        rows.append(read_row(cells, where, OWN))
    return rows


def _cell(name: str, value: Any, where: str) -> Any:
    """A list in a cell is JSON; any other text in a list column is a list of one."""
    if name not in LISTS or not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [value] if value.strip() else []
    try:
        return json.loads(value)
    except ValueError as error:
        raise InputError(f"{where}, field '{name}' is not a JSON list ({error}).") from None


def check_ids(rows: Iterable[Row], path: Path) -> None:
    """Refuse two rows of one id.

    Raises:
        InputError: Names the row.
    """
    first: dict[str, int] = {}
    for n, row in enumerate(rows, start=1):
        if row.id in first:
            raise InputError(
                f"{path}, row {n}, field 'id' is {row.id!r}, as in row {first[row.id]}: "
                "give each row its own."
            )
        first[row.id] = n
