"""A program under the values of a trial."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Protocol

from ..programs import Program
from ..programs.rule_lint import shadowed
from ..programs.rules import Rule, RuleBase
from ..programs.tunables import Tunable

RULES = {  # paper, §4.1: the values in force
    "min_coverage": Tunable("delta_cov", 0.05, 0.0, 0.5),
    "min_support": Tunable("delta_sup", 0.6, 0.0, 1.0),
}


class RuleTable(Protocol):
    """Rules that were measured, from which thresholds choose: `RuleMatrix` is one."""

    def select(self, min_coverage: float, min_support: float) -> list[Rule]:
        """The rules that reach both thresholds."""
        ...


class Variants:
    """The program under given values; one copy for each set of rules, so that they share it."""

    def __init__(self, program: Program, matrix: RuleTable | None) -> None:
        self._program, self._matrix = program, matrix
        present = getattr(program, "rules", None)
        self._present = present if isinstance(present, RuleBase) else RuleBase([])
        measured = set() if matrix is None else {r.id for r in matrix.select(0.0, 0.0)}
        self._unmeasured = [rule for rule in self._present.rules if rule.id not in measured]
        self._ruled: dict[tuple[str, ...], Program] = {}

    def of(self, values: Mapping[str, float]) -> Program:
        """The program with these values."""
        own = {name: value for name, value in values.items() if name not in RULES}
        ruled = self._program if len(own) == len(values) else self._with_rules(values)
        return ruled.with_values(own)

    def _with_rules(self, values: Mapping[str, float]) -> Program:
        minima = [values.get(name, tunable.value) for name, tunable in RULES.items()]
        rules = self._matrix.select(*minima) if self._matrix is not None else []
        key = tuple(rule.id for rule in rules)
        if key not in self._ruled:
            chosen = RuleBase(
                [*self._unmeasured, *rules], authoritative=self._present.authoritative
            )
            idle = {rule.id for rule in shadowed(chosen)}
            base = self._present.updated(
                [rule for rule in chosen.rules if rule.id not in idle],
                f"tuned: coverage {minima[0]:g}, support {minima[1]:g}.",
                datetime.date.today().isoformat(),
                "",
            )
            self._ruled[key] = self._program.with_rules(base)
        return self._ruled[key]
