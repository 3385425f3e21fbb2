"""Which answers count as right: a metric, by name or as a callable, and the score that passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import dspy

from ..errors import InputError
from ..metrics import containment, exact_match, fact_recall

Metric = Literal["em", "fact_recall"] | Callable[..., Any]
PASSING = 0.5  # ours: an exact match is 0 or 1; half of the facts make a long answer right


def as_right(
    metric: Metric, passing: float = PASSING
) -> Callable[[dspy.Example, dspy.Prediction], bool | None]:
    """Turn a metric into a judge of right and wrong.

    Args:
        metric: ``em`` (label ``answers``), ``fact_recall`` (label ``facts``: those whose words
            stand in the text, a lower bound; pass a callable with a judge for entailment), or a
            DSPy metric ``(example, prediction) -> score``; what has a ``score`` counts by it.
        passing: Score from which an answer is right, in [0, 1].

    Returns:
        (example, prediction) -> right, or None when the metric says nothing.

    Raises:
        InputError: The metric is unknown or the score is outside [0, 1].
    """
    if not 0 <= passing <= 1:
        raise InputError(f"passing is {passing!r}: give a score in [0, 1].")
    measure = as_measure(metric)

    def right(example: dspy.Example, prediction: dspy.Prediction) -> bool | None:
        score = measure(example, prediction)
        return None if score is None else score >= passing

    return right


def as_measure(metric: Metric) -> Callable[[dspy.Example, dspy.Prediction], float | None]:
    """Turn a metric, by name or as a callable, into a score; see `as_right`.

    Returns:
        (example, prediction) -> score, or None when the metric says nothing.

    Raises:
        InputError: The metric is unknown.
    """
    named: dict[str, Callable[..., Any]] = {"em": _em, "fact_recall": _fact_recall}
    if not callable(metric) and metric not in named:
        raise InputError(
            f"There is no metric {metric!r}: choose {', '.join(named)}, or pass a callable."
        )
    measure = metric if callable(metric) else named[metric]

    def score(example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        found = measure(example, prediction)
        found = getattr(found, "score", found)
        return None if found is None else float(found)

    return score


def _em(example: dspy.Example, prediction: dspy.Prediction) -> float | None:
    gold = example.get("answers")
    return exact_match(prediction.answer, gold) if gold else None


def _fact_recall(example: dspy.Example, prediction: dspy.Prediction) -> float | None:
    report = prediction.get("report")
    text = report.text if report else prediction.answer
    return fact_recall([containment(text, [fact]) == 1.0 for fact in example.get("facts") or ()])
