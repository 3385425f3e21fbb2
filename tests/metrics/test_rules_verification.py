import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import wilson_interval
from referee.optimizers import verify_rules

ORACLE = json.loads(
    (Path(__file__).parents[1] / "oracles" / "macr_rule_filter.json").read_text("utf-8")
)
CASES, N = ORACLE["cases"], ORACLE["cases"][0]["n_val"]
THRESHOLDS = ORACLE["delta_cov"], ORACLE["delta_sup"]


def first(n):
    return np.arange(N) < n


@st.composite
def tables(draw):
    rules, examples = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    row = st.lists(st.booleans(), min_size=examples, max_size=examples)
    rows = st.lists(row, min_size=rules, max_size=rules)
    return draw(rows), draw(rows), draw(st.floats(0, 1)), draw(st.floats(0, 1))


def test_rules_of_the_reference():
    fired = [first(case["n_covered"]) for case in CASES]
    correct = [first(case["n_correct"]) for case in CASES]
    checks = verify_rules(fired, correct, *THRESHOLDS)
    for check, case in zip(checks, CASES, strict=True):
        assert check.coverage == pytest.approx(case["Cov"], abs=1e-9)
        assert check.support == pytest.approx(case["Sup_conditional"], abs=1e-9)
        assert check.kept is case["keep(cov>=.05 and sup_cond>=.6)"]
        counts = case["n_covered"], case["n_correct"], case["n_val"]
        assert (check.fired, check.correct, check.examples) == counts
        assert check.support_interval == wilson_interval(case["n_correct"], case["n_covered"])
        assert check.gain is None


def test_one_example_below_either_threshold_is_dropped():
    checks = verify_rules([first(9), first(10)], [first(9), first(5)], *THRESHOLDS)
    assert [check.kept for check in checks] == [False, False]


def test_correct_answers_count_only_where_the_rule_fired():
    [check] = verify_rules([[1, 1, 0, 0]], [[1, 0, 1, 1]], 0.05, 0.6)
    assert (check.coverage, check.support, check.kept, check.correct) == (0.5, 0.5, False, 1)


def test_gain_is_over_the_examples_in_which_the_rule_fired():
    fired, correct = [[1, 1, 0, 0], [0, 0, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 1]]
    gained, silent = verify_rules(fired, correct, 0, 0, baseline=[1, 0, 1, 1])
    assert gained.gain == 0.5
    assert silent.gain is None


def test_a_rule_that_never_fires_has_no_support():
    [check] = verify_rules([[0, 0]], [[1, 1]], 0.0, 0.0)
    assert (check.coverage, check.support, check.support_interval) == (0, 0, (0, 1))
    assert check.kept


def test_no_rules_give_no_checks():
    assert verify_rules([], [], 0.05, 0.6) == []
    assert verify_rules(np.zeros((0, 4)), np.zeros((0, 4)), 0.05, 0.6, baseline=[1] * 4) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: verify_rules([[1]], [[1]], 5, 0.6), "min_coverage is 5"),
        (lambda: verify_rules([[1]], [[1]], 0.05, -1), "min_support is -1"),
        (lambda: verify_rules([[1, 0]], [[1]], 0.05, 0.6), r"\(1, 2\) and correct \(1, 1\)"),
        (lambda: verify_rules([[]], [[]], 0.05, 0.6), "at least one example"),
        (lambda: verify_rules([1, 0], [1, 0], 0.05, 0.6), r"fired\[0\] has shape"),
        (lambda: verify_rules([["yes"]], [[1]], 0.05, 0.6), r"fired\[0\] holds 'yes'"),
        (lambda: verify_rules([[1]], [[1]], 0, 0, baseline=[1, 0]), "baseline has 2 examples"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(tables())
def test_shares_are_bounded_and_the_verdict_follows_them(table):
    fired, correct, min_coverage, min_support = table
    for check in verify_rules(fired, correct, min_coverage, min_support):
        assert 0 <= check.coverage <= 1
        assert 0 <= check.support <= 1
        assert check.kept == (check.coverage >= min_coverage and check.support >= min_support)
        low, high = check.support_interval
        assert low <= check.support <= high
