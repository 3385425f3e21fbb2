"""The long answer from validated claims; every sentence is tied to claims in code (§3.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import dspy

from ..runtime.passages import estimate_tokens
from ..runtime.records import Citation, Claim
from ..signatures import CitedSentence, ComposeReport
from .base import Case
from .certain_relations import certain_relation
from .clusters import answer_tokens
from .fidelity import denies, names_stand, numbers_stand
from .rival_values import rival_values
from .steps import Call, Reply, Steps, Wave
from .wording import content

LONGEST_ANSWER = 1200  # tokens of a reply
_RESTS = 0.5  # ours: of a sentence's content words, in the claims it rests on
_SHARE = 0.25  # ours: of them, in each claim that it cites
_MARKS = re.compile(r"\s?\[(?:claims?\s)?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,20}\]", re.IGNORECASE)


@dataclass(frozen=True)
class Composition:
    """A text with its citations, and what had to be mended.

    Attributes:
        text: Sentences, joined by spaces.
        citations: One for each sentence, in order.
        repaired: Sentences whose citations were replaced by claims that hold them.
        dropped: Sentences that rest on no claim, or repeat another; they are not in the text.
        added: Settled claims that the model left out, put first.
        extractive: Whether the claims themselves are shown, for want of a usable sentence.
    """

    text: str = ""
    citations: tuple[Citation, ...] = ()
    repaired: int = 0
    dropped: tuple[str, ...] = ()
    added: int = 0
    extractive: bool = False


class Writer(dspy.Module):
    """Writes the answer from validated claims."""

    def __init__(self) -> None:
        super().__init__()
        self.compose = dspy.Predict(ComposeReport, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def steps(
        self, case: Case, claims: Sequence[Claim], disputed: Mapping[str, str]
    ) -> Steps[Reply]:
        """One request; returns its reply.

        Args:
            case: The case.
            claims: Validated claims, numbered from 1 in the prompt.
            disputed: For claims of an unresolved contradiction the id of the other one.
        """
        inputs = {"claims": as_list(claims, disputed), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.compose, inputs, role="writer")])
        return reply


def as_list(claims: Sequence[Claim], disputed: Mapping[str, str]) -> str:
    """Claims as numbered lines; what is disputed says by which number."""
    numbers = {claim.id: n for n, claim in enumerate(claims, start=1)}
    lines = []
    for claim in claims:
        rival = numbers.get(disputed.get(claim.id, ""))
        mark = f" (disputed by {rival})" if rival else ""
        lines.append(f"{numbers[claim.id]}. {claim.text}{mark}")
    return "\n".join(lines)


def fitting(claims: Sequence[Claim], max_tokens: int) -> tuple[list[Claim], int]:
    """The claims that a prompt holds, the best first, and how many it does not.

    The most credible go first, then those with more independent sources, then the most relevant.
    """

    def rank(claim: Claim) -> tuple[float, int, float]:
        return -(claim.credibility or 0.0), -claim.sources, -(claim.relevance or 0.0)

    room, kept = max_tokens, []
    for claim in sorted(claims, key=rank):
        room -= estimate_tokens(claim.text) + 6
        if room < 0:
            break
        kept.append(claim)
    return kept, len(claims) - len(kept)


def composed(sentences: Sequence[CitedSentence], claims: Sequence[Claim]) -> Composition:
    """The text of the sentences that rest on claims.

    A sentence rests on its cited claims as `rests_on` says. Citations that do not exist are left
    out; a sentence that does not rest on what is left gets the claims that it does rest on, else
    it is dropped. Marks such as "[2]" are not part of a sentence.

    Args:
        sentences: As the model wrote them, with claim numbers from 1.
        claims: What they were written from, in that order.
    """
    kept: list[tuple[str, list[Claim]]] = []
    dropped: list[str] = []
    told: set[tuple[str, ...]] = set()
    repaired = 0
    for item in sentences:
        sentence = " ".join(_MARKS.sub(" ", item.sentence).split()).replace(" .", ".")
        cited = [claims[n - 1] for n in dict.fromkeys(item.claims) if 1 <= n <= len(claims)]
        sound = len(cited) == len(set(item.claims)) > 0 and rests_on(sentence, cited)
        basis = _sharing(sentence, cited) if sound else _basis(sentence, cited, claims)
        tokens = tuple(answer_tokens(sentence))
        if not basis or tokens in told:
            dropped.append(sentence)
            continue
        told.add(tokens)
        repaired += not sound
        kept.append((ended(sentence), basis))
    if not kept and claims:
        return _joined([(c.text, [c]) for c in claims], repaired, dropped, extractive=True)
    return _joined(kept, repaired, dropped)


def with_settled(found: Composition, settled: Sequence[Claim]) -> Composition:
    """The text led by the claims that won a contradiction, where no sentence rests on them.

    What was disputed and settled is what the reader must learn; small models leave it out.

    Args:
        found: The composition.
        settled: Claims that won, the most credible first.
    """
    cited = {id for citation in found.citations for id in citation.claim_ids}
    missing = [(c.text, [c]) for c in settled if c.id not in cited]
    if not missing or not found.citations:
        return found
    lead = _joined([(ended(text), basis) for text, basis in missing], 0, ())
    shift = len(lead.text) + 1
    moved = [
        c.model_copy(update={"start": c.start + shift, "end": c.end + shift})
        for c in found.citations
    ]
    return replace(
        found,
        text=f"{lead.text} {found.text}",
        citations=(*lead.citations, *moved),
        added=len(missing),
    )


def rests_on(sentence: str, claims: Sequence[Claim]) -> bool:
    """Whether claims, with the sentences that state them, hold what a sentence says.

    Half of its words, all its numbers and all its names; and it contradicts none of the claims.
    """
    stated = " ".join(t for c in claims for t in (c.text, *(m.evidence.text for m in c.mentions)))
    words = content(sentence)
    if not words or len(words & content(stated)) < _RESTS * len(words):
        return False
    if not numbers_stand(sentence, stated) or not names_stand(sentence, stated):
        return False
    return not any(_contradicts(sentence, claim.text) for claim in claims)


def _contradicts(sentence: str, claim: str) -> bool:
    """Whether code sees that both cannot hold: one negated, or one date or number exchanged."""
    sure = certain_relation(sentence, claim)
    if sure is not None and sure.label == "contradiction":
        return True
    return denies(sentence, claim) or rival_values(sentence, claim)


def _basis(sentence: str, cited: Sequence[Claim], claims: Sequence[Claim]) -> list[Claim]:
    """Claims that hold a sentence whose own citations do not: those left, else the nearest two."""
    if cited and rests_on(sentence, cited):
        return list(cited)
    words = content(sentence)
    nearest = sorted(claims, key=lambda c: -len(words & content(c.text)))[:2]
    for basis in (nearest[:1], nearest):
        if basis and rests_on(sentence, basis):
            return basis
    return []


def _sharing(sentence: str, cited: Sequence[Claim]) -> list[Claim]:
    """Cited claims without those that a sentence has next to nothing of and does not need."""
    words = content(sentence)
    near = [c for c in cited if len(words & content(c.text)) >= _SHARE * len(words)]
    return near if near and rests_on(sentence, near) else list(cited)


def ended(sentence: str) -> str:
    """A sentence with a full stop where it ends without any."""
    return sentence if sentence[-1] in ".!?。！？।…" else f"{sentence}."


def _joined(
    parts: Sequence[tuple[str, list[Claim]]],
    repaired: int,
    dropped: Sequence[str],
    *,
    extractive: bool = False,
) -> Composition:
    text, citations = "", []
    for sentence, basis in parts:
        start = len(text) + bool(text)
        text = f"{text} {sentence}" if text else sentence
        documents = dict.fromkeys(d for claim in basis for d in claim.document_ids)
        citations.append(
            Citation(
                start=start,
                end=len(text),
                claim_ids=tuple(claim.id for claim in basis),
                document_ids=tuple(documents),
            )
        )
    return Composition(text, tuple(citations), repaired, tuple(dropped), extractive=extractive)
