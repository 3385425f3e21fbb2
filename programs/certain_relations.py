"""Relations between two claims that code is certain of, so that no language model is asked.

Complete. Only claims in one wording are decided: everything equal but notation, one number, one
date or a negation. Another name is left open: a country may have two capitals. What may hold at
once (a refinement, a list, another scope, a bound, a plan) is never called a contradiction.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, NamedTuple

from .agreement import ClaimFacts, claim_facts, difference
from .quantities import same_quantity
from .wording import LONGEST_ANSWER

Label = Literal["support", "contradiction", "neutral"]
# Of which there is one, whenever it is asked.
_ONE_NUMBER = re.compile(
    r"\b(?:born|founded|established|tall|height|high|long|length|wide|width|deep|depth|weighs|"
    r"weight|covers|area|distance|elevation|altitude|boils|melts)\b",
    re.IGNORECASE,
)
_ONE_DATE = re.compile(
    r"\b(?:born|died|founded|established|incorporated|abolished|dissolved|sank|assassinated|"
    r"first (?:published|released|broadcast|performed)|premiered)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:one of|among|including|includes|such as|also|or|if|when|former\w*)\b", re.IGNORECASE
)


class CertainRelation(NamedTuple):
    """How two claims relate.

    Attributes:
        label: The relation.
        case: The class of cases that decided: `same`, `number`, `date`, `negation`.
    """

    label: Label
    case: str


def certain_relation(a: str, b: str) -> CertainRelation | None:
    """Decide how two claims relate where code is certain.

    Args:
        a: One claim.
        b: Another.

    Returns:
        The relation; None when code is not certain. Symmetric.

    Example:
        >>> certain_relation("Ann was born in 1990.", "Ann was born in 1991.").label
        'contradiction'
    """
    if max(len(a), len(b)) > LONGEST_ANSWER:
        return None
    one, other = claim_facts(a), claim_facts(b)
    if Counter(one.words) != Counter(other.words):
        return None
    found = difference(a, b)
    if found is None:
        return CertainRelation("support", "same")
    test = {"number": _number, "date": _date, "negation": _negation}.get(found.kind)
    if test is None or _SEVERAL.search(a) or _SEVERAL.search(b) or not _firm(one, other):
        return None
    return CertainRelation("contradiction", found.kind) if test(a, one, other) else None


def _firm(a: ClaimFacts, b: ClaimFacts) -> bool:
    return not (a.modality or b.modality or a.quantifiers or b.quantifiers)


def _rest(facts: ClaimFacts, *without: str) -> tuple[object, ...]:
    """What must be equal beside the differing slot."""
    fields = ("numbers", "dates", "negations", "time", "names", "roles", "words")
    return tuple(getattr(facts, field) for field in fields if field not in without)


def _number(text: str, a: ClaimFacts, b: ClaimFacts) -> bool:
    if not len(a.numbers) == len(b.numbers) == 1 or _rest(a, "numbers") != _rest(b, "numbers"):
        return False
    (mine, bound), (its, limit) = a.numbers[0], b.numbers[0]
    exact = not (bound or limit or mine.approximate or its.approximate)
    clash = mine.unit == its.unit and not same_quantity(mine, its, tolerance=0.02)
    return exact and clash and bool(_ONE_NUMBER.search(text)) and not a.negations


def _date(text: str, a: ClaimFacts, b: ClaimFacts) -> bool:
    if not len(a.dates) == len(b.dates) == 1 or _rest(a, "dates") != _rest(b, "dates"):
        return False
    (mine, cue), (its, other) = a.dates[0], b.dates[0]
    apart = not mine.contains(its) and not its.contains(mine)
    return apart and not (cue or other or a.negations) and bool(_ONE_DATE.search(text))


def _negation(text: str, a: ClaimFacts, b: ClaimFacts) -> bool:
    counts = sorted((len(a.negations), len(b.negations)))
    return counts == [0, 1] and _rest(a, "negations") == _rest(b, "negations")
