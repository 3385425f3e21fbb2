"""How a side of a conflict stands in time: since when, until when, not yet, or only as a plan.

Complete. The date of a statement is the one that governs it in its snippet; else the date of its
document. No other year in a text counts, and neither does the knowledge cut-off of the memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..runtime.records import Document
from .conflicts import Side
from .dates import Date, GoverningDate, find_dates, governing_date, parse_date
from .wording import clause, clause_bounds, clauses, content, find, is_conditional, is_plan, window

Stand = Literal["in force", "ended", "not yet", "plan"]
_MOST = 200  # ours: documents of one side that are read

_FORMERLY = re.compile(
    r"\b(?:formerly|previously|used to|no longer|was once|were once|until recently)\b", re.I
)
_FORMER = re.compile(r"\b(?:former|ex-|erstwhile)\s?((?:\S{1,30}\s){1,3})", re.IGNORECASE)
_NOW = re.compile(r"\b(?:now|currently|today|to|into)\b", re.IGNORECASE)
_CHANGE = re.compile(r"\b(?:mov(?:ed?|es|ing)|relocat(?:ed?|es|ing)|transferred|switched)\b", re.I)
_FROM = re.compile(r"\bfrom\s(?:(?!(?:in)?to\s)\S{1,30}\s){0,3}$", re.IGNORECASE)
_REPLACING = re.compile(
    r"\b(?:replac(?:ed|es|ing)|succeed(?:ed|s|ing)|took over from|taking over from|ousted)\s"
    r"(?:\S{1,30}\s){0,2}$",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"\s(?:was|were|has been|had been)\s(?:replaced|succeeded|ousted|dismissed|fired|removed)\b"
    r"|\s(?:resigned|stepped down|retired)\b",
    re.IGNORECASE,
)
_COMING = frozenset({"from", "after", "starting", "effective", "since", "as of", "in", "on", "by"})
_FIRM = frozenset({"from", "after", "starting", "effective", "since", "as of"})


@dataclass(frozen=True)
class Reading:
    """What one document says of one answer, in time.

    Attributes:
        stand: Whether the statement holds as of the date asked.
        date: The date that counts for it, when it is known and not after the as-of date.
        governed: The date that governs it in its snippet.
        document: The document's own date.
    """

    stand: Stand
    date: Date | None = None
    governed: GoverningDate | None = None
    document: Date | None = None


def readings(question: str, side: Side, as_of: Date | None) -> list[Reading]:
    """Read every document of a side; none for what only the model's own memory says.

    Args:
        question: What was asked.
        side: The side.
        as_of: The date asked about; None leaves later dates in.

    Returns:
        One reading per document, or one of the external basic context.
    """
    return [
        _reading(question, side.answer, text, document.date, as_of)
        for document, text in statements(side)
    ]


def statements(side: Side) -> Iterator[tuple[Document, str]]:
    """The documents of a side, each with the snippet that gives its answer, or ""."""
    if not side.documents and side.basic == "external":
        text = window(side.basic_text, side.answer)
        yield Document(text=text), text
    padded = (*side.snippets, *[None] * len(side.documents))
    for document, snippet in zip(side.documents[:_MOST], padded, strict=False):
        yield document, window(snippet.text if snippet else "", side.answer)


def governed(text: str, answer: str) -> GoverningDate | None:
    """The date that governs an answer: in its own clause first; elsewhere when it is alone."""
    if len(find_dates(text)) < 2:
        return governing_date(text)
    own = governing_date(clause(text, answer))
    if own:
        return own
    dates = {g for start, end in clauses(text) if (g := governing_date(text[start:end]))}
    return governing_date(text) if len(dates) < 2 else None


def has_ended(question: str, text: str, answer: str) -> bool:
    """Whether a text says of an answer that it held once: "formerly", "moved from", "replaced"."""
    start, end = clause_bounds(text, answer)
    at = find(text, answer)
    if end <= start:
        return False
    before, behind = text[start:at], text[at + len(answer.strip()) : end]
    if _REPLACING.search(before) or _REPLACED.match(behind):
        return True
    if _FROM.search(before) and _CHANGE.search(before):
        return True
    return _was_former(question, before)


def _was_former(question: str, before: str) -> bool:
    for cue in [*_FORMERLY.finditer(before)][-1:]:
        return not _NOW.search(before, cue.end()) or cue[0].lower() == "used to"
    asked = content(question)
    return any(content(cue[1]) & asked for cue in _FORMER.finditer(before))


def _reading(question: str, answer: str, text: str, date: str, as_of: Date | None) -> Reading:
    rule, published = governed(text, answer), parse_date(date)
    stand = _stand(question, answer, text, rule, as_of)
    usable = rule if rule and rule.kind != "until" else None
    counted = usable.date if usable else published
    if counted is None or (as_of and as_of.before(counted)):
        counted = None
    return Reading(stand, counted if stand == "in force" else None, rule, published)


def _stand(
    question: str, answer: str, text: str, rule: GoverningDate | None, as_of: Date | None
) -> Stand:
    if _is_ahead(text, answer, rule, as_of):
        return "not yet"
    if rule and rule.kind == "until" and as_of and rule.date.before(as_of):
        return "ended"
    if has_ended(question, text, answer):
        return "ended"
    return "plan" if is_plan(text, answer) or is_conditional(text, answer) else "in force"


def _is_ahead(text: str, answer: str, rule: GoverningDate | None, as_of: Date | None) -> bool:
    """A version that is not yet in force: "from 2030", "will move in 2028"."""
    if as_of is None:
        return False
    if rule and rule.kind != "until" and as_of.before(rule.date):
        return True
    cues = _COMING if is_plan(text, answer) else _FIRM
    later = [s for s in find_dates(text) if as_of.before(s.date) and s.cue in cues]
    return bool(later) and not (rule and rule.kind != "until")
