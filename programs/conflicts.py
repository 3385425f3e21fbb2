"""The records of a conflict: two sides, their relation, the judgment (MACR Eq. 10)."""

from __future__ import annotations

from typing import Literal, get_args

from ..runtime.records import Document, Evidence, Record

ConflictType = Literal["temporal", "misinformation", "semantic", "granularity", "other"]
"""The types of MACR's conflicts; ``granularity`` and ``other`` are ours."""

Shape = Literal[
    "list",  # a property with several values: both are right
    "refinement",  # one says the same more precisely
    "scope",  # the group and one division, one region and another
    "namesake",  # two subjects of one name
    "plan",  # a plan, forecast or rumour, and what came of it
    "conditional",  # what would hold if, and what holds
    "retold",  # one event told twice
    "notation",  # the same quantity in other units or notation
    "identifier",  # another identifier of the same thing
    "agreeing negations",  # two negations that say the same
    "no answer",  # one text does not answer the question
]
"""Differences that are no contradictions (design §3)."""

CONFLICT_TYPES: tuple[str, ...] = get_args(ConflictType)
SHAPES: tuple[str, ...] = get_args(Shape)


class Side(Record):
    """One side of a conflict: an answer and the sources that give it.

    Attributes:
        answer: The answer, as shown.
        documents: The documents that give it, in order; empty for the basic context C0.
        snippets: The verbatim evidence in each of ``documents``; None where none was found.
        sources: Independent sources among them.
        basic: ``internal`` or ``external`` when the basic context gives this answer too.
        basic_text: The basic context, when only it gives this answer.
    """

    answer: str
    documents: tuple[Document, ...] = ()
    snippets: tuple[Evidence | None, ...] = ()
    sources: int = 0
    basic: Literal["", "internal", "external"] = ""
    basic_text: str = ""

    @property
    def snippet(self) -> str:
        """The first snippet that was found; else the basic context; else empty."""
        return next((s.text for s in self.snippets if s), self.basic_text)

    @property
    def snippet_date(self) -> str:
        """The date of the document that holds the first snippet, or empty."""
        return next((d.date for d, s in zip(self.documents, self.snippets, strict=True) if s), "")


class Relation(Record):
    """How the two sides of a pair relate.

    Attributes:
        contradiction: Whether both cannot hold.
        type: The type of a contradiction.
        shape: Why the sides are compatible, when they are.
        reason: One short clause for the reader.
        by: Who found it.
    """

    contradiction: bool
    type: ConflictType = "other"
    shape: Shape | None = None
    reason: str = ""
    by: Literal["code", "model"] = "code"


class Judgment(Record):
    """The local judgment on one conflict (v in MACR §3.5.2 (3)).

    Attributes:
        winner: Index of the winning side, 0 or 1; None when undecided.
        rule: Id of the rule that decided, or empty.
        how: How it was applied.
        reason: One clause for the reader.
        provisional: True for the fallback judgment v' (§3.5.2 (4)).
    """

    winner: Literal[0, 1] | None = None
    rule: str = ""
    how: Literal["operator", "model", "fallback", "undecided"] = "undecided"
    reason: str = ""
    provisional: bool = False
