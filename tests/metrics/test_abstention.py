import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import (
    auroc,
    brier_score,
    expected_calibration_error,
    reliability_bins,
    risk_coverage,
)

ANSWERS = st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=15)


def split(answers, scale=10):
    values, correct = zip(*answers, strict=True)
    return [v / scale for v in values], correct


def test_risk_grows_as_less_sure_answers_are_given():
    curve = risk_coverage([0.2, 0.9, 0.5, 0.7], [False, True, False, True])
    assert curve.coverage == (0.25, 0.5, 0.75, 1.0)
    assert curve.risk == pytest.approx((0, 0, 1 / 3, 0.5))
    assert curve.aurc == pytest.approx((1 / 3 + 1 / 2) / 4)
    assert curve.excess == 0
    assert curve.coverage_at(0) == 0.5
    assert curve.coverage_at(0.4) == 0.75


def test_the_worst_order_by_hand():
    curve = risk_coverage([3, 2, 1], [0, 1, 1])
    assert curve.risk == pytest.approx((1, 1 / 2, 1 / 3))
    assert curve.excess == pytest.approx((1 + 1 / 2 + 1 / 3) / 3 - (1 / 3) / 3)
    assert curve.coverage_at(0.1) == 0


def test_equal_confidence_has_no_order():
    assert risk_coverage([1, 1, 1, 1], [1, 0, 0, 1]).risk == pytest.approx((0.5,) * 4)


def test_calibration_by_hand():
    confidence, correct = [0.05, 0.15, 0.95, 0.95], [0, 1, 1, 0]
    bins = reliability_bins(confidence, correct)
    assert bins == [(0.05, 0, 1), (0.15, 1, 1), (0.95, 0.5, 2)]
    error = expected_calibration_error(confidence, correct)
    assert error == pytest.approx((0.05 + 0.85 + 2 * 0.45) / 4)
    squares = [0.05**2, 0.85**2, 0.05**2, 0.95**2]
    assert brier_score(confidence, correct) == pytest.approx(sum(squares) / 4)


def test_an_edge_belongs_to_the_bin_below_and_zero_to_the_first():
    assert [b.n for b in reliability_bins([0, 0.5, 0.51, 1], [1, 1, 1, 1], bins=2)] == [2, 2]


def test_bins_of_equal_count_keep_ties_together():
    confidence = [0.1, 0.2, 0.2, 0.2, 0.9, 1.0]
    found = reliability_bins(confidence, [1] * 6, bins=3, by="count")
    assert [b.n for b in found] == [4, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_coverage([], []), "confidence has shape"),
        (lambda: risk_coverage([1, 2], [1]), "lengths differ"),
        (lambda: risk_coverage([1], [2]), "holds 2"),
        (lambda: risk_coverage([1], [1]).coverage_at(2), "risk is 2"),
        (lambda: brier_score([1.2], [1]), "confidence spans"),
        (lambda: reliability_bins([1], [1], bins=0), "bins is 0"),
        (lambda: reliability_bins([1], [1], by="size"), "by is 'size'"),
        (lambda: expected_calibration_error([-0.5], [1]), "confidence spans"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_curve_is_bounded_and_knows_no_order_of_rows(answers, rng):
    curve = risk_coverage(*split(answers))
    assert all(0 <= risk <= 1 for risk in curve.risk)
    assert 0 <= curve.excess <= curve.aurc + 1e-12 <= 1 + 1e-12
    wrong = sum(not right for _, right in answers) / len(answers)
    assert curve.risk[-1] == pytest.approx(wrong)
    rng.shuffle(answers)
    moved = risk_coverage(*split(answers))
    assert moved.risk == pytest.approx(curve.risk)


@given(ANSWERS)
def test_only_the_order_of_the_confidence_counts(answers):
    values, correct = split(answers)
    stretched = risk_coverage([v**3 - 7 for v in values], correct)
    assert stretched.aurc == pytest.approx(risk_coverage(values, correct).aurc)


@given(ANSWERS)
def test_no_excess_means_that_every_wrong_answer_is_less_sure(answers):
    values, correct = split(answers)
    area = auroc([-v for v in values], correct)
    if area is not None:
        assert (risk_coverage(values, correct).excess < 1e-9) == (area == 1)


@given(ANSWERS, st.integers(1, 12), st.sampled_from(["width", "count"]))
def test_calibration_is_bounded_and_every_answer_is_in_one_bin(answers, bins, by):
    values, correct = split(answers)
    found = reliability_bins(values, correct, bins, by)
    assert sum(b.n for b in found) == len(answers)
    assert len(found) <= bins
    assert [b.confidence for b in found] == sorted(b.confidence for b in found)
    error = expected_calibration_error(values, correct, bins, by)
    assert 0 <= error <= 1
    assert 0 <= brier_score(values, correct) <= 1
    # One bin is the least that can be seen of the miscalibration.
    assert expected_calibration_error(values, correct, 1) <= error + 1e-9


@given(st.lists(st.booleans(), min_size=1))
def test_the_outcome_itself_is_perfectly_calibrated(correct):
    assert brier_score(correct, correct) == 0
    assert expected_calibration_error([float(c) for c in correct], correct) == 0
    assert risk_coverage(correct, correct).excess == 0
