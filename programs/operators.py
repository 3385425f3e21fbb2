"""Rules that code applies: each compares one attribute of the two sides of a conflict.

Complete. An operator returns None where an attribute that it needs is missing or equal on both
sides: it does not apply, and the next rule is tried. All are symmetric (sides swapped, winner
swapped), read English only, and take every text as data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from .clusters import is_refinement
from .conflicts import Judgment, Relation, Side
from .dates import parse_date
from .questions import asked_times, asks_about_plans, is_english
from .recency import Applied, Pair, latest_date
from .standing import readings, statements
from .subjects import about_another, mentions, named_side
from .wording import LONGEST, LONGEST_ANSWER, find, is_conditional, is_plan

if TYPE_CHECKING:
    from .rules import Rule, RuleBase

_COARSE = ("country", "nation", "state", "continent", "region", "province", "decade", "century")
_GOES_ON = re.compile(r",?\s(?:and|or|&)\s|,\s[^\W\d_a-z]")
_CONFIRMED_IN = 20_000  # ours: of a document, where a plan may be confirmed


Operator = Callable[[str, Pair, str, "RuleBase"], Applied | None]


def external_context(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The side that the external basic context backs wins over one that it does not."""
    backed = [side.basic == "external" for side in sides]
    return _only(backed, "the external context gives this answer")


def most_independent_sources(
    question: str, sides: Pair, as_of: str, base: RuleBase
) -> Applied | None:
    """The side with strictly more independent sources wins; the memory is no source."""
    one, other = sides[0].sources, sides[1].sources
    if one == other:
        return None
    most, least = max(one, other), min(one, other)
    noun = "source" if most == 1 else "sources"
    return Applied(0 if one > other else 1, f"{most} independent {noun} against {least}")


