import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import (
    cluster_probabilities,
    discrete_entropy,
    predictive_entropy,
    rao_entropy,
    semantic_clusters,
)

ORACLE = json.loads(
    (Path(__file__).parents[1] / "oracles" / "semantic_entropy.json").read_text("utf-8")
)
LOGPROBS = ORACLE["mean_token_logprob"]
LOOSE = ORACLE["semantic_ids_loose(default: no contradiction and not both neutral)"]
CLUSTERED = st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 0)), min_size=1, max_size=8)


def austin(a, b):
    if a == b or (a, b) == ("Austin, Texas", "Austin"):
        return "support"
    return "contradiction" if "Palo Alto" in (a, b) else "neutral"


def test_loose_clusters_of_the_reference():
    assert semantic_clusters(ORACLE["answers"], austin) == LOOSE


def test_strict_clusters_need_support_both_ways():
    assert semantic_clusters(ORACLE["answers"], austin, strict=True) == [0, 1, 2, 0]


def test_entropies_of_the_reference():
    discrete = ORACLE["cluster_assignment_entropy(discrete SE)"]["loose"]
    rao = ORACLE["semantic_entropy_rao"]
    assert discrete_entropy(LOOSE) == pytest.approx(discrete, abs=1e-9)
    assert cluster_probabilities(LOOSE, LOGPROBS) == pytest.approx(rao["loose_cluster_p"], abs=1e-9)
    assert rao_entropy(LOOSE, LOGPROBS) == pytest.approx(rao["loose"], abs=1e-9)
    assert predictive_entropy(LOGPROBS) == pytest.approx(ORACLE["regular_entropy"], abs=1e-9)


def test_only_first_members_are_compared_and_the_last_match_wins():
    chain = {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
    assert semantic_clusters("abc", lambda a, b: "support" if (a, b) in chain else "neutral") == [
        0,
        0,
        1,
    ]
    both = {("a", "c"), ("b", "c")}
    assert semantic_clusters("abc", lambda a, b: "support" if (a, b) in both else "neutral") == [
        0,
        1,
        1,
    ]


def test_one_direction_that_contradicts_keeps_answers_apart():
    relation = {("a", "b"): "support", ("b", "a"): "contradiction"}
    assert semantic_clusters("ab", lambda a, b: relation[a, b]) == [0, 1]
    assert semantic_clusters("ab", lambda a, b: "neutral") == [0, 1]
    assert semantic_clusters([], austin) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: semantic_clusters("ab", lambda a, b: "entails"), "'entails'"),
        (lambda: discrete_entropy([]), "clusters has shape"),
        (lambda: rao_entropy([0, 1], [-1]), "lengths differ"),
        (lambda: predictive_entropy([1.0]), "<= 0"),
        (lambda: predictive_entropy([]), "mean_logprobs has shape"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(CLUSTERED)
def test_entropies_stay_in_their_bounds(samples):
    ids, logprobs = zip(*samples, strict=True)
    top = math.log(len(set(ids))) + 1e-9
    assert 0 <= discrete_entropy(ids) <= top
    assert 0 <= rao_entropy(ids, logprobs) <= top
    assert predictive_entropy(logprobs) >= 0
    assert cluster_probabilities(ids, logprobs).sum() == pytest.approx(1)


@given(CLUSTERED, st.floats(-3, 0))
def test_equal_likelihoods_give_the_discrete_entropy(samples, logprob):
    ids = [cluster for cluster, _ in samples]
    assert rao_entropy(ids, [logprob] * len(ids)) == pytest.approx(discrete_entropy(ids), abs=1e-9)
