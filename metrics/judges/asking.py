"""Items to requests and back: numbered batches, the order check, verdicts by item."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from ...runtime.chunks import sentences
from .base import Ask, Rounds

K = TypeVar("K")
T = TypeVar("T")

_CERTAIN_END = ".!。！"  # a question states nothing


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items in ceil(n / size) parts whose lengths differ by one at most."""
    count = math.ceil(len(items) / size)
    cuts = [i * len(items) // count for i in range(count + 1)] if count else [0]
    return [items[a:b] for a, b in pairwise(cuts)]


def certain(text: str, items: Iterable[str], *, stated: Any, blank: Any) -> dict[str, Any]:
    """Labels that need no request.

    Args:
        text: What may state the items.
        items: Facts or claims.
        stated: The label of an item that is a sentence of the text, but for case, white space and
            the stop at its end. A part of a sentence is not certain: "if", "nobody says that".
        blank: The label of every item when the text is blank.

    Returns:
        Item -> label, for those items only.
    """
    if not text.strip():
        return dict.fromkeys(items, blank)
    whole = {bare(span.text) for span in sentences(text)}
    return {item: stated for item in items if bare(item) in whole}


def bare(sentence: str) -> str:
    """A sentence without what two copies of it may differ in: case, white space, the last stop."""
    return " ".join(sentence.casefold().split()).rstrip(_CERTAIN_END)


def settings(per_request: int) -> dict[str, Any]:
    """Options of a predictor that gives one short verdict for each of ``per_request`` items."""
    return {"temperature": 0.0, "max_tokens": 60 + 40 * per_request}


def label_items(
    items: Sequence[K], per_request: int, swap: bool, ask: Callable[[Sequence[K]], Ask], field: str
) -> Rounds[dict[K, Any]]:
    """Ask about all items in one round.

    Args:
        items: What is judged, without repetitions.
        per_request: Items in one request.
        swap: Ask again with the items of each request in reverse order.
        ask: Makes the request for some items, which it numbers from 1.
        field: The field of a verdict that holds the label.

    Returns:
        Item -> label, for the items that got one verdict or, with ``swap``, two equal ones.
    """
    groups = batches(items, per_request)
    turned = [group[::-1] for group in groups if len(group) > 1] if swap else []
    asked = [*groups, *turned]
    if not asked:
        return {}
    replies = yield [ask(group) for group in asked]
    read = [_read(group, reply, field) for group, reply in zip(asked, replies, strict=True)]
    first = {item: label for part in read[: len(groups)] for item, label in part.items()}
    second = {item: label for part in read[len(groups) :] for item, label in part.items()}
    again = {item for group in turned for item in group}
    return {i: label for i, label in first.items() if i not in again or second.get(i) == label}


def _read(group: Sequence[K], reply: Any, field: str) -> dict[K, Any]:
    """Verdicts of one reply by item; an item with two different ones has none."""
    if isinstance(reply, Exception):
        return {}
    labels: dict[int, set[Any]] = {}
    for verdict in reply.verdicts.root:
        labels.setdefault(verdict.number, set()).add(getattr(verdict, field))
    return {
        item: next(iter(labels[n]))
        for n, item in enumerate(group, start=1)
        if len(labels.get(n, ())) == 1
    }
