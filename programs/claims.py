"""Atomic claims of a text: what a model lists, tied in code to the words that state it (§3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..runtime.chunks import Span, sentences
from ..runtime.records import Document, Evidence
from .agreement import claim_facts
from .clusters import answer_tokens
from .fidelity import denies, numbers_stand
from .wording import content

_STATED = 0.6  # ours: of a claim's content words, in the sentence or two that state it
_ALMOST = 0.9  # ours: a single sentence that holds so much needs no second one
_SAID = 0.5  # ours: of the words that are not known already, in that sentence


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

    A claim is kept when at least 0.6 of its content words stand there, no number in it is missing
    from the chunk (a model that adds a year adds a fact), and the sentence does not deny it. Where
    a text says "it", a claim names the subject: words of ``about``, and names that stand elsewhere
    in the chunk, are known, and half of the other words are enough. Equal texts are one claim.

    Args:
        texts: Claims as the model wrote them.
        chunk: What it read, and where that comes from.
    """
    claims: list[Extracted] = []
    ungrounded: list[str] = []
    parts = [_Part(span, content(span.text)) for span in sentences(chunk.span.text)]
    for text in dict.fromkeys(texts):
        found = _stating(text, parts, chunk)
        if found is None:
            ungrounded.append(text)
        else:
            claims.append(Extracted(text, chunk.document, found))
    return Grounding(claims, ungrounded)


def rest(chunk: Chunk, claims: Sequence[Extracted]) -> Chunk | None:
    """What of a chunk stands behind the sentence of the last claim; None when nothing does.

    Lists follow the text; where one does not, a part is read twice and nothing is left out.
    """
    if not claims:
        return None
    start = claims[-1].evidence.end
    left = chunk.document.text[start : chunk.span.end]
    body = left.strip()
    if not any(c.isalnum() for c in body):
        return None
    start += len(left) - len(left.lstrip())
    return chunk._replace(span=Span(start, start + len(body), body))


class _Part(NamedTuple):
    span: Span
    words: frozenset[str]


def _stating(claim: str, parts: Sequence[_Part], chunk: Chunk) -> Evidence | None:
    """The sentence, or the two, that state a claim."""
    words = content(claim)
    read = f"{chunk.about} {chunk.span.text}"
    if not words or not parts or not numbers_stand(claim, read):
        return None
    known = _known(claim, chunk) & words
    shares = [len((part.words | known) & words) / len(words) for part in parts]
    best = max(range(len(parts)), key=lambda i: shares[i])
    found = [parts[best]]
    if shares[best] < _ALMOST and len(parts) > 1:
        two = max(pairwise(parts), key=lambda pair: len((pair[0].words | pair[1].words) & words))
        share = len((two[0].words | two[1].words | known) & words) / len(words)
        if share - shares[best] > 1 / len(words):  # a second sentence must earn its place
            found = list(two)
    said = frozenset().union(*(part.words for part in found))
    evidence = _evidence(found[0].span, found[-1].span, chunk)
    return (
        evidence if _holds(said, words, known) and not denies(evidence.text, claim, known) else None
    )


def _known(claim: str, chunk: Chunk) -> frozenset[str]:
    """Words of a claim that a sentence may leave out, since they tell what the text is about."""
    read = content(chunk.span.text)
    named = frozenset(t for name in claim_facts(claim).names for t in answer_tokens(name))
    return content(chunk.about) | (named & read)


def _holds(said: frozenset[str], words: frozenset[str], known: frozenset[str]) -> bool:
    new = words - known
    if len((said | known) & words) < _STATED * len(words):
        return False
    return len(said & new) >= _SAID * len(new)


def _evidence(first: Span, last: Span, chunk: Chunk) -> Evidence:
    start, end = chunk.span.start + first.start, chunk.span.start + last.end
    return Evidence(text=chunk.document.text[start:end], start=start, end=end)
