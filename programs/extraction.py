"""From documents to atomic claims: one request a chunk, all at once (ArbGraph §3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import dspy

from ..runtime.chunks import chunk, sentences
from ..runtime.failures import FailureStatus, failure
from ..runtime.records import Document
from ..signatures import ExtractClaims, ExtractRelevantClaims
from .base import Case
from .claims import STOPS, Chunk, Extracted, ground, rest
from .steps import Call, Reply, Steps, Wave

CHUNK_CHARS = 1200  # ours: its claims fit into one reply
LONGEST_REPLY = 900  # tokens
CONTINUATIONS = 4  # ours: a chunk's list is continued at most so often
_ABOUT_CHARS = 160


@dataclass
class Extraction:
    """What the documents state.

    Attributes:
        claims: In order of the documents, then of the text.
        ungrounded: Claims that the text they were read from does not state; not used.
        failures: Per failed chunk its document, status and sentence.
        chunks: How many were read.
    """

    claims: list[Extracted] = field(default_factory=list)
    ungrounded: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, FailureStatus, str]] = field(default_factory=list)
    chunks: int = 0


class Extractor(dspy.Module):
    """Lists the claims of every chunk; a list that was cut off is continued behind its last claim.

    Args:
        focused: Whether only facts that bear on the question are listed (ours: a small model
            writes less and stays on the subject). The paper lists all and filters later.
    """

    def __init__(self, *, focused: bool = True) -> None:
        super().__init__()
        signature = ExtractRelevantClaims if focused else ExtractClaims
        self.extract = dspy.Predict(signature, temperature=0.0, max_tokens=LONGEST_REPLY)

    def steps(
        self, case: Case, chunks: Sequence[Chunk], most: int | None = None
    ) -> Steps[Extraction]:
        """One wave, and one more for each continuation that is needed.

        Args:
            case: The case.
            chunks: What to read.
            most: Requests at most, when a budget bounds them; not fewer than chunks.
        """
        found = Extraction(chunks=len(chunks))
        grounded: list[list[Extracted]] = [[] for _ in chunks]
        waiting = dict(enumerate(chunks))
        for _ in range(1 + CONTINUATIONS):
            asked = list(waiting.items())[:most]
            if not asked:
                break
            most = None if most is None else most - len(asked)
            replies = yield Wave("claims", [self._call(case, part) for _, part in asked])
            for (n, part), reply in zip(asked, replies, strict=True):
                left = _take(case, reply, part, grounded[n], found)
                if left is None:
                    del waiting[n]
                else:
                    waiting[n] = left
        for part in waiting.values():
            _unfinished(case, part, spent=most == 0)
        found.claims = [claim for claims in grounded for claim in claims]
        return found

    def _call(self, case: Case, part: Chunk) -> Call:
        inputs = {"about": part.about, "text": part.span.text}
        if "question" in self.extract.signature.input_fields:
            inputs["question"] = case.question
        return Call(self.extract, inputs, role="extractor")


def chunked(documents: Sequence[Document]) -> list[Chunk]:
    """All chunks of all documents that have text, each with what tells where it comes from."""
    return [
        Chunk(document, span, _about(document, first=n == 0))
        for document in documents
        for n, span in enumerate(chunk(document.text, max_chars=CHUNK_CHARS, overlap_sentences=0))
    ]


def _take(
    case: Case, reply: Reply, part: Chunk, kept: list[Extracted], found: Extraction
) -> Chunk | None:
    """Book one reply; returns what is left to read of its chunk."""
    if isinstance(reply, Exception):
        found.failures.append((part.document.id, *failure(reply)))
        return None
    texts = list(reply.claims.root)
    if not reply.complete.root and len(texts) > 1 and not texts[-1].endswith(STOPS):
        texts = texts[:-1]  # where a reply was cut off, its last sentence is cut too
    grounding = ground(texts, part)
    found.ungrounded.extend((text, part.document.id) for text in grounding.ungrounded)
    seen = {claim.text for claim in kept}
    kept.extend(claim for claim in grounding.claims if claim.text not in seen)
    if reply.complete.root or not texts:
        return None
    if not grounding.claims:  # where in the text such a list stopped is not known
        _unfinished(case, part)
    return rest(part, grounding.claims)


def _unfinished(case: Case, part: Chunk, *, spent: bool = False) -> None:
    note = f"{part.document.id}: a list of its claims was not finished"
    if spent:
        case.meter.spent(f"{note}: the budget.")
    else:
        case.meter.note(f"{note}.")


def _about(document: Document, *, first: bool) -> str:
    """Title and date; behind the first chunk also the first sentence, which names the subject."""
    opening = next((s.text for s in sentences(document.text[:2000])), "") if not first else ""
    parts = (document.title, document.date, opening)
    return ". ".join(part.strip()[:_ABOUT_CHARS] for part in parts if part.strip())
