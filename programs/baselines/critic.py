"""Baseline CRITIC: generate, verify with a search tool, correct (ArbGraph §4.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ...metrics.refusal import is_no_answer
from ...runtime.chunks import sentences
from ...runtime.failures import failure
from ...runtime.records import Document, Report
from ...signatures import AnswerAtLength, CorrectAnswer, CriticizeStatement
from ..base import Case
from ..composition import LONGEST_ANSWER
from ..icl import layout
from ..steps import Call, Reply, Steps, Wave
from .long_reports import broken, finished, whole_number
from .notes import Library, Notes, SearchingProgram

STANDS = ""  # the critique of a statement that is right


class Critic(SearchingProgram):
    """Writes an answer, checks its statements against passages, rewrites it (Gou et al. 2023).

    As in the paper: an answer, a critique that rests on a tool, a correction from the critique,
    again until nothing is to be corrected or the rounds are used up; the last correction is not
    checked. Differs: the tool is a passage search over the documents (and a retriever) instead of a
    web search; each sentence is one query and one request, all of a round in one wave, where the
    paper's model writes one critique of the whole. So a small model judges one thing at a time, and
    a sentence that was checked is not asked about again. A check that fails leaves its sentence as
    it is, and that is said.

    Requests per question: 1 to 1 + ``rounds`` · (``statements`` + 1).

    Args:
        rounds: Rounds of critique and correction at most.
        statements: Sentences checked in a round at most, the first ones.
        retriever, lms, reading_tokens: As in `SearchingProgram`.

    Raises:
        InputError: ``rounds`` or ``statements`` is no whole number of at least 1.
    """

    name: ClassVar[str] = "critic"
    roles: ClassVar[tuple[str, ...]] = ("writer", "critic")

    def __init__(self, *, rounds: int = 2, statements: int = 12, **settings: Any) -> None:
        super().__init__(**settings)
        self.rounds = whole_number("rounds", rounds, 1)
        self.statements = whole_number("statements", statements, 1)
        self.draft = dspy.Predict(AnswerAtLength, temperature=0.0, max_tokens=LONGEST_ANSWER)
        self.criticize = dspy.Predict(CriticizeStatement, temperature=0.0, max_tokens=160)
        self.correct = dspy.Predict(CorrectAnswer, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        own = {"rounds": self.rounds, "statements": self.statements}
        return {**super().dump_settings(), **own}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """A draft that abstains; or in each round every statement, and the correction."""
        return 1, 1 + self.rounds * (self.statements + 1)

    def steps(self, case: Case) -> Steps[Report]:
        """The draft, then rounds of critique and correction."""
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("draft", [Call(self.draft, inputs, role="writer")])
        if isinstance(reply, Exception):
            return broken(reply)
        text = reply.answer.strip()
        review = _Review(Library(case, self.retriever), {}, {}, Counter(rounds=0, corrections=0))
        while not is_no_answer(text) and review.counts["rounds"] < self.rounds:
            review.counts["rounds"] += 1
            failed = yield from self._criticized(case, review, text)
            problems = review.problems(text)
            if failed is not None:
                return broken(failed, text, review.stages(text))
            if not problems:
                break
            (reply,) = yield Wave("correction", [self._correction(case, review, text, problems)])
            if isinstance(reply, Exception):
                return broken(reply, text, review.stages(text))
            review.counts["corrections"] += 1
            before, text = text, reply.corrected.strip()
            if text == before:
                break
        stages = review.stages(text)
        checked, corrections = stages["statements checked"], stages["corrections"]
        how = f"Statements checked against passages: {checked}; corrections: {corrections}."
        return finished(text, how, stages)

    def _criticized(self, case: Case, review: _Review, text: str) -> Steps[Exception | None]:
        """Check the statements that are new, in one wave; an exception when every check failed."""
        new = [s for s in statements_of(text) if s not in review.critiques]
        asked = new[: self.statements]
        if len(new) > len(asked):
            case.meter.note(f"{len(new) - len(asked)} statements were not checked: too many.")
        found = yield from review.library.steps(asked)
        for statement, passages in zip(asked, found, strict=True):
            notes = Notes().with_search(statement, passages, case.reading_tokens)
            review.evidence[statement] = notes
        replies = yield Wave("critique", [self._check(case, review, s) for s in asked])
        errors = [r for r in replies if isinstance(r, Exception)]
        for statement, reply in zip(asked, replies, strict=True):
            if not isinstance(reply, Exception):
                review.critiques[statement] = _critique(statement, reply)
        if errors:
            why = failure(errors[0])[1]
            case.meter.note(f"{len(errors)} of {len(asked)} statements were not checked: {why}")
        return errors[0] if errors and len(errors) == len(asked) else None

    def _check(self, case: Case, review: _Review, statement: str) -> Call:
        inputs = {
            "question": case.question,
            "passages": review.evidence[statement].text,
            "statement": statement,
        }
        return Call(self.criticize, inputs, role="critic")

    def _correction(self, case: Case, review: _Review, text: str, problems: Sequence[str]) -> Call:
        inputs = {
            "passages": review.passages(text, case.reading_tokens),
            "question": case.question,
            "answer": text,
            "problems": list(problems),
        }
        return Call(self.correct, inputs, role="writer")


@dataclass(frozen=True)
class _Review:
    """What is known of the statements of one answer.

    Attributes:
        library: Where evidence is searched.
        evidence: The passages of each statement.
        critiques: What is wrong with each statement that was checked; `STANDS` where nothing is.
        counts: Of rounds and corrections.
    """

    library: Library
    evidence: dict[str, Notes]
    critiques: dict[str, str]
    counts: Counter[str]

    def problems(self, text: str) -> list[str]:
        """The critiques of the statements that a text has now."""
        return [p for s in statements_of(text) if (p := self.critiques.get(s, STANDS))]

    def passages(self, text: str, max_tokens: int) -> str:
        """Passages of the statements of a text, those with a problem first, as far as they fit."""
        asked = [s for s in statements_of(text) if s in self.evidence]
        notes = Notes()
        for statement in sorted(asked, key=lambda s: not self.critiques.get(s, STANDS)):
            found = self.evidence[statement].passages
            notes = notes.with_passages(found, max_tokens)
        return notes.text

    def stages(self, text: str) -> dict[str, int]:
        """Counts for the report."""
        open_ones = len(self.problems(text))
        return {
            **self.counts,
            "statements checked": len(self.critiques),
            "problems left": open_ones,
        }


def statements_of(text: str) -> list[str]:
    """The distinct sentences of an answer, in order."""
    return list(dict.fromkeys(span.text for span in sentences(text)))


def _critique(statement: str, reply: Reply) -> str:
    """What a reply finds wrong with a statement; `STANDS` when nothing."""
    if reply.verdict == "right":
        return STANDS
    default = "No passage states it." if reply.verdict == "not found" else "It is wrong."
    return f"“{statement}” {reply.critique.strip() or default}"
