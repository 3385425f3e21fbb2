"""Measures as DSPy metrics, for `dspy.Evaluate` and every optimizer (dspy 3.4.1).

Each factory returns ``metric(gold, pred, trace=None, pred_name=None, pred_trace=None,
program_trace=None)``:

- with two or three arguments (Evaluate, MIPROv2's and GEPA's scoring, SIMBA): the score, a float;
- with a ``trace`` and no ``pred_name`` (BootstrapFewShot): whether the score is at least
  ``accept``, since bootstrapping keeps any truthy score, 0.1 too. Leave its ``metric_threshold``
  unset: it would be compared with True and False;
- with a ``pred_name`` (GEPA's feedback): the same score and a text that names what is wrong.

**A run that failed has no score.** When the prediction is missing, when its verdict's or report's
status is ``provider_error``, ``parse_error`` or ``budget``, and when the judge failed, scoring
raises: a wrong answer is 0, a failed request is not. dspy logs the error. Evaluate enters its
``failure_score`` beside an empty Prediction, which tells the row from a wrong one, and
BootstrapFewShot takes no demonstration; both stop at ``max_errors`` (10 by default) instead of
giving a mean over zeros. SIMBA enters 0. GEPA enters its ``failure_score`` and leaves the example
out of its reflection. Only the feedback call never raises, which would end GEPA's run: its text
says that nothing could be scored, and GEPA keeps the score that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import dspy
from dspy.teleprompt.gepa.gepa_utils import ScoreWithFeedback

from ..errors import BackboneError, BudgetExceeded, InputError, ParseError, RefereeError
from .containment import containment
from .exact_match import exact_match
from .judges import FactJudge, ResponseJudge
from .long_form import fact_recall

Measure = Callable[[str, Sequence[str]], float]

# Lower is better: as a metric each is 1 minus the measure.
_HARMS = (
    "relevant_noise",
    "irrelevant_noise",
    "hallucination",
    "self_knowledge",
    "wrong",
    "contradicted",
    "unsupported",
)
_FAILED: dict[str, type[RefereeError]] = {
    "provider_error": BackboneError,
    "parse_error": ParseError,
    "budget": BudgetExceeded,
}


class Metric(Protocol):
    """A DSPy metric; the fifth and sixth argument are GEPA's and are not read."""

    def __call__(
        self,
        gold: dspy.Example,
        pred: dspy.Prediction | None,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
        program_trace: Any = None,
    ) -> float | bool | ScoreWithFeedback:
        """See the module."""
        ...


@dataclass(frozen=True)
class Scored:
    """A score, and in words what it rests on."""

    score: float
    feedback: str


def answer_metric(measure: Measure = exact_match, accept: float = 1.0) -> Metric:
    """A measure of short answers as a DSPy metric; exact match by default.

    Args:
        measure: ``measure(prediction, answers)``: `exact_match`, `containment`, `rouge_l`, or one
            of them with options (`functools.partial`).
        accept: Score from which a run may become a demonstration.

    Returns:
        The metric. It reads ``gold.answers`` (accepted answers, or one) and ``pred.answer``. The
        feedback names the accepted answers and the documents whose reading holds one.
    """

    def score(gold: dspy.Example, pred: dspy.Prediction) -> Scored:
        answers = _field(gold, "answers")
        answers = [answers] if isinstance(answers, str) else list(answers)
        answer = str(pred.get("answer") or "")
        value = float(measure(answer, answers))
        readings = getattr(pred.get("verdict"), "answers", ())
        where = [
            reading.document_id
            for reading in readings
            if reading.document_id and reading.text and measure(reading.text, answers) >= accept
        ]
        return Scored(value, _answer_feedback(answer, answers, value, where))

    return _metric(score, accept)


def fact_recall_metric(judge: FactJudge | None = None, accept: float = 0.5) -> Metric:
    """Fact recall as a DSPy metric (ArbGraph, section 4.1.2, FR).

    Args:
        judge: Says which facts are stated; give it an LM of its own (``judge.set_lm``), or it asks
            the one that is being evaluated.
        accept: Score from which a run may become a demonstration.

    Returns:
        The metric. It reads ``gold.facts`` and the text of ``pred.report``, else ``pred.answer``.
        The feedback names the facts that are missing.
    """
    judge = judge or FactJudge()

    def score(gold: dspy.Example, pred: dspy.Prediction) -> Scored:
        facts = list(_field(gold, "facts"))
        judged = _asked(judge, text=_text(pred), facts=facts)
        value = fact_recall(_judged(judged.stated, judged.notes)) or 0.0  # there are facts
        missing = [f for f, stated in zip(facts, judged.stated, strict=True) if stated is False]
        return Scored(value, _listing("Facts that the text does not state", missing))

    return _metric(score, accept)


def stated_facts_metric(accept: float = 0.5) -> Metric:
    """Fact recall without a judge: a fact counts where its words stand in the text.

    A lower bound: what says the same in other words is missed.

    Args:
        accept: Score from which a run may become a demonstration.

    Returns:
        The metric. It reads what `fact_recall_metric` reads; the feedback too is as there.
    """

    def score(gold: dspy.Example, pred: dspy.Prediction) -> Scored:
        facts, text = list(_field(gold, "facts")), _text(pred)
        stated = [containment(text, [fact]) == 1.0 for fact in facts]
        missing = [fact for fact, found in zip(facts, stated, strict=True) if not found]
        value = fact_recall(stated) or 0.0  # there are facts
        return Scored(value, _listing("Facts that the text does not state", missing))

    return _metric(score, accept)


