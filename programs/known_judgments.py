"""What a model said about conflicts, per conflict and rules, so that no tuner asks it twice.

A model is to apply the first rule whose condition is met. So what it said when more rules were
offered answers for fewer: no rule was met, then none of the fewer is; the rule it named is still
there, then it is still the first. Only a rule that is gone leaves the question open.
"""

from __future__ import annotations

from typing import NamedTuple

from ..signatures import OpenConflict
from ..signatures.macr import RuleJudgment


class _Said(NamedTuple):
    offered: frozenset[str]
    judgment: RuleJudgment


class KnownJudgments:
    """The judgments on the conflicts of one question."""

    def __init__(self) -> None:
        self._by_rules: dict[tuple[str, ...], list[_Said]] = {}
        self._from_knowledge: dict[tuple[str, ...], RuleJudgment] = {}

    def by_rules(self, conflict: OpenConflict) -> RuleJudgment | None:
        """What was said with these rules or more; None when that leaves it open."""
        for said in self._by_rules.get(_sides(conflict), ()):
            named = said.judgment.rule
            gone = {_id(text) for text in said.offered.difference(conflict.rules)}
            if said.offered.issuperset(conflict.rules) and named not in gone:
                return said.judgment
        return None

    def from_knowledge(self, conflict: OpenConflict) -> RuleJudgment | None:
        """What was said without a rule."""
        return self._from_knowledge.get(_sides(conflict))

    def keep(self, conflict: OpenConflict, judgment: RuleJudgment) -> None:
        """Keep what was said about a conflict, with its rules or without any."""
        if conflict.rules:
            said = _Said(frozenset(conflict.rules), judgment)
            self._by_rules.setdefault(_sides(conflict), []).append(said)
        else:
            self._from_knowledge[_sides(conflict)] = judgment


def _sides(conflict: OpenConflict) -> tuple[str, ...]:
    return conflict.first, conflict.first_text, conflict.second, conflict.second_text


def _id(rule_text: str) -> str:
    return rule_text.partition(":")[0]
