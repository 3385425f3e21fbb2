"""The Reasoner: rules settle conflicts, in code where they can (MACR §3.5.2 (3)-(4))."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

import dspy

from ..runtime.failures import failure
from ..signatures import ApplyRules, JudgeFromKnowledge, OpenConflict
from ..signatures.macr import RuleJudgment
from .analyzer import Pair, asks_model, shown
from .base import Case
from .conflicts import Judgment, Side
from .known_judgments import KnownJudgments
from .operators import apply_rules, open_rules
from .replay import computed, stand_for
from .rules import Rule, RuleBase
from .steps import Call, Steps, Wave

NOT_APPLIED = "The Reasoner could not apply the rules"  # begins the note of a verdict
_FAILED = {"reasoner": NOT_APPLIED, "fallback": "The fallback judgment failed"}


class Reasoner(dspy.Module):
    """Settles each conflict with the rules of its type and those for any type.

    Args:
        rules: The rule base.
        fallback: Whether conflicts that no rule settles are judged from the model's own knowledge.
            Such judgments are provisional. None: unless the model is an embedded one.
    """

    def __init__(self, rules: RuleBase, *, fallback: bool | None = None) -> None:
        super().__init__()
        self.rules, self.fallback = rules, fallback
        self.apply = dspy.Predict(ApplyRules, temperature=0.0, max_tokens=800)
        self.judge = dspy.Predict(JudgeFromKnowledge, temperature=0.0, max_tokens=1200)

    def steps(
        self, case: Case, sides: Sequence[Side], pairs: Sequence[Pair]
    ) -> Steps[list[Judgment]]:
        """One judgment per contradiction: code first, then at most one request, then a fallback."""
        judgments = [self._by_operator(case, sides, pair) for pair in pairs]
        waiting = {
            n: rules
            for n, (pair, judgment) in enumerate(zip(pairs, judgments, strict=True))
            if (rules := self._left_to_model(pair, judgment))
        }
        if waiting and asks_model(self.fallback, case, self.apply, "reasoner"):
            found = yield from self._by_text(case, sides, pairs, waiting)
            judgments = [found.get(n, j) for n, j in enumerate(judgments)]
        undecided = [n for n, j in enumerate(judgments) if j.how == "undecided"]
        if undecided and asks_model(self.fallback, case, self.judge, "reasoner"):
            found = yield from self._from_knowledge(case, sides, pairs, undecided)
            judgments = [found.get(n, j) for n, j in enumerate(judgments)]
        return judgments

    def _left_to_model(self, pair: Pair, judgment: Judgment) -> list[Rule]:
        """Rules in words: all where code decided nothing, else measured ones before its rule."""
        if judgment.how == "undecided":
            return open_rules(pair.relation, self.rules)
        matching = self.rules.matching(pair.relation.type)
        ahead = takewhile(lambda rule: rule.id != judgment.rule, matching)
        return [rule for rule in ahead if not rule.operator and rule.support is not None]

    def _by_operator(self, case: Case, sides: Sequence[Side], pair: Pair) -> Judgment:
        return apply_rules(case.question, pair.relation, _of(sides, pair), case.date, self.rules)

    def _by_text(
        self,
        case: Case,
        sides: Sequence[Side],
        pairs: Sequence[Pair],
        waiting: Mapping[int, Sequence[Rule]],
    ) -> Steps[dict[int, Judgment]]:
        conflicts = [
            _open(n, sides, pairs[n], rules=[as_rule_text(r) for r in rules])
            for n, rules in waiting.items()
        ]
        known = computed("judgments", KnownJudgments)
        said = {c.conflict: j for c in conflicts if (j := known.by_rules(c)) is not None}
        if not (yield from self._said(case, self.apply, "reasoner", conflicts, said, known)):
            return {}
        found = {n: by_model(said[n + 1], rules) for n, rules in waiting.items()}
        return {n: judgment for n, judgment in found.items() if judgment.winner is not None}

    def _from_knowledge(
        self, case: Case, sides: Sequence[Side], pairs: Sequence[Pair], numbers: Sequence[int]
    ) -> Steps[dict[int, Judgment]]:
        """Each conflict is put in both orders; a judgment that depends on the order is none."""
        offset = len(pairs)
        conflicts = [_open(n, sides, pairs[n]) for n in numbers]
        conflicts += [_open(n, sides, pairs[n], swap=True, offset=offset) for n in numbers]
        known = computed("judgments", KnownJudgments)
        said = {c.conflict: j for c in conflicts if (j := known.from_knowledge(c)) is not None}
        yield from self._said(case, self.judge, "fallback", conflicts, said, known)
        winners = {number - 1: winner_index(j.winner) for number, j in said.items()}
        found: dict[int, Judgment] = {}
        for n in numbers:
            one, other = winners.get(n), winners.get(n + offset)
            if one is not None and other is not None and one == 1 - other:
                found[n] = Judgment(
                    winner=one,
                    how="fallback",
                    reason="no rule applies; the model judged from its own knowledge",
                    provisional=True,
                )
        return found

    def _said(
        self,
        case: Case,
        predictor: dspy.Predict,
        stage: str,
        conflicts: Sequence[OpenConflict],
        said: dict[int, RuleJudgment],
        known: KnownJudgments,
    ) -> Steps[bool]:
        """Ask about the conflicts that ``said`` leaves open and add them; whether that went well.

        Only a tuner knows anything before it is asked.
        """
        unknown = [c for c in conflicts if c.conflict not in said]
        if not unknown:
            stand_for(1)
            return True
        inputs = {"question": case.question, "today": case.date, "conflicts": unknown}
        (reply,) = yield Wave(stage, [Call(predictor, inputs, role="reasoner")])
        if isinstance(reply, Exception):
            case.meter.note(f"{_FAILED[stage]}: {failure(reply)[1]}")
            return False
        read = {j.conflict: j for j in reply.judgments.root}
        for conflict in unknown:
            left_out = RuleJudgment(conflict=conflict.conflict)
            said[conflict.conflict] = read.get(conflict.conflict, left_out)
            known.keep(conflict, said[conflict.conflict])
        return True


def _of(sides: Sequence[Side], pair: Pair) -> tuple[Side, Side]:
    return sides[pair.first], sides[pair.second]


def _open(
    number: int,
    sides: Sequence[Side],
    pair: Pair,
    *,
    rules: list[str] | None = None,
    swap: bool = False,
    offset: int = 0,
) -> OpenConflict:
    one, other = _of(sides, pair)[:: -1 if swap else 1]
    return OpenConflict(
        conflict=number + 1 + offset,
        first=one.answer,
        first_text=shown(one),
        second=other.answer,
        second_text=shown(other),
        rules=rules or [],
    )


def by_model(said: Any, offered: Sequence[Any]) -> Judgment:
    """A model's judgment by a rule; none when it names no rule that was offered to it."""
    rule = next((r for r in offered if r.id == said.rule), None)
    winner = winner_index(said.winner)
    if rule is None or winner is None:
        return Judgment()
    return Judgment(
        winner=winner,
        rule=rule.id,
        how="model",
        reason="the model applied it",
        provisional=rule.provisional,
    )


def as_rule_text(rule: Any) -> str:
    """A rule as a prompt shows it."""
    return f"{rule.id}: If {rule.condition.rstrip('.')}, then {rule.resolution}"


def winner_index(winner: str) -> Literal[0, 1] | None:
    """Index of the side that a reply names; None when undecided."""
    if winner == "first":
        return 0
    return 1 if winner == "second" else None


def as_queue_line(case: Case, sides: Sequence[Side], pair: Pair, judgment: Judgment) -> str:
    """One uncovered conflict as a JSON line, for the Observer (MACR §3.5.2 (4))."""
    one, other = _of(sides, pair)
    return json.dumps(
        {
            "question": case.question,
            "date": case.date,
            "type": pair.relation.type,
            "answers": [one.answer, other.answer],
            "snippets": [one.snippet, other.snippet],
            "dates": [one.snippet_date, other.snippet_date],
            "sources": [one.sources, other.sources],
            "judgment": judgment.model_dump(),
        },
        ensure_ascii=False,
    )