def response_metric(
    measure: str = "faithfulness", judge: ResponseJudge | None = None, accept: float = 0.5
) -> Metric:
    """One of `ResponseJudge`'s measures as a DSPy metric, higher being better.

    Args:
        measure: Its name. Measures of harm (noise, hallucination, self-knowledge, wrong,
            contradicted, unsupported) are turned round: the score is 1 minus the measure.
        judge: As for `fact_recall_metric`.
        accept: Score from which a run may become a demonstration.

    Returns:
        The metric. It reads ``gold.facts`` or ``gold.answers``, ``gold.documents`` and
        ``gold.question`` where there are any, and the text of ``pred.report``, else
        ``pred.answer``. The feedback names missing facts, and claims that a document contradicts
        or that none supports. Where there is nothing to measure (no claim in the response: it
        abstained), scoring raises; to optimise, prefer `fact_recall_metric`, which gives 0 there.
    """
    judge = judge or ResponseJudge()

    def score(gold: dspy.Example, pred: dspy.Prediction) -> Scored:
        judged = _asked(judge, response=_text(pred), **_references(gold))
        if measure not in judged.measures:
            raise InputError(f"measure is {measure!r}: choose of {', '.join(judged.measures)}.")
        value = judged.measures[measure]
        if value is None:
            raise _unmeasured(measure, judged)
        return Scored(1 - value if measure in _HARMS else value, _response_feedback(judged))

    return _metric(score, accept)


def _metric(score: Callable[[dspy.Example, dspy.Prediction], Scored], accept: float) -> Metric:
    def metric(
        gold: dspy.Example,
        pred: dspy.Prediction | None,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
        program_trace: Any = None,
    ) -> float | bool | ScoreWithFeedback:
        if pred_name is not None:
            return _with_feedback(score, gold, pred)
        scored = score(gold, _succeeded(pred))
        return scored.score >= accept if trace is not None else scored.score

    return metric


def _with_feedback(score: Any, gold: dspy.Example, pred: Any) -> ScoreWithFeedback:
    try:
        scored = score(gold, _succeeded(pred))
    except RefereeError as error:
        scored = Scored(0.0, f"This run could not be scored: {error}")
    return ScoreWithFeedback(score=scored.score, feedback=scored.feedback)


def _succeeded(pred: Any) -> dspy.Prediction:
    """The prediction of a run that did not fail."""
    if pred is None:
        raise BackboneError("the program gave no prediction: its own error says why.")
    for name in ("verdict", "report"):
        status = getattr(pred.get(name), "status", "ok")
        if status in _FAILED:
            notes = " ".join(getattr(pred.get(name), "notes", ()))
            raise _FAILED[status](f"the run ended with {status}, so it has no score. {notes}")
    return pred


def _text(pred: dspy.Prediction) -> str:
    report = pred.get("report")
    return str(report.text if report is not None else pred.get("answer") or "")


def _field(gold: dspy.Example, name: str) -> Any:
    value = gold.get(name)
    if not value:
        raise InputError(f"the example has no {name!r}: it needs them to be scored.")
    return value


def _references(gold: dspy.Example) -> dict[str, Any]:
    answers = gold.get("answers") or ""
    return {
        "documents": gold.get("documents") or (),
        "question": gold.get("question") or "",
        "facts": gold.get("facts") or None,
        "answer": answers if isinstance(answers, str) else answers[0],
    }


def _asked(judge: dspy.Module, **inputs: Any) -> dspy.Prediction:
    with dspy.context(trace=[]):  # the judge's calls are no demonstrations of the program
        return judge(**inputs)


def _judged(flags: Sequence[bool | None], notes: Sequence[str]) -> list[bool]:
    """The flags, all of them: a share of what happened to be judged would not be comparable."""
    if None in flags:
        raise BackboneError(
            f"the judge left {list(flags).count(None)} of {len(flags)} facts unscored. "
            + " ".join(notes)
        )
    return [bool(flag) for flag in flags]


def _answer_feedback(answer: str, answers: Sequence[str], value: float, where: list[str]) -> str:
    accepted = " or ".join(repr(a) for a in answers)
    if value >= 1:
        return f"Right: {accepted}."
    said = f"The answer {answer!r} is wrong" if answer else "There is no answer"
    read = f" Read from {', '.join(where)}, but not chosen." if where else ""
    return f"{said}: right is {accepted}.{read}"


def _response_feedback(judged: dspy.Prediction) -> str:
    rows = list(zip(judged.claims, judged.by_gold, judged.by_documents, strict=True))
    facts = zip(judged.facts, judged.stated, strict=True)
    against = [c for c, _, d in rows if "contradicted" in d and "supported" not in d]
    parts = {
        "Facts that the text does not state": [f for f, stated in facts if stated is False],
        "Claims that the gold answer contradicts": [c for c, g, _ in rows if g == "contradicted"],
        "Claims that a document contradicts and none supports": against,
        "Claims on which the documents are silent": [
            c for c, _, d in rows if set(d) == {"insufficient"}
        ],
    }
    named = [_listing(head, items) for head, items in parts.items() if items]
    return " ".join(named) or "Nothing is missing or wrong."


def _unmeasured(measure: str, judged: dspy.Prediction) -> RefereeError:
    if judged.unscored or judged.unread:
        return BackboneError(f"{measure} has no score, the judge failed. {' '.join(judged.notes)}")
    return InputError(
        f"{measure} has nothing to be measured on: {len(judged.claims)} claims, "
        f"{len(judged.facts)} facts and the documents of the example."
    )


def _listing(head: str, items: Sequence[str]) -> str:
    return f"{head}: {' | '.join(items)}" if items else f"{head}: none."
