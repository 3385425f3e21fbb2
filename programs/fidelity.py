"""Whether a statement adds to a text, or denies it: its numbers, names and negations.

A word that is missing is a paraphrase more often than not. A number, a name or a negation that is
missing is another fact, so each of them is looked for on its own. Negation: English words, and the
few of other scripts in `clusters.NEGATIONS`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .agreement import claim_facts, has_name
from .clusters import NEGATIONS, answer_tokens
from .dates import Date, find_dates
from .opposites import content_words
from .quantities import Quantity, QuantitySpan, find_quantities, parse_quantities, states_quantity
from .wording import clauses, content, word_set

_COVERED = 0.75  # ours: of a statement's words, in a clause that is about the same
_DENYING = NEGATIONS | word_set("lack lacks lacked lacking deny denies denied fails failed")
_LIMITS = re.compile(r"\bnot\s(?:only|just|merely|until)\b|\bnot\b(?=.{0,80}\buntil\b)", re.I)


class _Numbers(NamedTuple):
    tokens: frozenset[str]
    quantities: frozenset[float]
    dates: tuple[Date, ...]


def numbers_stand(statement: str, text: str) -> bool:
    """Tell whether a text gives every number and date of a statement, in whatever notation.

    "One" and ordinals in words are no numbers here: "one of them", "at first".

    Example:
        >>> numbers_stand("Mars has 2 moons.", "The two moons of Mars are small.")
        True
        >>> numbers_stand("Mars has three moons.", "The two moons of Mars are small.")
        False
    """
    known = _numbers(text)
    dates = find_dates(statement)
    days = [range(span.start, span.end) for span in dates]
    amounts = [s for s in find_quantities(statement) if not any(s.start in day for day in days)]
    if not all(
        _in(statement[span.start : span.end], known) or _dated(span.date, known) for span in dates
    ):
        return False
    if not all(_counted(statement, span, known, text) for span in amounts):
        return False
    return _numerals(without_numbers(statement)) <= known.tokens


@lru_cache(maxsize=1024)
def without_numbers(text: str) -> str:
    """A text with its dates, and its quantities with their units, blanked out."""
    spans = [(d.start, d.end) for d in find_dates(text)]
    spans += [(q.start, q.end) for q in find_quantities(text)]
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def names_stand(statement: str, text: str) -> bool:
    """Tell whether a text has every name of a statement, in one spelling or another.

    The first word of a sentence has a capital in any case, so alone it is no name.

    Example:
        >>> names_stand("Galileo saw that Mars is red.", "Mars is red.")
        True
        >>> names_stand("Mars is red, said Galileo.", "Mars is red.")
        False
    """
    facts = claim_facts(text)
    first = statement.split(maxsplit=1)[0] if statement.strip() else ""
    opening = first.strip(".,;:'’“”\"")
    return all(has_name(facts, name) for name in claim_facts(statement).names if name != opening)


def denies(text: str, statement: str, known: frozenset[str] = frozenset()) -> bool:
    """Tell whether a clause of a text says what a statement says, one of the two negated.

    Args:
        text: A sentence or two.
        statement: One sentence.
        known: Folded words of the statement that the text may leave out, as its subject.

    Example:
        >>> denies("Mars has two moons, but it has no rings.", "Mars has rings.")
        False
        >>> denies("Mars has no rings.", "Mars has rings.")
        True
    """
    mine, negated = _words(statement)
    asked = mine - set(content_words(known))
    if not asked:
        return False
    for start, end in clauses(text):
        its, rejected = _words(text[start:end])
        about = len(asked & its) >= _COVERED * len(asked)
        if about and ((rejected & mine) - negated or (negated & its) - rejected):
            return True
    return False


@lru_cache(maxsize=256)
def _numbers(text: str) -> _Numbers:
    quantities = frozenset(quantity.written for quantity in parse_quantities(text))
    dates = tuple(span.date for span in find_dates(text))
    return _Numbers(frozenset(answer_tokens(text)), quantities, dates)


def _numerals(text: str) -> set[str]:
    return {token for token in answer_tokens(text) if any(c.isnumeric() for c in token)}


def _in(written: str, known: _Numbers) -> bool:
    return set(answer_tokens(written)) <= known.tokens


def _dated(date: Date, known: _Numbers) -> bool:
    return any(date.contains(other) or other == date for other in known.dates)


def _counted(statement: str, span: QuantitySpan, known: _Numbers, text: str) -> bool:
    quantity: Quantity = span.quantity
    numerals = _numerals(statement[span.start : span.end])
    if numerals <= known.tokens if numerals else quantity.unit == "ordinal":
        return True
    loose = not numerals and quantity.written == 1
    return loose or quantity.written in known.quantities or states_quantity(text, quantity)


def _words(text: str) -> tuple[set[str], set[str]]:
    """The content words of a clause, and those that stand right behind a negation."""
    tokens = answer_tokens(_LIMITS.sub(" ", text))
    told = content(text)
    negated, after = set[str](), False
    for token in tokens:
        if token in _DENYING:
            after = True
        elif token in told and after:
            negated.add(token)
            after = False
    words = content_words(t for t in told if t not in _DENYING)
    return set(words), set(content_words(negated))
