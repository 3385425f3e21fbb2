"""Examples to compile on, from rows of data or dspy examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import dspy

from ..data import Row
from ..errors import InputError
from ..runtime.documents import as_documents, as_question


def as_examples(items: Iterable[Row | dspy.Example], what: str) -> list[dspy.Example]:
    """Examples with the inputs of a program: question, documents and date.

    Args:
        items: Rows, or dspy examples with these fields; labels (``answers``, ``facts``) stay
            beside the inputs.
        what: Name of the set, for messages.

    Raises:
        InputError: The set is empty, or a question or document in it is wrong.
    """
    examples = [_example(item, f"{what}, example {n}") for n, item in enumerate(items, start=1)]
    if not examples:
        raise InputError(f"{what} is empty: give at least one example.")
    return examples


def fingerprint(examples: Iterable[dspy.Example]) -> str:
    """SHA-256 of the examples, in order: what a compiled program was compiled on."""
    rows = [
        {**example.toDict(), "documents": [d.model_dump(mode="json") for d in example.documents]}
        for example in examples
    ]
    text = json.dumps(rows, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _example(item: Any, where: str) -> dspy.Example:
    if isinstance(item, Row):
        item = dspy.Example(
            question=item.question,
            documents=item.documents,
            date=item.date,
            answers=list(item.answers),
            facts=list(item.facts),
        )
    if not isinstance(item, dspy.Example):
        raise InputError(f"{where} is a {type(item).__name__}: give a Row or a dspy.Example.")
    try:
        checked = {
            "question": as_question(item.get("question")),
            "documents": as_documents(item.get("documents") or []),
            "date": item.get("date") or None,
        }
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return dspy.Example(**{**item.toDict(), **checked}).with_inputs(*checked)
