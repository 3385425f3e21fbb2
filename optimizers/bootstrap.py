"""Demonstrations from the teacher's own successful runs, for every predictor that took part.

dspy's `BootstrapFewShot` stops after so many successful examples, and a predictor of a rare branch
then has none; it prints, and prompts outgrow a small window. Here the search goes on until each
predictor has its demonstrations or no more come, and long documents are cut.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import dspy

from ..programs import Program
from ..runtime.fan_out import fan_out
from .demonstrations import Demonstration, choose, demonstration
from .runs import Run, chunks
from .scoring import accepted

DEMONSTRATIONS = 2  # ours: a small model reads 65 tokens a second, and each is read on every call
PATIENCE = 5  # ours: batches of rows that bring no predictor nearer to its demonstrations


class Bootstrap:
    """Optimizer ``bootstrap``.

    Args:
        demonstrations: Per predictor, at most.
    """

    name: ClassVar[str] = "bootstrap"

    def __init__(self, demonstrations: int = DEMONSTRATIONS) -> None:
        self.demonstrations = demonstrations

    def settings(self) -> dict[str, Any]:
        """See `Optimizer.settings`."""
        return {"demonstrations": self.demonstrations}

    def estimate(self, run: Run) -> int:
        """One pass over the training set, and one for each exercise of rare branches."""
        runs = (run.student, *run.student.exercises())
        return sum(run.bound(run.trainset, program) for program in runs)

    def compile(self, run: Run) -> Program:
        """See `Optimizer.compile`."""
        program = without_demonstrations(run.student)
        found = self.collect(run, run.seed)
        for name, predictor in program.named_predictors():
            predictor.demos = [d.as_example() for d in found[name]]
        return program

    def collect(self, run: Run, seed: int) -> dict[str, list[Demonstration]]:
        """Demonstrations per predictor, from the training set in the order of a seed."""
        teacher = _teacher(run)
        pool = _Pool(teacher, self.demonstrations)
        order = list(enumerate(run.trainset))
        random.Random(seed).shuffle(order)
        for program in (teacher, *teacher.exercises()):
            idle = 0
            for chunk in chunks(order):
                if pool.full or run.meter.exhausted or idle == PATIENCE:
                    break
                calls = [partial(_successful_trace, run, program, e) for _, e in chunk]
                traces: list[Any] = fan_out(calls)
                added = pool.add({n: t for (n, _), t in zip(chunk, traces, strict=True)})
                idle = 0 if added else idle + 1
                run.tell(f"demonstrations: {pool}")
        return pool.chosen()


class _Pool:
    """The demonstrations found so far, per predictor of a teacher."""

    def __init__(self, teacher: Program, count: int) -> None:
        self.count = count
        self.names = {id(p): name for name, p in teacher.named_predictors()}
        self.found: dict[str, list[Demonstration]] = {n: [] for n in self.names.values()}

    def __str__(self) -> str:
        having = sum(bool(found) for found in self.found.values())
        return f"{having} of {len(self.found)} predictors have one"

    @property
    def full(self) -> bool:
        """Whether each predictor has as many as it can get."""
        return all(len(found) == self.count for found in self.chosen().values())

    def chosen(self) -> dict[str, list[Demonstration]]:
        """The best of what was found."""
        return {name: choose(found, self.count) for name, found in self.found.items()}

    def add(self, traces: Mapping[int, Sequence[Any]]) -> int:
        """Take the calls of successful runs for those predictors that need more; how many."""
        before = sum(map(len, self.found.values()))
        full = {name for name, found in self.chosen().items() if len(found) == self.count}
        for number, trace in traces.items():
            for predictor, inputs, outputs in trace:
                made = demonstration(number, predictor.signature, inputs, outputs)
                name = self.names[id(predictor)]
                if made is not None and name not in full:
                    self.found[name].append(made)
        return sum(map(len, self.found.values())) - before


def without_demonstrations(program: Program) -> Program:
    """A copy whose predictors have no demonstrations; instructions stay."""
    bare = program.deepcopy()
    for predictor in bare.predictors():
        predictor.demos = []
    return bare


def _teacher(run: Run) -> Program:
    """The student as the teacher plays it: with another backbone, that one answers every call."""
    teacher = without_demonstrations(run.student)
    if run.teacher_lm is not run.lm:
        teacher.lms = dict.fromkeys(teacher.lms, run.teacher_lm)
        for predictor in teacher.predictors():
            predictor.lm = None
    return teacher.on(run.teacher_lm)


def _successful_trace(run: Run, teacher: Program, example: dspy.Example) -> Sequence[Any]:
    with dspy.context(trace=[]):
        prediction = teacher(**example.inputs())
        trace = list(dspy.settings.trace)
    return trace if accepted(run.metric.score(example, prediction)) else []
