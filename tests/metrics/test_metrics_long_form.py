import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import (
    f1_at_k,
    fact_precision,
    fact_recall,
    factscore,
    information_density,
    length_penalty,
    mean_measured,
    recall_at_k,
    veriscore,
    veriscore_k,
)

ORACLES = Path(__file__).parents[1] / "oracles"
SAFE = json.loads((ORACLES / "safe_f1_at_k.json").read_text("utf-8"))
SCORES = json.loads((ORACLES / "factscore_veriscore.json").read_text("utf-8"))
DENSITY = json.loads((ORACLES / "information_density_fact_recall.json").read_text("utf-8"))
COUNTS = st.integers(0, 300)


@pytest.mark.parametrize("case", SAFE["cases"], ids=lambda c: f"{c['supported']}of{c['K']}")
def test_f1_at_k_of_safe(case):
    supported, other, k = case["supported"], case["not_supported"], case["K"]
    assert f1_at_k(supported, other, k) == pytest.approx(case["f1_at_k"], abs=1e-9)
    assert recall_at_k(supported, k) == pytest.approx(case["recall_at_k"], abs=1e-9)
    if supported + other:
        precision = fact_precision(supported, other)
        assert precision == pytest.approx(case["precision"], abs=1e-9)
    else:
        assert fact_precision(supported, other) is None


@pytest.mark.parametrize("case", SCORES["factscore"]["cases"], ids=lambda c: f"{c['n_facts']}")
def test_factscore(case):
    facts, gamma = case["n_facts"], case["gamma"]
    assert length_penalty(facts, gamma) == pytest.approx(case["penalty"], abs=1e-9)
    assert factscore(case["n_supported"], facts, gamma) == pytest.approx(case["score"], abs=1e-9)


def test_veriscore():
    example = SCORES["veriscore"]["example"]
    rows = example["rows"]
    facts = [row["total"] for row in rows]
    median, largest = veriscore_k(facts), veriscore_k(facts, rule="max")
    assert median == example["K_median(upper median for even n)"]
    assert largest == example["K_max"]
    for row in rows:
        score = veriscore(row["supported"], row["total"], median)
        assert score == pytest.approx(row["f1_K_median"], abs=1e-9)
        score = veriscore(row["supported"], row["total"], largest)
        assert score == pytest.approx(row["f1_K_max"], abs=1e-9)
        precision = fact_precision(row["supported"], row["total"] - row["supported"])
        assert precision == pytest.approx(row["precision"], abs=1e-9)
    mean = mean_measured(veriscore(row["supported"], row["total"], median) for row in rows)
    assert mean == pytest.approx(example["mean_f1_K_median"], abs=1e-9)


def test_veriscore_k_takes_the_upper_median():
    assert veriscore_k([1, 9, 4, 6]) == 6
    assert veriscore_k([9, 1, 4]) == 4


@pytest.mark.parametrize("case", DENSITY["cases"], ids=lambda case: f"{case['n_tokens']}")
def test_information_density_per_thousand_tokens(case):
    density = information_density(case["n_claims"], case["n_tokens"])
    expected = pytest.approx(case["ID"], abs=1e-9) if case["n_tokens"] else None
    assert density == expected


@pytest.mark.parametrize("case", DENSITY["fact_recall"]["cases"], ids=lambda c: str(c["FR"]))
def test_fact_recall(case):
    assert fact_recall([label == "Entailment" for label in case["labels"]]) == case["FR"]


def test_nothing_to_measure_gives_none():
    assert factscore(0, 0) is None
    assert veriscore(0, 0, 10) is None
    assert length_penalty(0) == 0
    assert length_penalty(0, gamma=0) == 1
    assert mean_measured([None, 0.5, None, 1.0]) == 0.75
    assert mean_measured([None]) is None
    assert mean_measured([]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: f1_at_k(1, 0, 0), "k is 0"),
        (lambda: f1_at_k(0, 0, 0), "k is 0"),
        (lambda: f1_at_k(1, 0, -3), "k is -3"),
        (lambda: f1_at_k(-1, 0, 5), "supported is -1"),
        (lambda: f1_at_k(1, -1, 5), "not_supported is -1"),
        (lambda: information_density(1.5, 10), "facts is 1.5"),
        (lambda: information_density(1, -10), "tokens is -10"),
        (lambda: fact_recall(["Entailment"]), "'Entailment'"),
        (lambda: factscore(3, 2), "3 of 2"),
        (lambda: length_penalty(3, gamma=-1), "gamma is -1"),
        (lambda: veriscore(3, 2, 5), "3 of 2"),
        (lambda: veriscore_k([]), "facts is empty"),
        (lambda: veriscore_k([1], rule="mean"), "'mean'"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(COUNTS, COUNTS, st.integers(1, 300))
def test_f1_at_k_is_bounded_and_grows_with_supported_facts(supported, other, k):
    score = f1_at_k(supported, other, k)
    assert 0 <= score <= 1
    assert f1_at_k(supported + 1, other, k) >= score
    assert f1_at_k(supported, other + 1, k) <= score


@given(COUNTS, COUNTS, st.integers(0, 50))
def test_factscore_is_bounded_and_never_above_precision(supported, other, gamma):
    score, precision = (
        factscore(supported, supported + other, gamma),
        fact_precision(supported, other),
    )
    assert (score is None) == (precision is None)
    assert score is None or 0 <= score <= precision


@given(st.lists(st.booleans(), min_size=1))
def test_fact_recall_ignores_order(covered):
    assert fact_recall(covered) == fact_recall(covered[::-1]) == sum(covered) / len(covered)


@given(COUNTS, st.integers(1, 5000))
def test_density_grows_with_facts_and_halves_with_twice_the_tokens(facts, tokens):
    density = information_density(facts, tokens)
    assert density >= 0
    assert information_density(facts + 1, tokens) > density
    assert information_density(facts, 2 * tokens) == pytest.approx(density / 2)


@given(COUNTS, st.integers(1, 300))
def test_recall_at_k_is_bounded_and_falls_with_k(supported, k):
    assert 0 <= recall_at_k(supported, k + 1) <= recall_at_k(supported, k) <= 1
