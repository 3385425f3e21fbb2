from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.optimizers.rule_candidates import candidates, says_the_same
from referee.programs.feedback import Observed
from referee.programs.operators import OPERATORS
from referee.programs.rules import Rule, lint, starter_rules
from referee.signatures import observer

SHOWN = [
    Observed(
        question="How long is the Orvel canal?",
        type="misinformation",
        answers=("41.5 km", "38 km"),
        snippets=("The Orvel canal is 41.5 km long.", "News from Dastrid: it is 38 km long."),
        dates=("2019-05-04", ""),
        right=0,
    )
]
GOOD = {
    "condition": "One text reports a measurement, the other repeats hearsay.",
    "resolution": "Believe the statement that was measured.",
}


def rule(**fields):
    return Rule(**{"id": "P", "type": "misinformation", **GOOD, **fields})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"condition": "One text is from Dastrid."}, "repeats a name of the demonstrations"),
        ({"condition": "It is about the Orvel canal."}, "repeats a name of the demonstrations"),
        ({"condition": "One text says 41.5 km."}, "repeats a number of the demonstrations"),
        ({"condition": "One text is older than 2019."}, "repeats a number of the demonstrations"),
        ({"resolution": "Believe the first statement."}, "decides by the order of the statements"),
        ({"resolution": "Source 2 is right."}, "decides by the order of the statements"),
        ({"condition": ""}, "empty"),
        ({"resolution": ""}, "empty"),
        ({"resolution": "x" * 251}, "too long"),
        ({"resolution": "Be careful."}, "settles nothing"),
        ({"operator": "most_specific"}, "settles nothing"),
    ],
)
def test_what_is_no_general_rule_is_turned_away_and_counted(fields, reason):
    found = candidates([rule(**fields), rule()], SHOWN)
    assert found.rejected == {reason: 1}
    assert [r.condition for r in found.rules] == [GOOD["condition"]]


@pytest.mark.parametrize(
    "condition",
    [
        "News reports differ from measurements.",  # a capital at the head is no name
        "The texts give two values with other units.",
        "One side has at least 2 sources.",
    ],
)
def test_general_words_are_no_names(condition):
    assert not candidates([rule(condition=condition)], SHOWN).rejected


def test_duplicates_are_merged():
    near = rule(condition="One text reports a measurement, and the other repeats hearsay")
    found = candidates([rule(), near, rule(type="temporal"), rule()], SHOWN)
    assert [(r.id, r.type) for r in found.rules] == [("R1", "misinformation"), ("R2", "temporal")]
    assert found.merged == 2


def test_one_operator_for_one_type_is_one_rule_in_the_words_of_the_operator():
    opposite = rule(operator="latest_date", type="temporal", resolution="Believe the older side.")
    same = opposite.model_copy(update={"condition": "Dates."})
    found = candidates([opposite, same], SHOWN)
    (kept,) = found.rules
    assert "later date" in kept.resolution
    assert found.merged == 1


def test_what_stands_already_is_not_proposed_again_and_ids_are_never_reused():
    standing = starter_rules().rules
    known = rule(operator="latest_date", type="temporal")
    found = candidates([known, rule()], SHOWN, standing=standing, taken=["R3", "R14", "MINE"])
    assert [r.id for r in found.rules] == ["R15"]
    assert found.merged == 1


def test_the_checks_that_a_model_may_name_are_the_operators():
    assert set(get_args(observer.Check)) == {"none", *OPERATORS}
    told = {r.operator for r in starter_rules().rules}
    assert told >= set(OPERATORS)  # each has words of its own


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.builds(
            rule,
            type=st.sampled_from(["temporal", "other", "any"]),
            operator=st.sampled_from(["", *OPERATORS]),
            condition=st.sampled_from(["", "The texts differ.", "Dastrid", "One text is older."]),
        ),
        max_size=12,
    )
)
def test_every_proposal_is_kept_merged_or_rejected(proposed):
    found = candidates(proposed, SHOWN)
    assert len(found.rules) + found.merged + sum(found.rejected.values()) == len(proposed)
    assert len({r.id for r in found.rules}) == len(found.rules)
    for at, one in enumerate(found.rules):
        assert not any(says_the_same(one, other) for other in found.rules[:at])


def test_candidates_pass_lint_alone():
    from referee.programs.rules import RuleBase

    for kept in candidates([rule(), rule(operator="latest_date")], SHOWN).rules:
        assert lint(RuleBase([kept])) == []
