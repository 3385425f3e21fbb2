"""How judges ask: several items in a request, requests together, failures apart.

A judge's core is a generator: it yields the requests of one round and is sent their replies, so
one core serves threads and asyncio, and judges compose. An item without a readable verdict is
unscored (None): never false, never zero.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from ...errors import InputError
from ...runtime.exchange import channel
from ...runtime.failures import CALL_FAILURES, failure
from ...runtime.fan_out import afan_out, fan_out
from ...runtime.meter import Budget, Meter, current_meter, metered, nested_meter

T = TypeVar("T")
Reply: TypeAlias = Any  # a dspy.Prediction, or the exception that the request failed with
Rounds: TypeAlias = Generator[Sequence["Ask"], Sequence[Reply], T]

PER_REQUEST = 5  # RAGChecker's number of claims checked jointly


@dataclass(frozen=True)
class Ask:
    """One request: a predictor (an attribute of the judge, for optimizers) and its inputs."""

    predictor: dspy.Predict
    inputs: Mapping[str, Any]


class Judge(dspy.Module):
    """Base of the judges: their stage, and how their rounds are run.

    A judge asks the LM of the surrounding `dspy.context`; ``judge.set_lm(lm)`` gives it one of its
    own, which keeps it when programs under test run on another. Every Prediction has ``notes``
    (failed requests, texts cut to fit, one sentence each) and ``usage`` (`runtime.Usage`).
    """

    def run(self, rounds: Rounds[dict[str, Any]], budget: Budget | None) -> dspy.Prediction:
        """Run the rounds, the requests of each in threads."""
        with _staged(budget) as meter:
            replies: Any = None
            while True:
                try:
                    asks = rounds.send(replies)
                except StopIteration as done:
                    return _prediction(done.value, meter)
                calls = [partial(ask.predictor, **ask.inputs) for ask in asks]
                replies = _checked(fan_out(calls, return_exceptions=True))

    async def arun(self, rounds: Rounds[dict[str, Any]], budget: Budget | None) -> dspy.Prediction:
        """Run the rounds, the requests of each on the event loop."""
        with _staged(budget) as meter:
            replies: Any = None
            while True:
                try:
                    asks = rounds.send(replies)
                except StopIteration as done:
                    return _prediction(done.value, meter)
                calls = [partial(ask.predictor.acall, **ask.inputs) for ask in asks]
                replies = _checked(await afan_out(calls, return_exceptions=True))


def together(*parts: Rounds[Any]) -> Rounds[list[Any]]:
    """Run several cores side by side: their first rounds are one round, and so on.

    Returns:
        What each core returns, in order.
    """
    results: list[Any] = [None] * len(parts)
    waiting: dict[int, Sequence[Ask]] = {}

    def advance(index: int, replies: Any) -> None:
        try:
            waiting[index] = parts[index].send(replies)
        except StopIteration as done:
            results[index] = done.value

    for index in range(len(parts)):
        advance(index, None)
    while waiting:
        asked, waiting = waiting, {}
        replies = iter((yield [ask for asks in asked.values() for ask in asks]))
        for index, asks in asked.items():
            advance(index, [next(replies) for _ in asks])
    return results


def as_per_request(per_request: int) -> int:
    """Return a number of items for one request.

    Raises:
        InputError: It is no whole number of at least 1.
    """
    if isinstance(per_request, bool) or not isinstance(per_request, int) or per_request < 1:
        raise InputError(
            f"per_request is {per_request!r}: give a whole number of items, at least 1."
        )
    return per_request


def as_texts(name: str, texts: Sequence[str]) -> list[str]:
    """Return a list of texts that are not blank.

    Raises:
        InputError: It is a lone string, or an entry is blank or no text.
    """
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InputError(f"{name} is {texts!r:.80}: pass a list of texts.")
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name} holds {text!r:.80}: pass texts that are not blank.")
    return list(texts)


def as_text(name: str, text: str) -> str:
    """Return a text; it may be blank.

    Raises:
        InputError: It is no text.
    """
    if not isinstance(text, str):
        raise InputError(f"{name} is {text!r:.80}: pass a text.")
    return text


@contextmanager
def _staged(budget: Budget | None) -> Iterator[Meter]:
    meter = nested_meter(budget)
    with metered(meter), dspy.context(adapter=channel()):
        yield meter


def _prediction(fields: dict[str, Any], meter: Meter) -> dspy.Prediction:
    return dspy.Prediction(**fields, notes=meter.notes, usage=meter.usage())


def _checked(replies: Sequence[Any]) -> list[Reply]:
    for reply in replies:
        if not isinstance(reply, Exception):
            continue
        if not isinstance(reply, CALL_FAILURES):
            raise reply
        current_meter().note(failure(reply)[1])
    return list(replies)
