"""The front door: one question, its documents, a verdict."""

from __future__ import annotations

import datetime
from typing import Any

import dspy

from referee.errors import InputError
from referee.programs import PROGRAMS, Program
from referee.runtime import Budget, Verdict, connect

DEFAULT_PROGRAM = "macr"


def resolve(
    question: str,
    documents: Any,
    *,
    lm: str | dspy.BaseLM | None = None,
    program: str | Program | None = None,
    retriever: Any = None,
    budget: Budget | None = None,
    date: str | datetime.date | None = None,
) -> Verdict:
    """Answer a question whose documents may disagree.

    Args:
        question: What is asked.
        documents: A list of str, dict (``text`` and optionally ``id, title, source, url, date,
            metadata``) or `Document`, mixed.
        lm: A language model or a model string; None for the one that the program is bound to,
            else the one that `dspy` is configured with, else ``$REFEREE_LM``, else the embedded
            model.
        program: A program, or its name; None for the default.
        retriever: A source of outside knowledge, for programs that use one.
        budget: Bounds on requests, tokens or dollars.
        date: As-of date, ISO 8601; today when None.

    Returns:
        The verdict. A failed request, an unreadable reply and a spent budget are its status, not
        exceptions.

    Raises:
        InputError: The question, a document, the program or the date is wrong.
        WeightsError: The weights of an embedded model cannot be had.
    """
    chosen = _on(as_program(program, retriever), lm)
    with dspy.context(lm=chosen.backbone):
        prediction = chosen(question=question, documents=documents, date=date, budget=budget)
    return prediction.verdict


async def aresolve(
    question: str,
    documents: Any,
    *,
    lm: str | dspy.BaseLM | None = None,
    program: str | Program | None = None,
    retriever: Any = None,
    budget: Budget | None = None,
    date: str | datetime.date | None = None,
) -> Verdict:
    """The twin of `resolve` for coroutines."""
    chosen = _on(as_program(program, retriever), lm)
    with dspy.context(lm=chosen.backbone):
        prediction = await chosen.acall(
            question=question, documents=documents, date=date, budget=budget
        )
    return prediction.verdict


def _on(program: Program, lm: str | dspy.BaseLM | None) -> Program:
    """The program on the LM that the caller means, else on its own."""
    if lm is None and program.backbone is not None:
        return program
    return program.on(as_lm(lm))


def as_lm(lm: str | dspy.BaseLM | None) -> dspy.BaseLM:
    """The language model that a caller means.

    Raises:
        InputError: It is neither a language model nor a model string.
    """
    if isinstance(lm, dspy.BaseLM):
        return lm
    if lm is None and dspy.settings.lm is not None:
        return dspy.settings.lm
    if lm is None or isinstance(lm, str):
        return connect(lm)
    raise InputError(f"lm is a {type(lm).__name__}: give a dspy.LM or a model string.")


def as_program(program: str | Program | None, retriever: Any = None) -> Program:
    """The program that a caller means.

    Raises:
        InputError: There is no program of that name, or it takes no retriever.
    """
    chosen = DEFAULT_PROGRAM if program is None else program
    if isinstance(chosen, str):
        if chosen not in PROGRAMS:
            raise InputError(
                f"There is no program {chosen!r}: choose one of {', '.join(PROGRAMS)}."
            )
        chosen = PROGRAMS[chosen]()
    if not isinstance(chosen, Program):
        raise InputError(f"program is a {type(chosen).__name__}: give a Program or its name.")
    if retriever is not None:
        raise InputError(f"{chosen.name} takes no retriever: leave it out.")
    return chosen
