"""Same answers: what merges, what never does, and how clusters form."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.clusters import (
    _cliques,
    answer_forms,
    answer_tokens,
    cluster_answers,
    is_refinement,
    same_answer,
)

SAME = [
    ("Austin", "austin."),
    ("The Beatles", "Beatles"),
    ("Beyoncé", "Beyonce"),
    ("Łódź", "Lodz"),
    ("“Hey Jude”", "Hey Jude"),
    ("co-founder", "co founder"),
    ("AT&T", "AT and T"),
    ("rock & roll", "rock and roll"),
    ("４２", "42"),
    ("4 March 1990", "1990-03-04"),
    ("March 4, 1990", "04.03.1990"),
    ("2011年3月5日", "5 March 2011"),
    ("in 1990", "1990"),
    ("1,791 people", "1791"),
    ("1,791 people", "1,791 inhabitants"),
    ("about 1.5 million", "1,500,000"),
    ("5 km", "5 kilometres"),
    ("5 km", "3.1 miles"),
    ("two", "2"),
    ("3 gold medals", "three gold medals"),
    ("US", "United States"),
    ("U.S.", "the United States of America"),
    ("UN", "United Nations"),
    ("UK", "Great Britain"),
    ("NASA", "National Aeronautics and Space Administration"),
    ("J. R. R. Tolkien", "John Ronald Reuel Tolkien"),
    ("JRR Tolkien", "J.R.R. Tolkien"),
    ("John F. Kennedy", "John Kennedy"),
    ("John F. Kennedy", "John Fitzgerald Kennedy"),
    ("President Barack Obama", "Barack Obama"),
    ("Dr. Smith", "Smith"),
    ("Tesla, Inc.", "Tesla"),
    ("Sony Corporation", "Sony"),
    ("Martin Luther King Jr.", "Martin Luther King"),
    ("St. Louis", "Saint Louis"),
    ("city of Austin", "Austin"),
    ("Kingdom of Norway", "Norway"),
    ("George Bush", "George W. Bush"),
    ("Austin", "Austin, Texas"),
    ("Austin", "Austin, Texas, USA"),
    ("Paris", "Paris (France)"),
    ("football player", "professional football player"),
    ("actor", "American actor"),
    ("Smith", "John Smith"),
    ("Mercury", "Mercury (planet)"),
    ("World Health Organization (WHO)", "World Health Organization"),
    ("Simon and Garfunkel", "Garfunkel and Simon"),
    ("English, French and German", "German, English, French"),
    ("yes", "true"),
    ("Yes", "Yes, it is."),
    ("no", "False"),
    ("是的", "yes"),
    ("It is located in Austin.", "Austin"),
    ("The plant is located in Austin, Texas.", "Austin"),
    ("The answer is Paris.", "Paris"),
    ("It was on 4 March 1990", "1990-03-04"),
    ("北京", "北京。"),
    ("أحمد", "احمد"),
]
DIFFERENT = [
    ("York", "New York"),
    ("Paris", "Paris Hilton"),
    ("Korea", "North Korea"),
    ("North Korea", "South Korea"),
    ("Georgia", "South Georgia"),
    ("Guinea", "Papua New Guinea"),
    ("Virginia", "West Virginia"),
    ("Washington", "George Washington"),
    ("Sox", "Red Sox"),
    ("Apple", "Apple Records"),
    ("John", "John Smith"),
    ("Smith", "Not Smith"),
    ("03/04/1990", "04/03/1990"),
    ("03/04/1990", "1990"),
    ("The planned plant is located in Austin", "Austin"),
    ("George W. Bush", "George H. W. Bush"),
    ("Milan", "AC Milan"),
    ("Democrat", "Christian Democrat"),
    ("Guitar", "Bass Guitar"),
    ("English", "Middle English"),
    ("Mind", "State of Mind"),
    ("Portland, Oregon", "Portland, Maine"),
    ("10:30 am", "10:30 pm"),
    ("more than 5", "5"),
    ("1990-1995", "1990"),
    ("No", "Dr. No"),
    ("Kim Jong-un", "Kim Jong-il"),
    ("John Smith", "Mary Smith"),
    ("John A. Smith", "John B. Smith"),
    ("J. Smith", "Mary Smith"),
    ("Henry", "Henry VIII"),
    ("Henry VIII", "Henry VII"),
    ("University of Texas", "University of North Texas"),
    ("president", "vice president"),
    ("president", "former president"),
    ("football player", "American football player"),
    ("coach", "assistant coach"),
    ("English", "English and French"),
    ("France", "France, Germany"),
    ("Texas", "Texas, California"),
    ("Paris or London", "Paris"),
    ("1990", "4 March 1990"),
    ("May 1990", "1990"),
    ("1990", "1991"),
    ("4 March 1990", "5 March 1990"),
    ("1,791", "1,790"),
    ("5 km", "5 miles"),
    ("5 votes", "5 seats"),
    ("$5", "€5"),
    ("5", "-5"),
    ("third", "3"),
    ("Windows 10", "Windows 11"),
    ("Windows", "Windows 10"),
    ("Jaws", "Jaws (1975 film)"),
    ("3-2", "2-3"),
    ("Austin", "not Austin"),
    ("It is not located in Austin", "Austin"),
    ("He was formerly based in Austin", "Austin"),
    ("Apple", "Apple (not the fruit)"),
    ("yes", "no"),
    ("no", "none"),
    ("C", "C++"),
    ("C", "C#"),
    ("Vitamin A", "Vitamin"),
    ("CA", "Central Asia"),
    ("us", "US Open"),
    ("Iran", "Iraq"),
    ("北京", "南京"),
    ("", "Austin"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_same(a, b):
    assert same_answer(a, b)
    assert same_answer(b, a)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a, b):
    assert not same_answer(a, b)
    assert not same_answer(b, a)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], []),
        (["Austin"], [[0]]),
        (["Austin", "Dallas", "austin", "Austin, Texas"], [[0, 2, 3], [1]]),
        (["", "Austin", ""], [[0, 2], [1]]),
        (["John Smith", "Smith"], [[0, 1]]),
        (["Smith", "John Smith", "Mary Smith", "smith"], [[0, 3], [1], [2]]),
        (["John Smith", "Smith", "J. Smith", "Mary Smith"], [[0, 2], [1], [3]]),
        (["1990", "4 March 1990", "1990-03-04"], [[0], [1, 2]]),
        (["Football Player", "football player", "professional football player"], [[0, 1, 2]]),
    ],
)
def test_clusters(answers, expected):
    assert cluster_answers(answers) == expected


def test_answers_that_are_all_vague_stand_alone():
    # In a ring of four each answer equals two that differ.
    assert _cliques(range(4), [{1, 3}, {0, 2}, {1, 3}, {0, 2}]) == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("general", "specific"),
    [
        ("1990", "4 March 1990"),
        ("March 1990", "4 March 1990"),
        ("Germany", "Munich, Germany"),
        ("guitar", "electric guitar"),
        ("Austin", "Austin, Texas"),
        ("football player", "professional football player"),
    ],
)
def test_refinement(general, specific):
    assert is_refinement(general, specific)
    assert not is_refinement(specific, general)


@pytest.mark.parametrize(
    ("general", "specific"),
    [
        ("1990", "1990"),
        ("1990", "4 March 1991"),
        ("Germany", "Munich"),
        ("York", "New York"),
        ("president", "vice president"),
        ("English", "English and French"),
        ("French", "English and French"),
        ("guitar", "not guitar"),
        ("cats", "3 cats"),
        ("", "Austin"),
        ("Austin", ""),
    ],
)
def test_no_refinement(general, specific):
    assert not is_refinement(general, specific)


def test_tokens_and_forms():
    assert answer_tokens("The U.S. has 1,791 cafés; Tesla's C++!") == [
        "us",
        "has",
        "1791",
        "cafes",
        "tesla",
        "c++",
    ]
    assert answer_tokens("Minecraft是Moba游戏") == ["minecraft", "是", "moba", "游", "戏"]
    assert answer_forms("It is based in Austin.")[:2] == ["it is based in austin", "austin"]
    assert "united states of america" in answer_forms("USA")
    assert len(set(answer_forms("USA"))) == len(answer_forms("USA"))


words = st.sampled_from(
    [w for pair in SAME + DIFFERENT for w in pair] + ["", " ", "!", "and", "the", "a", "not", "Jr."]
)
answers = st.one_of(words, st.text(max_size=20), st.lists(words, max_size=3).map(" ".join))


@given(answers)
def test_reflexive(answer):
    assert same_answer(answer, answer)
    assert not is_refinement(answer, answer)


@given(answers, answers)
def test_symmetric(a, b):
    assert same_answer(a, b) == same_answer(b, a)
    assert not (is_refinement(a, b) and is_refinement(b, a))


@given(st.lists(words, max_size=12), st.randoms(use_true_random=False))
def test_a_partition_that_no_order_changes(given_answers, rnd):
    clusters = cluster_answers(given_answers)
    assert sorted(i for c in clusters for i in c) == list(range(len(given_answers)))
    assert [c[0] for c in clusters] == sorted(min(c) for c in clusters)
    order = list(range(len(given_answers)))
    rnd.shuffle(order)
    shuffled = cluster_answers([given_answers[i] for i in order])
    assert {frozenset(order[i] for i in c) for c in shuffled} == {frozenset(c) for c in clusters}


same_words = st.sampled_from([w for pair in SAME for w in pair])


@given(st.lists(same_words, max_size=10, unique_by=lambda word: answer_forms(word)[0]))
def test_all_members_are_the_same(given_answers):
    for cluster in cluster_answers(given_answers):
        for i in cluster:
            assert all(same_answer(given_answers[i], given_answers[j]) for j in cluster)


@pytest.mark.parametrize(
    "unit", ["a ", "1 ", "a.", "the ", "and ", ",", "(", "it is ", "é", "好", "A", "'s"]
)
def test_hostile_text_takes_linear_time(unit):
    text = (unit * 200_000)[:200_000]
    started = time.process_time()
    same_answer(text, "Austin")
    same_answer(text, text + "x")
    is_refinement("Austin", text)
    answer_forms(text)
    cluster_answers([text, "Austin"])
    assert time.process_time() - started < 5


def test_many_answers_take_little_time():
    rnd = random.Random(0)
    pool = [w for pair in SAME + DIFFERENT for w in pair]
    many = [rnd.choice(pool) for _ in range(300)]
    started = time.process_time()
    cluster_answers(many)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("one", "other"),
    [("7 kilometers", "7 kilometres"), ("5 liters", "5 litres"), ("2,400 meters", "2,400 metres")],
)
def test_units_are_the_same_in_both_spellings(one: str, other: str) -> None:
    assert same_answer(one, other)
