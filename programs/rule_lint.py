"""What looks wrong in a rule base, for the person who edits it.

Complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .clusters import answer_tokens
from .conflicts import CONFLICT_TYPES

if TYPE_CHECKING:
    from .rules import Rule, RuleBase

LEAST_SUPPORT = 0.5  # ours: below it a rule decides worse than a coin between two sides

# Types of conflict that an operator cannot settle.
NEVER: dict[str, frozenset[str]] = {
    "latest_date": frozenset({"semantic", "granularity"}),
    "entity_match": frozenset({"temporal", "granularity"}),
    "most_specific": frozenset({"temporal", "misinformation", "semantic"}),
}
_SIDES = re.compile(
    r"\b(?:statements?|sides?|sources?|documents?|texts?|contexts?|passages?|answers?|snippets?"
    r"|claims?|one|other|first|second|both|neither|either|former|latter|newer|older|later|earlier"
    r"|recent)\b",
    re.IGNORECASE,
)


def lint(base: RuleBase) -> list[str]:
    """Say what looks wrong in a rule base.

    Args:
        base: The rules.

    Returns:
        One sentence per finding, each beginning with the id of a rule, in the order of the rules;
        empty when there is nothing to say.
    """
    return [
        f"{rule.id}: {finding}"
        for check in (_alone, _twins, _shadows)
        for rule, finding in check(base)
    ]


def shadowed(base: RuleBase) -> list[Rule]:
    """Rules that never decide, because one with the same operator always comes first."""
    return [rule for rule, _ in _shadows(base)]


def _alone(base: RuleBase) -> Iterator[tuple[Rule, str]]:
    for rule in base.rules:
        for finding in _of_one(rule):
            yield rule, finding


def _of_one(rule: Rule) -> Iterator[str]:
    if rule.type not in (*CONFLICT_TYPES, "any"):
        yield f"the type {rule.type!r} is unknown, so the rule never matches."
    if not rule.condition.strip():
        yield "the condition is empty, so a model applies the rule to everything of its type."
    if not rule.operator and not rule.resolution.strip():
        yield "it has neither an operator nor a resolution, so it settles nothing."
    elif not rule.operator and not _SIDES.search(rule.resolution[:5_000]):
        yield "the resolution names neither statement nor source, so no side can win by it."
    if rule.type in NEVER.get(rule.operator, ()):
        yield f"the operator {rule.operator} never settles a {rule.type} conflict."
    yield from _of_numbers(rule)


def _of_numbers(rule: Rule) -> Iterator[str]:
    if rule.support is not None and rule.support < LEAST_SUPPORT:
        yield f"its support of {rule.support:.2f} is worse than tossing a coin."
    if rule.gain is not None and rule.gain < 0:
        yield f"its gain is {rule.gain:+.2f}: without any rule more answers are right."
    if rule.correct > rule.fired:
        yield f"it was right {rule.correct} times but fired {rule.fired} times."
    elif rule.support is not None and not rule.fired:
        yield "it has a support but never fired: remove the number or measure it."


def _twins(base: RuleBase) -> Iterator[tuple[Rule, str]]:
    seen: dict[tuple[str, ...], Rule] = {}
    for rule in base.rules:
        words = [" ".join(answer_tokens(t)) for t in (rule.condition, rule.resolution)]
        if any(words):
            earlier = seen.setdefault((rule.type, *words), rule)
            if earlier is not rule:
                yield rule, f"it says the same as {earlier.id}: keep one of them."


def _shadows(base: RuleBase) -> Iterator[tuple[Rule, str]]:
    """After an `any` rule with the same operator a rule is never reached by code."""
    ranked = {type: base.matching(type) for type in (*CONFLICT_TYPES, "any")}
    for rule in base.rules:
        before = ranked[rule.type][: ranked[rule.type].index(rule)] if rule.operator else []
        cover = next((r for r in before if r.operator == rule.operator and _covers(r, rule)), None)
        if cover:
            yield rule, f"{cover.id} comes first with the same operator, so it never decides."


def _covers(earlier: Rule, rule: Rule) -> bool:
    return earlier.type in ("any", rule.type)
