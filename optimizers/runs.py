"""One compilation: what every optimizer gets, and how programs are scored within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import dspy

from ..errors import InputError
from ..metrics import Interval, bootstrap_interval
from ..programs import Program
from ..runtime.fan_out import fan_out
from ..runtime.meter import Meter
from .scoring import Metric

TOGETHER = 4  # examples in flight; the backbone's own limit bounds their requests


@dataclass(frozen=True)
class Run:
    """What an optimizer works with.

    Attributes:
        student: A copy of the program, bound to no LM.
        trainset, valset: Checked examples.
        metric: What scores a prediction.
        lm: The backbone that the program is compiled for.
        teacher_lm: The backbone that demonstrates and proposes; ``lm`` when there is no other.
        seed: Fixes every choice.
        meter: Counts all requests, and refuses them when the budget is spent.
        tell: Takes a sentence on how far it is.
    """

    student: Program
    trainset: Sequence[dspy.Example]
    valset: Sequence[dspy.Example]
    metric: Metric
    lm: dspy.BaseLM
    teacher_lm: dspy.BaseLM
    seed: int
    meter: Meter
    tell: Callable[[str], None]

    def bound(self, examples: Sequence[dspy.Example], program: Program | None = None) -> int:
        """Requests that one scored pass over examples takes at most; None: of the student."""
        of = (program or self.student).requests
        return sum(of(x.documents)[1] + self.metric.requests(x) for x in examples)


class Optimizer(Protocol):
    """Finds demonstrations or instructions.

    `estimate` bounds the requests of `compile` before the first one. `compile` never changes
    ``run.student``; when the budget is spent it returns the best program so far.
    """

    name: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """What it was built with, for the card."""
        ...

    def estimate(self, run: Run) -> int:
        """Requests at most, retries apart."""
        ...

    def compile(self, run: Run) -> Program:
        """The program with what was found."""
        ...


@dataclass(frozen=True)
class Score:
    """A mean score.

    Attributes:
        mean: In [0, 1].
        n: Examples scored.
        interval: 95 % bootstrap interval of the mean.
        unscored: Examples whose requests failed or were not sent for want of budget.
    """

    mean: float
    n: int
    interval: Interval
    unscored: int = 0


def as_score(values: Sequence[float | None]) -> Score | None:
    """The mean of what could be scored; None when nothing could."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    interval = bootstrap_interval(known)
    return Score(sum(known) / len(known), len(known), interval, len(values) - len(known))


def scores(run: Run, *programs: Program) -> list[list[float | None]]:
    """Scores of programs on the validation set, example by example.

    The programs take turns, so that a budget spent half-way leaves scores of the same examples.
    """
    found: list[list[float | None]] = [[] for _ in programs]
    for chunk in chunks(run.valset):
        for own, program in zip(found, programs, strict=True):
            own.extend(_checked(fan_out([partial(_score, run, program, e) for e in chunk])))
        run.tell(f"scored {len(found[0])} of {len(run.valset)} validation examples")
    return found


def chunks(examples: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Examples in groups that run together."""
    for start in range(0, len(examples), TOGETHER):
        yield examples[start : start + TOGETHER]


def _score(run: Run, program: Program, example: dspy.Example) -> float | None:
    prediction = program(**example.inputs())
    outcome = prediction.get("verdict") or prediction.get("report")
    if outcome.status == "provider_error":
        run.tell(f"not scored: {outcome.explanation}")
    return run.metric.score(example, prediction)


def _checked(values: Sequence[Any]) -> list[float | None]:
    for value in values:
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"The metric gave {value!r}: it must give a number in [0, 1].")
    return list(values)


def silent(_: str) -> None:
    """Tells nobody."""


def untouched(before: Program, after: Program) -> tuple[str, ...]:
    """Names of predictors with neither demonstrations nor an instruction of their own."""
    old = dict(before.named_predictors())
    return tuple(
        name
        for name, predictor in after.named_predictors()
        if not predictor.demos
        and predictor.signature.instructions == old[name].signature.instructions
    )
