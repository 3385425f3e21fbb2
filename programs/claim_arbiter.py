"""The arbiter of contradicting claims: rules in code first, then the model (ArbGraph §3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

import dspy

from ..runtime.records import Claim
from ..signatures import ClaimCase, WeighClaims
from .analyzer import asks_model
from .arbitration_rounds import Answer, Arbitration, Ask, arbitration_rounds
from .base import Case
from .claim_nodes import origin_of
from .conflict_types import changed_state
from .conflicts import Relation, Side
from .evidence_graph import EvidenceGraph
from .failures import failure
from .operators import apply_rules, open_rules
from .reasoner import as_rule_text, winner_index
from .replay import computed
from .rival_values import corroborates
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


@dataclass(frozen=True)
class Arbitrated:
    """The outcome, and per decision why: the rule, or that the model judged."""

    arbitration: Arbitration
    reasons: tuple[str, ...]


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
        self.weigh = dspy.Predict(WeighClaims, temperature=0.0, max_tokens=60)

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
        if not asks_model(self.ask_model, case, self.weigh, "arbiter"):
            most = 0
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
        reasons: list[str] = []
        answers: list[Answer] | None = None
        while True:
            try:
                asks = rounds.send(answers) if answers is not None else next(rounds)
            except StopIteration as done:
                return Arbitrated(done.value, tuple(reasons))
            said = [court.by_rule(ask) for ask in asks]
            open_asks = [n for n, decision in enumerate(said) if decision is None]
            affordable = open_asks if most is None else open_asks[:most]
            most = None if most is None else most - len(affordable)
            if affordable:
                calls = [court.call(asks[n]) for n in affordable]
                replies = yield Wave("arbitration", calls)
                for n, reply in zip(affordable, replies, strict=True):
                    said[n] = court.by_model(asks[n], reply)
            answers = [d[0] if d else (None, 0.0) for d in said]
            reasons += [d[1] if d else "no rule decides, and the model was not asked" for d in said]


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
        # Neither depends on credibility, so a tuner's next run on this graph finds them here.
        self.by_rule, self.call = cache(self._by_rule), cache(self._call)

    def _by_rule(self, ask: Ask) -> tuple[Answer, str] | None:
        """The decision of the first rule that code can apply; the order of the two is no matter."""
        sides = self._sides(ask)
        judgment = apply_rules(
            self.case.question, self._relation(sides), sides, self.case.date, self.rules
        )
        if judgment.winner is None:
            return None
        winner = (ask.a, ask.b)[judgment.winner]
        return (winner, 1.0), f"rule {judgment.rule}: {judgment.reason}"

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

    def by_model(self, ask: Ask, reply: Reply) -> tuple[Answer, str]:
        """What the model decided; a failed call decides nothing and is noted."""
        if isinstance(reply, Exception):
            sentence = failure(reply)[1]
            self.case.meter.note(f"The arbiter failed on a pair of claims: {sentence}")
            return (None, 0.0), f"failed: {sentence}"
        index = winner_index(reply.winner)
        if index is None:
            return (None, 0.0), "the model is undecided"
        confidence = min(max(float(reply.confidence), 0.0), 1.0)
        return ((ask.a, ask.b)[index], confidence), "the model judged"

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
        named = self.graph.support_neighbours(claim.id)
        named += [
            c.id for c in self.claims.values() if corroborates(c.text, claim.text, rival.text)
        ]
        return [id for id in dict.fromkeys(named) if id not in (claim.id, rival.id)]

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
