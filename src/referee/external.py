"""The same outside knowledge for every program of an evaluation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import dspy

from referee.data import Row
from referee.errors import InputError
from referee.metrics.refusal import is_no_answer
from referee.programs import Program
from referee.programs.assessment import Assessment, Gate
from referee.programs.base import as_of
from referee.runtime import Document, connect
from referee.runtime.backbones import with_address
from referee.runtime.exchange import channel
from referee.runtime.retrieval import CorpusRetriever, Passage, as_retriever

KINDS = "none, field, pool or lm:MODEL"
Knowledge = Callable[[Row], Document | None]

_row: ContextVar[Row] = ContextVar("referee_row")


class External:
    """What one passage from outside says about a row, whoever asks.

    A program with a retriever consults it when its algorithm says so; any other gets the passage
    as one more document.

    Args:
        kind: ``none``; ``field`` (each row's own ``external``); ``pool`` (the nearest passage
            among the correct contexts of all rows); ``lm:MODEL`` or ``lm:MODEL@ADDRESS`` (a
            language model writes it).
        rows: All rows of the data, not only those that are asked.
        date: As-of date of rows without one.

    Attributes:
        name: The kind, without an address.
        lms: The language models that are asked.

    Raises:
        InputError: There is no such kind, or the rows do not have what it needs.
    """

    def __init__(self, kind: str, rows: Sequence[Row], date: str) -> None:
        self.name = without_address(kind)
        self.lms: list[dspy.BaseLM] = []
        self._date = date
        self._knows = self._source(kind, rows)

    def equipped(self, program: Program) -> Program:
        """The program with this as its retriever, where it takes one and has none."""
        assessment = getattr(program, "assessment", None)
        if self.name == "none" or assessment is None or assessment.retriever is not None:
            return program
        equipped = copy.copy(program)
        equipped.assessment = copy.copy(assessment)
        equipped.assessment.retriever = as_retriever(self._retrieve)
        return equipped

    def documents(self, program: Program, row: Row) -> Callable[[], list[Document]]:
        """The row's documents, when its turn comes: with one more where no retriever asks."""

        def given() -> list[Document]:
            _row.set(row)
            found = None if self.name == "none" or _consults(program) else self._knows(row)
            return [*row.documents, *([found] if found else [])]

        return given

    def _retrieve(self, query: str, k: int) -> list[Passage]:
        found = self._knows(_row.get())
        return [Passage(found.text, source=found.source, date=found.date)] if found else []

    def _source(self, kind: str, rows: Sequence[Row]) -> Knowledge:
        if kind == "none":
            return lambda row: None
        if kind == "field":
            return _field(rows)
        if kind == "pool":
            return _pool(rows)
        model = kind.removeprefix("lm:")
        if model == kind or not model:
            raise InputError(f"--external is {kind!r}: choose {KINDS}.")
        name, api_base = with_address(model)
        lm = connect(name, api_base=api_base)
        self.lms.append(lm)
        return self._consultant(lm)

    def _consultant(self, lm: dspy.BaseLM) -> Knowledge:
        consult = Assessment(Gate()).consult

        def ask(row: Row) -> Document | None:
            with dspy.context(lm=lm, adapter=channel()):
                passage = consult(today=as_of(row.date or self._date), question=row.question)
            text = passage.passage.strip()
            return None if is_no_answer(text) else Document(text=text)

        return ask


def without_address(kind: str) -> str:
    """What may be shown and stored of a kind of outside knowledge."""
    return with_address(kind)[0]


def _consults(program: Program) -> bool:
    """Whether a program has a retriever of its own."""
    assessment = getattr(program, "assessment", None)
    return getattr(assessment, "retriever", None) is not None


def _field(rows: Sequence[Row]) -> Knowledge:
    if not any(row.external for row in rows):
        raise InputError("--external field: no row has a field 'external' with a text.")
    return lambda row: Document(text=row.external) if row.external else None


def _pool(rows: Sequence[Row]) -> Knowledge:
    texts = [
        document.text
        for row in rows
        for document, role in zip(row.documents, row.roles, strict=True)
        if role == "correct"
    ]
    if not texts:
        raise InputError("--external pool: no context of the data is marked as correct.")
    nearest = CorpusRetriever(list(dict.fromkeys(texts)))

    def find(row: Row) -> Document | None:
        found = nearest(row.question, 1)
        return Document(text=found[0].text) if found else None

    return find
