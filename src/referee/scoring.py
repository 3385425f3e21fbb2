"""Scores of one row: a pure function of the row and its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import dspy

from referee.data import Row
from referee.metrics import containment, exact_match, rouge_l
from referee.metrics.judges import RecallJudge, ResponseJudge
from referee.programs.vote import ranked_clusters
from referee.runtime.records import Answer, Document

Scores: TypeAlias = dict[str, float | None]
Scorer: TypeAlias = Callable[[Row, Mapping[str, Any]], Scores]
"""``(row, record) -> scores``, higher is better, None where nothing could be measured.

It is called for rows that ended ``ok`` or ``abstained``, in threads, with the run's language model
in the context: a scorer may therefore ask a judge.
"""


def score(row: Row, record: Mapping[str, Any]) -> Scores:
    """The scores that need no language model: of a long answer, or else of a short one."""
    result = record["result"]
    return score_long(row, result) if "text" in result else score_short(row, result)


def score_short(row: Row, result: Mapping[str, Any]) -> Scores:
    """Exact match and its softer kin; a tie is scored in expectation over the tied answers.

    Args:
        row: Holds the right answers.
        result: The record of a `Verdict`.

    Returns:
        ``em``, ``containment``, ``inside`` (the answer stands in a right one: for right answers
        that are sentences) and ``rouge_l``, all 0 for an abstention and None without right
        answers; ``context_right`` (some document was read to a right answer, or None without
        documents); ``tied`` (1 when other answers tie with the one shown).
    """
    shown = candidates(result)
    read = [a["text"] for a in result["answers"] if a["document_id"] and a["text"]]

    def expected(measure: Callable[[str], float]) -> float | None:
        return sum(map(measure, shown)) / len(shown) if row.answers else None

    return {
        "em": expected(lambda a: exact_match(a, row.answers)),
        "containment": expected(lambda a: containment(a, row.answers)),
        "inside": expected(lambda a: exact_match(a, row.answers, style="faithful_rag")),
        "rouge_l": expected(lambda a: rouge_l(a, row.answers)),
        "context_right": _some_right(read, row) if _reads(result) else None,
        "tied": float(len(shown) > 1),
    }


def score_long(row: Row, result: Mapping[str, Any]) -> Scores:
    """Whether a right answer stands in the text; fact recall needs a judge (see `judged`).

    Args:
        row: Holds the right answers, if it has any.
        result: The record of a `Report`.
    """
    found = containment(result["text"], row.answers) if row.answers else None
    return {"containment": found, "fact_recall": None}


def judged(lm: dspy.BaseLM, grounding: bool = True) -> Scorer:
    """A scorer that adds what a judge finds in long answers: ArbGraph's Tables 1 and 2.

    Args:
        lm: The judge's language model; better not the one under test.
        grounding: Whether claims and facts are also looked up in every document, which takes most
            of the requests.

    Returns:
        `score`, and for a long answer of a row with gold facts the measures of `ResponseJudge`
        (``fact_recall``, ``information_density``, ``faithfulness``, ``hallucination``, ...), or of
        `RecallJudge` (the first two) without grounding; None where the judge failed.
    """
    judge = ResponseJudge() if grounding else RecallJudge()
    judge.set_lm(lm)

    def scorer(row: Row, record: Mapping[str, Any]) -> Scores:
        found, result = score(row, record), record["result"]
        if "text" not in result or not row.facts:
            return found
        given = {"documents": [d["text"] for d in result["documents"]]} if grounding else {}
        verdict = judge(
            response=result["text"], question=row.question, facts=list(row.facts), **given
        )
        return {**found, **verdict.measures}

    return scorer


def candidates(result: Mapping[str, Any]) -> list[str]:
    """The answer shown, and all that tie with it; one empty answer for an abstention."""
    answer = result["answer"]
    if not answer:
        return [""]
    if result["program"] == "vote":
        answers = [Answer.model_validate(a) for a in result["answers"]]
        documents = [Document.model_validate(d) for d in result["documents"]]
        clusters = ranked_clusters(answers, documents)
        return [c.text for c in clusters if c.sources == clusters[0].sources]
    # What a conflict without a judgment leaves open beside the answer.
    undecided = [c["answers"] for c in result["conflicts"] if c["judgment"] is None]
    rivals = [a for pair in undecided if answer in pair for a in pair]
    return list(dict.fromkeys([answer, *rivals]))


def _reads(result: Mapping[str, Any]) -> bool:
    return any(a["document_id"] for a in result["answers"])


def _some_right(read: list[str], row: Row) -> float | None:
    if not row.answers:
        return None
    return float(any(containment(text, row.answers) for text in read))
