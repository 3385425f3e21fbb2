"""The arbiter of contradicting claims: rules in code first, then the model (ArbGraph §3.4)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

import dspy

from ..runtime.failures import failure
from ..runtime.records import Claim
from ..signatures import ClaimCase, WeighClaims
from .analyzer import asks_model
from .arbitration_rounds import Answer, Arbitration, Ask, arbitration_rounds, most_rounds
from .base import Case
from .claim_nodes import origin_of
from .conflict_types import changed_state
from .conflicts import Relation, Side
from .evidence_graph import EvidenceGraph
from .operators import apply_rules, open_rules
from .reasoner import as_rule_text, winner_index
from .replay import computed
from .rival_values import Corroboration
from .rules import Rule, RuleBase
from .settings import ArbSettings
from .steps import Call, Reply, Steps, Wave

# Operators that compare statements by where they come from. The others compare short answers to
# one question (which is more precise, which names the subject): of two claims both may be wanted.
_OF_CLAIMS = (
    "authoritative_source",
    "statement_over_plan",
    "latest_date",
    "most_independent_sources",
)
_SHOWN = 4  # ours: dates, publishers and supporting claims shown of a side


class Ruling(NamedTuple):
    """One decision: what the arbiter answers, why, and the id of the rule that decided, if any."""

    answer: Answer
    reason: str
    rule: str = ""


NOT_ASKED = Ruling((None, 0.0), "no rule decides, and the model was not asked")


@dataclass(frozen=True)
class Arbitrated:
    """The outcome.

    Attributes:
        arbitration: Credibilities and decisions.
        reasons: Why, for each decision: the rule, or that the model judged.
        conflicts: The contradictions that came before the arbiter (`Report.conflicts`).
    """

    arbitration: Arbitration
    reasons: tuple[str, ...]
    conflicts: tuple[Mapping[str, Any], ...] = ()


class Arbiter(dspy.Module):
    """Decides which of two contradicting claims is more credible.

    Args:
        rules: The rule base; an empty one leaves every decision to the model.
        ask_model: Whether the model decides what no rule in code does. None: unless the model is
            an embedded one.
    """

    def __init__(self, rules: RuleBase, *, ask_model: bool | None = None) -> None:
        super().__init__()
        self.rules, self.ask_model = rules, ask_model
        self.weigh = dspy.Predict(WeighClaims, temperature=0.0, max_tokens=70)

    def asking(self) -> Arbiter:
        """The same predictor, asked about every contradiction: no rule decides in code."""
        other = copy.copy(self)
        other.ask_model = True
        other.rules = RuleBase(rule for rule in self.rules.rules if not rule.operator)
        return other

    def request_bound(self, contradictions: int, settings: ArbSettings) -> int:
        """Requests at most for so many contradictions."""
        if self.ask_model is False or not contradictions:
            return 0
        at_once = settings.pairs_per_round
        rounds = settings.rounds or most_rounds(settings.policy, contradictions, at_once)
        return rounds * min(at_once, contradictions)

    def steps(
        self,
        case: Case,
        graph: EvidenceGraph,
        claims: Mapping[str, Claim],
        settings: ArbSettings,
        most: int | None = None,
    ) -> Steps[Arbitrated]:
        """One wave for each round in which code leaves something open.

        Args:
            case: The case.
            graph: Claims and relations.
            claims: The claims by id, with their mentions.
            settings: Step size, bounds and policy.
            most: Requests at most, when a budget bounds them.
        """
        asking = asks_model(self.ask_model, case, self.weigh, "arbiter")
        unasked: set[frozenset[str]] = set()
        court = computed(
            ("court", graph, self.rules),
            lambda: _Court(case, graph, claims, self.rules, self.weigh),
        )
        rounds = arbitration_rounds(
            graph,
            policy=settings.policy,
            step_size=settings.step_size,
            accept=settings.accept,
            budget=settings.pairs_per_round,
            rounds=settings.rounds,
            gate=settings.gate,
            schedule=settings.schedule,
            prior=settings.prior,
        )
        rulings: list[Ruling] = []
        answers: list[Answer] | None = None
        while True:
            try:
                asks = rounds.send(answers) if answers is not None else next(rounds)
            except StopIteration as done:
                if unasked:
                    case.meter.spent(f"{len(unasked)} contradictions were not weighed: the budget.")
                reasons = tuple(ruling.reason for ruling in rulings)
                return Arbitrated(done.value, reasons, court.conflicts(done.value, rulings))
            said = [court.by_rule(ask) for ask in asks]
            open_asks = [n for n, ruling in enumerate(said) if ruling is None and asking]
            affordable = open_asks[:most]
            unasked |= {frozenset(asks[n][:2]) for n in open_asks[len(affordable) :]}
            most = None if most is None else most - len(affordable)
            if affordable:
                calls = [court.call(asks[n]) for n in affordable]
                replies = yield Wave("arbitration", calls)
                for n, reply in zip(affordable, replies, strict=True):
                    said[n] = court.by_model(asks[n], reply)
            ruled = [ruling or NOT_ASKED for ruling in said]
            answers = [ruling.answer for ruling in ruled]
            rulings += ruled


class _Court:
    """One case before the arbiter: what is known of each claim."""

    def __init__(
        self,
        case: Case,
        graph: EvidenceGraph,
        claims: Mapping[str, Claim],
        rules: RuleBase,
        weigh: dspy.Predict,
    ) -> None:
        self.case, self.graph, self.claims, self.weigh = case, graph, claims, weigh
        self.documents = {d.id: d for d in case.documents}
        self.origins = origin_of(case.documents)
        in_code = [r for r in rules.rules if not r.operator or r.operator in _OF_CLAIMS]
        self.rules = RuleBase(in_code, authoritative=rules.authoritative)
        self._corroboration = Corroboration({id: claim.text for id, claim in claims.items()})
        self._backed: dict[tuple[str, str], list[str]] = {}  # every pair is asked about twice
        # Neither depends on credibility, so a tuner's next run on this graph finds them here.
        self.by_rule, self.call = cache(self._by_rule), cache(self._call)

    def _by_rule(self, ask: Ask) -> Ruling | None:
        """The decision of the first rule that code can apply; the order of the two is no matter."""
        sides = self._sides(ask)
        judgment = apply_rules(
            self.case.question, self._relation(sides), sides, self.case.date, self.rules
        )
        if judgment.winner is None:
            return None
        winner = (ask.a, ask.b)[judgment.winner]
        return Ruling((winner, 1.0), f"rule {judgment.rule}: {judgment.reason}", judgment.rule)

    def _call(self, ask: Ask) -> Call:
        """The request about a pair that no rule in code decides."""
        sides = self._sides(ask)
        inputs = {
            "question": self.case.question,
            "today": self.case.date,
            "rules": [as_rule_text(rule) for rule in self._in_words(sides)],
            "first": self._shown(ask.a, ask.b),
            "second": self._shown(ask.b, ask.a),
        }
        return Call(self.weigh, inputs, role="arbiter")

    def by_model(self, ask: Ask, reply: Reply) -> Ruling:
        """What the model decided; a failed call decides nothing and is noted."""
        if isinstance(reply, Exception):
            sentence = failure(reply)[1]
            self.case.meter.note(f"The arbiter failed on a pair of claims: {sentence}")
            return Ruling((None, 0.0), f"failed: {sentence}")
        index = winner_index(reply.winner)
        if index is None:
            return Ruling((None, 0.0), "the model is undecided")
        named = [r.id for r in self._in_words(self._sides(ask)) if r.id == reply.rule.strip()]
        reason = f"the model applied rule {named[0]}" if named else "the model judged"
        answer = (ask.a, ask.b)[index], reply.confidence.root
        return Ruling(answer, reason, named[0] if named else "")

    def conflicts(
        self, arbitration: Arbitration, rulings: Sequence[Ruling]
    ) -> tuple[Mapping[str, Any], ...]:
        """Each contradiction that was before the arbiter, with the last decision that counted."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for decision, ruling in zip(arbitration.history, rulings, strict=True):
            pair = decision.a, decision.b
            if pair not in found:
                found[pair] = self._conflict(Ask(*pair, ()))
            if decision.applied:
                settled = {"judgment": decision.winner, "rule": ruling.rule}
                found[pair] = {**found[pair], **settled, "reason": ruling.reason}
        return tuple(found.values())

    def _conflict(self, ask: Ask) -> Mapping[str, Any]:
        """A contradiction that nothing has decided yet."""
        sides = self._sides(ask)
        return {
            "type": self._relation(sides).type,
            "claims": [ask.a, ask.b],
            "answers": [side.answer for side in sides],
            "snippets": [side.snippet for side in sides],
            "dates": [side.snippet_date for side in sides],
            "sources": [side.sources for side in sides],
            "documents": [[d.id for d in side.documents] for side in sides],
            "judgment": None,
            "rule": "",
            "reason": "",
        }

    def _sides(self, ask: Ask) -> tuple[Side, Side]:
        one, other = self.claims[ask.a], self.claims[ask.b]
        return self._side(one, other), self._side(other, one)

    def _side(self, claim: Claim, other: Claim) -> Side:
        """A claim as the rules read it: its answer is what sets it apart from the other."""
        return Side(
            answer=apart(claim.text, other.text),
            documents=tuple(self.documents[m.document_id] for m in claim.mentions),
            snippets=tuple(m.evidence for m in claim.mentions),
            sources=self._sources((claim.id, *self._backing(claim, other))),
        )

    def _backing(self, claim: Claim, rival: Claim) -> list[str]:
        """Claims that support this one, and those that give its value for the subject of both."""
        key = claim.id, rival.id
        if key not in self._backed:
            named = self.graph.support_neighbours(claim.id)
            named += self._corroboration.of(claim.text, rival.text)
            self._backed[key] = [id for id in dict.fromkeys(named) if id not in key]
        return self._backed[key]

    def _sources(self, ids: Sequence[str]) -> int:
        return len({self.origins[d] for id in ids for d in self.claims[id].document_ids})

    def _relation(self, sides: tuple[Side, Side]) -> Relation:
        found = changed_state(self.case.question, *sides)
        return found or Relation(contradiction=True, reason="the claims contradict each other")

    def _in_words(self, sides: tuple[Side, Side]) -> list[Rule]:
        return open_rules(self._relation(sides), self.rules)

    def _shown(self, id: str, rival: str) -> ClaimCase:
        claim = self.claims[id]
        backing = self._backing(claim, self.claims[rival])
        documents = [self.documents[d] for d in claim.document_ids]
        return ClaimCase(
            claim=claim.text,
            independent_sources=self._sources((id, *backing)),
            publishers=_few(d.source for d in documents),
            dates=_few(d.date for d in documents),
            supported_by=_few(self.claims[id].text for id in backing),
        )


def apart(text: str, other: str) -> str:
    """The words of a claim between those that it begins and ends with like another one.

    Example:
        >>> apart("The bridge opened in 1932.", "The bridge opened in 1933.")
        '1932'
    """
    mine, its = text.strip(" .").split(), other.strip(" .").split()
    start = sum(1 for _ in takewhile(lambda w: w[0] == w[1], zip(mine, its, strict=False)))
    ends = zip(reversed(mine[start:]), reversed(its[start:]), strict=False)
    end = sum(1 for _ in takewhile(lambda w: w[0] == w[1], ends))
    return " ".join(mine[start : len(mine) - end]) or text


def _few(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(v for v in values if v))[:_SHOWN]