def trusted_memory(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The side that memory backs wins; memory is asked only where the gate trusts it (§3.4)."""
    backed = [side.basic == "internal" for side in sides]
    return _only(backed, "the model's own memory gives this answer")


def entity_match(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The side about what was asked wins over one about a namesake or about another subject."""
    if not is_english(question):
        return None
    found = named_side(question, sides)
    if found:
        return Applied(1 if found[0] else 0, found[1])
    astray = [about_another(question, side) for side in sides]
    if astray[0] == astray[1] or not mentions(question, sides[1 if astray[0] else 0]):
        return None
    return Applied(1 if astray[0] else 0, "the other text is about another subject")


def most_specific(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The more precise of two answers that both hold wins; the year where a year is asked."""
    if not is_english(question):
        return None
    words = set(question[:LONGEST].lower().replace("?", " ").split())
    specific = more_specific(sides[0], sides[1])
    if specific is None or words.intersection(_COARSE):
        return None
    fine, coarse = sides[specific].answer, sides[1 - specific].answer
    asked_level = next((level for level in ("year", "month") if level in words), "")
    date = parse_date(coarse)
    if asked_level and date:
        exact = date.precision == asked_level
        return Applied(1 if specific == 0 else 0, f"a {asked_level} was asked") if exact else None
    return Applied(1 if specific else 0, f"“{fine}” is more precise than “{coarse}”")


def authoritative_source(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The side with a source that the user trusts wins; what a text says of itself is nothing."""
    trusted = [_trusted(side, base.authoritative) for side in sides]
    name = trusted[0] or trusted[1]
    return _only([bool(t) for t in trusted], f"{name} is an authoritative source")


def statement_over_plan(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """A reported fact wins over a plan, forecast, rumour or condition that nothing confirms.

    It does not apply where the time planned for has come and the fact is not known to be later.
    """
    if not is_english(question) or asks_about_plans(question):
        return None
    plans = [_only_planned(side) for side in sides]
    if plans[0] == plans[1]:
        return None
    planned, fact = (sides[0], sides[1]) if plans[0] else (sides[1], sides[0])
    if not list(statements(fact)) or _may_have_come_true(question, planned, fact, as_of):
        return None
    return Applied(1 if plans[0] else 0, "a plan or condition against a statement of fact")


OPERATORS: Mapping[str, Operator] = {
    "authoritative_source": authoritative_source,
    "external_context": external_context,
    "entity_match": entity_match,
    "most_specific": most_specific,
    "statement_over_plan": statement_over_plan,
    "latest_date": latest_date,
    "most_independent_sources": most_independent_sources,
    "trusted_memory": trusted_memory,
}
"""Operators by the name that a rule gives."""


def apply_rules(
    question: str, relation: Relation, sides: Pair, as_of: str, base: RuleBase
) -> Judgment:
    """Judge one conflict by the rules of its type that have an operator.

    Args:
        question: What was asked.
        relation: The conflict; its type selects the rules.
        sides: The two sides; the winner is an index into them.
        as_of: The date asked about, ISO 8601.
        base: The rules; `RuleBase.matching` orders them.

    Returns:
        The judgment of the first operator that applies; undecided when none does.
    """
    for rule in base.matching(relation.type):
        applied = _applied(rule, question, sides, as_of, base)
        if applied:
            return Judgment(
                winner=applied.winner,
                rule=rule.id,
                how="operator",
                reason=applied.reason,
                provisional=rule.provisional,
            )
    return Judgment(reason="no operator of the rule base applies")


def open_rules(relation: Relation, base: RuleBase) -> list[Rule]:
    """The rules that are left to a language model, in order.

    A rule whose operator does not apply is not one of them: the operator had its reason (a date in
    the future, a source that nobody lists), and a prompt does not hold what it looks at.

    Args:
        relation: The conflict.
        base: The rules.

    Returns:
        Matching rules without an operator.
    """
    return [rule for rule in base.matching(relation.type) if not rule.operator]


def more_specific(a: Side, b: Side) -> Literal[0, 1] | None:
    """Which of two sides says the same more precisely, 0 or 1; None when neither surely does."""
    if max(len(a.answer), len(b.answer)) > LONGEST_ANSWER:
        return None
    if is_refinement(b.answer, a.answer) or _stands_within(a, b):
        return None if is_refinement(a.answer, b.answer) or _stands_within(b, a) else 0
    return 1 if is_refinement(a.answer, b.answer) or _stands_within(b, a) else None


def _applied(rule: Rule, question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    operator = OPERATORS.get(rule.operator)
    return operator(question, sides, as_of, base) if operator else None


def _only(flags: list[bool], reason: str) -> Applied | None:
    if flags[0] == flags[1]:
        return None
    return Applied(0 if flags[0] else 1, reason)


def _stands_within(specific: Side, general: Side) -> bool:
    """A snippet writes "Munich, Germany" or "Munich in Germany", and goes on with no list."""
    place, wider = specific.answer.strip(), general.answer.strip()
    if not is_refinement(wider, f"{place}, {wider}") or is_refinement(place, f"{wider}, {place}"):
        return False
    texts = [text for side in (specific, general) for _, text in statements(side)]
    phrases = [f"{place}{link}{wider}" for link in (", ", " in ", " (")]
    found = [(text, find(text, phrase), len(phrase)) for text in texts for phrase in phrases]
    return any(at >= 0 and not _GOES_ON.match(text, at + size) for text, at, size in found)


def _trusted(side: Side, authoritative: list[str]) -> str:
    """The first source of a side that is in the user's list, as the list writes it."""
    for document in side.documents:
        source, host = document.source.strip().casefold(), _host(document.url)
        for entry in authoritative:
            name = entry.strip().casefold()
            site = _host(name)
            if source and source == name:
                return entry
            if host and site and (host == site or host.endswith("." + site)):
                return entry
    return ""


def _host(url: str) -> str:
    plain = url.strip()
    try:
        parts = urlsplit(plain if "://" in plain else f"//{plain}")
        host = parts.hostname or ""
    except ValueError:  # not an address
        return ""
    return host.removeprefix("www.") if "." in host and " " not in host else ""


def _only_planned(side: Side) -> bool:
    found = list(statements(side))
    return bool(found) and all(
        (is_plan(text, side.answer) or is_conditional(text, side.answer))
        and not _confirmed(document.text[:_CONFIRMED_IN], text, side.answer)
        for document, text in found
    )


def _confirmed(whole: str, snippet: str, answer: str) -> bool:
    """Whether the rest of the document gives the answer as a fact."""
    rest = whole.replace(snippet, " ", 1)
    return (
        find(rest, answer) >= 0 and not is_plan(rest, answer) and not is_conditional(rest, answer)
    )


def _may_have_come_true(question: str, planned: Side, fact: Side, as_of: str) -> bool:
    today = parse_date(as_of)
    targets = [s.date for _, text in statements(planned) for s in asked_times(text)]
    past = [date for date in targets if today is None or not today.before(date)]
    later = [r.date for r in readings(question, fact, today) if r.date]
    return any(not any(target.before(date) for date in later) for target in past)
