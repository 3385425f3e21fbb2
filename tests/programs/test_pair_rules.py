"""Candidate pairs: similar ones, and those of one subject that differ in a value."""

import time

import numpy as np
import pytest

from referee.errors import InputError
from referee.programs.pair_mining import mine_pairs
from referee.programs.pair_rules import candidate_pairs, entity_pairs

TEXTS = [
    "Tesla is based in Austin.",
    "Tesla has its seat in Palo Alto.",
    "Tesla was founded in 2003.",
    "Tesla goes back to 2004.",
    "Bonn has 300 schools.",
    "Ulm has 300 schools.",
    "the dam holds 30 litres",
    "the dam holds 40 litres",
]
APART = np.eye(len(TEXTS))


def unit(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 16))


def test_one_subject_and_another_value_is_a_pair_however_far_in_cosine():
    pairs, similarity = entity_pairs(TEXTS, APART)
    assert [0, 1] in pairs.tolist()
    assert [2, 3] in pairs.tolist()
    assert [6, 7] in pairs.tolist()
    assert [4, 5] not in pairs.tolist()
    assert similarity.tolist() == [0.0] * len(pairs)


def test_equal_values_are_no_pair():
    assert entity_pairs(["Bonn has 300 schools."] * 2, np.eye(2))[0].shape == (0, 2)


def test_both_rules_are_united_and_ranked():
    vectors = unit(len(TEXTS))
    found = candidate_pairs(TEXTS, vectors, 0.3)
    similar, _ = mine_pairs(vectors, 0.3)
    related, _ = entity_pairs(TEXTS, vectors)
    pairs = {tuple(pair) for pair in found.pairs.tolist()}
    assert pairs == {tuple(pair) for pair in [*similar.tolist(), *related.tolist()]}
    assert len(pairs) == len(found.pairs)
    assert found.cut == 0
    assert (np.diff(found.similarity) <= 0).all()


@pytest.mark.parametrize("budget", [0, 1, 4])
def test_the_budget_keeps_the_most_similar_and_counts_the_rest(budget):
    vectors = unit(len(TEXTS))
    whole = candidate_pairs(TEXTS, vectors, 0.1)
    found = candidate_pairs(TEXTS, vectors, 0.1, budget)
    assert found.pairs.tolist() == whole.pairs[:budget].tolist()
    assert found.cut == len(whole.pairs) - len(found.pairs)


def test_similarities_are_those_of_mine_pairs():
    vectors = unit(40)
    expected = mine_pairs(vectors, 0.2)
    found = candidate_pairs(["it rains"] * 40, vectors, 0.2)
    assert found.pairs.tolist() == expected[0].tolist()
    assert found.similarity.tolist() == expected[1].tolist()


def test_blocks_join_without_a_seam():
    n = 2500
    texts = [f"Plant Number{i // 2} has {i} workers." for i in range(n)]
    pairs, _ = entity_pairs([t.replace("Plant ", "") for t in texts], np.ones((n, 2)))
    assert sorted(pairs.tolist()) == [[i, i + 1] for i in range(0, n, 2)]


def test_no_texts_have_no_pairs():
    found = candidate_pairs([], np.empty((0, 3)), 0.5)
    assert (found.pairs.shape, found.cut) == ((0, 2), 0)


def test_wrong_input_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="2 texts and 1 vectors"):
        candidate_pairs(["a", "b"], [[1.0]], 0.5)
    with pytest.raises(InputError, match="threshold"):
        candidate_pairs(["a"], [[1.0]], 1.5)


@pytest.mark.slow
def test_five_thousand_claims_of_one_subject_take_seconds():
    n = 5000
    texts = [f"Tesla has {i} workers in Bonn." for i in range(n)]
    vectors = np.random.default_rng(0).normal(size=(n, 384))
    candidate_pairs(texts[:2], vectors[:2], 0.5)
    started = time.process_time()
    found = candidate_pairs(texts, vectors, 0.5, 10_000)
    assert time.process_time() - started < 15
    assert found.cut == n * (n - 1) // 2 - 10_000
