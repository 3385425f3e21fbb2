import math
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.errors import InputError
from referee.programs import pair_mining
from referee.programs.pair_mining import mine_pairs

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def double_loop(rows, threshold, max_pairs=None):
    rows = [[float(value) for value in row] for row in rows]
    found = []
    for i, one in enumerate(rows):
        for j in range(i + 1, len(rows)):
            length = math.hypot(*one) * math.hypot(*rows[j])
            if length:
                cosine = math.fsum(a * b for a, b in zip(one, rows[j], strict=True)) / length
                found.append((-np.float32(np.clip(cosine, -1, 1)), i, j))
    found = sorted(entry for entry in found if -entry[0] >= np.float32(threshold))[:max_pairs]
    return [(i, j) for _, i, j in found], [-cosine for cosine, _, _ in found]


def unit_vectors(n, d=384, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def tiny_blocks(monkeypatch):
    monkeypatch.setattr(pair_mining, "_BLOCK", 3)


# Small whole numbers: exact cosines, many ties, rows of zeros, duplicates, multiples.
TABLES = st.integers(1, 4).flatmap(
    lambda d: st.lists(
        st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=0, max_size=14
    )
)
THRESHOLDS = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.6, 0.9, 1.0])


def check(rows, threshold, max_pairs):
    pairs, cosines = mine_pairs(rows, threshold, max_pairs)
    expected, values = double_loop(rows, threshold, max_pairs)
    assert [tuple(pair) for pair in pairs.tolist()] == expected
    assert cosines == pytest.approx(values, abs=1e-7)
    assert pairs.shape == (len(expected), 2)
    assert (pairs.dtype, cosines.dtype) == (np.int64, np.float32)


@settings(RELAXED)
@given(TABLES, THRESHOLDS, st.none() | st.integers(0, 20))
def test_equals_the_double_loop(rows, threshold, max_pairs):
    check(rows, threshold, max_pairs)


@settings(RELAXED, max_examples=60)
@given(
    st.integers(0, 2**32), st.integers(2, 25), st.floats(-0.9, 0.9), st.none() | st.integers(1, 9)
)
def test_equals_the_double_loop_on_random_rows(seed, n, threshold, max_pairs):
    rows = unit_vectors(n, 5, seed).astype(np.float64) * 7.0
    rows[n // 2] = rows[0]
    check(rows, threshold, max_pairs)


@pytest.mark.parametrize("max_pairs", [None, 0, 1, 5, 40, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.4])
def test_blocks_change_nothing(tiny_blocks, n, threshold, max_pairs):
    rows = np.vstack([unit_vectors(n, 6), np.zeros((1, 6)), unit_vectors(n, 6)[::-1]])
    check(rows, threshold, max_pairs)


def test_the_best_survive_a_buffer_that_overflows(monkeypatch):
    monkeypatch.setattr(pair_mining, "_BLOCK", 16)
    monkeypatch.setattr(pair_mining, "_ROOM", 0)
    rows = unit_vectors(200, 8)  # 19,900 pairs, room for 2 * 1034
    check(rows, -1.0, 8)


def test_a_full_buffer_of_ties_keeps_the_first_pairs(monkeypatch):
    monkeypatch.setattr(pair_mining, "_BLOCK", 16)
    monkeypatch.setattr(pair_mining, "_ROOM", 0)
    pairs, cosines = mine_pairs(np.repeat(unit_vectors(1), 120, axis=0), 0.0, 130)
    assert pairs.tolist() == [[0, j] for j in range(1, 120)] + [[1, j] for j in range(2, 13)]
    assert (cosines == 1).all()


def test_without_the_second_scoring_it_is_the_same_up_to_noise(monkeypatch):
    rows = np.repeat(unit_vectors(60), 2, axis=0)
    pairs, cosines = mine_pairs(rows, 0.05)
    monkeypatch.setattr(pair_mining, "_RESCORED", 0)
    again, singles = mine_pairs(rows, 0.05)
    assert len(pairs) > 100
    assert {tuple(p) for p in pairs.tolist()} == {tuple(p) for p in again.tolist()}
    assert singles == pytest.approx(cosines, abs=1e-6)
    assert (np.diff(singles) <= 0).all()
    assert (singles >= 0.05).all()
    assert (singles <= 1).all()


def test_equal_rows_have_cosine_one_and_zeros_pair_with_nothing():
    rows = np.zeros((4, 384))
    rows[0] = rows[2] = unit_vectors(1)[0]
    pairs, cosines = mine_pairs(rows, 1.0)
    assert pairs.tolist() == [[0, 2]]
    assert cosines.tolist() == [1.0]
    assert mine_pairs(rows, -1.0)[0].tolist() == [[0, 2]]


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_length_does_not_matter(scale):
    rows = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, 4.0]])
    rows[0] *= scale
    pairs, cosines = mine_pairs(rows, 0.2)
    assert pairs.tolist() == [[0, 1], [0, 2]]
    assert cosines == pytest.approx([0.96, 0.28], abs=1e-7)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, list])
def test_any_table_of_numbers(kind):
    rows = [[1, 0], [0, 1], [2, 0]]
    table = rows if kind is list else np.array(rows, dtype=kind)
    assert mine_pairs(table, 0.5)[0].tolist() == [[0, 2]]


@pytest.mark.parametrize("table", [[], np.empty((0, 3)), np.empty((3, 0)), [[1.0, 2.0]]])
def test_nothing_to_pair(table):
    pairs, cosines = mine_pairs(table, 0.0)
    assert (pairs.shape, cosines.shape) == ((0, 2), (0,))


def test_the_input_is_left_alone():
    rows = unit_vectors(5) * 3
    before = rows.copy()
    mine_pairs(rows, -1.0)
    assert (rows == before).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0], [1.0, 2.0]], "different lengths"),
        ([1.0, 2.0], r"shape \(2,\)"),
        ([["a"]], "n rows of d numbers"),
        ([[float("nan")], [1.0]], "nan or infinite"),
        ([[float("inf")], [1.0]], "nan or infinite"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        mine_pairs(table, 0.5)


@pytest.mark.parametrize("threshold", [-1.1, 1.1, float("nan"), "0.5", None])
def test_a_threshold_is_a_cosine(threshold):
    with pytest.raises(InputError, match="threshold is"):
        mine_pairs([[1.0]], threshold)


@pytest.mark.parametrize("max_pairs", [-1, 1.5, "3"])
def test_max_pairs_is_a_count(max_pairs):
    with pytest.raises(InputError, match="max_pairs is"):
        mine_pairs([[1.0]], 0.5, max_pairs)


def test_memory_does_not_grow_with_the_pairs():
    rows = unit_vectors(6000, 16)
    tracemalloc.start()
    mine_pairs(rows, -1.0, 100)  # 18 million pairs reach the threshold
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6


@pytest.mark.slow
def test_20_000_rows_cost_no_more_than_twice_the_product():
    rows = unit_vectors(20_000)
    started = time.perf_counter()
    for top in range(0, len(rows), 2048):
        for left in range(top, len(rows), 2048):
            rows[top : top + 2048] @ rows[left : left + 2048].T
    bare = time.perf_counter() - started
    started = time.perf_counter()
    mine_pairs(rows, 0.2)
    assert time.perf_counter() - started < 2 * bare
    tracemalloc.start()
    mine_pairs(rows, 0.0, 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e9
