"""Atomic claims of a text: what a model lists, tied in code to the words that state it (§3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..runtime.chunks import Span, sentences
from ..runtime.records import Document, Evidence
from .agreement import claim_facts
from .clusters import answer_tokens
from .fidelity import denies, numbers_stand, without_numbers
from .wording import content

STOPS = (".", "!", "?", "。", "！", "？", "।", "؟")  # what a whole sentence ends with
# Text that speaks to the model instead of stating a fact.
_COMMAND = re.compile(
    r"\W{0,9}(?:(?:now|please|you (?:must|should)|to the \w{1,20}:)\W{1,3}){0,2}"
    r"(?:ignore|disregard|forget|override)\b.{0,60}\b(?:instructions?|prompts?|rules?|above)\b",
    re.IGNORECASE,
)
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
    in the chunk, are known, and half of the other words are enough. A sentence that tells its
    reader to ignore instructions is no fact. Equal texts are one claim.

    Args:
        texts: Claims as the model wrote them.
        chunk: What it read, and where that comes from.
    """
    claims: list[Extracted] = []
    ungrounded: list[str] = []
    page = _Page(chunk)
    for text in dict.fromkeys(texts):
        found = page.stating(text)
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


class _Page:
    """A chunk taken apart once."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk, self.parts = chunk, sentences(chunk.span.text)
        self.read = f"{chunk.about} {chunk.span.text}"
        self.words = [content(part.text) for part in self.parts]
        self.about = content(chunk.about)

    def stating(self, claim: str) -> Evidence | None:
        """The sentence, or the two, that state a claim."""
        words = content(claim)
        if not words or not self.parts or _COMMAND.match(claim):
            return None
        if not numbers_stand(claim, self.read):
            return None
        known = self._known(claim) & words
        first, last = self._nearest(words, known)
        said = frozenset().union(*self.words[first : last + 1])
        plain = content(without_numbers(claim)) or words  # numbers stand, maybe in other notation
        if not _holds(said, plain, known & plain):
            return None
        offset = self.chunk.span.start
        start, end = offset + self.parts[first].start, offset + self.parts[last].end
        text = self.chunk.document.text[start:end]
        return None if denies(text, claim, known) else Evidence(text=text, start=start, end=end)

    def _known(self, claim: str) -> frozenset[str]:
        """Words that a sentence may leave out, since they tell what the text is about."""
        read = frozenset().union(*self.words)
        named = {t for name in claim_facts(claim).names for t in answer_tokens(name)}
        return self.about | (read & named)

    def _nearest(self, words: frozenset[str], known: frozenset[str]) -> tuple[int, int]:
        """First and last sentence: the nearest one, or two where the second earns its place."""
        new = words - known
        shares = [len(said & new) for said in self.words]
        best = max(range(len(shares)), key=lambda i: shares[i])
        if shares[best] + len(known) >= _ALMOST * len(words) or len(shares) == 1:
            return best, best
        both = [len((a | b) & new) for a, b in pairwise(self.words)]
        two = max(range(len(both)), key=lambda i: both[i])
        return (two, two + 1) if both[two] > shares[best] + 1 else (best, best)


def _holds(said: frozenset[str], words: frozenset[str], known: frozenset[str]) -> bool:
    new = words - known
    if len((said | known) & words) < _STATED * len(words):
        return False
    return len(said & new) >= _SAID * len(new)
