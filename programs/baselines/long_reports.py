"""From what a baseline wrote to a `Report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...metrics.refusal import is_no_answer
from ...runtime.failures import failure
from ...runtime.records import Report
from ..base import Case


def finished(text: str, how: str, stages: Mapping[str, Any] | None = None) -> Report:
    """A report of a text, or of an abstention where the text is a refusal.

    Args:
        text: As the model wrote it.
        how: One sentence: how it came about.
        stages: Counts of what happened on the way.
    """
    text, counts = text.strip(), dict(stages or {})
    if is_no_answer(text):
        reason = f"Abstained: the model finds no answer. {how}"
        return Report(status="abstained", abstained=True, explanation=reason, stages=counts)
    return Report(text=text, explanation=how, stages=counts)


def broken(error: Exception, text: str = "", stages: Mapping[str, Any] | None = None) -> Report:
    """A report of a failed request; what was written before it is kept.

    Args:
        error: Why the request failed.
        text: What was written so far.
        stages: Counts of what happened on the way.
    """
    status, sentence = failure(error)
    kept = " What was written before is kept, unfinished." if text else ""
    return Report(status=status, text=text, explanation=sentence + kept, stages=dict(stages or {}))


def may_ask(case: Case, requests: int = 1) -> bool:
    """Whether the budget holds so many requests and the one for the answer."""
    left = case.meter.remaining()
    return left is None or left > requests


def whole_number(name: str, value: Any, least: int) -> int:
    """An option that bounds a loop.

    Raises:
        InputError: It is no whole number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {value!r}: give a whole number of at least {least}.")
    return value
