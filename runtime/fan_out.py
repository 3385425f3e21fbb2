"""Independent calls, run together: results, traces and usage as if they ran one after the other.

Worker threads and tasks inherit the caller's context (LM, adapter, meter), and the traces of the
calls are joined in input order, so optimizers see every call and demonstrations are reproducible
(`dspy.Parallel` loses usage and orders traces by completion). How many requests run at once is
bounded by the backbone's own limit (`limits.py`), not here.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import dspy

T = TypeVar("T")
Outcome = tuple[Any, list[Any]]

MAX_THREADS = 128


def fan_out(
    calls: Sequence[Callable[[], T]], *, return_exceptions: bool = False
) -> list[T | Exception]:
    """Run zero-argument callables together.

    Args:
        calls: The callables; an empty list gives an empty list.
        return_exceptions: Put a failed call's exception in its place instead of raising the first.

    Returns:
        Their results, in input order.

    Raises:
        Exception: The first failure in input order, after all calls have ended.
    """
    if not calls:
        return []
    parent = dspy.settings.trace
    if len(calls) == 1:
        outcomes = [_run(parent, calls[0])]
    else:
        pool = ThreadPoolExecutor(max_workers=min(MAX_THREADS, len(calls)))
        try:
            futures = [
                pool.submit(contextvars.copy_context().run, _run, parent, call) for call in calls
            ]
            outcomes = [future.result() for future in futures]
        finally:
            # On Ctrl-C nobody waits for requests in flight; otherwise all have ended by now.
            pool.shutdown(wait=False, cancel_futures=True)
    return _join(parent, outcomes, return_exceptions)


async def afan_out(
    calls: Sequence[Callable[[], Awaitable[T]]], *, return_exceptions: bool = False
) -> list[T | Exception]:
    """The twin of `fan_out` for zero-argument functions that return awaitables."""
    parent = dspy.settings.trace
    outcomes = await asyncio.gather(*[_arun(parent, call) for call in calls])
    return _join(parent, outcomes, return_exceptions)


def _run(parent: list[Any] | None, call: Callable[[], Any]) -> Outcome:
    try:
        if parent is None:
            return call(), []
        with dspy.context(trace=[]):
            return call(), list(dspy.settings.trace)
    except Exception as error:  # noqa: BLE001 - kept as the call's result
        return error, []


async def _arun(parent: list[Any] | None, call: Callable[[], Awaitable[Any]]) -> Outcome:
    try:
        if parent is None:
            return await call(), []
        with dspy.context(trace=[]):
            return await call(), list(dspy.settings.trace)
    except Exception as error:  # noqa: BLE001 - kept as the call's result
        return error, []


def _join(
    parent: list[Any] | None, outcomes: Sequence[Outcome], return_exceptions: bool
) -> list[Any]:
    if parent is not None:
        for _, trace in outcomes:
            parent.extend(trace)
            del parent[: max(0, len(parent) - dspy.settings.max_trace_size)]
    results = [result for result, _ in outcomes]
    first = next((r for r in results if isinstance(r, Exception)), None)
    if first is not None and not return_exceptions:
        raise first
    return results
