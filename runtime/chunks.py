"""Split a text into sentences and chunks that remember where they stand in it.

Pure and language-agnostic: no model, no language setting, one pass over the text. Every result is
a verbatim slice of the source, so an evidence span found in a chunk can be traced to its document.
A wrong join costs less than a wrong cut (a chunk holds several sentences anyway), so an unclear
stop is no boundary.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InputError

_HARD_STOPS = "。！？｡؟۔।॥።။។։"
_LINE_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_BULLETS = "•‣▪●◦"
_OPENERS = "\"'“‘«„(¿¡[{*_「『（"

# Possible boundaries. The alternatives start with different characters and each repeated class is
# disjoint from what follows it, so matching never backtracks and stays linear.
_CANDIDATE = re.compile(
    rf"(?P<stop>[.!?…．{_HARD_STOPS}]+)"
    r"(?P<close>(?:[\"'”’»)\]}」』）*_]|\[\d{1,4}\])*)"
    r"(?P<gap>\s*)"
    rf"|(?P<line>[{_LINE_BREAKS}]\s*)"
    rf"|(?P<bullet>[{_BULLETS}])"
)
_HARD_STOP = re.compile(f"[{_HARD_STOPS}]")
_LINE_BREAK = re.compile(f"[{_LINE_BREAKS}]")
_BLANK_LINE = re.compile(r"\n\s*\n|\r\s*\r|\u2029")
_ACRONYM = re.compile(r"(?:[^\W\d]\.)+[^\W\d]|Ph\.D")
_WORD = re.compile(r"\w{1,12}")

# Written with a stop in the middle of a sentence, never (or hardly ever) at its end.
_NEVER_LAST_WORDS = """
dr mr mrs ms mx prof gen sen rep gov pres capt cmdr lt col maj sgt rev hon st mt ft messrs mme mlle
fr sra vs e.g i.e cf viz approx ca resp incl dept univ bzw"""
# Written with a stop before a number: "No. 5", "pp. 3", "Jan. 4".
_BEFORE_NUMBER_WORDS = """
no nos nr p pp vol vols fig figs art arts sec ch chap eq eqs ed para pt tab c
jan feb mar apr jun jul aug sep sept oct nov dec"""
# May stand at the end as well: a boundary only before a word that likely opens a sentence.
_MAY_BE_LAST_WORDS = "inc ltd co corp bros jr sr etc usw al esq ave blvd rd llc plc a.m p.m"
_STARTER_WORDS = """
the a an this that these those it its he his she her they their we our you your there here in on at
by for from with to as if when while after before since until although though because but and or so
yet however moreover meanwhile later then today both some many most one what who where why how
according during under despite"""
_NEVER_LAST, _BEFORE_NUMBER, _MAY_BE_LAST, _STARTERS = (
    frozenset(listed.split())
    for listed in (_NEVER_LAST_WORDS, _BEFORE_NUMBER_WORDS, _MAY_BE_LAST_WORDS, _STARTER_WORDS)
)
# A line at least this long that the next one continues in lower case is a wrapped sentence.
_WRAP_WIDTH = 40
_LOOK_BACK = 24
# Scripts written without spaces (Thai, Lao, Myanmar, Khmer, kana, ideographs) and their
# punctuation. Hangul has spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff01-\uff9f\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A verbatim part of a source text.

    Attributes:
        start: Offset of the first character, in code points.
        end: Offset behind the last character.
        text: `source[start:end]`, without white space at its ends.
    """

    start: int
    end: int
    text: str


def sentences(text: str) -> list[Span]:
    """Split a text into sentences.

    A sentence ends at a stop of its script, at a line break (except inside a wrapped line that
    goes on in lower case) and before a bullet. Abbreviations, initials, decimals, list numbers
    and `"Really?" he asked` do not end one.

    Args:
        text: Any text; markup is not interpreted.

    Returns:
        Spans in order, not overlapping, none empty; together they hold every character that is
        not white space. Time is linear in the length of the text.

    Example:
        >>> [span.text for span in sentences("Dr. No left. Where to? 3.5 km on.")]
        ['Dr. No left.', 'Where to?', '3.5 km on.']
    """
    cased = text != text.lower()
    found: list[Span] = []
    start = 0
    for candidate in _CANDIDATE.finditer(text):
        if _ends(text, start, candidate, cased):
            cut = candidate.start() if candidate["bullet"] else candidate.end()
            found.append(_trimmed(text, start, cut))
            start = cut
    found.append(_trimmed(text, start, len(text)))
    return [span for span in found if span.text]


