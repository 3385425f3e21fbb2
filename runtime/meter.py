"""What a run costs and may cost: a meter that every request passes, with an optional budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..errors import BudgetExceeded, InputError
from .records import Usage


@dataclass(frozen=True)
class Budget:
    """Upper bounds for one run; None leaves a quantity unbounded.

    Requests are bounded exactly. Tokens and dollars are known only when a reply is in, so requests
    in flight at that moment may exceed them. Cached requests are free.

    Attributes:
        requests: Requests that reach a backbone, at least 1.
        tokens: Input and output tokens together.
        usd: US dollars; a request without a known price ends the run, since nothing bounds it.
    """

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("requests", "tokens", "usd"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not 0 < value < float("inf")):
                raise InputError(f"Budget {name} is {value!r}: give a positive number.")


@dataclass
class _Count:
    requests: int = 0
    cached: int = 0
    tokens: int = 0
    reported: int = 0
    cost: float = 0.0
    unpriced: int = 0
    repaired: int = 0


class Meter:
    """Counts requests, tokens and dollars of one run, and stops it when the budget is spent.

    Args:
        budget: Bounds on this run.
        within: The meter of a larger run that this one is a part of: what is counted here is
            counted there too, and its budget bounds both.

    Attributes:
        exhausted: Whether a request was refused, or left out, because of the budget.
    """

    def __init__(self, budget: Budget | None = None, within: Meter | None = None) -> None:
        self.budget, self.within = budget or Budget(), within
        self._count = _Count()
        self._in_flight = 0
        self._stopped = False
        self.exhausted = False
        self._notes: dict[str, None] = {}
        self._lock = threading.Lock()

    def reserve(self) -> None:
        """Claim one request before it is sent.

        Raises:
            BudgetExceeded: The request would exceed the budget.
        """
        with self._lock:
            reason = self._spent()
            if reason:
                self.exhausted = True
                raise BudgetExceeded(f"The budget is spent: {reason}.")
            self._in_flight += 1
        if self.within is not None:
            try:
                self.within.reserve()
            except BudgetExceeded:
                with self._lock:
                    self._in_flight -= 1
                    self.exhausted = True
                raise

    def stop(self) -> None:
        """Refuse every further request, as if the budget were spent."""
        with self._lock:
            self._stopped = True

    def remaining(self) -> int | None:
        """Requests that this budget and the larger run's still allow; None without a bound."""
        left = [] if self.within is None else [self.within.remaining()]
        with self._lock:
            if self.budget.requests is not None:
                used = self._count.requests + self._in_flight
                left.append(max(0, self.budget.requests - used))
        return min((n for n in left if n is not None), default=None)

    def spent(self, left_out: str) -> None:
        """Say what was left out because of the budget."""
        self.exhausted = True
        self.note(left_out)

    def settle(self, usage: Mapping[str, Any] | None, cost: float | None) -> None:
        """Book a request that was reserved and has reached the backbone."""
        tokens = _total_tokens(usage or {})
        with self._lock:
            self._in_flight -= 1
            self._count.requests += 1
            self._count.tokens += tokens or 0
            self._count.reported += tokens is not None
            self._count.cost += cost or 0.0
            self._count.unpriced += cost is None
        if self.within is not None:
            self.within.settle(usage, cost)

    def settle_cached(self, *, reserved: bool = False) -> None:
        """Book a request that the cache, or an equal request in flight, has answered."""
        with self._lock:
            self._in_flight -= reserved
            self._count.cached += 1
        if self.within is not None:
            self.within.settle_cached(reserved=reserved)

    def repaired(self) -> None:
        """Count a reply that was repaired before it could be read."""
        with self._lock:
            self._count.repaired += 1
        if self.within is not None:
            self.within.repaired()

    def note(self, text: str) -> None:
        """Keep a sentence for the reader of the result, once."""
        with self._lock:
            self._notes.setdefault(text)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences kept, in order."""
        return tuple(self._notes)

    def usage(self) -> Usage:
        """What has been spent so far."""
        with self._lock:
            c = self._count
            return Usage(
                requests=c.requests,
                cached=c.cached,
                tokens=c.tokens if c.reported or not c.requests else None,
                cost=None if c.unpriced else c.cost,
                repaired=c.repaired,
            )

    def _spent(self) -> str:
        b, c = self.budget, self._count
        if self._stopped:
            return "the run was stopped"
        if b.requests is not None and c.requests + self._in_flight >= b.requests:
            return f"{b.requests} requests"
        if b.tokens is not None and c.tokens >= b.tokens:
            return f"{c.tokens} of {b.tokens} tokens"
        if b.usd is not None and c.unpriced:
            return "the price of this backbone is not known, so no sum in dollars can bound it"
        if b.usd is not None and c.cost >= b.usd:
            return f"{c.cost:.4f} of {b.usd} US dollars"
        return ""


def _total_tokens(usage: Mapping[str, Any]) -> int | None:
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    known = [p for p in parts if isinstance(p, int)]
    return sum(known) if known else None


_current: ContextVar[Meter | None] = ContextVar("referee_meter", default=None)


def current_meter() -> Meter:
    """The meter of the run around this call; a throwaway one outside any run."""
    return _current.get() or Meter()


def nested_meter(budget: Budget | None = None) -> Meter:
    """A meter for a part of the run around this call, if there is one."""
    return Meter(budget, within=_current.get())


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Make ``meter`` the current one, threads and tasks of `fan_out` included."""
    token = _current.set(meter)
    try:
        yield meter
    finally:
        _current.reset(token)
