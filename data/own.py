"""The user's own rows: JSONL, CSV or Parquet in the format of `docs/data.md`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .rows import OWN, Row, read_row, read_rows

LISTS = ("answers", "wrong_answers", "facts", "contexts")


def read_own(path: str | Path) -> list[Row]:
    """Rows of a file; source and title of a context reach the program, gold never does.

    Raises:
        InputError: Names the row and the field that is wrong, or what is wrong with the file.
    """
    path = Path(path)
    rows = _readers()[path.suffix.lower()](path)
    _check_ids(rows, path)
    return rows


def _readers() -> Mapping[str, Callable[[Path], list[Row]]]:
    return {
        ".jsonl": lambda path: read_rows(path, OWN),
        ".csv": _read_csv,
        ".parquet": _read_parquet,
    }


SUFFIXES = tuple(_readers())


def _read_csv(path: Path) -> list[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            records = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): give a CSV file.") from None
    return [
        read_row(_cells(r, f"{path}, row {n}"), f"{path}, row {n}", OWN) for n, r in _from1(records)
    ]


def _read_parquet(path: Path) -> list[Row]:
    import pyarrow
    from pyarrow import parquet

    try:
        records = parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path} cannot be read ({error}): give a Parquet file.") from None
    return [
        read_row(_cells(r, f"{path}, row {n}"), f"{path}, row {n}", OWN) for n, r in _from1(records)
    ]


def _from1(records: Iterable[Any]) -> Iterable[tuple[int, Any]]:
    return enumerate(records, start=1)


def _cells(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A list in a cell is JSON; any other text in a list column is a list of one."""
    return {
        name: _list(value, f"{where}, field '{name}'") if name in LISTS else value
        for name, value in record.items()
    }


def _list(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [value] if value.strip() else []
    try:
        return json.loads(value)
    except ValueError as error:
        raise InputError(f"{where} is not a JSON list ({error}).") from None


def _check_ids(rows: Iterable[Row], path: Path) -> None:
    first: dict[str, int] = {}
    for n, row in _from1(rows):
        if row.id in first:
            raise InputError(
                f"{path}, row {n}, field 'id' is {row.id!r}, as in row {first[row.id]}: "
                "give each row its own."
            )
        first[row.id] = n
