import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import auroc, routing_counts, select_threshold

ORACLE = json.loads(
    (Path(__file__).parents[1] / "oracles" / "macr_tau_selection.json").read_text("utf-8")
)
H, CORRECT = ORACLE["H"], ORACLE["correct"]
CHOICES = {k: v for k, v in ORACLE.items() if isinstance(v, dict) and "tau" in v}
SPLITS = st.lists(st.tuples(st.integers(-6, 6), st.booleans()), min_size=1, max_size=12)


def youden(values, correct, threshold, inclusive=False):
    return routing_counts(values, correct, threshold, inclusive).youden_j


@pytest.mark.parametrize("case", CHOICES.values(), ids=CHOICES.keys())
def test_counts_of_a_given_threshold(case):
    counts = routing_counts(H, CORRECT, case["tau"], inclusive=case["rule"] == "<=")
    assert counts.internal == case["routed_internal"]
    assert counts.correct_internal == case["correct_routed_internal"]
    assert counts.wrong_internal == case["wrong_routed_internal"]
    assert counts.correct_external == case["correct_sent_external"]
    assert counts.precision == pytest.approx(case["precision"], abs=1e-9)
    assert counts.youden_j == pytest.approx(case["youden_J"], abs=1e-9)


def test_paper_rule_is_the_largest_entropy_answered_correctly():
    assert select_threshold(H, CORRECT) == -2.5
    assert select_threshold(H, CORRECT, inclusive=True) == -2.5
    assert select_threshold([*H, 0.0], [*CORRECT, 1]) == 0.0


def test_the_example_at_the_threshold_is_sent_outside_unless_inclusive():
    assert routing_counts(H, CORRECT, -2.5).internal == 6
    inside = routing_counts(H, CORRECT, -2.5, inclusive=True)
    assert (inside.internal, inside.correct_internal, inside.correct_external) == (7, 5, 0)


@pytest.mark.parametrize("threshold", [-2.9, -2.62, -2.45])
def test_three_thresholds_share_the_best_youden_index_and_accuracy(threshold):
    assert youden(H, CORRECT, threshold) == pytest.approx(0.6, abs=1e-9)
    assert routing_counts(H, CORRECT, threshold).accuracy == 0.8


def test_youden_rule_takes_the_most_careful_of_equal_thresholds():
    chosen = select_threshold(H, CORRECT, rule="youden")
    assert chosen == -2.9
    assert youden(H, CORRECT, chosen) == pytest.approx(0.6, abs=1e-9)
    # Up to and including -2.95: three of five correct, no wrong one; -2.5 gives 5/5 - 2/5.
    assert select_threshold(H, CORRECT, rule="youden", inclusive=True) == -2.95


@pytest.mark.parametrize("rule", ["paper", "youden"])
def test_nothing_correct_trusts_no_memory(rule):
    chosen = select_threshold([-3, -2], [False, False], rule=rule)
    assert chosen == -math.inf
    assert routing_counts([-3, -2], [0, 0], chosen).precision is None


@pytest.mark.parametrize("rule", ["paper", "youden"])
def test_all_correct_gives_the_largest_entropy(rule):
    assert select_threshold([-3, -2, -2.5], [1, 1, 1], rule=rule) == -2
    assert routing_counts([-3, -2, -2.5], [1, 1, 1], -2).correct_external == 1


def test_misleading_entropy_trusts_no_memory_under_youden():
    assert select_threshold([-3, -2], [0, 1], rule="youden") == -math.inf
    assert select_threshold([-3, -2], [0, 1], rule="youden", inclusive=True) == -math.inf


def test_youden_is_missing_without_one_of_the_classes():
    assert youden([-3], [1], 0) is None
    assert youden([-3], [0], 0) is None


def test_auroc_by_hand():
    assert auroc([-3, -2, -1], [1, 1, 0]) == 1
    assert auroc([-3, -2, -1], [0, 1, 1]) == 0
    assert auroc([-2, -2], [1, 0]) == 0.5
    assert auroc([-3, -1, -2, -1], [1, 1, 0, 0]) == 0.625
    assert auroc([-3, -2], [1, 1]) is None
    assert auroc([-3, -2], [0, 0]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: select_threshold([], []), "uncertainty has shape"),
        (lambda: select_threshold([-1, -2], [1]), "lengths differ"),
        (lambda: select_threshold([math.nan], [1]), "nan or infinite"),
        (lambda: select_threshold([-1], ["yes"]), "holds 'yes'"),
        (lambda: select_threshold([-1], [1], rule="f1"), "rule is 'f1'"),
        (lambda: routing_counts([-1], [1], math.nan), "threshold is nan"),
        (lambda: auroc([-1], [2]), "holds 2"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(SPLITS, st.booleans())
def test_no_observed_threshold_beats_youden(split, inclusive):
    values, correct = zip(*split, strict=True)
    chosen = select_threshold(values, correct, rule="youden", inclusive=inclusive)
    assert chosen in (*values, -math.inf)
    reached = youden(values, correct, chosen, inclusive)
    for threshold in set(values):
        other = youden(values, correct, threshold, inclusive)
        assert other is None or other <= reached + 1e-12
        if other is not None and threshold < chosen:
            assert other < reached


@given(SPLITS, st.integers(-7, 7), st.booleans())
def test_every_question_is_counted_once(split, threshold, inclusive):
    values, correct = zip(*split, strict=True)
    counts = routing_counts(values, correct, threshold, inclusive)
    assert counts.correct_internal + counts.correct_external == sum(correct)
    assert counts.internal + counts.correct_external + counts.wrong_external == len(split)
    assert 0 <= counts.accuracy <= 1


@given(SPLITS)
def test_auroc_is_the_share_of_ordered_pairs(split):
    pairs = [(w > c) + (w == c) / 2 for w, a in split if not a for c, b in split if b]
    values, correct = zip(*split, strict=True)
    area = auroc(values, correct)
    assert area == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
