"""Numbers with units, whatever their notation, and whether two of them are the same quantity."""

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .dates import find_dates, fold_digits


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNIT_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_NAMES = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_UNITS: dict[str, int] = {word: number for number, word in enumerate(_UNIT_NAMES.split())}
_TENS: dict[str, int] = dict(zip(_TENS_NAMES.split(), range(20, 100, 10), strict=True))
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_DOZEN = {"dozen": 12.0}
_ORDINALS: dict[str, int] = {
    word: number for number, word in enumerate(_ORDINAL_NAMES.split(), start=1)
} | {f"{tens[:-1]}ieth": number for tens, number in _TENS.items()}
_SHORT_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "mln": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
    "tn": 1e12,
    "dozen": 12.0,
    "lakh": 1e5,
    "crore": 1e7,
    "千": 1e3,
    "百万": 1e6,
    "万": 1e4,
    "萬": 1e4,
    "亿": 1e8,
    "億": 1e8,
    "مليون": 1e6,
    "الف": 1e3,
    "ألف": 1e3,
    "مليار": 1e9,
}
_CURRENCIES = {
    "US$": "USD",
    "C$": "CAD",
    "A$": "AUD",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "USD": "USD",
    "EUR": "EUR",
    "GBP": "GBP",
    "JPY": "JPY",
    "CNY": "CNY",
    "RMB": "CNY",
}
# Canonical unit: then "factor spelling|spelling ..." with "_" for a space.
_MEASURES = {
    "metre": "1 m|metre|meter|米|公尺 1000 km|kilometre|kilometer|kms|公里|千米|كم|كيلومتر"
    " 0.01 cm|centimetre|centimeter|厘米 0.001 mm|millimetre|millimeter|毫米"
    " 1609.344 mi|mile|英里 0.3048 ft|foot|feet|英尺 0.0254 inch|inches 0.9144 yd|yard"
    " 1852 nautical_mile|nmi 9.4607e15 light_year|lightyear",
    "square metre": "1 m²|m2|m^2|sq_m|square_metre|square_meter|平方米|平方公尺"
    " 1e6 km²|km2|km^2|sq_km|square_kilometre|square_kilometer|square_km|平方公里|平方千米"
    " 2589988.11 sq_mi|square_mile|mi²|mi2|sq_mile"
    " 0.09290304 sq_ft|square_foot|square_feet|ft² 1e4 ha|hectare|公顷 4046.8564 acre",
    "kilogram": "1 kg|kilogram|kilo|公斤|千克 0.001 g|gram|gramme|克 1e-6 mg|milligram"
    " 1000 tonne|metric_ton|吨 907.18474 ton|short_ton 0.45359237 lb|lbs|pound"
    " 0.028349523 oz|ounce 6.35029318 stone",
    "litre": "1 l|litre|liter|升 0.001 ml|millilitre|milliliter 1000 m³|m3|cubic_metre|cubic_meter"
    " 3.785411784 gallon|gal 28.316846592 cubic_foot|cubic_feet 0.473176473 pint",
    "second": "1 s|sec|second|秒 0.001 ms|millisecond 60 min|minute|分钟 3600 h|hr|hour|小时"
    " 86400 day|天 604800 week|周 31557600 year|yr|年 2629800 month|个月",
    "metre per second": "1 m/s|metres_per_second|meters_per_second"
    " 0.277777778 km/h|kph|kmh|kilometres_per_hour|kilometers_per_hour|km_per_hour"
    " 0.44704 mph|miles_per_hour|mi/h 0.514444444 knot|kn",
    "celsius": "1 °c|℃|celsius|degrees_celsius|degree_celsius|degrees_c|摄氏度",
    "percent": "1 %|percent|per_cent|pct|percentage_point|％|بالمئة",
    "watt": "1 w|watt 1000 kw|kilowatt 1e6 mw|megawatt 1e9 gw|gigawatt 745.699872 hp|horsepower",
    "USD": "1 dollar|us_dollar|usd|u.s._dollar|美元",
    "EUR": "1 euro|eur|欧元",
    "GBP": "1 gbp|pounds_sterling|british_pound|英镑",
    "JPY": "1 yen|jpy|日元",
    "CNY": "1 yuan|renminbi|cny|rmb|元|人民币",
    "people": "1 people|person|inhabitant|resident|人|口",
}
_FAHRENHEIT = frozenset(
    {"°f", "℉", "fahrenheit", "degrees fahrenheit", "degree fahrenheit", "degrees f"}
)
# These are counted in whole numbers, so "1.791 people" are one thousand.
_WHOLE = _words(
    "people household family man woman child student member employee worker soldier vote seat"
    " copy car house home page word species building school game match goal song episode city"
)
_NO_NOUN = _words(
    "of and or in on at to by for from with as is are was were the a an but that which who"
    " per than out it he she they more less about after before since until during when where"
    " while not no times x"
)
_IRREGULAR_NAMES = (
    "men:man women:woman children:child feet:foot species:species series:series lives:life"
    " wives:wife knives:knife copies:copy movies:movie"
)
_IRREGULAR: dict[str, str] = {
    one: many for one, _, many in (pair.partition(":") for pair in _IRREGULAR_NAMES.split())
}
_VULGAR = "½¼¾⅓⅔⅛⅜⅝⅞"
_NUMERAL = re.compile(rf"\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{{3}}(?!\d))*[{_VULGAR}]?|[{_VULGAR}]")
_WORD = "|".join(sorted({*_UNITS, *_TENS, *_SCALES, *_DOZEN, *_ORDINALS}, key=len, reverse=True))
_WORDS = re.compile(
    rf"\b(?:(?P<one>an?|half an?)\s(?=(?:hundred|thousand|million|billion|trillion|dozen)\b))?"
    rf"(?P<run>(?:{_WORD})(?:[\s-]{{1,2}}(?:and\s)?(?:{_WORD})\b){{0,12}})\b"
    rf"(?P<half>\sand\sa\shalf(?:\s(?P<scale>million|billion|trillion|thousand))?)?",
    re.IGNORECASE,
)
# "no one", "one of": a pronoun.
_PRONOUN_BEFORE = re.compile(
    r"\b(?:no|any|every|some|each|which|this|that|the|another)\s$", re.IGNORECASE
)
_PRONOUN_BEHIND = re.compile(r"\s(?:of|another|who|which|that|day)\b|['’]", re.IGNORECASE)
# One of these words, or the beginning of it, stands in every number written in words.
_WORD_HINT = re.compile(
    r"\b(?:zero|one|two|thr|ten|ele|twe|thi|fou|fiv|fif|six|sev|nin|eig|for|fir|sec|hund|thou|mill"
    r"|bill|tril|doz)",
    re.IGNORECASE,
)
# Numbers whose digits do not begin like their value.
_NO_SIEVE = re.compile(rf"[{_VULGAR}]|\b(?:dozen|lakh|half)\b", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?P<currency>US\$|C\$|A\$|[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|CNY|RMB)\b)?\s?(?P<minus>(?<![\w)])[-−])?$"
)
_HEDGE = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|circa|ca\.?|nearly|almost|roughly|some|over|under"
    r"|more than|less than|at least|at most|up to|an estimated|estimated)|[~≈]|约|大约|حوالي)"
    r"\s?(?:a\s)?(?:US\$|[$€£¥₹])?\s?$",
    re.IGNORECASE,
)
_SCALE_NAMES = "|".join(
    sorted((s for s in _SHORT_SCALES if len(s) > 1 or s in "千万萬亿億"), key=len)[::-1]
)
_SCALE = re.compile(
    rf"\s?(?:(?P<long>{_SCALE_NAMES})(?![A-Za-z])|(?P<short>(?<=\d)[kKmMbB](?![A-Za-z²³/])))s?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_UNIT_WORD = re.compile(
    r"[\s\u00a0-]{0,2}((?:US|U\.S\.|[%％‰℃℉]|°\s?[CF]\b|[^\W\d_]+(?:[²³]|\^?[23](?!\d))?(?:/[^\W\d_]+[²³2]?)?))"
)
_CJK_UNIT = re.compile(
    r"\s?(平方公里|平方千米|平方米|公里|千米|英里|厘米|毫米|公斤|千克|小时|分钟|摄氏度|个月|美元|欧元|英镑|日元|人民币|米|吨|克|秒|天|年|元|人|口)"
)
_LONGEST = 40
# Of a temperature converted and rounded to whole degrees.
_DEGREES = 0.6


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of something.

    Attributes:
        value: In the base unit (metre, square metre, kilogram, litre, second, metre per second,
            celsius, watt), or as written.
        unit: The base unit, `percent`, a currency code, `ordinal`, a noun in the singular, or
            empty.
        approximate: "about" or the like stands before it.
        written: The number as written, scale words applied, before the unit was converted.
        notation: The unit as written; two notations of one unit need a conversion.
        step: What one more in the last written digit would add, in the base unit: 100,000 for
            "1.5 million". Says how far the number may have been rounded.
    """

    value: float
    unit: str
    approximate: bool = False
    written: float = 0.0
    notation: str = ""
    step: float = 1.0


class QuantitySpan(NamedTuple):
    """A quantity where it stands in a text: number, scale and unit."""

    quantity: Quantity
    start: int
    end: int


class _Number(NamedTuple):
    """A number before its unit is known."""

    value: float
    step: float
    start: int
    end: int
    ordinal: bool = False
    thousands: float | None = None


class _Unit(NamedTuple):
    unit: str
    notation: str
    factor: float
    end: int


def parse_quantities(text: str) -> list[Quantity]:
    """Read every quantity in a text.

    Args:
        text: Any text; digits of any script, number words in English, `万` and `亿`.

    Returns:
        Quantities in order of appearance. Days and months written as dates are no quantities; a
        bare year is a number like any other. Numbers with more than one decimal point and
        numerals of over 40 characters are identifiers and left out.

    Example:
        >>> parse_quantities("1,791 people")[0].value, parse_quantities("1.5 km")[0].unit
        (1791.0, 'metre')
    """
    return [span.quantity for span in find_quantities(text)]


def find_quantities(text: str) -> list[QuantitySpan]:
    """Find every quantity in a text with its place.

    Args:
        text: As for `parse_quantities`.

    Returns:
        Spans in order, not overlapping.
    """
    folded = fold_digits(text)
    blanked = _without_dates(folded)
    numbers = sorted([*_numerals(blanked), *_number_words(blanked)], key=lambda n: n.start)
    found: list[QuantitySpan] = []
    for number in numbers:
        if not found or number.start >= found[-1].end:
            found.append(_with_unit(blanked, number))
    return found


def same_quantity(a: Quantity, b: Quantity, tolerance: float = 0.005) -> bool:
    """Tell whether two notations give one quantity.

    Numbers in one unit must be equal; where one is written more coarsely (fewer decimals, a scale
    word) or as "about", they may differ by its rounding and by `tolerance` at most. A missing unit
    agrees with any but `ordinal`. Reflexive and symmetric.

    Args:
        a: One quantity.
        b: The other.
        tolerance: Largest relative difference in one unit; four times as much between units of
            different systems.

    Returns:
        True when they are the same.
    """
    if a.unit != b.unit:
        if "ordinal" in (a.unit, b.unit) or (a.unit and b.unit):
            return False
        return _close(a.written, b.written, tolerance, _rounding(a, b, written=True))
    if a.notation == b.notation:
        return _close(a.value, b.value, tolerance, _rounding(a, b))
    if a.unit == "celsius":  # relative differences mean nothing near zero
        return abs(a.value - b.value) <= _DEGREES
    near = math.isclose(a.value, b.value, rel_tol=4 * tolerance)
    return near and (
        a.approximate or b.approximate or abs(a.value - b.value) <= max(a.step, b.step)
    )


def states_quantity(text: str, wanted: Quantity) -> bool:
    """Tell whether a text states a quantity, in any notation and with the usual tolerance.

    Most numbers of a long text are ruled out by their leading digits before they are read.

    Args:
        text: Any text.
        wanted: What to look for.

    Returns:
        True when `same_quantity` holds for one of the quantities of the text.
    """
    folded = fold_digits(text)
    if _NO_SIEVE.search(folded) is None and not _may_state(folded, _leads(wanted)):
        return False
    return any(same_quantity(wanted, quantity) for quantity in parse_quantities(folded))


def _may_state(text: str, leads: tuple[float, ...]) -> bool:
    """Whether some number in a text begins with the digits of one of these values."""
    if not leads:
        return True
    found = [_significand(match[0]) for match in _NUMERAL.finditer(text)]
    if _WORD_HINT.search(text):
        found += [_leading(number.value) for number in _number_words(text)]
    # A little more than `same_quantity` allows, in one unit and between several.
    slack = 0.006 if len(leads) == 1 else 0.025
    return any(
        abs(one / lead - shift) <= slack * shift
        for one in found
        for lead in leads
        for shift in (1.0, 10.0, 0.1)
    )


@lru_cache(maxsize=64)
def _leads(wanted: Quantity) -> tuple[float, ...]:
    """Significands of the numerals that state a quantity in some unit; none: any numeral may."""
    if wanted.unit == "celsius" or not wanted.value:
        return ()
    factors = {factor for unit, _, factor in _KNOWN.values() if unit == wanted.unit} or {1.0}
    values = [wanted.written, *(wanted.value / factor for factor in factors)]
    return tuple(sorted({_leading(value) for value in values}))


def _leading(value: float) -> float:
    return _significand(f"{abs(value):.12e}".partition("e")[0])


def _significand(numeral: str) -> float:
    """The digits of a numeral read as a number from 1 to 10."""
    digits = "".join(filter(str.isdigit, numeral[:_LONGEST])).lstrip("0")
    return float(f"{digits[0]}.{digits[1:]}") if digits and digits.isdecimal() else 0.0


def _rounding(a: Quantity, b: Quantity, *, written: bool = False) -> float:
    """How far apart the two may lie because one of them is rounded."""
    if a.approximate or b.approximate:
        return math.inf
    steps = [
        q.step / (q.value / q.written if written and q.written and q.value else 1.0) for q in (a, b)
    ]
    return 0.0 if math.isclose(steps[0], steps[1]) else max(steps) / 2


def _close(a: float, b: float, tolerance: float, rounding: float) -> bool:
    if math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12):
        return True
    return abs(a - b) <= rounding * (1 + 1e-9) and math.isclose(a, b, rel_tol=tolerance)


def _without_dates(text: str) -> str:
    """Blank out dates that are more than a year, so that their days are not counted."""
    parts, at = [], 0
    for span in find_dates(text):
        if span.date.precision != "year" or not text[span.start : span.end].isdigit():
            parts += [text[at : span.start], "\n" * (span.end - span.start)]
            at = span.end
    return "".join([*parts, text[at:]])


def _numerals(text: str) -> Iterator[_Number]:
    at = 0
    while match := _NUMERAL.search(text, at):
        at = match.end()
        attached = text[match.start() - 1 : match.start()] if match.start() else ""
        if match.end() - match.start() > _LONGEST or _is_part_of_name(attached):
            continue
        read = _read_numeral(match[0])
        if read is None:
            continue
        value, step, thousands = read
        end = match.end()
        ordinal = _ORDINAL.match(text, end)
        if ordinal:
            yield _Number(value, step, match.start(), ordinal.end(), ordinal=True)
            continue
        scale = _SCALE.match(text, end)
        if scale and not (scale["short"] in ("m", "M") and not _has_currency(text, match.start())):
            factor = _SHORT_SCALES[(scale["long"] or scale["short"]).lower()]
            value, step, end, thousands = value * factor, step * factor, scale.end(), None
        yield _Number(value, step, match.start(), end, thousands=thousands)


def _is_part_of_name(before: str) -> bool:
    """A digit behind a letter of a cased script is part of a name: "B12", "v2"."""
    return before == "_" or (before.isalpha() and before.lower() != before.upper())


def _has_currency(text: str, start: int) -> bool:
    found = _PREFIX.search(text, max(0, start - 6), start)
    return bool(found and found["currency"])


def _read_numeral(numeral: str) -> tuple[float, float, float | None] | None:
    """Value, step, and the other reading of "1.791" if there is one."""
    fraction = 0.0
    if numeral[-1] in _VULGAR:
        fraction, numeral = unicodedata.numeric(numeral[-1]), numeral[:-1]
        if not numeral:
            return fraction, 0.125, None
    plain = re.sub(r"[ \u00a0\u202f'’]", "", numeral)
    step = 0.125 if fraction else 1.0
    if plain.isdigit():
        return float(plain) + fraction, step, None
    if re.fullmatch(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+", plain):
        plain = plain.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d{1,3}\.\d{3}", plain) and plain[0] != "0":
        return float(plain) + fraction, 0.001, float(plain.replace(".", ""))
    plain = plain.replace(",", ".")
    if plain.count(".") > 1:
        return None
    decimals = len(plain.partition(".")[2])
    return float(plain) + fraction, 10.0**-decimals, None


def _number_words(text: str) -> Iterator[_Number]:
    for match in _WORDS.finditer(text):
        words = re.split(r"[\s-]+", match["run"].lower())
        if words == ["one"] and (
            _PRONOUN_BEFORE.search(text, max(0, match.start() - 9), match.start())
            or _PRONOUN_BEHIND.match(text, match.end())
        ):
            continue
        before = text[max(0, match.start() - 16) : match.start()]
        if re.search(r"\d[\d.,]*[\s-]$", before):
            continue  # "1.5 million": the numeral has taken it
        ordinal = words[-1] in _ORDINALS
        value = _words_value(words)
        if match["one"] and match["one"].lower().startswith("half"):
            value /= 2
        if match["half"]:
            value = (value + 0.5) * _SCALES.get((match["scale"] or "").lower(), 1.0)
        scale = max((_SCALES.get(word, 1.0) for word in words), default=1.0)
        step = scale if words[-1] in _SCALES and len(words) > 1 else 1.0
        yield _Number(value, step, match.start(), match.end(), ordinal=ordinal)


def _words_value(words: list[str]) -> float:
    total = group = 0.0
    for word in words:
        if word in _SCALES or word in _DOZEN:
            scale = _SCALES.get(word) or _DOZEN[word]
            if scale > 100:
                total, group = total + (group or 1.0) * scale, 0.0
            else:
                group = (group or 1.0) * scale
        elif word != "and":
            group += _UNITS.get(word) or _TENS.get(word) or _ORDINALS.get(word) or 0
    return total + group


def _with_unit(text: str, number: _Number) -> QuantitySpan:
    prefix = _PREFIX.search(text, max(0, number.start - 6), number.start)
    sign = -1.0 if prefix and prefix["minus"] else 1.0
    start = prefix.start() if prefix and prefix[0].strip() else number.start
    hedge = _HEDGE.search(text, max(0, number.start - 24), number.start)
    unit = _unit_of(text, number, prefix["currency"] if prefix else None)
    value, step = number.value, number.step
    if number.thousands is not None and unit.unit in _WHOLE:
        value, step = number.thousands, 1.0
    written = sign * value
    base = (written - 32) / 1.8 if unit.notation == "fahrenheit" else written * unit.factor
    quantity = Quantity(base, unit.unit, bool(hedge), written, unit.notation, step * unit.factor)
    return QuantitySpan(quantity, start, unit.end)


def _unit_of(text: str, number: _Number, currency: str | None) -> _Unit:
    if number.ordinal:
        return _Unit("ordinal", "", 1.0, number.end)
    if currency:
        code = _CURRENCIES[currency]
        return _Unit(code, code, 1.0, number.end)
    cjk = _CJK_UNIT.match(text, number.end)
    if cjk:
        return _Unit(*_KNOWN[cjk[1]], cjk.end())
    words = _words_behind(text, number.end)
    for count in range(len(words), 0, -1):
        phrase = " ".join(word for word, _ in words[:count]).lower().replace("° ", "°")
        for spelling in (phrase, _singular(phrase)):
            if spelling in _KNOWN:
                return _Unit(*_KNOWN[spelling], words[count - 1][1])
    return _noun(words, number.end)


def _noun(words: list[tuple[str, int]], end: int) -> _Unit:
    """An unknown unit: the noun behind the number, if it looks like one."""
    if words and words[0][0].isalpha() and words[0][0].islower() and words[0][0] not in _NO_NOUN:
        noun = _singular(words[0][0])
        return _Unit(noun, noun, 1.0, words[0][1])
    return _Unit("", "", 1.0, end)


def _words_behind(text: str, end: int) -> list[tuple[str, int]]:
    words: list[tuple[str, int]] = []
    while len(words) < 3:
        match = _UNIT_WORD.match(text, end, end + 30)
        if not match:
            break
        words.append((match[1], match.end()))
        end = match.end()
    return words


def _singular(noun: str) -> str:
    head, space, last = noun.rpartition(" ")
    if last in _IRREGULAR:
        return head + space + _IRREGULAR[last]
    if last.endswith("ies") and len(last) > 4:
        return head + space + last[:-3] + "y"
    if last.endswith(("sses", "shes", "ches", "xes")):
        return head + space + last[:-2]
    if last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3:
        return head + space + last[:-1]
    return noun


def _known_units() -> dict[str, tuple[str, str, float]]:
    known: dict[str, tuple[str, str, float]] = {}
    for unit, table in _MEASURES.items():
        fields = table.split()
        for factor, spellings in zip(fields[::2], fields[1::2], strict=True):
            names = [name.replace("_", " ") for name in spellings.split("|")]
            notation = unit if unit.isupper() else names[0]
            for name in names:
                known[name] = known[_singular(name)] = (unit, notation, float(factor))
    for name in _FAHRENHEIT:
        known[name] = ("celsius", "fahrenheit", 1 / 1.8)
    return known


_KNOWN = _known_units()
