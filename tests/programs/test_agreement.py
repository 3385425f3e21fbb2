"""Which claims may be one: never a contradiction."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import InputError
from referee.programs.agreement import agrees, difference, merge

ORACLE = Path(__file__).parents[1] / "oracles" / "arbgraph_arbitration.json"

SAME = [
    ("Revenue was 1,200 million", "Revenue was 1200 million"),
    ("The bridge is located in Porto.", "The bridge is situated in Porto."),
    ("Sales rose by 5 percent.", "Sales grew by 5%."),
    ("The museum opened in 1990.", "The museum was opened to the public in 1990."),
    ("Paris is the capital of France.", "The capital of France is Paris."),
    ("The Nile is 6,650 km long.", "The Nile has a length of 6650 kilometres."),
    ("The novel was written by Jane Berg.", "Jane Berg wrote the novel."),
    ("In 2003, Tesla was founded.", "Tesla was founded in 2003."),
    ("The US has 50 states.", "The United States has 50 states."),
    ("The trial began on 4 March 1990.", "The trial started on March 4, 1990."),
    ("Revenue reached $1.2 billion in 2020.", "In 2020 revenue reached $1,200 million."),
]
DIFFERENT = [
    ("Anna beat Berta in the final.", "Berta beat Anna in the final.", "roles"),
    ("A beat B.", "B beat A.", "roles"),
    ("cats chase dogs", "dogs chase cats", "roles"),
    ("Anna was beaten by Berta.", "Anna beat Berta.", "roles"),
    ("The train runs from Paris to London.", "The train runs from London to Paris.", "roles"),
    ("Ann is the mother of Eva.", "Eva is the mother of Ann.", "roles"),
    ("The dam is taller than the tower.", "The tower is taller than the dam.", "roles"),
    ("Sales rose in 2020.", "Sales fell in 2020.", "opposite"),
    ("He joined the party in 1990.", "He left the party in 1990.", "opposite"),
    ("The treaty was signed before the war.", "The treaty was signed after the war.", "opposite"),
    ("The drug is safe.", "The drug is unsafe.", "opposite"),
    ("She won the vote.", "She lost the vote.", "opposite"),
    ("It costs more.", "It costs less.", "opposite"),
    ("The river flows north.", "The river flows south.", "opposite"),
    ("All members voted.", "Some members voted.", "quantifier"),
    ("Only Anna passed.", "Anna passed.", "quantifier"),
    ("Some members voted.", "No members voted.", "negation"),
    ("He can't swim.", "He can swim.", "negation"),
    ("他是医生", "他不是医生", "negation"),
    ("The plant will open in 2020.", "The plant may open in 2020.", "modality"),
    ("The plant was planned to open in 2020.", "The plant opened in 2020.", "modality"),
    ("He is a former president.", "He is a president.", "modality"),
    ("He denied that he stole it.", "He stole it.", "modality"),
    ("He is the president of Chile.", "He was the president of Chile.", "time"),
    ("He ruled until 1990.", "He ruled since 1990.", "date"),
    ("Tesla was founded in July 2003.", "Tesla was founded in June 2003.", "date"),
    ("More than 300 people came.", "Fewer than 300 people came.", "number"),
    ("Anna scored 3 goals, Berta 5 goals.", "Anna scored 5 goals, Berta 3 goals.", "number"),
    ("The lake is 5 km long.", "The lake is 5 miles long.", "number"),
    ("Tesla HQ is in Austin.", "Tesla HQ is in Palo Alto.", "name"),
    ("World War I ended in misery.", "World War II ended in misery.", "name"),
    ("The court upheld the verdict.", "The court overturned the verdict.", "wording"),
]
claims = st.sampled_from([text for pair in SAME for text in pair] + [d[0] for d in DIFFERENT])


@pytest.mark.parametrize(("a", "b"), SAME)
def test_one_claim_in_two_notations_agrees(a, b):
    assert difference(a, b) is None
    assert agrees(b, a)


@pytest.mark.parametrize(("a", "b", "kind"), DIFFERENT)
def test_a_difference_is_found_from_both_sides(a, b, kind):
    assert difference(a, b).kind == difference(b, a).kind == kind


@pytest.mark.parametrize("case", json.loads(ORACLE.read_text())["mergeable_heuristic"])
def test_the_oracle_of_mergeable_claims(case):
    assert agrees(case["a"], case["b"]) is case["right"]


@pytest.mark.slow
@pytest.mark.parametrize("case", json.loads(ORACLE.read_text())["mergeable_heuristic"])
def test_the_oracle_with_the_real_encoder(case):
    from referee.programs.thresholds import thresholds_for
    from referee.runtime.embedder import default_encoder

    encoder, texts = default_encoder(), [case["a"], case["b"]]
    groups = merge(texts, encoder.encode(texts), thresholds_for(encoder.name).merge)
    assert (len(groups) == 1) is case["right"]


@given(claims, claims)
def test_agreement_is_symmetric(a, b):
    assert agrees(a, a)
    assert agrees(a, b) == agrees(b, a)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_whole_numbers_merge_only_when_equal(one, other):
    texts = [f"The plant made {n} bricks." for n in (one, other)]
    assert (len(merge(texts, [[1, 0], [1, 0]], 0.9)) == 1) == (one == other)


def test_equal_claims_are_one_group_whatever_their_number():
    assert merge(["It rains."] * 3000, np.ones((3000, 4)), 0.9) == [list(range(3000))]


def test_groups_do_not_chain():
    texts = ["The plant opened.", "The plant opened quietly.", "The plant opened loudly."]
    groups = merge(texts, [[1, 0]] * 3, 0.9)
    assert sorted(map(len, groups)) == [1, 2]


def test_the_threshold_counts_between_all_members():
    texts = ["The old plant opened.", "The plant opened.", "The plant opened today."]
    angles = np.radians([0, 20, 40])
    groups = merge(texts, np.stack([np.cos(angles), np.sin(angles)], axis=1), 0.9)
    assert len(groups) == 2


@given(st.randoms(use_true_random=False))
def test_membership_does_not_depend_on_the_order(rng: random.Random):
    texts = [text for pair in SAME[:6] for text in pair] + [d[0] for d in DIFFERENT[:6]]
    vectors = np.random.default_rng(0).normal(size=(len(texts), 3)) + 2
    order = list(range(len(texts)))
    rng.shuffle(order)
    expected = {frozenset(texts[i] for i in group) for group in merge(texts, vectors, 0.5)}
    shuffled = [texts[i] for i in order]
    found = merge(shuffled, vectors[order], 0.5)
    assert {frozenset(shuffled[i] for i in group) for group in found} == expected
    assert found == sorted(found)
    assert sorted(i for group in found for i in group) == list(range(len(texts)))


def test_nothing_merges_into_nothing():
    assert merge([], np.empty((0, 3)), 0.9) == []


def test_a_vector_is_wanted_for_each_claim():
    with pytest.raises(InputError, match="2 claims and 1 vectors"):
        merge(["a", "b"], [[1.0, 0.0]], 0.9)
