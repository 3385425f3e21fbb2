"""One bound on the requests in flight per backbone, for threads and for asyncio alike."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager

DEFAULT_LIMIT = 16  # ours: what hosted providers take from one key without rate limits


class Limiter:
    """A counting limit whose slots are handed on in order of arrival.

    A `threading.Semaphore` would block an event loop, an `asyncio.Semaphore` belongs to one loop;
    waiting on futures serves both, so threads and tasks that use one backbone share one limit.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold one slot; waits until one is free."""
        waiter = self._enter()
        if waiter is not None:
            waiter.result()
        try:
            yield
        finally:
            self._leave()

    @asynccontextmanager
    async def aslot(self) -> AsyncIterator[None]:
        """The twin of `slot` for coroutines."""
        waiter = self._enter()
        if waiter is not None:
            try:
                await asyncio.wrap_future(waiter)
            except asyncio.CancelledError:
                self._abandon(waiter)
                raise
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> Future[None] | None:
        with self._lock:
            if self.in_flight < self.limit:
                self.in_flight += 1
                return None
            waiter: Future[None] = Future()
            self._waiting.append(waiter)
            return waiter

    def _leave(self) -> None:
        with self._lock:
            while self._waiting:
                waiter = self._waiting.popleft()
                # A waiter that was cancelled meanwhile gives its turn to the next.
                if waiter.set_running_or_notify_cancel():
                    waiter.set_result(None)
                    return
            self.in_flight -= 1

    def _abandon(self, waiter: Future[None]) -> None:
        # Cancelled after the slot was handed over: hand it on.
        if waiter.done() and not waiter.cancelled():
            self._leave()


_limiters: dict[object, Limiter] = {}
_lock = threading.Lock()


def limiter(backbone: object, limit: int | None = None) -> Limiter:
    """The limiter of a backbone (any hashable identity), made on first use.

    Args:
        backbone: Identity of the backbone.
        limit: A new bound on its requests in flight, at least 1; None keeps the one it has.
    """
    with _lock:
        found = _limiters.get(backbone)
        if found is None:
            found = _limiters[backbone] = Limiter(limit or DEFAULT_LIMIT)
        elif limit:
            found.limit = limit
        return found
