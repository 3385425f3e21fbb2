"""Rival values of one subject, and third claims that back one of them."""

import pytest

from referee.programs.rival_values import Corroboration, rival_values

RIVAL = [
    ("Ghana joined it in 1957.", "Ghana and Mali joined it in 1961."),
    ("The dam at Arburg is 80 m high.", "The dam at Arburg is 95 m high."),
    ("Ann Berg opened the mill on 4 May 1990.", "Ann Berg opened the mill on 5 May 1990."),
]
COMPATIBLE = [
    ("Ghana joined it in 1957.", "Ghana left it in 1961."),
    ("Ghana joined it in 1957.", "Mali joined it in 1961."),
    ("Ghana joined it in 1957.", "Ghana joined it in March 1957."),
    ("Ghana joined it in 1957.", "Ghana did not join it in 1961."),
    ("Ghana joined it in 1957.", "Ghana may have joined it in 1961."),
    ("The dam at Arburg is 80 m high.", "The dam at Arburg is 8,000 cm high."),
    ("The dam at Arburg is 80 m high.", "The dam at Arburg is more than 70 m high."),
    ("Arburg had 100 people in 1900.", "Arburg had 200 people in 1950."),  # two times
    ("it opened in 1900.", "it opened in 1901."),  # nothing is named
    ("", ""),
]


@pytest.mark.parametrize(("a", "b"), RIVAL)
def test_rivals(a, b):
    assert rival_values(a, b)
    assert rival_values(b, a)


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_what_may_hold_at_once(a, b):
    assert not rival_values(a, b)
    assert not rival_values(b, a)


@pytest.mark.parametrize(
    ("third", "backs"),
    [
        ("Ghana has been a member since 1957.", True),
        ("Ghana joined in June 1957.", True),
        ("Ghana has been a member since 1961.", False),
        ("Ghana was there in 1957 and 1961.", False),
        ("Mali has been a member since 1957.", False),
        ("Ghana is a country.", False),
    ],
)
def test_a_third_claim_backs_a_value(third, backs):
    claims = Corroboration({"x": "Mali is large.", "c": third})
    found = claims.of("Ghana joined it in 1957.", "Ghana joined it in 1961.")
    assert found == (["c"] if backs else [])


def test_rivals_that_name_nothing_in_common_are_backed_by_none():
    claims = Corroboration({"c": "Ghana has been a member since 1957."})
    assert claims.of("Ghana joined it in 1957.", "Mali joined it in 1961.") == []
