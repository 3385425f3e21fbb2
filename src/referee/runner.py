"""Many questions through one program: a window of rows in flight, a record for each."""

from __future__ import annotations

import contextvars
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import dspy

from referee.errors import BackboneError, InputError, RefereeError
from referee.programs import Program
from referee.runtime import Budget, Meter, Usage, metered
from referee.runtime.capabilities import identity
from referee.runtime.failures import CALL_FAILURES, failure, redacted
from referee.runtime.limits import limiter
from referee.runtime.meter import nested_meter

T = TypeVar("T")
R = TypeVar("R")
Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One question for a program.

    Attributes:
        id: Names its record.
        question: What is asked, as it was given: the program checks it.
        documents: As `Program.forward` takes them; a function gets them when their turn comes.
        date: As-of date (ISO 8601).
        error: What is wrong with the question, when it cannot be asked.
    """

    id: str
    question: Any = ""
    documents: Any = ()
    date: str | None = None
    error: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        program: The program that runs.
        done: Rows with a record, those of earlier runs included.
        before: Rows among them that were finished before this run.
        total: Rows of the data, or None when nobody knows.
        failed: Rows among ``done`` that failed in this run.
        usage: What this run has spent so far, on all programs.
    """

    program: str
    done: int
    before: int
    total: int | None
    failed: int
    usage: Usage


def rows_in_flight(concurrency: int) -> int:
    """How many rows keep ``concurrency`` requests in flight.

    Some rows are always being written down, and a stage of one request leaves room for others: with
    64 requests and 100 rows of MACR, twice as many rows reach 92 % of the server's rate, 1.25 times
    84 %.
    """
    return 2 * concurrency


def bound(lms: Iterable[dspy.BaseLM], concurrency: int) -> None:
    """Let each backbone have ``concurrency`` requests in flight.

    Raises:
        InputError: ``concurrency`` is below 1.
    """
    if concurrency < 1:
        raise InputError(f"concurrency is {concurrency}: give at least 1.")
    for lm in lms:
        limiter(identity(lm), concurrency)


@contextmanager
def long_run(lm: dspy.BaseLM, budget: Budget | None = None) -> Iterator[Meter]:
    """What holds around many rows: their LM, one meter over all, no history, no trace.

    However it ends, rows that still run are refused further requests.
    """
    meter = nested_meter(budget)
    with dspy.context(lm=lm, trace=None, max_history_size=0), metered(meter):
        try:
            yield meter
        finally:
            meter.stop()


def in_window(items: Iterable[T], work: Callable[[T], R], width: int) -> Iterator[R]:
    """Results in the order in which they are ready; items are taken one by one, as they fit.

    Threads, not tasks: measured on one core with 64 requests in flight, dspy's synchronous path
    took 2.2 ms a request and its asynchronous one 2.8.

    Args:
        items: Taken by the thread that iterates, never more than ``width`` ahead of the results.
        work: Called in threads that inherit the context of the first call.
        width: Items in flight, at least 1.

    Raises:
        Exception: What ``work`` or ``items`` raised; items in flight are given up.
    """
    ready: queue.SimpleQueue[Future[R]] = queue.SimpleQueue()
    waiting, in_flight, more = iter(items), 0, True
    pool = ThreadPoolExecutor(max_workers=width)
    try:
        while more or in_flight:
            while more and in_flight < width:
                try:
                    item = next(waiting)
                except StopIteration:
                    more = False
                    break
                future = pool.submit(contextvars.copy_context().run, work, item)
                future.add_done_callback(ready.put)
                in_flight += 1
            if in_flight:
                done = ready.get()
                in_flight -= 1
                yield done.result()
    finally:
        # On Ctrl-C nobody waits for requests in flight.
        pool.shutdown(wait=False, cancel_futures=True)


def answer_all(
    program: Program, tasks: Iterable[Task], meter: Meter, concurrency: int
) -> Iterator[Record]:
    """A record for each task, as they are finished, until the budget is spent.

    Args:
        program: Answers the questions.
        tasks: Taken one by one.
        meter: The run's, of the `long_run` around this call.
        concurrency: Requests in flight.

    Raises:
        BackboneError: So many rows in a row failed at the provider that it must be down.
    """
    width = rows_in_flight(concurrency)
    patience = 2 * width  # two windows in a row: no row that was asked since has come through
    lost = 0
    for record in in_window(_until_spent(tasks, meter), lambda t: answer(program, t), width):
        yield record
        lost = lost + 1 if record["status"] == "provider_error" else 0
        if lost >= patience:
            raise BackboneError(
                f"The last {lost} rows all failed, so no more were asked: {record['error']} "
                "Run again to go on."
            )


def answer(program: Program, task: Task) -> Record:
    """Ask one question; whatever happens is a record with an honest status."""
    started = time.perf_counter()
    record: Record = {"id": task.id, **_asked(program, task)}
    record["seconds"] = round(time.perf_counter() - started, 4)
    return record


def _asked(program: Program, task: Task) -> Record:
    if task.error:
        return {"status": "input_error", "error": task.error, "result": None}
    try:
        documents = task.documents() if callable(task.documents) else task.documents
        prediction = program(question=task.question, documents=documents, date=task.date)
        outcome = prediction.get("report") or prediction.verdict
        return {"status": outcome.status, "error": _why(outcome), "result": outcome.record}
    except InputError as error:
        return {"status": "input_error", "error": str(error), "result": None}
    except CALL_FAILURES as error:
        status, why = failure(error)
        why = str(error) if isinstance(error, RefereeError) else why
        return {"status": status, "error": why, "result": None}
    except Exception as error:  # noqa: BLE001 - one row's bug is that row's status
        why = redacted(f"{type(error).__name__}: {error}")
        return {"status": "program_error", "error": why, "result": None}


def _why(outcome: Any) -> str:
    """Why a row failed, in one sentence."""
    if outcome.status in ("ok", "abstained"):
        return ""
    return str(getattr(outcome, "explanation", "") or "; ".join(outcome.notes))


def _until_spent(tasks: Iterable[Task], meter: Meter) -> Iterator[Task]:
    for task in tasks:
        if meter.exhausted:
            return
        yield task
