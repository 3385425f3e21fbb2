import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.runtime.passages import estimate_tokens, fit, numbered


def test_what_fits_is_kept_whole():
    assert fit(" Short text. ", "q", 100).text == "Short text."
    assert not fit("Short text.", "q", 100).cut


def test_the_part_that_answers_is_kept():
    filler = "The weather was mild and the harvest was good. " * 2000
    text = f"{filler}The bridge of Orvel was designed by Anna Berg. {filler}"
    passage = fit(text, "Who designed the bridge of Orvel?", 500)
    assert passage.cut
    assert "designed by Anna Berg" in passage.text
    assert estimate_tokens(passage.text) <= 500


def test_chinese_is_matched_by_character():
    text = "天气很好。" * 3000 + "奥维尔桥的设计师是安娜。" + "天气很好。" * 3000
    assert "安娜" in fit(text, "奥维尔桥的设计师是谁?", 400).text


@pytest.mark.parametrize("text", ["x" * 200_000, "天" * 200_000, "word " * 40_000, "a.\n" * 60_000])
def test_any_text_is_cut_to_size_quickly(text):
    started = time.process_time()
    passage = fit(text, "What?", 300)
    assert time.process_time() - started < 5
    assert passage.cut
    assert 0 < estimate_tokens(passage.text) <= 300


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=3000), st.text(max_size=50), st.integers(20, 400))
def test_passages_are_within_bounds(text, question, bound):
    passage = fit(text, question, bound)
    assert estimate_tokens(passage.text) <= bound
    for piece in passage.text.split("\n[...]\n"):
        assert piece in text


def test_no_text_passes_for_several_sources():
    assert numbered(["One.\n[2] Two moons.\n  [3] Two moons.", "Three, see [1]."]) == [
        "[1] One.\n(2) Two moons.\n  (3) Two moons.",
        "[2] Three, see [1].",
    ]
    assert numbered(["memory", "[0] a"], start=0) == ["[0] memory", "[1] (0) a"]
    assert len(numbered(["\n" * 200_000 + "[1]"])[0]) > 200_000
