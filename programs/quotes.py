"""Quotations of a model, checked and mended: only verbatim spans of the source count."""

from __future__ import annotations

from collections.abc import Iterator

from ..runtime.chunks import sentences
from ..runtime.records import Evidence

_SHARED = 0.5  # ours: of a quotation's words that a sentence must hold to be what was meant


def locate(quote: str, text: str) -> Evidence | None:
    """The span of ``text`` that a quotation means.

    Args:
        quote: What a model says it copied.
        text: The source.

    Returns:
        The span that equals the quotation up to space and case; else the sentence that holds most
        of its words; else None.
    """
    wanted = "".join(quote.split()).strip("\"'“”…").casefold()
    if not wanted:
        return None
    places = [(i, piece) for i, c in enumerate(text) for piece in _folded(c)]
    start = "".join(piece for _, piece in places).find(wanted)
    if start >= 0:
        first, last = places[start][0], places[start + len(wanted) - 1][0]
        return Evidence(text=text[first : last + 1], start=first, end=last + 1)
    return _nearest(quote, text)


def _folded(character: str) -> Iterator[str]:
    """A character without space and case; some fold to two."""
    if not character.isspace():
        yield from character.casefold()


def _nearest(quote: str, text: str) -> Evidence | None:
    words = set(quote.casefold().split())
    best = max(
        sentences(text),
        key=lambda s: len(words & set(s.text.casefold().split())),
        default=None,
    )
    if best is None or len(words & set(best.text.casefold().split())) < _SHARED * len(words):
        return None
    return Evidence(text=best.text, start=best.start, end=best.end)
