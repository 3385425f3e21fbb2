"""One question answered again and again under other values: what they do not change is kept.

A tuner runs the real program for every choice of thresholds. Around each question it holds a
`Replay`, and a program names, for each stage, what that stage depends on (`remembered`). A stage
whose key was met before is not run again, and a request that was answered before is not made
again. Outside a replay a stage simply runs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from ..runtime.failures import failure
from .steps import Call, Reply, Steps, Wave, call_identity

T = TypeVar("T")

STAGES = 128  # ours: kept a question, the least recently used go first


class _Kept(NamedTuple):
    result: Any
    requests: int


class Replay:
    """What the runs on one question share.

    Attributes:
        requests: Requests that the present run stands for, as if nothing had been kept.
        failed: Replies of the present run that are failures; nothing that holds one is kept.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.failed: list[Exception] = []
        self._stages: dict[Hashable, _Kept] = {}
        self._replies: dict[Hashable, Reply] = {}

    def begin(self) -> None:
        """A new run begins."""
        self.requests, self.failed = 0, []

    @property
    def lost(self) -> list[Exception]:
        """Failures that the next run may not meet: all but replies that cannot be read."""
        return [error for error in self.failed if failure(error)[0] != "parse_error"]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Stages that run in this context are of this question."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def steps(self, steps: Steps[T]) -> Steps[T]:
        """The program's steps without the requests whose replies are known."""
        replies: list[Reply] | None = None
        while True:
            try:
                wave = steps.send(replies) if replies is not None else next(steps)
            except StopIteration as done:
                result: T = done.value
                return result
            replies = yield from self._answered(wave)

    def _answered(self, wave: Wave) -> Steps[list[Reply]]:
        keys = [call_identity(call) for call in wave.calls]
        asked = {k for k, call in zip(keys, wave.calls, strict=True) if isinstance(call, Call)}
        self.requests += len(asked)
        # Copies, since a stage may take parts out of a reply (log-probabilities).
        known = {k: copy.deepcopy(self._replies[k]) for k in asked if k in self._replies}
        calls = {k: c for k, c in zip(keys, wave.calls, strict=True) if k not in known}
        if calls:
            found = yield Wave(wave.stage, list(calls.values()))
            known.update(zip(calls, found, strict=True))
        for key, reply in known.items():
            if isinstance(reply, Exception):
                self.failed.append(reply)
            elif key in asked:
                self._replies[key] = copy.deepcopy(reply)
        return [known[key] for key in keys]

    def get(self, key: Hashable) -> _Kept | None:
        """A kept stage; its requests count again."""
        kept = self._stages.pop(key, None)
        if kept is not None:
            self._stages[key] = kept  # the most recently used one stands last
            self.requests += kept.requests
        return kept

    def put(self, key: Hashable, result: Any, requests: int) -> None:
        """Keep a stage, unless it rests on what an earlier one of this run lost."""
        if self.lost:
            return
        self._stages[key] = _Kept(result, requests)
        if len(self._stages) > STAGES:
            del self._stages[next(iter(self._stages))]


_current: ContextVar[Replay | None] = ContextVar("referee_replay", default=None)


def remembered(key: Hashable, steps: Steps[T]) -> Steps[T]:
    """Run a stage, or give what it gave before in this replay.

    Args:
        key: All that the stage depends on, the question and the program's fixed settings apart.
        steps: The stage, not started.
    """
    replay = _current.get()
    if replay is None:
        return (yield from steps)
    kept = replay.get(key)
    if kept is not None:
        known: T = kept.result
        return known
    requests, failures = replay.requests, len(replay.failed)
    result = yield from steps
    if len(replay.failed) == failures:
        replay.put(key, result, replay.requests - requests)
    return result


def computed(key: Hashable, make: Callable[[], T]) -> T:
    """The twin of `remembered` for what needs no request."""
    replay = _current.get()
    if replay is None:
        return make()
    kept = replay.get(key)
    if kept is not None:
        known: T = kept.result
        return known
    result = make()
    replay.put(key, result, 0)
    return result


def stand_for(requests: int) -> None:
    """Count requests that were not made because their replies follow from others."""
    replay = _current.get()
    if replay is not None:
        replay.requests += requests
