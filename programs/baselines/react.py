"""Baseline ReAct: thoughts and searches in turn, then the long answer (ArbGraph §4.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from ...runtime.failures import failure
from ...runtime.records import Document, Report
from ...signatures import AnswerFromNotes, ChooseAction
from ..base import Case
from ..composition import LONGEST_ANSWER
from ..steps import Call, Steps, Wave
from .long_reports import broken, finished, may_ask, whole_number
from .notes import Library, Notes, SearchingProgram


class ReAct(SearchingProgram):
    """Interleaves thoughts with searches, and answers from what it has noted (Yao et al. 2023).

    As in the paper: thought, action and observation in turn, with a bounded number of turns.
    Differs: the first observation is what the question itself finds, since every method of
    ArbGraph's tables starts from the same retrieved documents; search is a passage search over
    them (and a retriever) instead of Wikipedia's pages with their ``lookup``; the answer is a
    request of its own, as ``finish[...]`` holds no long text. A turn that cannot be read, an
    unknown action or a search without a query, is counted (``unreadable``), and the loop goes on.

    Requests per question: 2 to ``turns`` + 1.

    Args:
        turns: Thoughts at most.
        retriever, lms, reading_tokens: As in `SearchingProgram`.

    Raises:
        InputError: ``turns`` is no whole number of at least 1.
    """

    name: ClassVar[str] = "react"
    roles: ClassVar[tuple[str, ...]] = ("reasoner", "writer")

    def __init__(self, *, turns: int = 5, **settings: Any) -> None:
        super().__init__(**settings)
        self.turns = whole_number("turns", turns, 1)
        self.choose = dspy.Predict(ChooseAction, temperature=0.0, max_tokens=200)
        self.answer = dspy.Predict(AnswerFromNotes, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {**super().dump_settings(), "turns": self.turns}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One thought, or all of them; and the answer."""
        return 2, self.turns + 1

    def steps(self, case: Case) -> Steps[Report]:
        """The loop, then the answer from its notes."""
        counts: Counter[str] = Counter(turns=0, searches=0, unreadable=0)
        notes = yield from self._gathered(case, counts)
        counts["passages"] = len(notes.passages)
        inputs = {"notes": notes.text, "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="writer")])
        if isinstance(reply, Exception):
            return broken(reply, stages=counts)
        how = f"Searches by the model: {counts['searches']}; passages read: {counts['passages']}."
        return finished(reply.answer, how, counts)

    def _gathered(self, case: Case, counts: Counter[str]) -> Steps[Notes]:
        """Thought, action, observation, until the model finishes or the turns are used up."""
        library = Library(case, self.retriever)
        notes = yield from library.opening()
        while counts["turns"] < self.turns:
            if not may_ask(case):
                case.meter.spent(f"Reasoning ended after {counts['turns']} turns: the budget.")
                break
            inputs = {"question": case.question, "notes": notes.text}
            (reply,) = yield Wave("reasoning", [Call(self.choose, inputs, role="reasoner")])
            counts["turns"] += 1
            if isinstance(reply, Exception) and not isinstance(reply, dspy.AdapterParseError):
                case.meter.note(f"Reasoning ended early: {failure(reply)[1]}")
                break
            if isinstance(reply, Exception) or (
                reply.action == "search" and not reply.query.strip()
            ):
                counts["unreadable"] += 1
                notes = notes.with_line("Note", f"step {counts['turns']} could not be read")
                continue
            notes = notes.with_line("Thought", reply.thought)
            if reply.action == "finish":
                break
            (found,) = yield from library.steps([reply.query])
            counts["searches"] += 1
            notes = notes.with_search(reply.query, found, case.reading_tokens)
        return notes
