"""Benchmark rows: what a program may see of them, and the gold apart (design §6)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dspy

from ..errors import InputError
from ..runtime.records import Document

VISIBLE = ("text", "date", "url")  # of a context; all else, source names too, tells the side


@dataclass(frozen=True)
class Row:
    """One question of a benchmark.

    Attributes:
        id: Unique in its data set.
        question: What is asked.
        documents: Text, date and url of each context, nothing else.
        answers: Right answers; for scoring only.
        wrong_answers: Wrong answers that some context states; for scoring only.
        roles: Per document what it is (``correct``, ``misinformation``, ...); for scoring only.
        dataset: Name of the benchmark.
        conflict_type: What kind of conflict the documents have; for scoring only.
        date: As-of date of the answers (ISO 8601), or empty; reaches the program as I_time.
        facts: Gold facts of a long answer; for scoring only.
    """

    id: str
    question: str
    documents: tuple[Document, ...]
    answers: tuple[str, ...]
    wrong_answers: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    dataset: str = ""
    conflict_type: str = ""
    date: str = ""
    facts: tuple[str, ...] = ()

    def shuffled(self, seed: int) -> Row:
        """The same row with its documents in an order that depends on seed and id only."""
        order = list(range(len(self.documents)))
        random.Random(f"{seed}:{self.id}").shuffle(order)
        return replace(
            self,
            documents=tuple(self.documents[i] for i in order),
            roles=tuple(self.roles[i] for i in order),
        )

    def as_example(self) -> dspy.Example:
        """The row for a DSPy optimizer: what a program may see as inputs, the gold as labels."""
        seen = {"question": self.question, "documents": self.documents}
        seen |= {"date": self.date} if self.date else {}
        gold = {"answers": list(self.answers), "facts": list(self.facts)}
        return dspy.Example(id=self.id, **seen, **gold).with_inputs(*seen)


def read_rows(path: str | Path) -> list[Row]:
    """Rows of a JSONL file in the format of `docs/data.md`.

    Raises:
        InputError: Names the row and the field that is wrong.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a JSONL file.") from None
    return [_row(line, path, n) for n, line in enumerate(lines, start=1) if line.strip()]


def sample(rows: Iterable[Row], limit: int | None, seed: int) -> list[Row]:
    """``limit`` rows drawn by the seed, documents shuffled; the same seed gives the same rows."""
    drawn = list(rows)
    random.Random(seed).shuffle(drawn)
    return [row.shuffled(seed) for row in drawn[:limit]]


def conflicted(rows: Iterable[Row]) -> list[Row]:
    """Rows with exactly one right answer and at least one wrong one."""
    return [r for r in rows if len(r.answers) == 1 and r.wrong_answers]


def _row(line: str, path: Path, number: int) -> Row:
    where = f"{path}, row {number}"
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON ({error}).") from None
    if not isinstance(found, Mapping):
        raise InputError(f"{where} is a {type(found).__name__}: write one object a line.")
    for name in ("id", "question"):
        if not isinstance(found.get(name), str) or not found[name].strip():
            raise InputError(f"{where}, field '{name}' is {found.get(name)!r}: give a text.")
    contexts = found.get("contexts", [])
    if not isinstance(contexts, list):
        raise InputError(f"{where}, field 'contexts' is a {type(contexts).__name__}: give a list.")
    return Row(
        id=found["id"],
        question=found["question"],
        documents=tuple(_visible(c, f"{where}, context {n}") for n, c in enumerate(contexts, 1)),
        answers=tuple(found.get("answers") or ()),
        wrong_answers=tuple(found.get("wrong_answers") or ()),
        roles=tuple(str((c.get("gold") or {}).get("role", "")) for c in contexts),
        dataset=str(found.get("dataset", "")),
    )


def _visible(context: Any, where: str) -> Document:
    if not isinstance(context, Mapping) or not isinstance(context.get("text"), str):
        raise InputError(f"{where} has no field 'text'.")
    return Document(**{name: context[name] for name in VISIBLE if context.get(name)})
