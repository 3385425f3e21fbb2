"""No answer or an answer; answers without their dress."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics.refusal import clean_answer, is_no_answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "\n",
        "...",
        "no answer",
        "No answer.",
        "**No answer**",
        '"N/A"',
        "n.a.",
        "Unknown",
        "unknown.",
        "`unknown`",
        "None",
        "None.",
        "[none]",
        "I don't know",
        "I don’t know.",
        "I do not know.",
        "I don't know who wrote it.",
        "I don't know the answer, sorry",
        "Answer: unknown",
        "The answer is unknown.",
        "It is unknown who wrote it.",
        "Not mentioned",
        "not specified in the text",
        "Not explicitly stated",
        "Not enough information",
        "Insufficient context.",
        "Unanswerable",
        "The document does not mention the capital.",
        "The provided text doesn't specify who.",
        "The document doesn’t say.",
        "This passage did not state a year",
        "The given context contains no date.",
        "It does not say.",
        "It cannot be determined from the text.",
        "This can't be answered.",
        "Cannot be determined",
        "The name of the director is not mentioned in the document.",
        "The date is not specified.",
        "The answer is not given in the passage.",
        "There is no information about this.",
        "No information provided",
        "No mention of a year.",
        "Sorry, I cannot answer that.",
        "I'm sorry, but I can't answer.",
        "I am unable to determine the year.",
        "I'm not sure",
        "Unfortunately, the text does not say.",
        "It is not possible to determine the year.",
        "Based on the document, it is not possible to say.",
        "According to the provided text, it is unknown.",
        "No answer (the text is about cats)",
        "No answer: the text is about cats",
        "No answer is given in the document.",
        "Unknown (not in the document)",
        "It is not clear from the text who won.",
        "无法回答",
        "无法回答。",
        "不知道",
        "未提及",
        "未知",
        "文中没有提到他的年龄。",
        "根据文档，无法确定。",
        "该文章未说明。",
        "لا أعرف",
        "لا أعرف.",
        "غير معروف",
        "غير مذكور",
        "لا توجد معلومات عن ذلك",
        "لا يمكن تحديد ذلك",
        "لم يذكر النص ذلك",
    ],
)
def test_no_answer(text):
    assert is_no_answer(text)
    assert is_no_answer(clean_answer(text))


@pytest.mark.parametrize(
    "text",
    [
        "Unknown Pleasures",
        "The Unknown Soldier",
        "Unknown Mortal Orchestra",
        "No Answer Records",
        "Nobody",
        "none of the members survived",
        "None of the above",
        "No",
        "No.",
        "no",
        "Yes",
        "0",
        "zero",
        "Not Afraid",
        "No Country for Old Men",
        "No. 5",
        "No Information Society Act",
        "Nothing Compares 2 U",
        "I Don't Know How to Love Him",
        "He was not drafted.",
        "It does not exist",
        "They did not have children.",
        "it does not have a testable hypothesis.",
        "The award was not given in 1950",
        "He is not known to have married",
        "Sorry Not Sorry",
        "Na",
        "Paris",
        "Austin, Texas",
        "无锡",
        "未知死亡",
        "他没有提到她",
        "لا",
        "Unclear Physics",
        "Nonesuch Records",
        "Notre Dame",
        "The Information",
        "Sure",
    ],
)
def test_an_answer(text):
    assert not is_no_answer(text)
    assert not is_no_answer(clean_answer(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris", "Paris"),
        ("  Paris \n", "Paris"),
        ("Answer: Paris", "Paris"),
        ("answer:Paris.", "Paris"),
        ("**Answer:** Paris", "Paris"),
        ("**Answer**: Paris", "Paris"),
        ("Answer:\nParis", "Paris"),
        ("Final answer: Paris", "Paris"),
        ("The answer is Paris.", "Paris"),
        ("A: 5", "5"),
        ("答案：北京。", "北京"),
        ("الإجابة: القاهرة", "القاهرة"),
        ("\n\nParis\nLondon", "Paris"),
        ("- Paris", "Paris"),
        ("* Paris", "Paris"),
        ("• Paris", "Paris"),
        ("1. Paris\n2. London", "Paris"),
        ("# Paris", "Paris"),
        ("> Paris", "Paris"),
        ("```\nParis\n```", "Paris"),
        ("*Hamlet*", "Hamlet"),
        ("__Hamlet__", "Hamlet"),
        ("**“Hey Jude”.**", "Hey Jude"),
        ('"Paris".', "Paris"),
        ("'Paris'", "Paris"),
        ("«Paris»", "Paris"),
        ("「東京」", "東京"),
        ('**Answer:** "Austin, Texas". (according to document 2)', "Austin, Texas"),
        ("Paris (Note: as stated above)", "Paris"),
        ("Paris [source: document 1]", "Paris"),
        ("Mercury (planet)", "Mercury (planet)"),
        ('"A" and "B"', '"A" and "B"'),
        ("U.S.", "U.S."),
        ("Tesla, Inc.", "Tesla, Inc."),
        ("Martin Luther King Jr.", "Martin Luther King Jr."),
        ("5 p.m.", "5 p.m."),
        ("Malcolm X.", "Malcolm X."),
        ("No.", "No"),
        ("It is located in Austin.", "It is located in Austin"),
        (
            "One two three four five six seven eight nine ten eleven.",
            "One two three four five six seven eight nine ten eleven.",
        ),
        ("'Tis Pity She's a Whore", "'Tis Pity She's a Whore"),
        ("3. April 1990", "3. April 1990"),
        ("-5", "-5"),
        ("Wait...", "Wait..."),
        ("The answer is not given.", "The answer is not given"),
        ("C:", "C:"),
        ("", ""),
        ("\n \n", ""),
        ("**", ""),
        ("-。", ""),
        ("Answer:", ""),
    ],
)
def test_clean_answer(text, expected):
    assert clean_answer(text) == expected


@given(st.text(alphabet="ab .*\"'`()[]#-\nAnswer:。“”", max_size=40))
def test_clean_twice_is_clean_once(text):
    cleaned = clean_answer(text)
    assert clean_answer(cleaned) == cleaned
    assert "\n" not in cleaned


@given(st.text())
def test_any_text_is_read(text):
    is_no_answer(text)
    assert len(clean_answer(text)) <= len(text)


@pytest.mark.parametrize(
    "unit",
    [
        "a ",
        "*",
        "(",
        "no ",
        "\n",
        '"',
        " ",
        "the text ",
        "(note ",
        "`\n",
        "i do not ",
        "is not ",
        "answer: ",
        "根据",
        "- ",
    ],
)
def test_hostile_text_takes_linear_time(unit):
    text = (unit * 200_000)[:200_000]
    started = time.process_time()
    for hostile in (text, text + ")", text + "."):
        is_no_answer(hostile)
        clean_answer(hostile)
    assert time.process_time() - started < 3
