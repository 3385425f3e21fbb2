"""Gold facts for prompts that come without: brought by the user, or generated once and recorded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import InputError
from .rows import Row


def with_facts(rows: Iterable[Row], path: str | Path) -> list[Row]:
    """The rows that the file has facts for, with them.

    Args:
        rows: Rows without facts, such as LongFact's.
        path: JSONL, one object a line: ``id`` (of the row) and ``facts`` (a list of texts).

    Raises:
        InputError: The file cannot be read, a line of it is wrong, or no row has facts in it.
    """
    known = _recorded(Path(path))
    found = [dataclasses.replace(r, facts=known[r.id]) for r in rows if r.id in known]
    if not found:
        raise InputError(f"{path} has facts for none of these rows: its ids must be theirs.")
    return found


def record_facts(
    rows: Iterable[Row], propose: Callable[[Row], Sequence[str]], path: str | Path
) -> list[Row]:
    """Facts asked for once: what the file has is not asked again, what is new is added to it.

    Generated facts are no better than the model that wrote them: say so where they are used.

    Args:
        rows: Rows without facts.
        propose: Facts for one row, such as the claims of a strong model's answer.
        path: The record, JSONL as `with_facts` reads it; made when it is not there.
    """
    path = Path(path)
    known = dict(_recorded(path)) if path.exists() else {}
    rows = list(rows)
    for row in rows:
        if row.id in known:
            continue
        known[row.id] = tuple(propose(row))
        with path.open("a", encoding="utf-8") as record:
            line = {"id": row.id, "question": row.question, "facts": known[row.id]}
            record.write(json.dumps(line, ensure_ascii=False) + "\n")
    return [dataclasses.replace(row, facts=known[row.id]) for row in rows]


def _recorded(path: Path) -> Mapping[str, tuple[str, ...]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a JSONL file of facts.") from None
    known = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            key, facts = _line(line, f"{path}, row {number}")
            known[key] = facts
    return known


def _line(line: str, where: str) -> tuple[str, tuple[str, ...]]:
    try:
        found = json.loads(line)
        key, facts = found["id"], found["facts"]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{where} needs the fields 'id' and 'facts' ({error}).") from None
    if not isinstance(facts, list) or not all(isinstance(f, str) and f.strip() for f in facts):
        raise InputError(f"{where}, field 'facts' is {facts!r}: give a list of texts.")
    return str(key), tuple(facts)
