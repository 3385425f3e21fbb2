"""Independent sources: copies count once, changed facts do not make copies."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.independence import independent_groups
from referee.runtime.records import Document

STORY = (
    "On Monday Acme said that it moved its headquarters from Bonn to Austin in December 2021, "
    "after three years of planning. The move was not opposed by the city council, which had voted "
    "for it in May. About 300 employees follow, and the old building will become a museum of cars. "
    "The mayor called the decision a good sign for everyone who lives near the river."
)


def groups(*texts, **fields):
    return independent_groups([Document(text=text, **fields) for text in texts])


@pytest.mark.parametrize(
    "copy",
    [
        STORY,
        STORY.upper(),
        STORY.replace("  ", " ").replace(",", " ,"),
        STORY.replace("a good sign", "a fine sign"),
        STORY
        + " Read more about the plans that the firm has for its many other old sites on page 7.",
        STORY[: STORY.index(" The mayor")],
        STORY.replace("said that it", "said it"),
        STORY + " Read more.",
        "Copy: " + STORY,
        "Bonn. " + STORY + " Page 7",
    ],
)
def test_near_copies_are_one_source(copy):
    assert groups(STORY, copy) == [[0, 1]]
    assert groups(copy, STORY) == [[0, 1]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Austin", "Dallas"),
        ("2021", "2020"),
        ("December", "November"),
        ("three", "seven"),
        ("300", "3,000"),
        ("was not opposed", "was opposed"),
        ("had voted", "had never voted"),
        ("Acme", "Globex"),
    ],
)
def test_a_changed_fact_makes_another_source(old, new):
    assert old in STORY
    assert groups(STORY, STORY.replace(old, new)) == [[0], [1]]
    assert groups(STORY + " Tail words that one of them has.", STORY.replace(old, new)) == [
        [0],
        [1],
    ]


def test_edges_count_where_both_texts_have_one_or_negate():
    assert groups("Globex: " + STORY, "Initech: " + STORY) == [[0], [1]]
    assert groups(STORY + " Seen by Ada.", STORY + " Seen by Bob.") == [[0], [1]]
    assert groups("This is not true: " + STORY, STORY) == [[0], [1]]


def test_dissimilar_texts_are_independent_whoever_published_them():
    other = "Austin is where Acme has its seat, according to a register of firms in Texas."
    assert groups(STORY, other) == [[0], [1]]
    assert groups(STORY, other, source="The Paper", url="") == [[0], [1]]


def test_copies_at_different_publishers_are_copies():
    documents = [
        Document(text=STORY, source="A", url="https://a.example/x"),
        Document(text=STORY + " (agency)", source="B", url="https://b.example/y"),
    ]
    assert independent_groups(documents) == [[0, 1]]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.x.example/a/?utm_source=1#q", "http://x.example/a", True),
        ("HTTPS://X.example/a", "x.example/a", True),
        ("https://x.example/a?id=1", "https://x.example/a?id=2", False),
        ("https://x.example/a", "https://x.example/A", False),
        ("https://x.example/a", "https://y.example/a", False),
        ("http://[bad", "http://[bad", True),
        ("", "", False),
    ],
)
def test_addresses(one, other, same):
    documents = [Document(text="cats", url=one), Document(text="dogs", url=other)]
    assert independent_groups(documents) == ([[0, 1]] if same else [[0], [1]])


def test_one_id_is_one_document():
    documents = [
        Document(text="cats", id="d1"),
        Document(text="dogs", id="d1"),
        Document(text="eels"),
    ]
    assert independent_groups(documents) == [[0, 1], [2]]


def test_empty_and_short_texts():
    assert groups() == []
    assert groups("", "") == [[0], [1]]
    assert groups("Austin", "Austin", "Dallas") == [[0, 1], [2]]
    assert groups("!", "?") == [[0], [1]]


def test_scripts_without_spaces_and_capitals():
    story = (
        "特斯拉公司于二零二一年十二月将总部从帕洛阿尔托迁至得克萨斯州的奥斯汀市"
        "并在那里建造了新的工厂和办公楼"
    )
    assert groups(story, story + "。", "上海是一个很大的城市") == [[0, 1], [2]]
    assert groups(story, story.replace("奥斯汀", "达拉斯")) == [[0], [1]]
    arabic = (
        " ".join(f"كلمة{i}" for i in "ابتثجحخدذرزسشصضطظعغفقكلمنهوي")
        + " في أوستن "
        + " ".join(f"جملة{i}" for i in "ابتثجحخدذرزسشصضطظعغفقكلمنهوي")
    )
    assert groups(arabic, arabic.replace("أوستن", "دالاس"), arabic + ".") == [[0, 2], [1]]


@pytest.mark.parametrize(("changed", "expected"), [(3, [[0, 1]]), (5, [[0], [1]])])
def test_four_fifths_of_the_shingles_make_a_copy(changed, expected):
    words = [a + b for a in "abcdefghij" for b in "klmnopqrst"]
    other = list(words)
    for at in range(changed):
        other[10 + 15 * at] = "changed"
    assert groups(" ".join(words), " ".join(other)) == expected


def test_copies_of_copies_are_one_group():
    first = STORY.replace("a good sign", "a fine sign")
    second = first.replace("old building", "former building")
    assert groups(STORY, second, first, "Something else is written in here.") == [[0, 1, 2], [3]]


words = st.lists(st.sampled_from(["Ada", "bob", "7", "not", "the", "好", "x"]), max_size=12).map(
    " ".join
)
documents = st.builds(Document, text=words, url=st.sampled_from(["", "", "a.b/c", "a.b/d"]))


@given(st.lists(documents, max_size=8), st.randoms(use_true_random=False))
def test_a_partition_that_no_order_changes(given_documents, rnd):
    found = independent_groups(given_documents)
    assert sorted(i for g in found for i in g) == list(range(len(given_documents)))
    assert found == sorted(sorted(g) for g in found)
    order = list(range(len(given_documents)))
    rnd.shuffle(order)
    shuffled = independent_groups([given_documents[i] for i in order])
    assert {frozenset(order[i] for i in g) for g in shuffled} == {frozenset(g) for g in found}


@pytest.mark.parametrize("kind", ["different", "copies", "one name apart"])
def test_sixty_documents_take_a_moment(kind):
    rnd = random.Random(0)
    base = ["".join(rnd.choices("abcdefghij", k=4)) for _ in range(1000)]
    texts = {
        "different": [" ".join(rnd.sample(base, 1000)) for _ in range(60)],
        "copies": [" ".join([*base, "x" * i]) for i in range(60)],
        "one name apart": [" ".join([*base[:500], f"N{i}", *base[500:]]) for i in range(60)],
    }[kind]
    started = time.process_time()
    found = groups(*texts)
    assert time.process_time() - started < 1.5  # about 0.2 on a quiet machine
    assert len(found) == (1 if kind == "copies" else 60)


@pytest.mark.parametrize("unit", ["a ", "a", "1 ", "好", " ", "A b. "])
def test_hostile_text_takes_linear_time(unit):
    text = (unit * 200_000)[:200_000]
    started = time.process_time()
    groups(text, text + " Ada", unit)
    assert time.process_time() - started < 8
