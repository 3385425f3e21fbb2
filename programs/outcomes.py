"""From answers to a verdict's status: answered, abstained and failed are different things."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.records import Answer, Status, Verdict

_FAILED: dict[str, Status] = {
    "parse_error": "parse_error",
    "provider_error": "provider_error",
    "budget": "budget",
}


def from_single_answer(answer: Answer, stated: Sequence[Answer], how: str) -> Verdict:
    """The verdict of a program that asks once.

    Args:
        answer: What the model said.
        stated: The documents that state it.
        how: One sentence on how the answer came about.
    """
    answers = (answer, *stated)
    if answer.status != "answered":
        return without_answer(answers, how)
    sources = ", ".join(a.document_id or "" for a in stated)
    where = f" It stands in {sources}." if sources else ""
    return Verdict(answer=answer.text, explanation=f"{how}{where}", answers=answers)


def without_answer(answers: Sequence[Answer], how: str) -> Verdict:
    """The verdict when nothing was answered: abstained, or the failure that prevented it."""
    failures = [a for a in answers if a.status in _FAILED]
    silent = [a for a in answers if a.status == "no answer"]
    if failures and not silent:
        status = most_telling(failures)
        return Verdict(
            status=status, explanation=failed_sentence(failures, status), answers=tuple(answers)
        )
    reason = "no source states an answer" if len(answers) > 1 else "it gives no answer"
    return Verdict(
        status="abstained",
        abstained=True,
        explanation=f"{how} Abstained: {reason}.{_also(failures)}",
        answers=tuple(answers),
    )


def most_telling(failures: Sequence[Answer]) -> Status:
    """The status of a run whose calls failed: a spent budget before a provider's failure."""
    statuses = {a.status for a in failures}
    order: tuple[Status, ...] = ("budget", "provider_error", "parse_error")
    return next(s for s in order if s in statuses)


def failed_sentence(failures: Sequence[Answer], status: str) -> str:
    """Why, in the words of the first failure of that status."""
    return next(a.error for a in failures if a.status == status)


def failure_notes(answers: Sequence[Answer]) -> tuple[str, ...]:
    """One note a source whose request failed, for a verdict that was reached without it."""
    return tuple(f"{a.document_id}: {a.error}" for a in answers if a.error)


def _also(failures: Sequence[Answer]) -> str:
    if not failures:
        return ""
    names = ", ".join(a.document_id or "the model" for a in failures)
    return f" No reply could be had for {names}: {failures[0].error}"
