"""From what the stages of ArbGraph found to a `Report`: status, reasons, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..runtime.failures import failure
from ..runtime.records import Claim, Report, Status
from .arbitration_rounds import Decision
from .base import Case
from .claim_arbiter import Arbitrated
from .claim_nodes import Screened
from .composition import Composition
from .evidence_graph import EvidenceGraph
from .extraction import Extraction
from .verification import Verified


@dataclass(frozen=True)
class Findings:
    """What was found so far; a report can be made of it at any stage.

    Attributes:
        case: The case.
        extraction: What the documents state.
        claims: Nodes, and claims off the question.
        related: Relations of the candidate pairs.
        graph: The evidence graph.
        arbitrated: Credibilities and decisions.
        composition: The text.
        failed: Why there is no text, when the last request failed.
    """

    case: Case
    extraction: Extraction
    claims: Screened
    related: Mapping[tuple[int, int], Verified] = field(default_factory=dict)
    graph: EvidenceGraph = field(default_factory=EvidenceGraph)
    arbitrated: Arbitrated | None = None
    composition: Composition = field(default_factory=Composition)
    failed: Exception | None = None

    def usable(self, *, keep_all: bool = False) -> list[Claim]:
        """Claims that the answer may use, with their credibility."""
        validated, suppressed = self.judged()
        return [*validated, *suppressed] if keep_all else validated

    def judged(self) -> tuple[list[Claim], list[Claim]]:
        """Validated and suppressed claims, with credibility and the reason why they lost."""
        if self.arbitrated is None:
            return [], []
        found = self.arbitrated.arbitration
        kept, why = set(found.validated), self._defeats()
        judged = [
            claim.model_copy(
                update={
                    "credibility": found.credibility[claim.id],
                    "reason": "" if claim.id in kept else why.get(claim.id, ""),
                }
            )
            for claim in self.claims.nodes
        ]
        return [c for c in judged if c.id in kept], [c for c in judged if c.id not in kept]

    def disputed(self) -> dict[str, str]:
        """For both claims of each contradiction that stayed open the id of the other."""
        found: dict[str, str] = {}
        for a, b in self.arbitrated.arbitration.unresolved if self.arbitrated else ():
            found.setdefault(a, b)
            found.setdefault(b, a)
        return found

    def settled(self) -> list[Claim]:
        """Validated claims that won every decision about them, the most credible first."""
        if self.arbitrated is None:
            return []
        applied = [d for d in self.arbitrated.arbitration.history if d.applied]
        won, lost = {d.winner for d in applied}, {_loser(d) for d in applied}
        found = [c for c in self.judged()[0] if c.id in won - lost]
        return sorted(found, key=lambda c: -(c.credibility or 0.0))

    def _defeats(self) -> dict[str, str]:
        """For each claim that lost a decision, to which and why; the last defeat counts."""
        if self.arbitrated is None:
            return {}
        texts = {claim.id: claim.text for claim in self.claims.nodes}
        decided = zip(self.arbitrated.arbitration.history, self.arbitrated.reasons, strict=True)
        return {
            _loser(d): f"lost to {d.winner} (“{texts[d.winner or '']}”): {reason}"
            for d, reason in decided
            if d.applied
        }


def report(findings: Findings) -> Report:
    """The report of what was found."""
    validated, suppressed = findings.judged()
    composition = findings.composition
    status, explanation = _status(findings, validated)
    arbitrated = findings.arbitrated
    return Report(
        text=composition.text,
        explanation=explanation,
        abstained=status == "abstained",
        status=status,
        citations=composition.citations,
        validated=tuple(validated),
        suppressed=tuple(suppressed),
        filtered=tuple(findings.claims.filtered),
        graph=findings.graph.to_dict(),
        decisions=_decisions(arbitrated),
        unresolved=tuple(arbitrated.arbitration.unresolved) if arbitrated else (),
        conflicts=arbitrated.conflicts if arbitrated else (),
        stages=_counts(findings),
        notes=_notes(findings),
    )


def _status(findings: Findings, validated: list[Claim]) -> tuple[Status, str]:
    """The status and one or two sentences: what the answer rests on, or why there is none."""
    if findings.failed is not None:
        status, sentence = failure(findings.failed)
        shown = " The claims are shown." if findings.composition.text else ""
        why = f"The claims were settled, but the answer could not be written: {sentence}{shown}"
        return status, why
    if findings.composition.text:
        return "ok", _basis(findings, validated)
    failures = findings.extraction.failures
    if failures and not findings.extraction.claims and len(failures) >= findings.extraction.chunks:
        order: tuple[Status, ...] = ("budget", "provider_error", "parse_error")
        worst = next(s for s in order if any(f[1] == s for f in failures))
        return worst, next(f[2] for f in failures if f[1] == worst)
    return "abstained", f"Abstained: {_why_nothing(findings, validated)}."


def _why_nothing(findings: Findings, validated: list[Claim]) -> str:
    if not any(document.text.strip() for document in findings.case.documents):
        return "no document has text"
    if not findings.extraction.chunks:
        return "all documents with text are about a homonym"
    if not findings.extraction.claims:
        return "no claim could be read in the documents"
    if not findings.claims.nodes:
        nearest = max(findings.claims.filtered, key=lambda c: c.relevance or 0.0)
        return (
            f"no claim bears on the question (the nearest, “{nearest.text}”, has cosine "
            f"{nearest.relevance})"
        )
    return "no claim survived arbitration" if not validated else "no claim fits into the prompt"


def _basis(findings: Findings, validated: list[Claim]) -> str:
    graph = findings.graph
    used = {id for c in findings.composition.citations for id in c.claim_ids}
    lost = len(findings.claims.nodes) - len(validated)
    open_pairs = len(findings.arbitrated.arbitration.unresolved) if findings.arbitrated else 0
    kept = sum(claim.id in used for claim in validated)
    text = f"The answer rests on {kept} of {_many(len(validated), 'validated claim')}."
    if len(used) > kept:
        text = f"{text[:-1]}, and on {len(used) - kept} that lost."
    if graph.contradictions:
        text += f" {_many(len(graph.contradictions), 'contradiction')}: {_many(lost, 'claim')} lost"
        text += f", {open_pairs} stay{'s' * (open_pairs == 1)} unresolved." if open_pairs else "."
    return text


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _decisions(arbitrated: Arbitrated | None) -> tuple[dict[str, Any], ...]:
    if arbitrated is None:
        return ()
    pairs = zip(arbitrated.arbitration.history, arbitrated.reasons, strict=True)
    return tuple({**asdict(decision), "reason": reason} for decision, reason in pairs)


def _loser(decision: Decision) -> str:
    return decision.b if decision.winner == decision.a else decision.a


def _counts(findings: Findings) -> dict[str, Any]:
    relations = Counter(found.relation for found in findings.related.values())
    composition = findings.composition
    return {
        "chunks": findings.extraction.chunks,
        "claims": len(findings.extraction.claims),
        "ungrounded": len(findings.extraction.ungrounded),
        "nodes": len(findings.claims.nodes),
        "filtered": len(findings.claims.filtered),
        "pairs": len(findings.related),
        "pairs_by_code": sum(found.by == "code" for found in findings.related.values()),
        "relations": dict(relations),
        "supports": len(findings.graph.supports),
        "contradictions": len(findings.graph.contradictions),
        "rounds": findings.arbitrated.arbitration.rounds if findings.arbitrated else 0,
        "citations_repaired": composition.repaired,
        "settled_claims_added": composition.added,
        "sentences_dropped": list(composition.dropped),
    }


def _notes(findings: Findings) -> tuple[str, ...]:
    """One note for each failed chunk, and for an answer that had to be put together in code."""
    notes = [f"{document}: {sentence}" for document, _, sentence in findings.extraction.failures]
    if findings.composition.extractive and findings.failed is None:
        notes.append("No sentence of the model rests on the claims: the claims are shown.")
    return tuple(dict.fromkeys(notes))
