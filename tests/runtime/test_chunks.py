"""Sentences and chunks: verbatim offsets, nothing lost, linear time."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.errors import InputError
from referee.runtime.chunks import Span, chunk, sentences

# Pieces that meet in real text: words, abbreviations, stops of many scripts, white space, bullets.
WORDS = 'word|Word|Dr.|U.S.|No. 5|3.5|J. K.|etc.|e.g.|The|...|.|!|?"|.[3]|1.|-|•|؟|۔|हिन्दी|।'
PIECES = st.sampled_from(
    [
        *(f"{word} " for word in WORDS.split("|")),
        *("\n", "\n\n", "\r\n", "\u2028", "\t ", " " * 30),
        *("东京", "。", "！", "です", "」", "e\u0301", "x" * 40, "😀"),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=200))
SIZES = {
    "max_chars": st.integers(1, 120),
    "overlap_sentences": st.integers(0, 4),
    "min_sentences": st.integers(1, 5),
}


def split(text: str) -> list[str]:
    return [span.text for span in sentences(text)]


def uncovered(text: str, spans: list[Span]) -> str:
    left = list(text)
    for span in spans:
        left[span.start : span.end] = " " * (span.end - span.start)
    return "".join(left).strip()


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith met Mrs. Jones.", "They left."],
        ["The U.S. Army came in 1944.", "It stayed."],
        ["He moved to the U.S. in May.", "He lives in the U.S.", "The rest is known."],
        ["See No. 5 and pp. 3 to 4.", "It is there."],
        ["J. K. Rowling wrote it.", "J.R.R. Tolkien did not."],
        ["It costs $3.5 million.", "Version 2.0.1 is free."],
        ["Well... it depends.", "She stopped...", "Then she went on."],
        ['"Really?" he asked.', '"Yes."', '"I know," she said.'],
        ["Born on Jan. 5, 1990 in St. Louis.", "Acme Inc. makes cars."],
        ["It has fruit, e.g. Apples, etc. in it.", "Vitamin C.", "The end."],
        ["Growth slowed.[12]", "Prices rose.[3][4]", "(See below.)", "Done."],
        ["Read https://a.example/b?c=1.2 first.", "Yahoo! is old."],
        ["Is it so?", "No!", "Why?!", "Because."],
        ["¿Dónde está?", "¡Aquí!", "«Bien.»", "Vale."],
        ["东京是首都。", "“你好！”", "他说。", "真的吗？", "是的!", "对"],
        ["彼は「行く。」と言った。", "次です。"],
        ["هل هذا صحيح؟", "یہ ٹھیک ہے۔", "نعم"],
        ["यह एक है।", "दूसरा॥", "तीसरा"],
        ["no punctuation at all"],
    ],
)
def test_sentences_in_running_text(expected: list[str]) -> None:
    unspaced = any("\u3000" <= c <= "\u9fff" for c in expected[0])
    assert split(("" if unspaced else " ").join(expected)) == expected


def test_lines_headings_and_list_items_are_sentences() -> None:
    text = "# Heading\nIntro without stop\n\n- one\n- Two\n1. First. Second.\n2. Third\r\n• a • b"
    assert split(text) == [
        *("# Heading", "Intro without stop", "- one", "- Two"),
        *("1. First.", "Second.", "2. Third", "• a", "• b"),
    ]


def test_a_long_line_that_goes_on_in_lower_case_is_one_sentence() -> None:
    wrapped = "This sentence was folded by an editor at a\nwidth of forty. Next."
    assert split(wrapped) == [wrapped[:-6], "Next."]
    assert split(wrapped.replace("\n", "\n\n"))[0] == "This sentence was folded by an editor at a"


def test_text_without_capitals_is_still_split() -> None:
    assert split("the cat sat. the dog ran.") == ["the cat sat.", "the dog ran."]


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_nothing_comes_of_nothing(text: str) -> None:
    assert sentences(text) == []
    assert chunk(text) == []


@settings(deadline=None)  # other work on the machine must not fail a test
@given(TEXTS)
def test_sentences_are_verbatim_ordered_and_complete(text: str) -> None:
    spans = sentences(text)
    assert all(s.text == text[s.start : s.end] == s.text.strip() != "" for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert uncovered(text, spans) == ""


@settings(deadline=None)  # other work on the machine must not fail a test
@given(TEXTS, st.fixed_dictionaries(SIZES))
def test_chunks_are_verbatim_monotone_bounded_and_complete(text: str, sizes: dict) -> None:
    chunks = chunk(text, **sizes)
    assert all(c.text == text[c.start : c.end] == c.text.strip() != "" for c in chunks)
    assert all(len(c.text) <= sizes["max_chars"] for c in chunks)
    pairs = list(pairwise(chunks))
    assert all(a.start < b.start and a.end < b.end for a, b in pairs)
    assert uncovered(text, chunks) == ""


@settings(deadline=None)  # other work on the machine must not fail a test
@given(TEXTS, st.integers(20, 200), st.integers(0, 2))
def test_a_chunk_is_short_of_sentences_only_where_no_more_fit(
    text: str, max_chars: int, overlap: int
) -> None:
    spans = sentences(text)
    if any(len(s.text) > max_chars for s in spans):
        return
    for c in chunk(text, max_chars=max_chars, overlap_sentences=overlap):
        inside = [i for i, s in enumerate(spans) if c.start <= s.start and s.end <= c.end]
        first, last = inside[0], inside[-1]
        assert (c.start, c.end) == (spans[first].start, spans[last].end), "whole sentences"
        if len(inside) < 3:
            assert first == 0 or c.end - spans[first - 1].start > max_chars
            assert last == len(spans) - 1 or spans[last + 1].end - c.start > max_chars


def test_chunks_overlap_by_a_sentence_and_the_rest_reaches_back() -> None:
    text = " ".join(f"Sentence {n:02}." for n in range(8))  # 12 characters each
    numbers = [c.text.replace("Sentence ", "") for c in chunk(text, max_chars=51)]
    assert numbers == ["00. 01. 02. 03.", "03. 04. 05. 06.", "05. 06. 07."]
    apart = chunk(text, max_chars=51, overlap_sentences=0, min_sentences=1)
    assert [c.text.count("S") for c in apart] == [4, 4]


def test_a_long_sentence_is_split_between_words() -> None:
    text = "alpha beta gamma delta epsilon"
    pieces = [c.text for c in chunk(text, max_chars=11, overlap_sentences=0)]
    assert pieces == ["alpha beta", "gamma delta", "epsilon"]


def test_a_script_without_spaces_is_split_between_characters() -> None:
    pieces = [c.text for c in chunk("AI " + "的" * 25, max_chars=10, overlap_sentences=0)]
    assert [len(p) for p in pieces] == [10, 10, 8]


def test_an_accent_stays_with_its_letter() -> None:
    pieces = [c.text for c in chunk("e\u0301" * 5, max_chars=3, overlap_sentences=0)]
    assert pieces == ["e\u0301"] * 5


@pytest.mark.parametrize(
    "sizes", [{"max_chars": 0}, {"overlap_sentences": -1}, {"min_sentences": 0}]
)
def test_impossible_sizes_are_refused(sizes: dict) -> None:
    with pytest.raises(InputError, match="give at least 1, 0 and 1"):
        chunk("Text.", **sizes)


MEGABYTE = 1_000_000
PROSE = (
    "Dr. Smith joined the U.S. Army in 1999, and wrote about it (see No. 5). "
    '"Is it 3.5 km?" he asked.\nNobody in the room knew the answer to that question... '
)


@pytest.mark.parametrize(
    "unit", [PROSE, "a", "的", ".", "\n", " ", "\n ", "word ", "A.", '."', "[1"]
)
def test_a_megabyte_takes_less_than_a_second(unit: str) -> None:
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]

    def cost() -> float:
        began = time.process_time()
        chunk(text)
        return time.process_time() - began

    # The first run also pays for the memory; on a busy machine the best of many counts.
    assert any(cost() < 1.0 for _ in range(20))


@pytest.mark.parametrize(
    "unit", ["A 1. b 12. c ", ".\n", "Inc. The ", "Dr. A ", "a\r\n", ". ' ", "•"]
)
def test_time_is_linear(unit: str) -> None:
    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        began = time.process_time()
        chunk(text)
        return time.process_time() - began

    # Quadratic time would be 64 times, linear is 8 times; the best of three on a noisy machine.
    assert any(cost(200_000) < 25 * max(cost(25_000), 0.005) for _ in range(3))
