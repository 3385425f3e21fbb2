"""Benchmark rows: what a program may see of them, and the gold apart (design §6)."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import dspy
from pydantic import ValidationError

from ..errors import InputError
from ..runtime.records import Document

T = TypeVar("T")
VISIBLE = ("text", "date", "url")  # of a benchmark's context; all else may tell the side
OWN = (*VISIBLE, "source", "title")  # of the user's own and the bundled sets: real provenance
CONFLICTING = frozenset(
    {"misinformation", "temporal", "semantic", "granularity", "counterfactual", "original"}
)


@dataclass(frozen=True)
class Row:
    """One question of a benchmark.

    Attributes:
        id: Unique in its data set.
        question: What is asked.
        documents: Text, date and url of each context; of the user's own and the bundled sets also
            source and title. Nothing else.
        answers: Right answers; for scoring only.
        wrong_answers: Wrong answers that some context states; for scoring only.
        roles: Per document what it is (``correct``, ``misinformation``, ...); for scoring only.
        dataset: Name of the benchmark.
        conflict_type: What kind of conflict the documents have; for scoring only.
        date: As-of date of the answers (ISO 8601), or empty; reaches the program as I_time.
        facts: Gold facts of a long answer; for scoring only.
        external: Outside knowledge about the question, for an evaluation that gives the same to
            every program.
        stated: Per document the answer it states, where the data set says; for scoring only.
        domain: Group that results are reported by (LongFact: one of eight), or empty.
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
    external: str = ""
    stated: tuple[str, ...] = ()
    domain: str = ""

    def shuffled(self, seed: int) -> Row:
        """The same row with its documents in an order that depends on seed and id only."""
        order = list(range(len(self.documents)))
        random.Random(f"{seed}:{self.id}").shuffle(order)
        return self._taking(order)

    def with_contexts(self, number: int, seed: int) -> Row | None:
        """Exactly one correct context and ``number`` - 1 conflicting ones (MACR, Table II).

        Which ones depends on seed and id only; of several right answers only the one that the
        correct context states stays. None when the row has too few of either.
        """
        draw = random.Random(f"contexts:{seed}:{self.id}")
        right = [i for i, role in enumerate(self.roles) if role == "correct"]
        against = [i for i, role in enumerate(self.roles) if role in CONFLICTING]
        if not right or len(against) < number - 1:
            return None
        kept = self._taking([draw.choice(right), *draw.sample(against, number - 1)])
        only = kept.stated[:1]
        return replace(kept, answers=only) if only and only[0] in self.answers else kept

    def _taking(self, order: Sequence[int]) -> Row:
        return replace(
            self,
            documents=tuple(self.documents[i] for i in order),
            roles=tuple(self.roles[i] for i in order if self.roles),
            stated=tuple(self.stated[i] for i in order if self.stated),
        )

    def as_example(self) -> dspy.Example:
        """The row for a DSPy optimizer: what a program may see as inputs, the gold as labels."""
        seen = {"question": self.question, "documents": self.documents}
        seen |= {"date": self.date} if self.date else {}
        gold = {"answers": list(self.answers), "facts": list(self.facts)}
        return dspy.Example(id=self.id, **seen, **gold).with_inputs(*seen)


def read_rows(path: str | Path, visible: Sequence[str] = VISIBLE) -> list[Row]:
    """Rows of a JSONL file in the format of `docs/data.md`.

    Args:
        path: The file.
        visible: Fields of a context that reach a program.

    Raises:
        InputError: Names the row and the field that is wrong.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a JSONL file.") from None
    return [
        read_row(_json(line, f"{path}, row {n}"), f"{path}, row {n}", visible)
        for n, line in enumerate(lines, start=1)
        if line.strip()
    ]


def drawn(rows: Sequence[T], seed: int) -> Iterator[T]:
    """The rows in an order that depends on the seed and their number only, one at a time."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    return (rows[i] for i in order)


def sample(rows: Iterable[Row], limit: int | None, seed: int) -> list[Row]:
    """``limit`` rows drawn by the seed, documents shuffled; the same seed gives the same rows."""
    return [row.shuffled(seed) for row in islice(drawn(list(rows), seed), limit)]


def conflicted(rows: Iterable[Row]) -> list[Row]:
    """Rows with exactly one right answer and at least one wrong one."""
    return [r for r in rows if len(r.answers) == 1 and r.wrong_answers]


def read_row(found: Any, where: str, visible: Sequence[str] = VISIBLE) -> Row:
    """One row from a plain record; ``where`` opens every error (``rows.jsonl, row 3``)."""
    if not isinstance(found, Mapping):
        raise InputError(f"{where} is a {type(found).__name__}: write one object a line.")
    for name in ("id", "question"):
        if not isinstance(found.get(name), str) or not found[name].strip():
            raise InputError(f"{where}, field '{name}' is {found.get(name)!r}: give a text.")
    contexts = [] if found.get("contexts") is None else found["contexts"]
    if not isinstance(contexts, list):
        raise InputError(f"{where}, field 'contexts' is a {type(contexts).__name__}: give a list.")
    return Row(
        id=found["id"],
        question=found["question"],
        documents=tuple(
            _document(c, f"{where}, context {n}", visible) for n, c in enumerate(contexts, 1)
        ),
        answers=_texts(found, "answers", where),
        wrong_answers=_texts(found, "wrong_answers", where),
        roles=tuple(_gold(c, "role", f"{where}, context {n}") for n, c in enumerate(contexts, 1)),
        stated=tuple(
            _gold(c, "answer", f"{where}, context {n}") for n, c in enumerate(contexts, 1)
        ),
        dataset=str(found.get("dataset") or ""),
        conflict_type=str(found.get("conflict_type") or ""),
        date=_as_of(found.get("date"), where),
        facts=_texts(found, "facts", where),
        external=_text(found, "external", where),
        domain=str(found.get("domain") or ""),
    )


def _json(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON ({error}).") from None


def _texts(found: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    given = [] if found.get(name) is None else found[name]
    if not isinstance(given, list) or not all(isinstance(t, str) and t.strip() for t in given):
        raise InputError(f"{where}, field '{name}' is {given!r}: give a list of texts.")
    return tuple(given)


def _text(found: Mapping[str, Any], name: str, where: str) -> str:
    given = found.get(name) or ""
    if not isinstance(given, str):
        raise InputError(f"{where}, field '{name}' is {given!r}: give a text.")
    return given


def _as_of(given: Any, where: str) -> str:
    if given is None or given == "":
        return ""
    try:
        return datetime.date.fromisoformat(str(given)[:10]).isoformat()
    except ValueError:
        raise InputError(f"{where}, field 'date' is {given!r}: write it as 2024-05-31.") from None


def _gold(context: Any, name: str, where: str) -> str:
    gold = context.get("gold") or {} if isinstance(context, Mapping) else {}
    if not isinstance(gold, Mapping):
        raise InputError(f"{where}, field 'gold' is {gold!r}: give an object with a 'role'.")
    return str(gold.get(name) or "")


def _document(context: Any, where: str, visible: Sequence[str]) -> Document:
    if isinstance(context, str):
        return Document(text=context)
    if not isinstance(context, Mapping) or not isinstance(context.get("text"), str):
        raise InputError(f"{where} has no field 'text'.")
    try:
        return Document(**{name: context[name] for name in visible if context.get(name)})
    except ValidationError as error:
        wrong = error.errors()[0]
        name = wrong["loc"][0] if wrong["loc"] else "?"
        raise InputError(f"{where}, field '{name}' is {wrong['input']!r}: give a text.") from None
