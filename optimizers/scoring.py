"""What scores a prediction: the metrics that have a name, or a function; and what counts as right.

Complete: every optimizer and command takes its metric from here; the measures themselves are in
`metrics.as_dspy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dspy

from ..errors import BackboneError, BudgetExceeded, InputError, ParseError
from ..metrics.as_dspy import answer_metric, fact_recall_metric, stated_facts_metric
from ..metrics.judges import PER_REQUEST, FactJudge
from ..runtime.backbones import display_name

Measure = Callable[..., Any]
PASSING = 0.5  # ours: an exact match is 0 or 1; half of the facts make a long answer right
METRICS = ("em", "fact_recall")
"""Metrics by the name that the command line takes."""

_UNSCORED = frozenset({"provider_error", "budget"})


def _nothing(_: dspy.Example) -> int:
    return 0


@dataclass(frozen=True)
class Metric:
    """What scores a prediction.

    Attributes:
        name: For reports; says how, where that is not plain.
        measure: ``(example, prediction)`` to a number in [0, 1], a bool, something with a
            ``score``, or None where nothing can be measured.
        label: The label of an example that it needs, or empty.
        explain: As ``measure``, to something with a ``feedback``; None where it has none to give.
        requests: Requests at most to score one answer to an example.
    """

    name: str
    measure: Measure
    label: str = ""
    explain: Measure | None = None
    requests: Callable[[dspy.Example], int] = field(default=_nothing)

    def check(self, examples: Iterable[dspy.Example]) -> None:
        """Refuse examples without the label, before anything is spent on them.

        Raises:
            InputError: An example lacks it.
        """
        for example in examples:
            if self.label and not example.get(self.label):
                raise InputError(
                    f"The example {example.question[:60]!r} has no {self.label!r}, which the "
                    f"metric {self.name} needs."
                )

    def measured(self, example: dspy.Example, prediction: Any) -> float | None:
        """The score of an answer; None where there is nothing to measure.

        Raises:
            RefereeError: The run, or the judge of it, failed.
        """
        if self.label and not example.get(self.label):
            return None
        found = self.measure(example, prediction)
        found = getattr(found, "score", found)
        return None if found is None else float(found)

    def score(self, example: dspy.Example, prediction: Any) -> float | None:
        """The score; None when a model failed or the budget was spent: that is no wrong answer.

        A reply of the program that cannot be read scores 0: compiling is to mend that.

        Args:
            example: With its labels.
            prediction: What the program gave.
        """
        if _status(prediction) in _UNSCORED:
            return None
        try:
            return self.measured(example, prediction)
        except ParseError:
            return 0.0
        except (BackboneError, BudgetExceeded):  # the judge
            return None

    def feedback(self, example: dspy.Example, prediction: Any) -> str:
        """What was right or missed, in words for the model that rewrites an instruction."""
        said = getattr((self.explain or self.measure)(example, prediction), "feedback", None)
        if said:
            return str(said)
        score = self.score(example, prediction)
        wanted = "; ".join(str(a) for a in example.get("answers") or example.get("facts") or ())
        given = getattr(prediction, "answer", "") or f"no answer ({_status(prediction) or 'none'})"
        verdict = "not scored" if score is None else f"{self.name} {score:g}"
        return f"The program answered {given!r}; expected: {wanted or 'not given'} ({verdict})."


def accepted(score: float | None) -> bool:
    """Whether a run was good enough to learn from."""
    return score is not None and score >= PASSING


def as_metric(metric: str | Measure | Metric, judge: dspy.BaseLM | None = None) -> Metric:
    """A metric by name, or a function of example and prediction.

    Args:
        metric: ``em`` (label ``answers``), ``fact_recall`` (label ``facts``), a function such as a
            DSPy metric, or a `Metric`.
        judge: The language model that judges which facts a text states; None: those count whose
            words stand in it, a lower bound.

    Raises:
        InputError: There is no metric of that name.
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    if metric == "em":
        return _named("em", answer_metric(), "answers")
    if metric == "fact_recall" and judge is None:
        return _named("fact_recall (word for word)", stated_facts_metric(), "facts")
    if metric == "fact_recall" and judge is not None:
        of_facts = FactJudge()
        of_facts.set_lm(judge)
        name = f"fact_recall (judge {display_name(judge)})"
        return _named(name, fact_recall_metric(of_facts), "facts", _judging)
    raise InputError(f"There is no metric {metric!r}: choose one of {', '.join(METRICS)}.")


def as_right(
    metric: str | Measure | Metric, passing: float = PASSING
) -> Callable[[dspy.Example, dspy.Prediction], bool | None]:
    """Turn a metric into a judge of right and wrong.

    Args:
        metric: As for `as_metric`.
        passing: Score from which an answer is right, in [0, 1].

    Returns:
        (example, prediction) -> right, or None when the metric says nothing. It raises a
        `RefereeError` when the run, or the judge of it, failed.

    Raises:
        InputError: The metric is unknown or the score is outside [0, 1].
    """
    measured = as_metric(metric).measured
    if not 0 <= passing <= 1:
        raise InputError(f"passing is {passing!r}: give a score in [0, 1].")

    def right(example: dspy.Example, prediction: dspy.Prediction) -> bool | None:
        score = measured(example, prediction)
        return None if score is None else score >= passing

    return right


def _named(
    name: str, measure: Measure, label: str, requests: Callable[[dspy.Example], int] = _nothing
) -> Metric:
    return Metric(name, measure, label, partial(measure, pred_name="program"), requests)


def _judging(example: dspy.Example) -> int:
    """Requests of `FactJudge`."""
    return math.ceil(len(example.facts) / PER_REQUEST)


def _status(prediction: Any) -> str:
    record = getattr(prediction, "verdict", None) or getattr(prediction, "report", None)
    return str(getattr(record, "status", ""))
