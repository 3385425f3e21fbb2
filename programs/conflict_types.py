"""Of which type a contradiction is that code can be sure of.

Complete.
"""

from __future__ import annotations

import re

from .clusters import answer_tokens
from .conflicts import ConflictType, Relation, Side
from .dates import Date, GoverningDate, parse_date
from .quantities import Quantity, parse_quantities, same_quantity
from .questions import (
    asks_about_past,
    asks_about_plans,
    asks_for_level,
    asks_for_number,
    asks_for_one,
    asks_for_time,
    questions_list,
)
from .standing import has_ended, readings, statements
from .wording import content, find

# ours: properties, roles and cues of change, in English
_CHANGING = re.compile(
    r"\b(?:current\w*|now|today|latest|newest|still|headquarter\w*|head office|based|chief|ceo|"
    r"presiden\w*|minister\w*|mayor\w*|governor\w*|chair\w*|directors?|coach\w*|captain\w*|"
    r"manage\w*|own(?:s|ed|er|ers)|editor|edits|king|queen|monarch|lead\w*|champion\w*|holders?|"
    r"holds?|record|prices?|costs?|fees?|rates?|salary|wage|population|inhabitants|members?|"
    r"employ\w*|staff|version|deadline|hours|address|sponsor\w*|partner|provider|operat(?:es|ors?)|"
    r"network|supplier|currency|ranked|ranking|lives?|works?|plays? for|limit|tax|capacity|runs?|"
    r"heads?|represents?)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:moved|relocated|became|becomes|replaced|succeeded|appointed|elected|renamed|acquired|"
    r"now|currently|no longer|formerly|former|previously|since|until|new)\b",
    re.IGNORECASE,
)
# "Who conducts the choir", "Which firm operates the ferry"; but who plays or sings a part stays so.
_DOES = re.compile(
    r"\s*(?:who|which\s[a-z]{2,20})\s"
    r"(?!(?:is|was|has|does|plays|sings|stars|narrates|voices|means|makes)\b)[a-z]{3,20}s\s",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now|currently|nowadays|no longer|these days|moved|relocated|renamed|replaced)\b", re.I
)
_PRESENT = re.compile(r"\b(?:is|are|does|do)\b", re.IGNORECASE)
_ALIKE = 0.5  # ours: share of words in common from which two sentences make the same statement
_MONTHS_APART = 6  # ours: documents closer than this are not dated apart


def conflict(type: ConflictType, reason: str) -> Relation:
    """A contradiction found by code."""
    return Relation(contradiction=True, type=type, reason=reason)


def changed_state(question: str, a: Side, b: Side) -> Relation | None:
    """A state that changed: governed dates differ, one has ended, or documents dated apart."""
    if _asks_about_event(question) or asks_about_plans(question) or questions_list(question):
        return None
    read = (readings(question, a, None), readings(question, b, None))
    governed = [{r.governed for r in side if r.governed} for side in read]
    changing = _CHANGING.search(question) or _DOES.match(question)
    one_at_a_time = asks_for_one(question) or changing or _succession(governed)
    if not (one_at_a_time or _says_now(a) or _says_now(b) or _replaces(question, a, b)):
        return None
    if governed[0] != governed[1]:
        return conflict("temporal", "the statements hold from different times")
    if _replaces(question, a, b):
        return conflict("temporal", "one text says that the state of the other has ended")
    apart = any(_apart(x.document, y.document) for x in read[0] for y in read[1])
    if apart and _may_change(question, a, b):
        return conflict("temporal", "the documents are dated apart")
    return None


def _says_now(side: Side) -> bool:
    return any(_NOW.search(text) for _, text in statements(side))


def _succession(governed: list[set[GoverningDate]]) -> bool:
    """One state until some time, the other not: the second may have replaced the first."""
    ended = [{g.kind for g in side} == {"until"} for side in governed]
    return ended[0] != ended[1]


def _may_change(question: str, a: Side, b: Side) -> bool:
    """Whether what is asked changes in the course of years; the moons of Mars do not.

    Without it, the newest document would win every dispute: misinformation is often the newest.
    """
    if _CHANGING.search(question) or _DOES.match(question):
        return True
    return any(_CHANGED.search(text) for side in (a, b) for _, text in statements(side))


def _asks_about_event(question: str) -> bool:
    """Events stay what they were: "in which year was it raised", not "when is the deadline"."""
    event = asks_for_time(question) and not _PRESENT.search(question)
    return event or asks_about_past(question)


def _replaces(question: str, a: Side, b: Side) -> bool:
    ended = [
        any(has_ended(question, t, side.answer) for _, t in statements(side)) for side in (a, b)
    ]
    return ended[0] != ended[1]


def _apart(one: Date | None, other: Date | None) -> bool:
    if one is None or other is None:
        return False
    if one.month is None or other.month is None:
        return abs(one.year - other.year) > 1
    return abs(one.year * 12 + one.month - other.year * 12 - other.month) >= _MONTHS_APART


def excluding_values(question: str, a: Side, b: Side) -> Relation | None:
    """Values that exclude each other where one value is asked, in two sentences of one wording.

    Where the wording differs the texts may be about two subjects of one name: that is left open.
    """
    one, other = a.answer, b.answer
    if {*map(_polarity, (one, other))} == {"yes", "no"}:
        return conflict("misinformation", "one text says yes, the other no")
    if not _same_statement(a, b):
        return None
    first, second = parse_date(one), parse_date(other)
    if first and second and asks_for_time(question) and _excluded(first, second):
        return conflict("misinformation", "the dates exclude each other")
    if asks_for_number(question) and _clash(single_quantity(one), single_quantity(other)):
        return conflict("misinformation", "the numbers exclude each other")
    if _other_names(question, a, b):
        return conflict("misinformation", "one value was asked, and the answers are two names")
    return None


def _same_statement(a: Side, b: Side) -> bool:
    """Whether two sentences are worded alike, their answers left out."""
    given = content(a.answer) | content(b.answer)
    for _, one in statements(a):
        for _, other in statements(b):
            mine, its = content(one) - given, content(other) - given
            if mine & its and len(mine & its) >= _ALIKE * len(mine | its):
                return True
    return False


def _other_names(question: str, a: Side, b: Side) -> bool:
    """Two short names without a common word, each in its text, where one of a level is asked."""
    one_level = asks_for_level(question) or question.strip().lower().startswith("who ")
    if not (one_level and asks_for_one(question)) or asks_for_time(question):
        return False
    tokens = [set(answer_tokens(side.answer)) for side in (a, b)]
    named = all(
        s.answer[:1].isupper() and 0 < len(t) <= 3 for s, t in zip((a, b), tokens, strict=True)
    )
    said = all(any(find(x, s.answer) >= 0 for _, x in statements(s)) for s in (a, b))
    return named and said and not tokens[0] & tokens[1]


def _polarity(answer: str) -> str:
    tokens = answer_tokens(answer)
    return tokens[0] if tokens and tokens[0] in {"yes", "no"} and len(answer) < 80 else ""


def _excluded(one: Date, other: Date) -> bool:
    return not one.contains(other) and not other.contains(one)


def _clash(one: Quantity | None, other: Quantity | None) -> bool:
    if one is None or other is None or one.approximate or other.approximate:
        return False
    return one.unit == other.unit and not same_quantity(one, other)


def single_quantity(answer: str) -> Quantity | None:
    """The quantity that an answer is, when it is one."""
    found = parse_quantities(answer) if len(answer) <= 80 and not parse_date(answer) else []
    return found[0] if len(found) == 1 else None
