"""The bundled examples: one small conflict of each kind, written for this project."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..errors import InputError
from ..runtime.records import Document


@dataclass(frozen=True)
class Example:
    """One question with sources that disagree, or do not.

    Attributes:
        name: As ``referee resolve --example`` takes it.
        conflict: The kind of conflict.
        question: What is asked.
        documents: The sources.
        answers: Right answers; empty when no source tells.
        wrong_answers: Answers that some source states and that are wrong.
        facts: What a long answer should state; empty where a short answer is asked.
    """

    name: str
    conflict: str
    question: str
    documents: tuple[Document, ...]
    answers: tuple[str, ...]
    wrong_answers: tuple[str, ...]
    facts: tuple[str, ...] = ()


@cache
def examples() -> dict[str, Example]:
    """All bundled examples by name."""
    lines = (
        files("referee.data").joinpath("examples.jsonl").read_text(encoding="utf-8").splitlines()
    )
    found = [_example(json.loads(line)) for line in lines if line]
    return {e.name: e for e in found}


def example(name: str) -> Example:
    """One bundled example.

    Raises:
        InputError: There is none of that name.
    """
    known = examples()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}."
        raise InputError(f"There is no example {name!r}: {meant}")
    return known[name]


def _example(row: dict[str, object]) -> Example:
    documents = row.pop("documents")
    return Example(
        **{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()},  # type: ignore[arg-type]
        documents=tuple(Document.model_validate(d) for d in documents),  # type: ignore[attr-defined]
    )
