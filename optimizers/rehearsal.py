"""A set of questions answered again and again: each trial runs the real program on all of them.

What a trial's values do not change is kept (`programs.replay`), so it asks and computes only what
is new. Nothing is left out of a trial: every row has a score, a failed one that of the defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from ..errors import BackboneError, BudgetExceeded, InputError
from ..programs import Program
from ..programs.base import Case, as_of
from ..programs.replay import Replay
from ..programs.steps import Clock, Driver, Progress, Steps, Wave, listener
from ..runtime.documents import as_documents, as_question
from ..runtime.failures import failure
from ..runtime.fan_out import fan_out
from ..runtime.meter import Meter, metered
from ..runtime.records import Usage

TOGETHER = 16  # ours: rows in flight; the backbone's own limit bounds their requests
MOST_FAILED = 0.1  # ours: of the rows; from there on it is the backbone that fails, not a row

Measure = Callable[[dspy.Example, dspy.Prediction], float | None]


@dataclass(frozen=True)
class Pass:
    """One run of a program over all rows.

    Attributes:
        scores: One for each row; None where the run failed or the metric says nothing.
        requests: Requests that the program takes for each row, on average, with nothing kept.
        new_requests: Requests that were really made.
        seconds: Of the whole pass.
    """

    scores: tuple[float | None, ...]
    requests: float
    new_requests: int
    seconds: float


class Rehearsal:
    """Examples, each with what its runs share.

    Args:
        examples: With the inputs ``question``, ``documents`` and perhaps ``date``.
        measure: Scores a prediction.
        meter: Counts everything, and refuses when its budget is spent.

    Raises:
        InputError: There is no example, or an input is wrong.
    """

    def __init__(self, examples: Sequence[dspy.Example], measure: Measure, meter: Meter) -> None:
        if not examples:
            raise InputError("There is no validation example: give some with known answers.")
        self.meter, self._measure = meter, measure
        self._rows = [_Row(example, meter) for example in examples]

    def run(self, program: Program, stage: str) -> Pass:
        """Run a program over all rows; the listener hears how far it is.

        Args:
            program: With the values of a trial.
            stage: What the listener is told.

        Raises:
            BudgetExceeded: The budget is spent.
            BackboneError: The requests of too many rows failed.
        """
        started, before = time.perf_counter(), self.meter.usage()
        told = listener.get()
        token = listener.set(None)  # a bar for each stage of each row would flicker
        try:
            for start in range(0, len(self._rows), TOGETHER):
                some = self._rows[start : start + TOGETHER]
                waiting = [row for row in some if not row.begin(program, self._measure)]
                fan_out([row.finish for row in waiting])
                _stop_if_failing(self._rows, self._rows[: start + len(some)])
                if told:
                    told(Progress(stage, start + len(some), len(self._rows)))
        finally:
            listener.reset(token)
        return Pass(
            scores=tuple(row.score for row in self._rows),
            requests=sum(row.replay.requests for row in self._rows) / len(self._rows),
            new_requests=_asked(before, self.meter.usage()),
            seconds=time.perf_counter() - started,
        )


class _Uneconomical(Meter):
    """Lets no stage of a row economise: a row that left something out is no run of the program.

    The budget of the whole still refuses requests, which ends the pass.
    """

    def remaining(self) -> int | None:
        """None: without a bound."""
        return None


@dataclass
class _Row:
    """One question: its case and replay stay the same in all trials."""

    example: dspy.Example
    total: Meter
    replay: Replay = field(default_factory=Replay)
    score: float | None = None
    problem: Exception | None = None

    def __post_init__(self) -> None:
        inputs = self.example.inputs()
        self._question = as_question(inputs.get("question"))
        self._documents = as_documents(inputs.get("documents") or [])
        self._date = as_of(inputs.get("date"))

    def begin(self, program: Program, measure: Measure) -> bool:
        """Run as far as nothing must be asked; whether that was to the end."""
        meter = _Uneconomical(within=self.total)
        case = Case(
            self._question, self._documents, self._date, program.reading_tokens, meter, program.lms
        )
        self._run = _Run(program, case, measure, self.replay.steps(program.steps(case)))
        self.replay.begin()
        try:
            with metered(meter), self.replay.running():
                self._run.wave = next(self._run.steps)
        except StopIteration as done:
            self._end(done.value)
            return True
        return False

    def finish(self) -> None:
        """Run what `begin` left, with its requests."""
        run = self._run
        with metered(run.case.meter), self.replay.running():
            outcome = Driver(run.program.lms, Clock()).run(run.rest())
        self._end(outcome)

    def _end(self, outcome: Any) -> None:
        run = self._run
        self.problem = next(iter(self.replay.lost), None)
        unread = outcome.status == "parse_error"
        with metered(run.case.meter):
            self.score = None if self.problem or unread else self._scored(run, outcome)

    def _scored(self, run: _Run, outcome: Any) -> float | None:
        shown = {
            "question": run.case.question,
            "program": run.program.name,
            "date": run.case.date,
            "documents": tuple(run.case.documents),
        }
        complete = outcome.model_copy(update=shown)
        return run.measure(self.example, dspy.Prediction(**complete.fields()))


@dataclass
class _Run:
    """A run of a program on one question, up to its first request."""

    program: Program
    case: Case
    measure: Measure
    steps: Steps[Any]
    wave: Wave = field(default_factory=lambda: Wave("", ()))

    def rest(self) -> Steps[Any]:
        """The steps from that request on."""
        while True:
            replies = yield self.wave
            try:
                self.wave = self.steps.send(replies)
            except StopIteration as done:
                return done.value


def _stop_if_failing(rows: Sequence[_Row], done: Sequence[_Row]) -> None:
    problems = [row.problem for row in done if row.problem is not None]
    spent = next((p for p in problems if isinstance(p, BudgetExceeded)), None)
    if spent is not None:
        raise spent
    if len(problems) > max(1.0, MOST_FAILED * len(rows)):
        raise BackboneError(
            f"The requests of {len(problems)} of {len(rows)} rows failed: "
            f"{failure(problems[0])[1]} Started again, it goes on without asking twice."
        )


def _asked(before: Usage, after: Usage) -> int:
    return after.requests - before.requests
