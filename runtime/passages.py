"""Cutting long documents to what a prompt holds: the parts that share most with the question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .chunks import Span, chunk

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_CHUNK_CHARS = 1200
_GAP = "\n[...]\n"
_LIKE_A_SOURCE = re.compile(r"^([^\S\n]*)\[(\d+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Passage:
    """What a prompt gets of a document: its text, and whether anything was left out."""

    text: str
    cut: bool


def estimate_tokens(text: str) -> int:
    """Tokens of a text, on the high side: 3.2 ASCII characters or one other character a token."""
    ascii_chars = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_chars / 3.2) + len(text) - ascii_chars


def fit(text: str, question: str, max_tokens: int) -> Passage:
    """The parts of a text that share most words with a question, in their order.

    Args:
        text: A document's text.
        question: What is asked.
        max_tokens: Upper bound on the passage, in estimated tokens.

    Returns:
        The whole text when it fits, else whole chunks of it joined by a visible gap.
    """
    if estimate_tokens(text) <= max_tokens:
        return Passage(text.strip(), cut=False)
    # A token is at least one character: no chunk of this size can be over the bound.
    chunks = chunk(text, max_chars=min(_CHUNK_CHARS, max_tokens))
    chosen: list[int] = []
    room = max_tokens
    for index in _by_relevance(chunks, question):
        cost = estimate_tokens(chunks[index].text) + 3
        if cost <= room:
            chosen.append(index)
            room -= cost
    kept = _without_overlap([chunks[i] for i in sorted(chosen)], text)
    return Passage(_GAP.join(kept), cut=True)


def numbered(texts: Iterable[str], start: int = 1) -> list[str]:
    """Texts as the numbered sources of one prompt.

    A line in a text that begins like a source, ``[3] ...``, becomes ``(3) ...``: no document can
    pass for several.
    """
    plain = (_LIKE_A_SOURCE.sub(r"\1(\2)", text) for text in texts)
    return [f"[{n}] {text}" for n, text in enumerate(plain, start=start)]


def _by_relevance(chunks: Sequence[Span], question: str) -> list[int]:
    """Chunk indices by summed inverse document frequency of the question's words; ties in order."""
    bags = [set(_words(c.text)) for c in chunks]
    frequency = Counter(word for bag in bags for word in bag)
    asked = set(_words(question))
    rarity = {w: math.log((1 + len(bags)) / (0.5 + frequency[w])) for w in asked if frequency[w]}
    scores = [sum(rarity[w] for w in asked & bag) for bag in bags]
    return sorted(range(len(chunks)), key=lambda i: (-scores[i], i))


def _without_overlap(spans: Sequence[Span], text: str) -> list[str]:
    """Texts of spans in order, neighbours joined and shared sentences once."""
    merged: list[list[int]] = []
    for span in spans:
        if merged and span.start <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], span.end)
        else:
            merged.append([span.start, span.end])
    return [text[start:end].strip() for start, end in merged]


def _words(text: str) -> list[str]:
    """Lower-case words; scripts without spaces by character, so that they can match at all."""
    words: list[str] = []
    for word in _WORD.findall(text.casefold()):
        words.extend(word if ord(word[0]) >= 0x3040 else (word,))
    return words
