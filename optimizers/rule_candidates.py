"""From proposals to candidates: what is no general rule is turned away, duplicates are merged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..metrics.normalize import normalize_answer
from ..metrics.rouge import f_measure
from ..programs.feedback import Observed
from ..programs.names import names
from ..programs.rules import Rule, RuleBase, lint, starter_rules

ALIKE = 0.7  # ours: ROUGE-L F from which two rules in words say the same
LONGEST = 250  # ours: characters of a condition or a resolution; a rule is a sentence, not a story

_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_THING = r"(?:statement|text|answer|source|side|document|snippet)"
_POSITION = re.compile(
    rf"\b(?:first|second|left|right)[ -](?:\w+ )?(?:{_THING}|one)s?\b"
    rf"|\b{_THING} (?:1|2|one|two|a|b)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Candidates:
    """The candidates, and what became of the other proposals.

    Attributes:
        rules: Distinct candidates, in order of first proposal.
        rejected: How many proposals were turned away, by reason.
        merged: How many said what an earlier one says.
    """

    rules: tuple[Rule, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)
    merged: int = 0


def candidates(
    proposed: Iterable[Rule],
    observed: Sequence[Observed],
    *,
    standing: Sequence[Rule] = (),
    taken: Iterable[str] = (),
) -> Candidates:
    """Screen and merge proposals, and give each candidate an id.

    A rule with an operator takes the operator's own words: those of the proposal could say the
    opposite of what the code does.

    Args:
        proposed: Rules as the Observer wrote them.
        observed: The conflicts it was shown: their names and numbers belong in no rule.
        standing: Rules that stand already: what says the same as one of them is merged into it.
        taken: Ids that belong or belonged to other rules.

    Returns:
        The candidates.
    """
    facts = _facts(observed)
    kept, rejected, merged = list[Rule](), Counter[str](), 0
    number = _highest(taken)
    words = {rule.operator: rule for rule in starter_rules().rules if rule.operator}
    for rule in (_in_words_of(words.get(rule.operator), rule) for rule in proposed):
        reason = fault(rule, facts)
        if reason:
            rejected[reason] += 1
        elif any(says_the_same(rule, other) for other in [*standing, *kept]):
            merged += 1
        else:
            number += 1
            kept.append(rule.model_copy(update={"id": f"R{number}"}))
    return Candidates(tuple(kept), dict(rejected), merged)


@dataclass(frozen=True)
class Facts:
    """Names (as folded tokens) and numbers of the demonstrations."""

    tokens: frozenset[str]
    numbers: frozenset[str]


def fault(rule: Rule, facts: Facts) -> str:
    """Why a proposal is no general rule; empty when it may be one."""
    text = f"{rule.condition} {rule.resolution}"
    checks: list[tuple[str, Callable[[], bool]]] = [
        ("too long", lambda: max(len(rule.condition), len(rule.resolution)) > LONGEST),
        ("empty", lambda: not (rule.condition and (rule.resolution or rule.operator))),
        ("decides by the order of the statements", lambda: bool(_POSITION.search(text))),
        ("repeats a name of the demonstrations", lambda: _names_one(rule, facts)),
        ("repeats a number of the demonstrations", lambda: _counts_one(text, facts)),
        ("settles nothing", lambda: bool(lint(RuleBase([rule])))),
    ]
    return next((reason for reason, found in checks if found()), "")


def says_the_same(one: Rule, other: Rule) -> bool:
    """Whether two rules of one type apply the same operator, or say nearly the same in words."""
    if one.type != other.type or one.operator != other.operator:
        return False
    if one.operator:
        return True
    texts = [normalize_answer(f"{rule.condition} {rule.resolution}") for rule in (one, other)]
    return texts[0] == texts[1] or f_measure("unicode")(*texts) >= ALIKE


def _in_words_of(operator: Rule | None, rule: Rule) -> Rule:
    if operator is None:
        return rule
    said = {"condition": operator.condition, "resolution": operator.resolution}
    return rule.model_copy(update=said)


def _facts(observed: Sequence[Observed]) -> Facts:
    texts = [t for c in observed for t in (c.question, *c.answers, *c.snippets)]
    found = {token for text in texts for name in names(text) for token in name.tokens}
    digits = {number for text in texts for number in _NUMBER.findall(text)}
    dates = {number for c in observed for date in c.dates for number in _NUMBER.findall(date)}
    return Facts(frozenset(found), frozenset(n for n in digits | dates if len(n) > 1))


def _names_one(rule: Rule, facts: Facts) -> bool:
    """A capital at the head of a sentence makes no name."""
    heads = (text[:1].lower() + text[1:] for text in (rule.condition, rule.resolution))
    found = {token for text in heads for name in names(text) for token in name.tokens}
    return bool(found & facts.tokens)


def _counts_one(text: str, facts: Facts) -> bool:
    return any(number in facts.numbers for number in _NUMBER.findall(text))


def _highest(ids: Iterable[str]) -> int:
    numbers = (re.fullmatch(r"R(\d{1,6})", id) for id in ids)
    return max((int(m[1]) for m in numbers if m), default=0)
