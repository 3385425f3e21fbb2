"""Baseline FIRE: each statement is verified while the answer is written (ArbGraph §4.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import dspy

from ...metrics.refusal import is_no_answer
from ...runtime.records import Document, Report
from ...signatures import ConfirmStatement, WriteStatement
from ..base import Case
from ..composition import ended
from ..icl import layout
from ..steps import Call, Reply, Steps, Wave
from .long_reports import broken, finished, whole_number
from .notes import Library, Notes, SearchingProgram

_NO_PASSAGES = "none yet"


class Fire(SearchingProgram):
    """Writes one statement at a time, and verifies it before the next one (Xie et al. 2025).

    As in the paper: the model says whether a statement is true or false when it is confident,
    which it may be at once, else it gives the next query; what is found is added to the evidence;
    the number of searches is bounded. As ArbGraph prompts it (§4.1.3): this happens step by step
    during generation, and not as a filter on a finished answer. Differs: what stays unsure after
    the last search is left out (the paper forces a verdict), a false statement is replaced by its
    correction where one is given; the search is one over the documents (and a retriever) instead of
    Google; claims are written one by one instead of being taken out of a text.

    Requests per question: 1 to ``statements`` · (2 + ``searches``).

    Args:
        statements: Statements written at most, those left out among them.
        searches: Searches for one statement at most; 0 trusts the model's confidence alone.
        retriever, lms, reading_tokens: As in `SearchingProgram`.

    Raises:
        InputError: ``statements`` or ``searches`` is no whole number in its range.
    """

    name: ClassVar[str] = "fire"
    roles: ClassVar[tuple[str, ...]] = ("writer", "verifier")

    def __init__(self, *, statements: int = 8, searches: int = 2, **settings: Any) -> None:
        super().__init__(**settings)
        self.statements = whole_number("statements", statements, 1)
        self.searches = whole_number("searches", searches, 0)
        self.write = dspy.Predict(WriteStatement, temperature=0.0, max_tokens=120)
        self.confirm = dspy.Predict(ConfirmStatement, temperature=0.0, max_tokens=160)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        own = {"statements": self.statements, "searches": self.searches}
        return {**super().dump_settings(), **own}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Nothing to say; or each statement written, and checked after every search."""
        return 1, self.statements * (2 + self.searches)

    def steps(self, case: Case) -> Steps[Report]:
        """One statement after the other."""
        library, documents = Library(case, self.retriever), layout(case)
        draft = _Draft()
        while len(draft.tried) < self.statements:
            (reply,) = yield Wave("writing", [self._writing(case, documents, draft)])
            if isinstance(reply, Exception):
                return broken(reply, draft.text, draft.stages())
            statement = " ".join(reply.statement.split())
            if _is_end(statement) or statement in draft.tried:
                break
            draft.tried.append(statement)
            verdict = yield from self._verified(case, library, draft, statement)
            if isinstance(verdict, Exception):
                return broken(verdict, draft.text, draft.stages())
            draft.settle(statement, verdict)
        told = f"{len(draft.kept)} of {len(draft.tried)}; searches: {draft.counts['searches']}."
        return finished(draft.text, f"Statements confirmed while writing: {told}", draft.stages())

    def _writing(self, case: Case, documents: str, draft: _Draft) -> Call:
        inputs = {
            "documents": documents,
            "question": case.question,
            "written": draft.text,
            "left_out": " ".join(map(ended, draft.left_out)),
        }
        return Call(self.write, inputs, role="writer")

    def _verified(
        self, case: Case, library: Library, draft: _Draft, statement: str
    ) -> Steps[str | Exception]:
        """The statement, its correction, or "" when it is not confirmed."""
        notes, query = Notes(), ""
        for _ in range(self.searches + 1):
            if query:
                (found,) = yield from library.steps([query])
                draft.counts["searches"] += 1
                notes = notes.with_search(query, found, case.reading_tokens)
            inputs = {
                "question": case.question,
                "statement": statement,
                "passages": notes.text or _NO_PASSAGES,
            }
            (reply,) = yield Wave("verification", [Call(self.confirm, inputs, role="verifier")])
            if isinstance(reply, dspy.AdapterParseError):
                draft.counts["unreadable"] += 1
            elif isinstance(reply, Exception):
                return reply
            elif reply.verdict != "search":
                return statement if reply.verdict == "confirmed" else _corrected(reply, draft)
            # A reply without a query is no confidence either: the statement itself is searched.
            query = getattr(reply, "query", "").strip() or statement
        return ""


@dataclass
class _Draft:
    """The answer so far.

    Attributes:
        kept: Statements of the answer, in order.
        tried: Statements as they were written.
        left_out: Those of them that were not confirmed.
        counts: Of searches, corrections and unreadable verdicts.
    """

    kept: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    counts: Counter[str] = field(
        default_factory=lambda: Counter(searches=0, corrections=0, unreadable=0)
    )

    @property
    def text(self) -> str:
        """The statements, each with a full stop."""
        return " ".join(map(ended, self.kept))

    def settle(self, statement: str, verdict: str) -> None:
        """Take a statement as it is, its correction, or neither."""
        if verdict:
            self.kept.append(verdict)
        if verdict != statement:
            self.left_out.append(statement)
            self.counts["corrections"] += bool(verdict)

    def stages(self) -> dict[str, int]:
        """Counts for the report."""
        return {"statements": len(self.tried), "left out": len(self.left_out), **self.counts}


def _is_end(statement: str) -> bool:
    return statement.strip(" .!*\"'").lower() == "done" or is_no_answer(statement)


def _corrected(reply: Reply, draft: _Draft) -> str:
    """The correction of a false statement; "" when there is none that is new."""
    correction = " ".join(reply.correction.split())
    known = correction in (*draft.kept, *draft.tried)
    return "" if known or is_no_answer(correction) else correction
