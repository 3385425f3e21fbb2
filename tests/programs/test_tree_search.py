import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.baselines.tree_search import (
    ROOT,
    Node,
    back_up,
    best,
    children,
    close,
    expand,
    path,
    select,
    uct,
)


def search(seed, draws, exploration=1.4, rollouts=12, depth=4):
    """A whole search over values that are drawn beforehand; None is a state without a value."""
    tree, rng, values, taken = ROOT, random.Random(seed), [None], iter(draws)
    for _ in range(rollouts):
        at = select(tree, exploration, rng)
        if at is None:
            break
        drawn = [next(taken, None) for _ in range(3)]
        first = len(tree)
        tree = expand(tree, at, [tree[at].depth + 1 == depth] * 3)
        for n, value in enumerate(drawn, start=first):
            values.append(value)
            tree = close(tree, n) if value is None else back_up(tree, n, value)
    return tree, values


drawn_values = st.lists(st.none() | st.floats(0, 1), max_size=40)


def test_uct_of_an_example():
    node = Node(visits=2, total=1.0)
    assert uct(node, 8, 1.0) == pytest.approx(0.5 + math.sqrt(math.log(8) / 2))
    assert uct(node, 8, 0.0) == 0.5
    assert uct(Node(), 8, 1.4) == math.inf


def test_the_rarely_visited_child_is_tried_when_exploration_is_high():
    tree = expand(ROOT, 0, [False, False])
    for value in (0.6, 0.6, 0.6):
        tree = back_up(tree, 1, value)
    tree = back_up(tree, 2, 0.5)
    assert select(tree, 0.0, random.Random(0)) == 1
    assert select(tree, 2.0, random.Random(0)) == 2


def test_closing_reaches_the_root():
    tree = expand(ROOT, 0, [True, False])
    assert not tree[0].closed
    tree = close(tree, 2)
    assert tree[0].closed
    assert select(tree, 1.4, random.Random(0)) is None
    assert select(expand(ROOT, 0, [True]), 1.4, random.Random(0)) is None
    assert select(expand(ROOT, 0, []), 1.4, random.Random(0)) is None


def test_the_best_state_is_the_first_of_the_highest_value():
    tree = expand(ROOT, 0, [False, False, False])
    assert best(tree, [None, 0.4, 0.9, 0.9]) == 2
    assert best(tree, [None, None, 0.0, None]) == 2
    assert best(tree, [None, None, None, None]) == 0


@given(st.integers(0, 9), drawn_values, st.floats(0, 5))
def test_visits_sum_and_means_are_shares(seed, draws, exploration):
    tree, values = search(seed, draws, exploration)
    assert len(tree) == len(values)
    for n, node in enumerate(tree):
        own = values[n] is not None
        assert node.visits == own + sum(tree[c].visits for c in children(tree, n))
        assert node.mean is None or -1e-9 <= node.mean <= 1 + 1e-9
        assert node.depth == len(path(tree, n)) - 1
    assert tree[0].visits == sum(value is not None for value in values)


@given(st.integers(0, 9), drawn_values)
def test_equal_seeds_give_equal_trees(seed, draws):
    assert search(seed, draws) == search(seed, draws)


@given(st.integers(0, 9), drawn_values)
def test_what_is_selected_is_an_open_leaf(seed, draws):
    tree, _ = search(seed, draws, rollouts=3)
    at = select(tree, 1.4, random.Random(seed))
    if at is None:
        assert all(node.closed for node in tree)
    else:
        assert not tree[at].closed
        assert not children(tree, at)


@given(st.integers(0, 9), drawn_values)
def test_nothing_is_changed_in_place(seed, draws):
    tree, _ = search(seed, draws, rollouts=2)
    before = tuple(tree)
    grown = expand(tree, len(tree) - 1, [False])
    back_up(grown, len(grown) - 1, 1.0)
    assert tree == before


def test_another_seed_may_draw_another_of_equal_bounds():
    tree = expand(ROOT, 0, [False] * 3)
    assert {select(tree, 1.4, random.Random(s)) for s in range(30)} == {1, 2, 3}
