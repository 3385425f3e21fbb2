"""The front door: one question, its documents, a verdict."""

from __future__ import annotations

import datetime
from typing import Any

import dspy

from referee.errors import InputError
from referee.programs import PROGRAMS, Program
from referee.programs.named import named
from referee.runtime import Budget, Report, Verdict, connect

DEFAULT_PROGRAM = "macr"
DEFAULT_WRITER = "arbgraph"


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
        program: A program, or its name, with a colon and a variant where it has some
            (``macr:no-assessment``); None for the default.
        retriever: A source of outside knowledge, for a named program that uses one (MACR).
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


def write(
    question: str,
    documents: Any,
    *,
    lm: str | dspy.BaseLM | None = None,
    program: str | Program | None = None,
    budget: Budget | None = None,
    date: str | datetime.date | None = None,
) -> Report:
    """Write a long answer to a question whose documents may disagree, with citations.

    Args:
        question: What is asked.
        documents: As for `resolve`.
        lm: As for `resolve`.
        program: A program that writes long answers, or its name; None for ArbGraph.
        budget: Bounds on requests, tokens or dollars; one request is kept for the answer.
        date: As-of date, ISO 8601; today when None.

    Returns:
        The report: text, citations, and the claims that survived or lost. Failures are its status.

    Raises:
        InputError: The question, a document, the program or the date is wrong.
        WeightsError: The weights of an embedded model cannot be had.
    """
    chosen = _on(as_program(program, long_answers=True), lm)
    with dspy.context(lm=chosen.backbone):
        prediction = chosen(question=question, documents=documents, date=date, budget=budget)
    return prediction.report


async def awrite(
    question: str,
    documents: Any,
    *,
    lm: str | dspy.BaseLM | None = None,
    program: str | Program | None = None,
    budget: Budget | None = None,
    date: str | datetime.date | None = None,
) -> Report:
    """The twin of `write` for coroutines."""
    chosen = _on(as_program(program, long_answers=True), lm)
    with dspy.context(lm=chosen.backbone):
        prediction = await chosen.acall(
            question=question, documents=documents, date=date, budget=budget
        )
    return prediction.report


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


def as_program(
    program: str | Program | None, retriever: Any = None, *, long_answers: bool = False
) -> Program:
    """The program that a caller means.

    Raises:
        InputError: There is no program of that name for answers of that length, or it takes no
            retriever, or not any more.
    """
    default = DEFAULT_WRITER if long_answers else DEFAULT_PROGRAM
    chosen = default if program is None else program
    if isinstance(chosen, str):
        fitting = [n for n, p in PROGRAMS.items() if p.long_answers == long_answers]
        name = chosen.partition(":")[0]
        if name not in fitting:
            raise InputError(_no_program(name, fitting, long_answers=long_answers))
        if retriever is not None and "retriever" in PROGRAMS[name].parts:
            return named(chosen, retriever=retriever)
        chosen = named(chosen)
    if not isinstance(chosen, Program):
        raise InputError(f"program is a {type(chosen).__name__}: give a Program or its name.")
    if chosen.long_answers != long_answers:
        raise InputError(_no_program(chosen.name, [], long_answers=long_answers))
    if retriever is not None:
        raise InputError(_no_retriever(chosen))
    return chosen


def _no_retriever(program: Program) -> str:
    """Why a program cannot be given a retriever: it has no use for one, or is built already."""
    if "retriever" not in program.parts:
        return f"{program.name} takes no retriever: leave it out."
    built = type(program).__name__
    return f"This {program.name} is built already: build it as {built}(retriever=...) instead."


def _no_program(name: str, fitting: list[str], *, long_answers: bool) -> str:
    """Why a program cannot be had: unknown, or for answers of the other length."""
    if name in PROGRAMS or not fitting:
        door = "resolve" if long_answers else "write"
        length = "short" if long_answers else "long"
        return f"{name} gives {length} answers: call referee.{door} for it."
    return f"There is no program {name!r}: choose one of {', '.join(fitting)}."
