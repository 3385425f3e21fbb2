"""What a tuning found: its trials, the best of them, and how sure that is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..metrics import Interval, PairedComparison
from ..programs import Program
from ..runtime.records import Usage
from .study import Trial


@dataclass(frozen=True)
class Tuning:
    """What a tuning found.

    Attributes:
        program: A copy with the best values.
        best: Its trial: the best score; of several, with `pareto`, the one that takes the fewest
            requests, else the first.
        default: The unchanged program, trial 0.
        trials: All trials that ended, in order.
        front: Trials that no other one beats in score and requests both; with `pareto` only.
        interval: 95 % bootstrap interval of the best score. It is the best of many on these rows:
            only rows that were not tuned on tell what to expect.
        gain: Best minus default on the same rows, with its interval.
        rows: Rows that were scored; ``unscored`` ones failed at the defaults and count nowhere.
        importances: How much each value matters; None when no value made a difference.
        usage: What this run cost; the first pass alone took ``first_pass`` requests of it.
        complete: False when the budget ended it early.
    """

    program: Program
    best: Trial
    default: Trial
    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    interval: Interval
    gain: PairedComparison
    rows: int
    unscored: int
    importances: Mapping[str, float] | None
    usage: Usage
    first_pass: int
    complete: bool
    study: Any = field(repr=False, compare=False)

    @property
    def record(self) -> dict[str, Any]:
        """All of it but program and study, as JSON-ready data."""
        return {
            "best": _plain(self.best),
            "default": _plain(self.default),
            "interval": list(self.interval),
            "gain": self.gain._asdict(),
            "rows": self.rows,
            "unscored": self.unscored,
            "importances": self.importances,
            "front": [t.number for t in self.front],
            "trials": [_plain(t) for t in self.trials],
            "first_pass": self.first_pass,
            "usage": self.usage.model_dump(),
            "complete": self.complete,
        }


def rank(trial: Trial, *, pareto: bool) -> tuple[float, float, int]:
    """The best trial has the smallest one: by score, then requests with ``pareto``, then age."""
    return -trial.score, trial.requests if pareto else 0.0, trial.number


def front(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that no other beats; of equal ones the first. By requests."""
    best: list[Trial] = []
    for trial in sorted(trials, key=lambda t: (t.requests, -t.score, t.number)):
        if not best or trial.score > best[-1].score:
            best.append(trial)
    return best


def on(rows: Sequence[int], trial: Trial, default: Trial) -> list[float]:
    """Scores of the rows; where a trial has none it counts as the defaults did."""
    pairs = [(trial.scores[n], default.scores[n]) for n in rows]
    return [float((d if s is None else s) or 0.0) for s, d in pairs]


def _plain(trial: Trial) -> dict[str, Any]:
    plain = dataclasses.asdict(trial)
    plain.pop("scores")
    return plain
