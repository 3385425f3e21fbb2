"""Examples to compile on, from rows of data or dspy examples, and what scores an answer to one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import dspy

from ..data import Row
from ..errors import InputError
from ..metrics import containment, exact_match, fact_recall
from ..runtime.documents import as_documents, as_question

Measure = Callable[[Any, Any], Any]
ACCEPTED = 0.5  # ours: EM is 0 or 1; a share is a success from one half on
_UNSCORED = frozenset({"provider_error", "budget"})


def as_examples(items: Iterable[Row | dspy.Example], what: str) -> list[dspy.Example]:
    """Examples with the inputs of a program: question, documents and date.

    Args:
        items: Rows, or dspy examples with these fields; labels (``answers``, ``facts``) stay
            beside the inputs.
        what: Name of the set, for messages.

    Raises:
        InputError: The set is empty, or a question or document in it is wrong.
    """
    examples = [_example(item, f"{what}, example {n}") for n, item in enumerate(items, start=1)]
    if not examples:
        raise InputError(f"{what} is empty: give at least one example.")
    return examples


def fingerprint(examples: Iterable[dspy.Example]) -> str:
    """SHA-256 of the examples, in order: what a compiled program was compiled on."""
    rows = [
        {**example.toDict(), "documents": [d.model_dump(mode="json") for d in example.documents]}
        for example in examples
    ]
    text = json.dumps(rows, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _example(item: Any, where: str) -> dspy.Example:
    if isinstance(item, Row):
        item = dspy.Example(
            question=item.question,
            documents=item.documents,
            date=item.date,
            answers=list(item.answers),
            facts=list(item.facts),
        )
    if not isinstance(item, dspy.Example):
        raise InputError(f"{where} is a {type(item).__name__}: give a Row or a dspy.Example.")
    try:
        checked = {
            "question": as_question(item.get("question")),
            "documents": as_documents(item.get("documents") or []),
            "date": item.get("date") or None,
        }
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return dspy.Example(**{**item.toDict(), **checked}).with_inputs(*checked)


@dataclass(frozen=True)
class Metric:
    """What scores a prediction.

    Attributes:
        name: For reports.
        measure: ``(example, prediction)`` to a number in [0, 1], a bool, a Prediction with
            ``score`` and ``feedback``, or None where nothing can be measured.
        label: The label of an example that it needs, or empty.
    """

    name: str
    measure: Measure
    label: str = ""

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

    def score(self, example: dspy.Example, prediction: Any) -> float | None:
        """The score; None when the model failed or the budget was spent: that is no wrong answer.

        Args:
            example: With its labels.
            prediction: What the program gave.
        """
        if _status(prediction) in _UNSCORED:
            return None
        found = self.measure(example, prediction)
        value = found.get("score") if isinstance(found, dspy.Prediction) else found
        return None if value is None else float(value)

    def feedback(self, example: dspy.Example, prediction: Any) -> str:
        """What was right or missed, in words for the model that rewrites an instruction."""
        found = self.measure(example, prediction)
        said = found.get("feedback") if isinstance(found, dspy.Prediction) else None
        if said:
            return str(said)
        score = self.score(example, prediction)
        wanted = "; ".join(str(a) for a in example.get("answers") or example.get("facts") or ())
        given = getattr(prediction, "answer", "") or f"no answer ({_status(prediction) or 'none'})"
        verdict = "not scored" if score is None else f"{self.name} {score:g}"
        return f"The program answered {given!r}; expected: {wanted or 'not given'} ({verdict})."


def accepted(score: float | None) -> bool:
    """Whether a run was good enough to learn from."""
    return score is not None and score >= ACCEPTED


def as_metric(metric: str | Measure) -> Metric:
    """A metric by name, or a function of example and prediction.

    Raises:
        InputError: There is no metric of that name.
    """
    if callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    if metric not in METRICS:
        raise InputError(f"There is no metric {metric!r}: choose one of {', '.join(METRICS)}.")
    return METRICS[metric]


def _exact_match(example: dspy.Example, prediction: Any) -> float:
    return exact_match(prediction.answer or "", list(example.answers))


def _stated_facts(example: dspy.Example, prediction: Any) -> float | None:
    """Facts that stand in the text word for word; a judge sees paraphrases too."""
    text = getattr(prediction, "text", None) or prediction.answer or ""
    return fact_recall([bool(containment(text, [fact])) for fact in example.facts])


def _status(prediction: Any) -> str:
    record = getattr(prediction, "verdict", None) or getattr(prediction, "report", None)
    return str(getattr(record, "status", ""))


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("em", _exact_match, "answers"),
        Metric("fact_recall", _stated_facts, "facts"),
    )
}
"""Metrics by the name that the command line takes."""
