"""The operator `latest_date`: of two statements the later wins, if both hold when it is asked.

Complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from .conflicts import Side
from .dates import Date, parse_date
from .questions import asked_times, asks_about_past, asks_about_plans, is_english
from .standing import Reading, readings
from .subjects import about_another, mentions, named_side

if TYPE_CHECKING:
    from .rules import RuleBase

Pair = tuple[Side, Side]
_AT = frozenset({"in", "on", "by", "as of", "from", "until"})


class Applied(NamedTuple):
    """What an operator decided.

    Attributes:
        winner: Index of the winning side.
        reason: One clause with the values that decided.
    """

    winner: Literal[0, 1]
    reason: str


def latest_date(question: str, sides: Pair, as_of: str, base: RuleBase) -> Applied | None:
    """The later statement wins, by the date that governs it, else by its document's date.

    A statement that ended or is not yet in force loses to one in force. A plan, a document dated
    after `as_of`, and one that names nothing that the question names do not win by their dates.
    A question about the past gets the side whose period covers the time asked, or no decision.
    """
    today = parse_date(as_of)
    if today is None or not is_english(question) or asks_about_plans(question):
        return None
    read = (readings(question, sides[0], today), readings(question, sides[1], today))
    times = [span for span in asked_times(question) if not span.date.contains(today)]
    if times:
        covered = times[0].date if len(times) == 1 and times[0].cue in _AT else None
        return _covering(read, covered) if covered else None
    if asks_about_past(question):
        return None
    return _in_force(read, as_of) or _impossible(read, today) or _later(question, sides, read)


def _in_force(read: tuple[list[Reading], list[Reading]], as_of: str) -> Applied | None:
    """The only side in force wins; a side that was not read (the memory) counts as in force."""
    holds = [not side or any(r.stand == "in force" for r in side) for side in read]
    out = [bool(side) and all(r.stand in ("ended", "not yet") for r in side) for side in read]
    if holds[0] == holds[1] or out[0] == out[1]:
        return None
    lost = read[0] if out[0] else read[1]
    what = "not yet in force" if any(r.stand == "not yet" for r in lost) else "no longer true"
    rule = next((r.governed for r in lost if r.governed), None)
    dated = f" ({rule.kind.replace('_', ' ')} {rule.date.iso})" if rule else ""
    return Applied(1 if out[0] else 0, f"the other statement is {what} on {as_of}{dated}")


def _impossible(read: tuple[list[Reading], list[Reading]], today: Date) -> Applied | None:
    """A side whose every document is dated after the as-of date loses to one that may be real."""
    ahead = [
        bool(side) and all(r.document and today.before(r.document) for r in side) for side in read
    ]
    if ahead[0] == ahead[1] or not all(read):
        return None
    return Applied(1 if ahead[0] else 0, f"the other document is dated after {today.iso}")


def _later(question: str, sides: Pair, read: tuple[list[Reading], list[Reading]]) -> Applied | None:
    winner, dates = _latest(read)
    if winner is None or dates is None:
        return None
    named = named_side(question, sides)
    if named and named[0] != winner:
        return None
    if not mentions(question, sides[winner]) and mentions(question, sides[1 - winner]):
        return None
    if about_another(question, sides[winner]) and not about_another(question, sides[1 - winner]):
        return None
    return Applied(winner, f"{dates[0].iso} is later than {dates[1].iso}")


def _latest(
    read: tuple[list[Reading], list[Reading]],
) -> tuple[Literal[0, 1] | None, tuple[Date, Date] | None]:
    """The side with a date later than every date of the other, and the dates that show it."""
    for winner in (0, 1):
        mine = [r for r in read[winner] if r.date]
        its = [r for r in read[1 - winner] if r.date]
        for reading in mine:
            if its and all(_is_after(reading, other) for other in its):
                least = max(its, key=lambda r: r.date.iso if r.date else "")
                if reading.date and least.date:
                    return (1 if winner else 0), (reading.date, least.date)
    return None, None


def _is_after(one: Reading, other: Reading) -> bool:
    """Later, and where only one date is that of a document, not earlier by both documents."""
    if not one.date or not other.date or not other.date.before(one.date):
        return False
    mixed = (one.date == one.document) != (other.date == other.document)
    known = one.document and other.document
    return not (mixed and known and one.document and one.document.before(known))


def _covering(read: tuple[list[Reading], list[Reading]], time: Date) -> Applied | None:
    """The side whose period covers a past time; of two that began before it, the later one."""
    covers = [_covers(side, time) for side in read]
    if None not in covers and covers[0] != covers[1]:
        return Applied(0 if covers[0] else 1, f"its period covers {time.iso}")
    if covers != [True, True]:
        return None
    began = [
        [r.governed.date for r in s if r.governed and r.governed.kind == "since"] for s in read
    ]
    if not (began[0] and began[1]):
        return None
    for winner in (0, 1):
        for date in began[winner]:
            if all(other.before(date) for other in began[1 - winner]):
                return Applied(1 if winner else 0, f"since {date.iso}, and {time.iso} was asked")
    return None


def _covers(side: list[Reading], time: Date) -> bool | None:
    governed = [r.governed for r in side if r.governed]
    if not governed:
        return None
    answers = set()
    for rule in governed:
        year, asked = rule.date.year, time.year
        inside = {"since": year <= asked, "until": year >= asked, "as_of": year == asked}
        answers.add(inside[rule.kind])
    return answers.pop() if len(answers) == 1 else None
