import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.restating import without_restatement


@pytest.mark.parametrize(
    ("question", "answer", "core"),
    [
        ("Who directed the film Wolf?", "The director of Wolf is Ann Berg.", "Ann Berg"),
        ("Who produced the album Tides?", "Joe Boyd produced the album Tides.", "Joe Boyd"),
        (
            "In which port did Captain Ahlgren repair ships?",
            "Captain Ahlgren repaired ships in the port of Brunn",
            "Brunn",
        ),
        (
            "When was Ida Kroll born?",
            "Ida Kroll was born on November 25, 1865.",
            "November 25, 1865",
        ),
        (
            "What is the height of Mount Skadi?",
            "The height of Mount Skadi is 2,400 metres",
            "2,400 metres",
        ),
        ("Who sings the song Tides?", "The song Tides is sung by The Beatles", "The Beatles"),
    ],
)
def test_the_question_is_taken_off(question, answer, core):
    assert without_restatement(question, answer).replace("sung by ", "") == core


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who directed the film Wolf?", "Ann Berg"),
        ("Which company makes the Tesla Model 3?", "Tesla"),
        ("What is the name of the album by Wolf?", "The album by Wolf"),
        ("Is the film Wolf a comedy?", "no"),
        ("What colour is the sky?", "It depends on the time of day"),
        ("谁导演了电影?", "这部电影的导演是安娜"),
    ],
)
def test_other_answers_are_left_alone(question, answer):
    assert without_restatement(question, answer) == answer


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_is_left_is_a_part_and_never_nothing(question, answer):
    core = without_restatement(question, answer)
    assert core in answer
    assert bool(core.strip()) or not answer.strip() or core == answer
