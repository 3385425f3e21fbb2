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


def inputs_digest(example: dspy.Example) -> str:
    """SHA-256 of an example's inputs."""
    return _digest(dict(example.inputs()))


def data_digest(*parts: Iterable[Any]) -> str:
    """SHA-256 of data sets in order, labels included."""
    return _digest(
        [[dict(x) if isinstance(x, dspy.Example) else x for x in part] for part in parts]
    )


def _digest(value: Any) -> str:
    def plain(item: Any) -> Any:
        return item.model_dump(mode="json") if hasattr(item, "model_dump") else str(item)

    text = json.dumps(value, sort_keys=True, default=plain, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _example(item: Any, where: str) -> dspy.Example:
    if isinstance(item, Row):
        item = item.as_example()
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
