import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import bootstrap_interval, paired_bootstrap, wilson_interval
from referee.metrics import intervals as intervals_module

SCORES = st.lists(st.floats(-100, 100), min_size=1, max_size=20)
LEVELS = st.floats(0.05, 0.99)


def test_bootstrap_agrees_with_the_normal_interval_of_a_large_sample():
    scores = np.random.default_rng(7).normal(10, 2, size=2000)
    low, high = bootstrap_interval(scores)
    margin = 1.96 * scores.std() / 2000**0.5
    assert low == pytest.approx(scores.mean() - margin, abs=0.01)
    assert high == pytest.approx(scores.mean() + margin, abs=0.01)


def test_seed_zero_is_a_seed_like_any_other():
    scores = np.random.default_rng(2).uniform(size=30)
    assert bootstrap_interval(scores, seed=0) == bootstrap_interval(scores, seed=0)
    assert bootstrap_interval(scores) == bootstrap_interval(scores, seed=0)
    assert bootstrap_interval(scores, seed=0) != bootstrap_interval(scores, seed=1)
    assert paired_bootstrap(scores, scores[::-1]) == paired_bootstrap(scores, scores[::-1], seed=0)


def test_the_global_random_state_is_neither_read_nor_moved():
    np.random.seed(3)
    first, state = bootstrap_interval([0, 1, 1]), np.random.get_state()[1].tolist()
    np.random.seed(4)
    assert bootstrap_interval([0, 1, 1]) == first
    np.random.seed(3)
    assert np.random.get_state()[1].tolist() == state


def test_large_samples_are_drawn_in_blocks(monkeypatch):
    scores = np.arange(10.0)
    whole = bootstrap_interval(scores, resamples=50)
    monkeypatch.setattr(intervals_module, "_BLOCK", 30)
    assert bootstrap_interval(scores, resamples=50) == whole


def test_one_value_has_an_interval_of_no_width():
    assert bootstrap_interval([0.3]) == (0.3, 0.3)


def test_interval_has_named_ends():
    interval = bootstrap_interval([0, 1, 1, 1])
    assert (interval.low, interval.high) == interval
    assert interval.low < 0.75 < interval.high


def test_many_equal_scores_are_drawn_by_count_with_the_same_law():
    few = [0.0] * 300 + [0.5] * 100 + [1.0] * 600
    apart = [v + 1e-9 * i for i, v in enumerate(few)]  # all distinct: drawn item by item
    drawn, by_item = bootstrap_interval(few), bootstrap_interval(apart)
    assert drawn == pytest.approx(by_item, abs=2e-3)
    assert drawn == bootstrap_interval(few)
    assert drawn != bootstrap_interval(few, seed=1)
    gain = [1.0] * 60 + [0.0] * 240
    assert paired_bootstrap(gain, [0.0] * 300).p_value == pytest.approx(1 / 10_001)


def test_paired_bootstrap_sees_a_steady_gain_that_unpaired_scores_hide():
    rng = np.random.default_rng(1)
    b = rng.uniform(0, 1, size=60)
    a = b + 0.05 + rng.normal(0, 0.02, size=60)
    result = paired_bootstrap(a, b)
    assert result.difference == pytest.approx(0.05, abs=0.01)
    assert 0 < result.low < result.high
    assert result.p_value < 0.001


def test_p_value_is_calibrated_without_a_difference():
    rng = np.random.default_rng(5)
    values = [
        paired_bootstrap(rng.normal(size=40), rng.normal(size=40), resamples=400).p_value
        for _ in range(200)
    ]
    assert 0.01 <= np.mean(np.array(values) < 0.05) <= 0.12
    assert 0.4 < np.mean(values) < 0.6


def test_draws_exactly_as_far_off_count_as_large():
    # Of one gain in three items a draw misses it (8/27) or holds it twice or more (7/27).
    result = paired_bootstrap([1, 0, 0], [0, 0, 0])
    assert result.p_value == pytest.approx(15 / 27, abs=0.02)


@pytest.mark.parametrize("items", [7, 10])
def test_p_value_does_not_depend_on_the_unit_of_the_scores(items):
    zeros, gains = np.zeros(items), np.arange(items) < 3
    whole, tenths = paired_bootstrap(gains, zeros), paired_bootstrap(gains / 10, zeros)
    assert tenths.p_value == whole.p_value


def test_equal_systems_have_p_value_one():
    assert paired_bootstrap([0.1, 0.7], [0.1, 0.7]) == (0, 0, 0, 1)


def test_wilson_by_hand():
    # z = 1.959964: 9 of 12 and 0 of 10, from the closed formula.
    assert wilson_interval(9, 12) == pytest.approx((0.4676948, 0.9110583), abs=1e-6)
    assert wilson_interval(0, 10) == pytest.approx((0, 0.2775328), abs=1e-6)
    assert wilson_interval(10, 10).high == 1
    assert wilson_interval(0, 0) == (0, 1)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_wilson_ends_exactly_at_a_certain_rate(level):
    for trials in range(1, 60):
        assert wilson_interval(0, trials, level).low == 0
        assert wilson_interval(trials, trials, level).high == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([]), "values has shape"),
        (lambda: bootstrap_interval([0.5, None]), "drop what is missing"),
        (lambda: bootstrap_interval([0.5, float("nan")]), "nan or infinite"),
        (lambda: bootstrap_interval([0.5], level=95), "level is 95"),
        (lambda: bootstrap_interval([0.5], level=1), "level is 1"),
        (lambda: bootstrap_interval([0.5], seed=-1), "seed is -1"),
        (lambda: bootstrap_interval([0.5], resamples=0), "resamples is 0"),
        (lambda: paired_bootstrap([1, 2], [1]), "lengths differ"),
        (lambda: wilson_interval(3, 2), "3 of 2"),
        (lambda: wilson_interval(-1, 2), "successes is -1"),
        (lambda: wilson_interval(0, 0, level=0), "level is 0"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(SCORES, LEVELS, st.integers(0, 5))
def test_bootstrap_interval_holds_the_mean_and_stays_in_range(scores, level, seed):
    low, high = bootstrap_interval(scores, level, seed, resamples=40)
    assert low <= np.mean(scores) <= high
    assert min(scores) - 1e-9 <= low
    assert high <= max(scores) + 1e-9


@given(SCORES)
def test_a_higher_level_is_never_narrower(scores):
    narrow = bootstrap_interval(scores, 0.5, resamples=60)
    wide = bootstrap_interval(scores, 0.95, resamples=60)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_swapping_the_systems_mirrors_the_comparison(pairs):
    a, b = zip(*pairs, strict=True)
    one, other = paired_bootstrap(a, b, resamples=60), paired_bootstrap(b, a, resamples=60)
    assert one.difference == -other.difference
    assert one.p_value == other.p_value
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)
    assert 0 < one.p_value <= 1


@given(st.integers(0, 200), st.integers(0, 200), LEVELS)
def test_wilson_holds_the_rate_and_mirrors(successes, failures, level):
    trials = successes + failures
    low, high = wilson_interval(successes, trials, level)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= successes / trials <= high
    mirrored = wilson_interval(failures, trials, level)
    assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)
