"""A file of questions, of any length: one record each, in bounded memory."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

import referee
from referee.asking import state_of
from referee.errors import InputError
from referee.programs import Program
from referee.programs.base import as_of
from referee.runner import Progress, Record, Task, answer_all, bound, long_run
from referee.runtime import Budget
from referee.runtime.backbones import display_name
from referee.store import Run, Seen

_BLOCK = 1 << 20  # bytes read at once
ANSWERS = "answers"  # the journal's name


@dataclass(frozen=True)
class Batch:
    """How to answer a file.

    Attributes:
        program: Answers the questions.
        lm: Its language model.
        concurrency: Requests in flight.
        budget: Bounds on the whole run.
        date: As-of date of questions without one; None for today.
        progress: Called after each row.
    """

    program: Program
    lm: dspy.BaseLM
    concurrency: int = 16
    budget: Budget | None = None
    date: str | None = None
    progress: Callable[[Progress], None] = lambda _: None

    def to_folder(self, path: str | Path, out: str | Path) -> Counter[str]:
        """Answer a file into ``OUT/answers.jsonl``, or go on where an earlier run ended.

        Args:
            path: JSONL: ``id``, ``question``, ``documents``, and optionally ``date``.
            out: The folder.

        Returns:
            Rows by status, those of earlier runs included.

        Raises:
            InputError: The file cannot be read, or the folder cannot be used for it.
            BackboneError: The language model is down.
        """
        digest, total = _measured(Path(path))
        asked = {
            "programs": [self.program.label],
            "program_states": {self.program.label: state_of(self.program)},
            "data": Path(path).name,
            "data_sha256": digest,
            "lm": display_name(self.lm),
            "version": referee.__version__,
        }
        fixed = {} if self.date is None else {"date": as_of(self.date)}
        with Run(out, {**asked, **fixed}, {} if fixed else {"date": as_of(None)}) as run:
            journal = run.journal(ANSWERS)
            with Path(path).open("rb") as lines:
                waiting = tasks(lines, run.asked["date"], journal.final)
                self._answer(waiting, journal.append, total, journal.finished())
            journal.tidy()
            return journal.statuses()

    def to_function(self, lines: Iterable[bytes], write: Callable[[Record], None]) -> Counter[str]:
        """Answer lines as they come, and hand on each record; nothing is kept.

        Returns:
            Rows by status.

        Raises:
            BackboneError: The language model is down.
        """
        statuses: Counter[str] = Counter()

        def counted(record: Record) -> None:
            statuses[record["status"]] += 1
            write(record)

        self._answer(tasks(lines, as_of(self.date), lambda _: False), counted, None, 0)
        return statuses

    def _answer(
        self,
        waiting: Generator[Task, None, None],
        write: Callable[[Record], None],
        total: int | None,
        before: int,
    ) -> None:
        bound([self.lm, *self.program.lms.values()], self.concurrency)
        failed = 0
        with closing(waiting), long_run(self.lm, self.budget) as meter:
            records = answer_all(self.program, waiting, meter, self.concurrency)
            for done, record in enumerate(records, start=before + 1):
                write(record)
                failed += record["status"] not in ("ok", "abstained")
                told = Progress(self.program.label, done, before, total, failed, meter.usage())
                self.progress(told)


def tasks(
    lines: Iterable[bytes], date: str, final: Callable[[str], bool]
) -> Generator[Task, None, None]:
    """The questions that are not finished; what is wrong with a line becomes its task's error.

    Args:
        lines: Of a JSONL file, from its first one.
        date: As-of date of questions without one.
        final: Whether the row of an id is finished.
    """
    with closing(Seen()) as seen:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            task = _task(line, number, date, seen)
            if not final(task.id):
                yield task


def _task(line: bytes, number: int, date: str, seen: Seen) -> Task:
    place = f"line {number}"
    try:
        found = _object(line)
        row_id = _id(found)
        if re.fullmatch(r"line \d+", row_id) and row_id != place:
            raise InputError(f"has the id {row_id!r}, the name of another line: give it another.")
    except InputError as error:
        return Task(place, error=f"Line {number} {error}")
    first = seen.first(row_id, number)
    if first != number:
        return Task(place, error=f"Line {number} has the id {row_id!r}, as line {first} has.")
    return Task(
        row_id, found.get("question"), found.get("documents") or (), found.get("date") or date
    )


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON in UTF-8 ({error}).") from None
    if not isinstance(found, Mapping):
        raise InputError(f"is a {type(found).__name__}: write one object a line.")
    return found


def _id(found: Mapping[str, Any]) -> str:
    row_id = found.get("id")
    if isinstance(row_id, int) and not isinstance(row_id, bool):
        row_id = str(row_id)
    if not isinstance(row_id, str) or not row_id.strip():
        raise InputError(f"has the id {row_id!r}: give each question a text or number of its own.")
    try:
        row_id.encode()
    except UnicodeEncodeError:
        raise InputError(f"has the id {row_id!r}, which is not valid Unicode.") from None
    return row_id


def _measured(path: Path) -> tuple[str, int]:
    """Hash and number of lines of a file."""
    digest, lines = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                lines += block.count(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a JSONL file.") from None
    return digest.hexdigest(), lines
