"""Progress on stderr: bars on a terminal, plain lines elsewhere, nothing on stdout."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from referee.printable import printable

EVERY = 5.0  # seconds between plain lines


@contextmanager
def pulling() -> Iterator[Callable[[Any], None]]:
    """A callback for `runtime.weights.ensure` that shows how far the weights are."""
    if sys.stderr and sys.stderr.isatty():
        with _bars() as bars:
            tasks: dict[str, Any] = {}

            def show(event: Any) -> None:
                if event.stage not in tasks:
                    tasks[event.stage] = bars.add_task(event.stage, total=event.total)
                label = f"{event.stage} {event.note}".strip()
                bars.update(
                    tasks[event.stage], description=label, completed=event.done, total=event.total
                )

            yield show
        return
    last: dict[str, Any] = {"stage": "", "time": 0.0}
    lock = threading.Lock()

    def say(event: Any) -> None:
        now = time.monotonic()
        with lock:
            if event.stage == last["stage"] and now - last["time"] < EVERY:
                return
            last.update(stage=event.stage, time=now)
        done, total = event.done / 1e6, (event.total or 0) / 1e6
        amount = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB" * bool(done)
        _line(" ".join(part for part in (event.stage, amount, event.note) if part))

    yield say


@contextmanager
def stages() -> Iterator[None]:
    """Show the stages of programs that run inside."""
    from referee.programs.steps import listener

    if sys.stderr and sys.stderr.isatty():
        with _stage_bars() as show:
            token = listener.set(show)
            try:
                yield
            finally:
                listener.reset(token)
        return
    token = listener.set(lambda p: _line(f"{p.stage} {p.done}/{p.total}"))
    try:
        yield
    finally:
        listener.reset(token)


@contextmanager
def rows() -> Iterator[Callable[[Any], None]]:
    """A callback for `runner.Progress`: how many rows, how fast, how long still, at what cost."""
    if sys.stderr and sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            yield _throttled(lambda text: status.update(text), 0.1)
        return
    yield _throttled(_line, EVERY)


def say(text: str) -> None:
    """A sentence on stderr."""
    _line(printable(text))


def _throttled(show: Callable[[str], None], every: float) -> Callable[[Any], None]:
    """Shows the first event of each program, the last, and one in ``every`` seconds between."""
    started: dict[str, float] = {}
    last = {"time": 0.0}

    def tell(event: Any) -> None:
        now = time.monotonic()
        began = started.setdefault(event.program, now)
        if began != now and event.done != event.total and now - last["time"] < every:
            return
        last["time"] = now
        show(row_line(event, now - began))

    return tell


def row_line(event: Any, seconds: float) -> str:
    """One line on how far a run over rows is, ``seconds`` after its first row."""
    rate = (event.done - event.before - 1) / seconds if seconds else 0.0
    of = "" if event.total is None else f"/{event.total:,}"
    parts = [f"{event.program} {event.done:,}{of} rows"]
    if rate:
        parts.append(f"{rate:.1f} rows/s")
    if rate and event.total is not None and event.total > event.done:
        parts.append(f"about {_duration((event.total - event.done) / rate)} left")
    usage = event.usage
    cached = f" and {usage.cached:,} cached" if usage.cached else ""
    parts.append(f"{usage.requests:,} requests{cached}")
    parts.append("cost unknown" if usage.cost is None else f"${usage.cost:.4f}")
    if event.failed:
        parts.append(f"{event.failed:,} failed")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _line(text: str) -> None:
    # A closed or full stderr must not cost the answer.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


@contextmanager
def _bars() -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars


@contextmanager
def _stage_bars() -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}
        lock = threading.Lock()

        def show(event: Any) -> None:
            with lock:
                if event.stage not in tasks:
                    tasks[event.stage] = bars.add_task(event.stage, total=event.total)
                bars.update(tasks[event.stage], completed=event.done, total=event.total)

        yield show