def chunk(
    text: str, *, max_chars: int = 1200, overlap_sentences: int = 1, min_sentences: int = 3
) -> list[Span]:
    """Pack whole sentences into chunks.

    A single retrieved sentence often misses the answer that its neighbours hold, so each chunk has
    at least `min_sentences` where the text has them and `max_chars` allows: a short rest reaches
    back into the chunk before it.

    Args:
        text: Any text.
        max_chars: Upper bound of a chunk, in code points. A longer sentence is split between
            words, or between characters where the script has no spaces or a word is too long.
        overlap_sentences: Sentences that a chunk repeats from the end of the one before, as far as
            they fit.
        min_sentences: Sentences that a chunk should have.

    Returns:
        Spans whose starts and ends both grow strictly, none empty; together they hold every
        character that is not white space. Time is linear in the length of the text.

    Raises:
        InputError: A size is out of range.
    """
    if max_chars < 1 or overlap_sentences < 0 or min_sentences < 1:
        raise InputError(
            f"max_chars is {max_chars}, overlap_sentences {overlap_sentences} and min_sentences "
            f"{min_sentences}; give at least 1, 0 and 1."
        )
    units: list[Span] = []
    for span in sentences(text):
        units.extend([span] if len(span.text) <= max_chars else _pieces(text, span, max_chars))
    chunks: list[Span] = []
    new = 0
    while new < len(units):
        first = _reach_back(units, new, units[new].end - max_chars, new - overlap_sentences)
        last = new
        while last + 1 < len(units) and units[last + 1].end - units[first].start <= max_chars:
            last += 1
        first = _reach_back(units, first, units[last].end - max_chars, last + 1 - min_sentences)
        chunks.append(_trimmed(text, units[first].start, units[last].end))
        new = last + 1
    return chunks


def _reach_back(units: list[Span], first: int, least_start: int, wanted: int) -> int:
    """Move `first` back towards unit `wanted`, but before no character `least_start`."""
    while first > max(wanted, 0) and units[first - 1].start >= least_start:
        first -= 1
    return first


def _ends(text: str, start: int, candidate: re.Match[str], cased: bool) -> bool:
    """Whether the sentence that began at `start` ends at this candidate."""
    if candidate["bullet"]:
        return True
    after = candidate.end()
    opens_low = cased and text[after : after + 4].lstrip(_OPENERS)[:1].islower()
    if candidate["line"]:
        return not (opens_low and _is_wrapped(text, candidate))
    stop, gap = candidate["stop"], candidate["gap"]
    if after == len(text) or (gap and _BLANK_LINE.search(gap)):
        return True
    if _HARD_STOP.search(stop):
        # 「…。」と言った: the quotation is a part of the sentence.
        return not (candidate["close"] and text[after] in "と、，")
    if not gap:  # Chinese and Japanese text with ASCII or wide stops
        wide = stop[-1] == "．" and not text[after].isdigit()
        return wide or (stop[-1] in "!?" and _UNSPACED.match(text[after]) is not None)
    if stop == ".":
        return _full_stop_ends(text, start, candidate, opens_low)
    return not opens_low or _LINE_BREAK.search(gap) is not None


def _is_wrapped(text: str, line: re.Match[str]) -> bool:
    """Whether this break only folds a long line that its sentence crosses."""
    before = text[max(0, line.start() - _WRAP_WIDTH) : line.start()]
    return (
        len(before) == _WRAP_WIDTH
        and not before.rstrip().endswith(":")
        and not _LINE_BREAK.search(before)
        and len(_LINE_BREAK.findall(line["line"].replace("\r\n", "\n"))) == 1
    )


def _full_stop_ends(text: str, start: int, candidate: re.Match[str], opens_low: bool) -> bool:
    """Whether a single "." before white space is more than an abbreviation's."""
    at = candidate.start()
    token = text[max(start, at - _LOOK_BACK) : at].split()[-1:] or [""]
    word = token[0].lstrip(_OPENERS)
    low = word.lower()
    following = text[candidate.end()]
    if low in _NEVER_LAST or (low in _BEFORE_NUMBER and following.isdigit()):
        return False
    if word.isdecimal() and at - start <= 3:
        return False  # the number of a list item
    new_line = _LINE_BREAK.search(candidate["gap"]) is not None
    if (len(word) == 1 and word.isalpha()) or low in _MAY_BE_LAST or _ACRONYM.fullmatch(word):
        opening = _WORD.search(text, candidate.end(), candidate.end() + 16)
        starts = opening is not None and opening[0].lower() in _STARTERS
        return (starts or new_line) and not opens_low
    return new_line or not opens_low


def _trimmed(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends; it may be empty."""
    part = text[start:end]
    body = part.lstrip()
    start += len(part) - len(body)
    body = body.rstrip()
    return Span(start, start + len(body), body)


def _pieces(text: str, span: Span, max_chars: int) -> Iterator[Span]:
    """Parts of at most `max_chars` of a longer sentence."""
    start = span.start
    while span.end - start > max_chars:
        cut = _cut(text, start, start + max_chars)
        yield _trimmed(text, start, cut)
        start = cut
        while text[start].isspace():  # ends at the latest at the last character of the span
            start += 1
    yield Span(start, span.end, text[start : span.end])


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut in (start, end], `text[end]` being inside the sentence."""
    if text[end].isspace() or text[end - 1].isspace() or _UNSPACED.match(text[end]):
        best = end
    else:
        # The head keeps its offsets: a piece starts with no white space.
        parts = text[start:end].rsplit(None, 1)
        best = start + len(parts[0]) if len(parts) == 2 else end
    for back in range(best, max(start, best - 8), -1):
        if not unicodedata.combining(text[back]):  # keep an accent with its letter
            return back
    return best
