"""The feedback queue: conflicts that no rule covers, kept for the Observer (MACR §3.5.2 (4))."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from ..errors import InputError
from ..metrics import containment
from ..runtime.records import Record
from .clusters import same_answer
from .conflicts import ConflictType

_paused: ContextVar[bool] = ContextVar("referee_queue_paused", default=False)


@contextmanager
def queue_paused() -> Iterator[None]:
    """Nothing is queued inside: what a run on labelled data meets is no feedback."""
    token = _paused.set(True)
    try:
        yield
    finally:
        _paused.reset(token)


class Queue:
    """A JSONL file that lines are appended to.

    Args:
        path: The file; it and its folder are made when missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()

    def add(self, line: str) -> str:
        """Append one line; returns an empty text, or why it could not be kept."""
        if _paused.get():
            return ""
        try:
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # One write of a whole line: appends of other processes do not mix with it.
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        except OSError as error:
            return f"The conflict could not be queued in {self.path.name} ({error.strerror})."
        return ""

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self._lock = state["path"], threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Queue:
        return self


class Observed(Record):
    """One conflict as the Observer sees it.

    Attributes:
        question: What was asked.
        type: The type of the conflict.
        answers: The two answers.
        snippets: What the sources say.
        dates: The dates of those sources, or empty.
        sources: How many sources stand behind each answer.
        right: Index of the right answer; None when nobody knows.
    """

    question: str
    type: ConflictType
    answers: tuple[str, str]
    snippets: tuple[str, str]
    dates: tuple[str, str] = ("", "")
    sources: tuple[int, int] = (0, 0)
    right: Literal[0, 1] | None = None

    def taught(self, gold: Sequence[str], facts: Sequence[str] = ()) -> Observed:
        """The same conflict with the side marked that states a right answer, if just one does.

        Args:
            gold: Right answers.
            facts: Without any: sentences that are true, of which one side's words stand in one.
        """
        if gold:
            states = [any(same_answer(answer, right) for right in gold) for answer in self.answers]
        else:
            states = [any(containment(fact, [answer]) for fact in facts) for answer in self.answers]
        known: Literal[0, 1] | None = None if states[0] == states[1] else 0 if states[0] else 1
        return self.model_copy(update={"right": known})


class Reading(NamedTuple):
    """What a queue holds: its distinct conflicts, and the number of lines that are none."""

    conflicts: list[Observed]
    broken: int


def read_queue(path: str | Path, gold: Mapping[str, Sequence[str]] | None = None) -> Reading:
    """Read a queue; lines cut short by a crash are counted and left out.

    Args:
        path: The JSONL file.
        gold: Right answers by question, where known; elsewhere the provisional judgment stands.

    Returns:
        The conflicts in order, each once.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a queue file.") from None
    read = [_observed(line, gold or {}) for line in text.split("\n") if line.strip()]
    found = [conflict for conflict in read if conflict is not None]
    return Reading(list(dict.fromkeys(found)), len(read) - len(found))


def _observed(line: str, gold: Mapping[str, Sequence[str]]) -> Observed | None:
    try:
        given = json.loads(line)
        judged = given.get("judgment") or {}
        fields = {k: given[k] for k in Observed.model_fields if k in given and k != "right"}
        found = Observed(**fields, right=judged.get("winner"))
    except (ValueError, TypeError, AttributeError, RecursionError, ValidationError):
        return None
    return found.taught(gold[found.question]) if found.question in gold else found
