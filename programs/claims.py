"""Atomic claims of a text: what a model lists, tied in code to the words that state it (§3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..runtime.chunks import Span, sentences
from ..runtime.records import Document, Evidence
from .clusters import answer_tokens
from .quantities import parse_quantities, states_quantity
from .wording import content

_STATED = 0.6  # ours: of a claim's content words, in the sentence or two that state it
_ALMOST = 0.9  # ours: a single sentence that holds so much needs no second one


class Chunk(NamedTuple):
    """A part of a document that is read in one request: ``span`` of ``document.text``."""

    document: Document
    span: Span
    about: str = ""


@dataclass(frozen=True)
class Extracted:
    """A claim as one text states it.

    Attributes:
        text: One sentence.
        document: Where it stands.
        evidence: The verbatim span of the document that states it.
    """

    text: str
    document: Document
    evidence: Evidence


class Grounding(NamedTuple):
    """What a reply came to: claims with their evidence, and texts that the chunk does not state."""

    claims: list[Extracted]
    ungrounded: list[str]


def ground(texts: Sequence[str], chunk: Chunk) -> Grounding:
    """Tie claims to the sentence, or the two adjacent ones, that state them.

    A claim is kept when at least 0.6 of its content words stand there and no number in it is
    missing from the chunk; a model that adds a year adds a fact. Equal texts are one claim.

    Args:
        texts: Claims as the model wrote them.
        chunk: What it read; words of ``about`` (where a subject comes from) count as stated.
    """
    claims: list[Extracted] = []
    ungrounded: list[str] = []
    parts = sentences(chunk.span.text)
    for text in dict.fromkeys(texts):
        found = _stating(text, parts, chunk)
        if found is None:
            ungrounded.append(text)
        else:
            claims.append(Extracted(text, chunk.document, found))
    return Grounding(claims, ungrounded)


def rest(chunk: Chunk, claims: Sequence[Extracted]) -> Chunk | None:
    """What of a chunk stands behind the last sentence that a claim covers; None when nothing."""
    if not claims:
        return None
    start = max(c.evidence.end for c in claims)
    left = chunk.document.text[start : chunk.span.end]
    body = left.strip()
    if not any(c.isalnum() for c in body):
        return None
    start += len(left) - len(left.lstrip())
    return chunk._replace(span=Span(start, start + len(body), body))


def _stating(claim: str, parts: Sequence[Span], chunk: Chunk) -> Evidence | None:
    words = content(claim)
    if not words or not parts or not _numbers_stand(claim, chunk):
        return None
    known = content(chunk.about) & words
    shares = [len((content(p.text) | known) & words) / len(words) for p in parts]
    best = max(range(len(parts)), key=lambda i: shares[i])
    if shares[best] >= _ALMOST or len(parts) == 1:
        return _evidence(parts[best], parts[best], chunk) if shares[best] >= _STATED else None
    pairs = [
        (len((content(a.text) | content(b.text) | known) & words) / len(words), -i, a, b)
        for i, (a, b) in enumerate(pairwise(parts))
    ]
    share, _, first, last = max(pairs, key=lambda p: p[:2])
    if share - shares[best] > 1 / len(words):  # a second sentence must earn its place
        return _evidence(first, last, chunk) if share >= _STATED else None
    return _evidence(parts[best], parts[best], chunk) if shares[best] >= _STATED else None


def _numbers_stand(claim: str, chunk: Chunk) -> bool:
    read = f"{chunk.about} {chunk.span.text}"
    digits = {t for t in answer_tokens(claim) if any(c.isdigit() for c in t)}
    if digits <= set(answer_tokens(read)):
        return True
    return all(states_quantity(read, quantity) for quantity in parse_quantities(claim))


def _evidence(first: Span, last: Span, chunk: Chunk) -> Evidence:
    start, end = chunk.span.start + first.start, chunk.span.start + last.end
    return Evidence(text=chunk.document.text[start:end], start=start, end=end)
