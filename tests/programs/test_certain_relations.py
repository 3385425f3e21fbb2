"""Relations that code is certain of, and where it must stay silent."""

import pytest

from referee.errors import InputError
from referee.programs.certain_relations import certain_relation
from referee.programs.thresholds import THRESHOLDS, thresholds_for

CERTAIN = [
    ("Brask was founded in 2003.", "Brask was established in 2003.", "support", "same"),
    ("The Orla is 1.2 km long.", "The Orla is 1,200 m long.", "support", "same"),
    ("Marek was born in 1990.", "Marek was born in 1991.", "contradiction", "date"),
    ("The tower is 330 m tall.", "The tower is 310 m tall.", "contradiction", "number"),
    ("Ida is a doctor.", "Ida is not a doctor.", "contradiction", "negation"),
]
OPEN = [
    ("Lyon is the capital of Ard.", "Mont is the capital of Ard."),
    ("Ida speaks Danish.", "Ida speaks Dutch."),
    ("Ida was born in Munich.", "Ida was born in Germany."),
    ("Marek was born in May 1990.", "Marek was born in 1990."),
    ("Ida won the race in 2010.", "Ida won the race in 2012."),
    ("The tower is over 300 m tall.", "The tower is 330 m tall."),
    ("The tower is about 300 m tall.", "The tower is 310 m tall."),
    ("The bridge is 30 m wide.", "The bridge is 300 m long."),
    ("Some members voted.", "Some members did not vote."),
    ("Ida may join.", "Ida may not join."),
    ("Ida was not born in 1990.", "Ida was not born in 1991."),
    ("Lyon is one of the capitals of Ard.", "Mont is one of the capitals of Ard."),
    ("If it rains, Ida is not here.", "If it rains, Ida is here."),
]


@pytest.mark.parametrize(("a", "b", "label", "case"), CERTAIN)
def test_certain_cases_are_decided_from_both_sides(a, b, label, case):
    assert certain_relation(a, b) == certain_relation(b, a) == (label, case)


@pytest.mark.parametrize(("a", "b"), OPEN)
def test_what_may_hold_at_once_is_left_to_the_model(a, b):
    assert certain_relation(a, b) is None
    assert certain_relation(b, a) is None


def test_thresholds_belong_to_an_encoder():
    assert thresholds_for("BAAI/bge-large-en-v1.5").query == 0.3
    for query, similarity, merge in THRESHOLDS.values():
        assert -1 <= query < similarity < merge <= 1


def test_an_unknown_encoder_is_told_how_to_calibrate():
    with pytest.raises(InputError, match=r"'mine'.*explicitly.*`referee tune`"):
        thresholds_for("mine")
