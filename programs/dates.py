"""Dates as texts write them, with the precision they have, and the date that governs a statement.

A date is only as precise as it was written: `1990` is not the same as `4 March 1990`, and whether
one comes before the other is not decidable. Nothing is guessed: `03/04/1990` is only a year, and
`c. 1990` is no date at all.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..errors import InputError

Precision = Literal["year", "month", "day"]
Kind = Literal["since", "as_of", "until"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan يناير",
            "february feb فبراير",
            "march mar مارس",
            "april apr أبريل ابريل",
            "may مايو",
            "june jun يونيو",
            "july jul يوليو",
            "august aug أغسطس",
            "september sept sep سبتمبر",
            "october oct أكتوبر اكتوبر",
            "november nov نوفمبر",
            "december dec ديسمبر",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"[12]\d{3}"
# A comma may stand free, as in word-tokenised pages: "March 4 , 1990".
_COMMA = r"(?:\s{1,2}|\s?,\s?)"
# Every repetition is bounded, so a failed match costs a constant.
_LATIN = r"0-9A-Za-z_\u00c0-\u024f"
_DATE = re.compile(
    rf"""(?<![{_LATIN}.,$€£¥₹№\#/-])(?:
      (?P<iso>(?P<y1>\d{{4}})(?P<sep>[-/])(?P<m1>\d{{1,2}})(?:(?P=sep)(?P<d1>\d{{1,2}}))?
        (?:[T\s]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?(?:Z|[+-]\d\d:?\d\d)?)?)
    | (?P<cjk>(?P<y2>\d{{4}})\s?年(?:\s?(?P<m2>\d{{1,2}})\s?月(?:\s?(?P<d2>\d{{1,2}})\s?
        [日号號])?)?)
    | (?P<dotted>(?P<d3>\d{{1,2}})\.\s?(?P<m3>\d{{1,2}})\.\s?(?P<y3>\d{{4}}))
    | (?P<slashed>(?P<a>\d{{1,2}})(?P<cut>[/-])(?P<b>\d{{1,2}})(?P=cut)(?P<y4>\d{{4}}))
    | (?P<day_first>(?P<d5>{_DAY})(?:\sof)?[\s-]{{1,2}}(?P<m5>{_MONTH})\b\.?(?:-|{_COMMA})
        (?P<y5>{_YEAR}))
    | (?P<month_first>(?P<m6>{_MONTH})\b\.?\s{{1,2}}(?:the\s)?(?P<d6>{_DAY}){_COMMA}(?P<y6>{_YEAR}))
    | (?P<month>(?P<m7>{_MONTH})\b\.?(?:\sof|\s?,)?\s{{1,2}}(?P<y7>{_YEAR}))
    | (?P<bare>(?P<y8>{_YEAR}))
    )(?![{_LATIN}%°]|[.,]\d|-\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_LEAD = re.compile(
    r"(?:(?:on|in|the|year|month of|since|during)\s+)*"
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?",
    re.IGNORECASE,
)
_BOX = " \t\n\r.,;:!()[]\"'“”‘’*_`。"

# What stands before a number that is no year, and behind one.
_NUMBER_OF = re.compile(
    r"(?:\b(?:no|nr|nos|number|numbers|model|route|highway|room|page|pp?|flight|c|ca|circa|approx"
    r"|about|around|approximately|nearly|almost|over|roughly|exactly|only|least|most|than|usd|eur"
    r"|gbp|ad|us)\.?|[~≈$€£¥₹#№])\s?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\s?-?(?:people|persons|inhabitants|residents|households|families|men|women|children|students"
    r"|members|employees|workers|soldiers|votes|seats|points|units|copies|cars|vehicles|houses"
    r"|homes|pages|words|species|miles?|feet|foot|ft|met(?:er|re)s?|kilomet(?:er|re)s?|km|mi|m|cm"
    r"|mm|acres?|hectares?|ha|sq|square|cubic|tons?|tonnes?|pounds?|lbs?|kg|grams?|dollars?|euros?"
    r"|yen|percent|per\scent|years|months|weeks|days|hours|minutes|seconds|times|degrees|mph"
    r"|kw|mw|bc|bce|b\.c|million|billion|thousand|hundred)\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"(?:\b(?P<word>since|as\s(?:of|at)|until|till|through|up\sto|to|from|by|before|prior\sto|after"
    r"|in|on|during|effective|starting|beginning)"
    r"(?:\s(?:on|in|from|as\sof))?"
    r"(?:\s(?:about|early|late|mid))?"
    r"(?:\sthe)?(?:\s(?:census|end|start|beginning|year|month|season|spring|summer|autumn|fall"
    r"|winter|middle))?(?:\s?\[\s?\d{1,3}\s?\])?(?:\sof)?"
    r"(?:\s(?:mon|tues|wednes|thurs|fri|satur|sun)day,?)?"
    r"[\s-](?:the\s)?"
    r"|(?P<other>自从|自|从|截至|截止|直到|直至|منذ|حتى|في)\s?)$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\s?(?:(?P<since>onwards?\b|on,|and\s(?:later|after)|以来|以後|以后|起)|(?P<before>以前|之前))",
    re.IGNORECASE,
)
_CUE_NAMES = {
    "as at": "as of",
    "through": "until",
    "up to": "until",
    "to": "until",
    "prior to": "before",
    "during": "in",
    "beginning": "starting",
    "自从": "since",
    "自": "since",
    "从": "from",
    "截至": "as of",
    "截止": "as of",
    "直到": "until",
    "直至": "until",
    "منذ": "since",
    "حتى": "until",
    "في": "in",
}
_STRONG: dict[str, Kind] = {
    "since": "since",
    "effective": "since",
    "starting": "since",
    "as of": "as_of",
    "until": "until",
    "till": "until",
}
# "from" only with a change; "from X to Y" is settled by its end.
_WEAK = frozenset({"in", "on", "by", "from"})
_SURVEY = re.compile(
    r"\s(?:[^\W\d]{1,15}\s){0,2}(?:census|estimates?)\b|年?(?:人口普查|普查)", re.IGNORECASE
)
_TRIGGER = re.compile(
    r"\b(?:(?P<begin>mov(?:ed?|es|ing)|relocat(?:ed?|es|ing)|became|becomes?|replac(?:ed?|es|ing)"
    r"|renam(?:ed?|es|ing)|rebranded|appoint(?:ed|s)|elect(?:ed|s)|re-elected|acquir(?:ed?|es)"
    r"|named|succeed(?:ed|s)|took\sover|took\soffice|takes?\soffice|inaugurated|promoted|merged"
    r"|bought|purchased|sold|transferred|switched|changed|joined|joins|signed|sworn|crowned"
    r"|assumed|adopted|overtook|surpassed|raised|increased|lowered|reduced|cut|amended|updated"
    r"|revised|abolished|repealed|took\seffect|in\seffect|in\sforce|into\sforce)"
    r"|(?P<end>stepped\sdown|resign(?:ed|s)|retired|left|ousted|dismissed|fired|expired|dissolved"
    r"|ceased|ended|closed)"
    r"|(?P<never>born|founded|founding|foundation|established|establishment|published"
    r"|publication|incorporated|created|built|constructed|released|premiered|recorded|written"
    r"|died|birth|discovered|invented|formed|launched|retrieved|accessed|archived|copyright))\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never)\b|n['’]t\b", re.IGNORECASE)
_STOP = re.compile(r"[!?;。！？؟\n]|\.(?=\s+[^\W\d_a-z])")
_CLAUSE = 160


@dataclass(frozen=True, slots=True)
class Date:
    """A calendar date as precise as it was written.

    There is no `<`: two dates of different precision may have no order. Ask `before`.

    Attributes:
        year: 1 to 9999.
        month: 1 to 12, or None.
        day: 1 to 31, or None; needs a month.

    Raises:
        InputError: No such day.

    Example:
        >>> Date(1990).before(Date(1991, 3)), Date(1990).before(Date(1990, 3, 4))
        (True, None)
    """

    year: int
    month: int | None = None
    day: int | None = None

    def __post_init__(self) -> None:
        if not _exists(self.year, self.month, self.day):
            raise InputError(f"{self.year}-{self.month}-{self.day} is no date; give a real day.")

    @property
    def precision(self) -> Precision:
        """The smallest part that is known."""
        if self.month is None:
            return "year"
        return "month" if self.day is None else "day"

    @property
    def iso(self) -> str:
        """ISO 8601 with the parts that are known: `1990`, `1990-03` or `1990-03-04`."""
        parts = [f"{self.year:04}"]
        parts += [f"{part:02}" for part in (self.month, self.day) if part is not None]
        return "-".join(parts)

    def before(self, other: "Date") -> bool | None:
        """Whether this date lies before the other; None when the precision does not tell.

        Two equal days are decided (False); two equal years are not: either may be earlier.
        """
        for mine, its in zip(self._parts, other._parts, strict=True):
            if mine is None or its is None:
                return None
            if mine != its:
                return mine < its
        return False

    def contains(self, other: "Date") -> bool:
        """Whether the other is this date or, written more precisely, a part of it."""
        pairs = zip(self._parts, other._parts, strict=True)
        return all(mine is None or mine == its for mine, its in pairs)

    @property
    def _parts(self) -> tuple[int, int | None, int | None]:
        return self.year, self.month, self.day


class DateSpan(NamedTuple):
    """A date where it stands in a text.

    Attributes:
        date: The date.
        start: Offset of its first character.
        end: Offset behind its last character.
        cue: The word that governs it: `since`, `as of`, `until`, `till`, `from`, `by`, `before`,
            `after`, `in`, `on`, `effective`, `starting`, or empty. Near synonyms and Chinese and
            Arabic words are given as one of these.
    """

    date: Date
    start: int
    end: int
    cue: str


@dataclass(frozen=True, slots=True)
class GoverningDate:
    """The date that a statement's validity depends on.

    Attributes:
        date: The date.
        kind: `since` (valid from then on), `as_of` (observed then), `until` (valid up to then).
    """

    date: Date
    kind: Kind


def fold_digits(text: str) -> str:
    """Write every decimal digit of any script in ASCII; the length stays the same."""
    if text.isascii():
        return text
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def parse_date(text: str) -> Date | None:
    """Read a text that is one date and nothing else.

    Args:
        text: The date in any of the notations of `find_dates`; "on", "in", a weekday and quotation
            marks around it are ignored.

    Returns:
        The date, or None when the text is something else, says "about", or names no real day.
        `03/04/1990` has two readings and gives its year.

    Example:
        >>> parse_date("March 4, 1990")
        Date(year=1990, month=3, day=4)
    """
    if len(text) > 100:
        return None
    folded = fold_digits(text).strip(_BOX)
    folded = folded[_LEAD.match(folded).end() :] if folded else folded  # type: ignore[union-attr]
    match = _DATE.fullmatch(folded)
    return _read(match) if match else None


def find_dates(text: str) -> list[DateSpan]:
    """Find the dates in a text, each with the word that governs it.

    Args:
        text: Any text. Notations: ISO, `4 March 1990`, `March 4, 1990`, `Mar 1990`, `1990`,
            `04.03.1990` (day first), `2011年3月5日`, digits of any script.

    Returns:
        Spans in order, not overlapping. Years that number something (`1,990 people`, `No. 1984`,
        `$2021`) are left out, and so are days that do not exist, decades and years before Christ.
    """
    folded = fold_digits(text)
    return list(_spans(folded))


def governing_date(snippet: str) -> GoverningDate | None:
    """Find the date that tells from when, until when or as of when a statement holds.

    A date counts only with a cue beside it ("since", "as of", "until", "effective", a census), or
    with "in", "on", "by" and a change of state in the same sentence ("moved", "became",
    "elected", ...), unless a word such as "born", "founded" or "published" stands nearer.

    Args:
        snippet: The sentence, or the few, that state something.

    Returns:
        The latest such date, or None: no date governs, or one state ends where another begins, so
        that it cannot be told which of them the caller means.

    Example:
        >>> governing_date("Acme, founded in 1976, has been based in Bonn since May 2003.")
        GoverningDate(date=Date(year=2003, month=5, day=None), kind='since')
    """
    folded = fold_digits(snippet)
    found = [
        GoverningDate(span.date, kind)
        for span in _spans(folded)
        if (kind := _kind(folded, span)) is not None
    ]
    if not found or _one_state_follows_another(found):
        return None
    latest = found[0]
    for candidate in found[1:]:
        if latest.date.before(candidate.date):
            latest = candidate
    return latest


def _exists(year: int, month: int | None, day: int | None) -> bool:
    if not 1 <= year <= 9999 or (month is None and day is not None):
        return False
    if month is None:
        return True
    return 1 <= month <= 12 and (day is None or 1 <= day <= monthrange(year, month)[1])


def _made(year: int, month: int | None = None, day: int | None = None) -> Date | None:
    return Date(year, month, day) if _exists(year, month, day) else None


def _read(match: re.Match[str]) -> Date | None:
    """The date that a match of `_DATE` writes, if there is such a day."""
    form = next(name for name in _FORMS if match[name] is not None)
    if form == "slashed":
        return _slashed(int(match["a"]), int(match["b"]), int(match["y4"]))
    year, month, day = _FORMS[form]
    return _made(
        int(match[year]),
        _month_number(match[month]) if month else None,
        int(match[day].rstrip("stndrhSTNDRH")) if day and match[day] else None,
    )


# Groups of the year, month and day in each form.
_FORMS: dict[str, tuple[str, str, str]] = {
    "iso": ("y1", "m1", "d1"),
    "cjk": ("y2", "m2", "d2"),
    "dotted": ("y3", "m3", "d3"),
    "slashed": ("y4", "", ""),
    "day_first": ("y5", "m5", "d5"),
    "month_first": ("y6", "m6", "d6"),
    "month": ("y7", "m7", ""),
    "bare": ("y8", "", ""),
}


def _month_number(text: str | None) -> int | None:
    if text is None:
        return None
    return int(text) if text.isdigit() else _MONTHS[text.lower()]


def _slashed(first: int, second: int, year: int) -> Date | None:
    """`13/04/1990` and `04/13/1990` have one reading; `03/04/1990` has two."""
    if first > 12:
        return _made(year, second, first)
    if second > 12 or first == second:
        return _made(year, first, second)
    return _made(year)


def _spans(text: str) -> Iterator[DateSpan]:
    for match in _DATE.finditer(text):
        date = _read(match)
        before = text[max(0, match.start() - 60) : match.start()]
        if date is None or (match["bare"] and not _is_year(text, match, before)):
            continue
        yield DateSpan(date, match.start(), match.end(), _cue(text, match, before))


def _is_year(text: str, match: re.Match[str], before: str) -> bool:
    """Whether four digits are a year and not the number of something."""
    if _NUMBER_OF.search(before):
        return False
    counted = _COUNTED.match(text, match.end(), match.end() + 24)
    if not counted:
        return True
    # "In 1990 people moved": a year after all.
    return bool(re.search(r"\b(?:in|since|until)\s$", before, re.IGNORECASE)) and (
        counted[0].strip().lower() in {"people", "men", "women", "children", "students", "members"}
    )


def _cue(text: str, match: re.Match[str], before: str) -> str:
    behind = _BEHIND.match(text, match.end(), match.end() + 16)
    if behind:
        return "since" if behind["since"] else "before"
    cue = _CUE.search(re.sub(r"\s", " ", before))
    if not cue:
        return ""
    word = re.sub(r"\s+", " ", (cue["word"] or cue["other"]).lower())
    return _CUE_NAMES.get(word, word)


def _kind(text: str, span: DateSpan) -> Kind | None:
    if span.cue in _STRONG:
        kind = _STRONG[span.cue]
        return "since" if kind == "until" and _negated(text, span) else kind
    if _SURVEY.match(text, span.end, span.end + 50):
        return "as_of"
    return _kind_of_change(text, span) if span.cue in _WEAK else None


def _negated(text: str, span: DateSpan) -> bool:
    """As in "it was not moved until 2005": the new state begins then."""
    return bool(_NOT.search(_sentence_before(text, span)))


def _kind_of_change(text: str, span: DateSpan) -> Kind | None:
    """Of the words that name an event in this sentence, the nearest decides."""
    before = _sentence_before(text, span)
    after = _STOP.split(text[span.end : span.end + _CLAUSE], maxsplit=1)[0]
    nearest = [(len(before) - hit.end(), hit) for hit in _TRIGGER.finditer(before)][-1:]
    nearest += [(hit.start(), hit) for hit in _TRIGGER.finditer(after)][:1]
    if not nearest:
        return None
    hit = min(nearest, key=lambda pair: pair[0])[1]
    if hit["never"]:
        return None
    return "since" if hit["begin"] else "until"


def _sentence_before(text: str, span: DateSpan) -> str:
    return _STOP.split(text[max(0, span.start - _CLAUSE) : span.start])[-1]


def _one_state_follows_another(found: list[GoverningDate]) -> bool:
    ends = [item.date for item in found if item.kind == "until"]
    begins = [item.date for item in found if item.kind != "until"]
    return any(begin.before(end) is not True for end in ends for begin in begins)
