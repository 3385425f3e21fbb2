"""One algorithm for sync and async: programs yield waves of calls, a driver runs them.

A program's core is a generator. It yields a `Wave` of independent calls and is sent their replies,
in order; what it returns is the result. So the algorithm is written once and reads from top to
bottom, the number of waves on the critical path can be counted, and threads and asyncio differ only
in the driver.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from ..runtime.failures import CALL_FAILURES
from ..runtime.fan_out import afan_out, fan_out
from ..runtime.meter import current_meter

T = TypeVar("T")
Reply: TypeAlias = Any  # a dspy.Prediction, or the exception that the call failed with


@dataclass(frozen=True)
class Call:
    """One call of a predictor.

    Attributes:
        predictor: The predictor (an attribute of the program, so that optimizers find it).
        inputs: The signature's input fields.
        config: Options of this request (``seed``, ``rollout_id``, ``temperature``, ...).
        role: The role whose LM answers, when the program has one for it.
    """

    predictor: dspy.Predict
    inputs: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=dict)
    role: str = ""


@dataclass(frozen=True, eq=False)
class Task:
    """One call of a plain function (a retriever): it may wait for I/O, but asks no LM itself."""

    run: Callable[[], Any]


@dataclass(frozen=True)
class Wave:
    """Independent calls of one stage, run together."""

    stage: str
    calls: Sequence[Call | Task]


Steps = Generator[Wave, list[Any], T]


@dataclass
class Clock:
    """Seconds per stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def add(self, stage: str, started: float) -> None:
        """Add the time since ``started`` (`time.perf_counter`) to a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started


@dataclass(frozen=True)
class Progress:
    """How far a stage is: ``done`` of ``total`` calls."""

    stage: str
    done: int
    total: int


listener: ContextVar[Callable[[Progress], None] | None] = ContextVar(
    "referee_progress", default=None
)


class Driver:
    """Runs the waves of a program with the LMs of its roles."""

    def __init__(self, lms: Mapping[str, dspy.BaseLM], clock: Clock) -> None:
        self.lms, self.clock = lms, clock

    def run(self, steps: Steps[T]) -> T:
        """Run to the end, each wave in threads."""
        replies: list[Reply] | None = None
        while True:
            try:
                wave = steps.send(replies) if replies is not None else next(steps)
            except StopIteration as done:
                return done.value
            started = time.perf_counter()
            tick = _ticker(wave)
            distinct, places = _distinct(wave.calls)
            calls = [partial(self._call, call, tick) for call in distinct]
            results = _checked(fan_out(calls, return_exceptions=True))
            replies = [results[i] for i in places]
            self.clock.add(wave.stage, started)

    async def arun(self, steps: Steps[T]) -> T:
        """Run to the end, each wave on the event loop."""
        replies: list[Reply] | None = None
        while True:
            try:
                wave = steps.send(replies) if replies is not None else next(steps)
            except StopIteration as done:
                return done.value
            started = time.perf_counter()
            tick = _ticker(wave)
            distinct, places = _distinct(wave.calls)
            calls = [partial(self._acall, call, tick) for call in distinct]
            results = _checked(await afan_out(calls, return_exceptions=True))
            replies = [results[i] for i in places]
            self.clock.add(wave.stage, started)

    def _call(self, call: Call | Task, tick: Callable[[], None]) -> Any:
        try:
            if isinstance(call, Task):
                return call.run()
            with self._as(call.role):
                return call.predictor(**call.inputs, config=dict(call.config))
        finally:
            tick()

    async def _acall(self, call: Call | Task, tick: Callable[[], None]) -> Any:
        try:
            if isinstance(call, Task):
                return await asyncio.to_thread(call.run)
            with self._as(call.role):
                return await call.predictor.acall(**call.inputs, config=dict(call.config))
        finally:
            tick()

    def _as(self, role: str) -> AbstractContextManager[Any]:
        lm = self.lms.get(role)
        return dspy.context(lm=lm) if lm is not None else nullcontext()


def _distinct(calls: Sequence[Call | Task]) -> tuple[list[Call | Task], list[int]]:
    """Calls without repetitions, and for each given call the place of its reply among them."""
    distinct: list[Call | Task] = []
    known: dict[Any, int] = {}
    places = []
    for call in calls:
        key = call_identity(call)
        if key in known:
            current_meter().settle_cached()
        else:
            known[key] = len(distinct)
            distinct.append(call)
        places.append(known[key])
    return distinct, places


def _distinct_keys(calls: Sequence[Call | Task]) -> set[Any]:
    return {call_identity(call) for call in calls}


def call_identity(call: Call | Task) -> Any:
    """What tells a call from every other one; each task is one of its own."""
    if isinstance(call, Task):
        return call
    return call.predictor, repr(sorted(call.inputs.items())), repr(call.config), call.role


def _checked(results: Sequence[Any]) -> list[Reply]:
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, CALL_FAILURES):
            raise result
    return list(results)


def _ticker(wave: Wave) -> Callable[[], None]:
    """A function that tells the listener of one more ended call; list.append is atomic."""
    told = listener.get()
    if told is None:
        return lambda: None
    ended: list[None] = []
    total = len(_distinct_keys(wave.calls))
    told(Progress(wave.stage, 0, total))

    def tick() -> None:
        ended.append(None)
        told(Progress(wave.stage, len(ended), total))

    return tick
