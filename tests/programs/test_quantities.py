"""Quantities: notations, units, rounding."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.quantities import (
    find_quantities,
    parse_quantities,
    same_quantity,
    states_quantity,
)


def one(text):
    (quantity,) = parse_quantities(text)
    return quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,791", 1791, ""),
        ("1 791", 1791, ""),
        ("1'791", 1791, ""),
        ("1,00,000", 100_000, ""),
        ("1.791.000", 1_791_000, ""),
        ("1.791,5", 1791.5, ""),
        ("1,5", 1.5, ""),
        ("1.791 people", 1791, "people"),
        ("1.791 kg", 1.791, "kilogram"),
        ("1,791 inhabitants", 1791, "people"),
        ("３ cats", 3, "cat"),
        ("٣", 3, ""),
        ("twenty-one", 21, ""),
        ("one hundred and five", 105, ""),
        ("two thousand three hundred", 2300, ""),
        ("a dozen eggs", 12, "egg"),
        ("half a million", 500_000, ""),
        ("two and a half million", 2_500_000, ""),
        ("one and a half", 1.5, ""),
        ("1.5 million", 1_500_000, ""),
        ("2bn", 2e9, ""),
        ("3k", 3000, ""),
        ("3.5万", 35_000, ""),
        ("2亿", 2e8, ""),
        ("$5m", 5e6, "USD"),
        ("5m", 5, "metre"),
        ("$5", 5, "USD"),
        ("US$5 million", 5e6, "USD"),
        ("USD 5", 5, "USD"),
        ("5 dollars", 5, "USD"),
        ("€20", 20, "EUR"),
        ("20 euros", 20, "EUR"),
        ("£7", 7, "GBP"),
        ("5%", 5, "percent"),
        ("5 per cent", 5, "percent"),
        ("5 percent", 5, "percent"),
        ("2 km", 2000, "metre"),
        ("2 kilometres", 2000, "metre"),
        ("2公里", 2000, "metre"),
        ("1 mile", 1609.344, "metre"),
        ("5 square miles", 12_949_940.55, "square metre"),
        ("12.9 km²", 12_900_000, "square metre"),
        ("3 hectares", 30_000, "square metre"),
        ("2 pounds", 0.90718474, "kilogram"),
        ("2 litres", 2, "litre"),
        ("2 hours", 7200, "second"),
        ("36 km/h", 10, "metre per second"),
        ("60 mph", 26.8224, "metre per second"),
        ("32 °F", 0, "celsius"),
        ("-5 °C", -5, "celsius"),
        ("100 degrees Celsius", 100, "celsius"),
        ("3rd", 3, "ordinal"),
        ("third", 3, "ordinal"),
        ("twenty-first", 21, "ordinal"),
        ("9½ miles", 9.5 * 1609.344, "metre"),
        ("6人", 6, "people"),
        ("1990", 1990, ""),
    ],
)
def test_notations(text, value, unit):
    quantity = one(text)
    assert quantity.value == pytest.approx(value)
    assert quantity.unit == unit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "B12",
        "v2",
        "1.2.3",
        "no one",
        "one of them",
        "4 March 1990",
        "someone",
        "often",
        "1" * 50,
    ],
)
def test_what_is_no_quantity(text):
    assert parse_quantities(text) == []


@pytest.mark.parametrize(
    "text", ["about 1,800", "~5 km", "nearly two million", "approximately $5", "约6人"]
)
def test_hedges(text):
    assert one(text).approximate


def test_ranges_have_no_negative_end():
    assert [q.value for q in parse_quantities("10-12")] == [10, 12]


def test_spans_hold_number_and_unit():
    text = "It is $1.5 million for 12 km, or two cats."
    assert [text[s.start : s.end] for s in find_quantities(text)] == [
        "$1.5 million",
        "12 km",
        "two cats",
    ]


SAME = [
    ("5 km", "3.1 miles"),
    ("5 km", "5,000 m"),
    ("6 ft", "1.83 m"),
    ("32 °F", "0 °C"),
    ("100 km/h", "62 mph"),
    ("1.8 million", "1,791,000"),
    ("two million", "2,000,000"),
    ("1,791 people", "1791"),
    ("5", "5 km"),
    ("third", "3rd"),
    ("12.4 km", "12.41 km"),
    ("about 1,800", "1,791"),
    ("€20", "20 euros"),
    ("5%", "5 per cent"),
    ("one hour", "60 minutes"),
]
DIFFERENT = [
    ("1,791", "1,790"),
    ("1990", "1991"),
    ("99.5%", "99.9%"),
    ("36.6 °C", "36.7 °C"),
    ("2 million", "1,600,000"),
    ("5 km", "5 miles"),
    ("5 km", "3.5 miles"),
    ("$5", "€5"),
    ("$100", "101 dollars"),
    ("5 votes", "5 seats"),
    ("3", "3rd"),
    ("5", "-5"),
    ("5", "6"),
    ("5%", "5 km"),
    ("0 °C", "0 °F"),
    ("12.4 km", "12.9 km"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_same(a, b):
    assert same_quantity(one(a), one(b))
    assert same_quantity(one(b), one(a))


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a, b):
    assert not same_quantity(one(a), one(b))
    assert not same_quantity(one(b), one(a))


def test_the_tolerance_is_the_callers():
    assert same_quantity(one("1.8 million"), one("1,791,000"), tolerance=0.01)
    assert not same_quantity(one("1.8 million"), one("1,791,000"), tolerance=0.001)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It is 3.1 miles long", "5 km"),
        ("it has thirty people", "30"),
        ("1 791 men", "1,791"),
        ("two dozen eggs", "24"),
        ("half a million", "500,000"),
        ("9½ miles", "9.5 miles"),
        ("0.5%", "0.5%"),
        ("3.5万", "35,000"),
        ("it was 32 °F", "0 °C"),
        ("7 cm", "0.07 m"),
        ("none: 0", "0"),
        *SAME,
    ],
)
def test_a_text_states_a_quantity(text, wanted):
    assert states_quantity(text, one(wanted))


@pytest.mark.parametrize(("text", "wanted"), [("5,000 and 1.5", "5"), ("nothing", "5"), ("6", "5")])
def test_a_text_does_not_state_a_quantity(text, wanted):
    assert not states_quantity(text, one(wanted))


@given(st.integers(0, 10**12))
def test_thousands_separators_do_not_matter(number):
    assert same_quantity(one(f"{number:,}"), one(str(number)))


@given(st.text(), st.text())
def test_reflexive_symmetric_and_found_in_its_own_text(a, b):
    mine, its = parse_quantities(a), parse_quantities(b)
    for x in mine:
        assert same_quantity(x, x)
        assert states_quantity(a, x)
        for y in its:
            assert same_quantity(x, y) == same_quantity(y, x)


@given(st.text(alphabet="0123456789., -km%$½万thwoneadilr"))
def test_odd_numbers_are_read(text):
    for quantity in parse_quantities(text):
        assert same_quantity(quantity, quantity)
        assert states_quantity(text, quantity)


@pytest.mark.parametrize(
    "unit",
    ["1", "1 ", "1,", "1 111", "one ", "a ", "1 km ", " ", "one and ", "1½", "$", "1.", "hundred "],
)
def test_hostile_text_takes_linear_time(unit):
    text = (unit * 100_000)[:100_000]
    started = time.process_time()
    parse_quantities(text)
    assert time.process_time() - started < 5
