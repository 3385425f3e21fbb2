"""Two claims that say one thing with another date or number: the contradiction code may suspect.

Looser than `certain_relations`: the claims may be worded apart, and one may say more. It stands in
for a verifier that cannot tell relations, as small models cannot (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from .agreement import ClaimFacts, claim_facts, has_name
from .dates import Date
from .quantities import Quantity, same_quantity

SUSPICION = 0.7  # ours: confidence of a suspected contradiction
_SHARED = 0.8  # ours: of the words of the shorter claim, in the longer one


def rival_values(a: str, b: str) -> bool:
    """Tell whether two claims give one subject rival values.

    The longer claim names everything that the shorter one names, holds 0.8 of its other words, is
    as firm and as affirmative, and each gives exactly one date, or one exact number of a unit,
    that the other does not give. Where both a date and a number differ they tell of two times.

    Args:
        a: One claim.
        b: Another.

    Example:
        >>> rival_values("Ghana joined it in 1957.", "Ghana and Mali joined it in 1961.")
        True
        >>> rival_values("Ghana joined it in 1957.", "Ghana left it in 1961.")
        False
    """
    one, other = claim_facts(a), claim_facts(b)
    return _rivals(one, other) or _rivals(other, one)


def _rivals(short: ClaimFacts, long: ClaimFacts) -> bool:
    words = set(short.words)
    return (
        len(short.words) <= len(long.words)
        and short.modality == long.modality
        and len(short.negations) == len(long.negations)
        and bool(short.names)
        and all(has_name(long, name) for name in short.names)
        and len(words & set(long.words)) >= _SHARED * max(1, len(words))
        and _rival_dates(short, long) != _rival_numbers(short, long)
    )


class Corroboration:
    """Finds claims that give the value of one of two rivals for the subject of both.

    Such a claim names something that both rivals name, gives a date or exact number that the one
    gives and the other does not, and none that only the other gives.

    Args:
        claims: Texts by id.

    Example:
        >>> third = Corroboration({"c3": "Ghana has been a member since 1957."})
        >>> third.of("Ghana joined it in 1957.", "Ghana joined it in 1961.")
        ['c3']
    """

    def __init__(self, claims: Mapping[str, str]) -> None:
        self._claims = claims
        self._values = {id: _values(claim_facts(text)) for id, text in claims.items()}
        self._giving: dict[int | str, list[str]] = {}
        for id, values in self._values.items():
            for key in dict.fromkeys(map(_key, values)):
                self._giving.setdefault(key, []).append(id)

    def of(self, claim: str, rival: str) -> list[str]:
        """Ids of the claims that back `claim` against `rival`."""
        mine, its = claim_facts(claim), claim_facts(rival)
        shared = [name for name in mine.names if has_name(its, name)]
        own, foreign = _values(mine), _values(its)
        alone = [v for v in own if not any(_same(v, w) for w in foreign)]
        opposed = [w for w in foreign if not any(_same(v, w) for v in own)]
        near = dict.fromkeys(id for v in alone for id in self._giving.get(_key(v), ()))
        return [
            id
            for id in (near if shared else ())
            if any(_same(v, t) for v in alone for t in self._values[id])
            and not any(_same(w, t) for w in opposed for t in self._values[id])
            and any(has_name(claim_facts(self._claims[id]), name) for name in shared)
        ]


def _key(value: Date | Quantity) -> int | str:
    """What equal values have in common."""
    return value.year if isinstance(value, Date) else value.unit


def _values(facts: ClaimFacts) -> list[Date | Quantity]:
    """Dates, and numbers that are no bounds or estimates."""
    exact = [q for q, bound in facts.numbers if not bound and not q.approximate]
    return [*(date for date, _ in facts.dates), *exact]


def _same(one: Date | Quantity, other: Date | Quantity) -> bool:
    if isinstance(one, Date) and isinstance(other, Date):
        return one.contains(other) or other.contains(one)
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return _equal(one, other)
    return False


def _rival_dates(short: ClaimFacts, long: ClaimFacts) -> bool:
    mine, its = [d for d, _ in short.dates], [d for d, _ in long.dates]
    alone = [d for d in mine if not any(_same(d, e) for e in its)]
    other = [e for e in its if not any(_same(d, e) for d in mine)]
    return len(alone) == len(other) == 1


def _rival_numbers(short: ClaimFacts, long: ClaimFacts) -> bool:
    if any(bound or q.approximate for q, bound in (*short.numbers, *long.numbers)):
        return False
    mine, its = [q for q, _ in short.numbers], [q for q, _ in long.numbers]
    alone = [q for q in mine if not any(_equal(q, other) for other in its)]
    units = {q.unit for q in alone}
    rivals = [q for q in its if q.unit in units and not any(_equal(q, other) for other in mine)]
    return len(alone) == len(rivals) == 1


def _equal(one: Quantity, other: Quantity) -> bool:
    return one.unit == other.unit and same_quantity(one, other, tolerance=0.02)
