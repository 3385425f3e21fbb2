import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.metrics import (
    answer_similarity,
    likelihood_weights,
    normalized_uncertainty,
    relevant_snne,
    rouge_l,
    snne,
)

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "snne.json").read_text("utf-8"))
CASES = [pytest.param(case, id=name) for name, case in ORACLE["cases"].items()]
BOUNDS = [(int(k), bounds) for k, bounds in ORACLE["bounds_tau1_selfsim"].items()]


@st.composite
def sampled(draw, min_k=1):
    k = draw(st.integers(min_k, 6))
    unit = st.floats(0, 1, allow_subnormal=False)
    rows = draw(st.lists(st.lists(unit, min_size=k, max_size=k), min_size=k, max_size=k))
    similarity = np.array(rows)
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1)
    logprobs = draw(st.lists(st.floats(-5, 0), min_size=k, max_size=k))
    relevance = draw(st.lists(unit, min_size=k, max_size=k))
    order = draw(st.permutations(range(k)))
    return similarity, np.array(relevance), likelihood_weights(logprobs), list(order)


@pytest.mark.parametrize("case", CASES)
def test_similarity_of_the_reference(case):
    similarity = answer_similarity(case["answers"])
    np.testing.assert_allclose(similarity, case["sim_matrix"], atol=1e-6)
    relevance = [rouge_l(answer, ORACLE["question_for_eq3"]) for answer in case["answers"]]
    np.testing.assert_allclose(relevance, case["sim_answer_question_rougeL"], atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_equation_2_of_the_reference(case):
    similarity = answer_similarity(case["answers"])
    value, k = snne(similarity), len(similarity)
    assert value == pytest.approx(case["H_eq2_uniform_mean"], abs=1e-5)
    assert k * value == pytest.approx(case["H_eq2_sum_no_P"], abs=1e-4)
    expected = case["normalised_uncertainty"]
    assert normalized_uncertainty(value, k, equation=2) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_temperature_and_self_term_of_the_reference(case):
    similarity = answer_similarity(case["answers"])
    for temperature, value in case["snne_selfsim_true"].items():
        assert snne(similarity, temperature=float(temperature)) == pytest.approx(value, abs=1e-4)
    for temperature, value in case["snne_selfsim_false"].items():
        without = snne(similarity, temperature=float(temperature), include_self=False)
        assert without == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_equation_3_of_the_reference(case):
    value = relevant_snne(case["sim_matrix"], case["sim_answer_question_rougeL"])
    assert value == pytest.approx(case["H_eq3_uniform_rougeL_relevance"], abs=1e-5)


def test_likelihood_weights_of_the_reference():
    oracle = ORACLE["wsnne"]
    weights = likelihood_weights(oracle["mean_token_logprob"])
    np.testing.assert_allclose(weights, oracle["P_normalised"], atol=1e-9)
    np.testing.assert_allclose(weights * len(weights), oracle["weights_exp_over_mean"], atol=1e-6)
    similarity = answer_similarity(ORACLE["cases"][oracle["answers_case"]]["answers"])
    assert snne(similarity, weights) == pytest.approx(oracle["wsnne"], abs=1e-5)


@pytest.mark.parametrize(("k", "bounds"), BOUNDS)
def test_bounds_of_the_reference(k, bounds):
    same, apart = np.ones((k, k)), np.eye(k)
    assert snne(same) == pytest.approx(bounds["min_all_identical"], abs=1e-9)
    assert snne(apart) == pytest.approx(bounds["max_all_disjoint"], abs=1e-9)
    dead = relevant_snne(same, np.zeros(k))
    assert dead == pytest.approx(bounds["eq3_value_when_every_sim_a_q_is_0"], abs=1e-9)
    assert normalized_uncertainty(snne(same), k, equation=2) == pytest.approx(0, abs=1e-9)
    assert normalized_uncertainty(snne(apart), k, equation=2) == pytest.approx(1, abs=1e-9)
    assert normalized_uncertainty(dead, k) == pytest.approx(1, abs=1e-9)


def test_relevance_scales_the_row_and_not_the_column():
    value = relevant_snne([[1, 0], [1, 1]], [1, 0])
    assert value == pytest.approx(-(math.log(math.e + 1) + math.log(2)) / 2, abs=1e-12)


def test_refusals_are_certain_in_equation_2_and_not_in_equation_3():
    similarity = answer_similarity(["I don't know"] * 8)
    plain, relevant = snne(similarity), relevant_snne(similarity, np.zeros(8))
    assert normalized_uncertainty(plain, 8, equation=2) == pytest.approx(0, abs=1e-9)
    assert normalized_uncertainty(relevant, 8) == pytest.approx(1, abs=1e-9)


def test_other_scripts_need_the_unicode_tokenizer():
    answers = ["北京", "北京", "上海"]
    assert answer_similarity(answers)[0, 1] == 0
    np.testing.assert_allclose(
        answer_similarity(answers, tokenizer="unicode"), [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    )


def test_rounding_noise_is_clamped_and_more_is_refused():
    low = -1 - math.log(8)
    assert normalized_uncertainty(low - 5e-10, 8) == 0
    assert normalized_uncertainty(-math.log(8) + 5e-10, 8) == 1
    with pytest.raises(ValueError, match=r"bounds of Eq\. 3 for k=8"):
        normalized_uncertainty(low - 1e-8, 8)


def test_cosine_noise_of_single_precision_is_accepted():
    assert snne([[1.0000001, 0], [0, 1]]) == pytest.approx(snne(np.eye(2)), abs=1e-12)


def test_a_low_temperature_does_not_overflow():
    assert snne(np.eye(2), temperature=1e-3) == pytest.approx(-1000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: answer_similarity([]), "answers is"),
        (lambda: answer_similarity("Austin"), "'Austin'"),
        (lambda: snne([[1, 0]]), r"shape \(1, 2\)"),
        (lambda: snne([[1, 0], [1]]), "different lengths"),
        (lambda: snne([]), "shape"),
        (lambda: snne([[1, -0.5], [-0.5, 1]]), r"\[-0.5, 1\]: rescale"),
        (lambda: snne([[1, math.nan], [0, 1]]), "nan or infinite"),
        (lambda: snne(np.eye(2), [0.5, 0.6]), "sum to 1"),
        (lambda: snne(np.eye(2), [1.5, -0.5]), "sum to 1"),
        (lambda: snne(np.eye(2), [1.0]), "2 probabilities"),
        (lambda: snne(np.eye(2), temperature=0), "temperature is 0"),
        (lambda: snne(np.eye(1), include_self=False), "2 or more"),
        (lambda: relevant_snne(np.eye(2), [1]), "lengths differ"),
        (lambda: relevant_snne(np.eye(2), [1, 2]), "relevance spans"),
        (lambda: relevant_snne(np.eye(2), [1, None]), "other than numbers"),
        (lambda: likelihood_weights([0.5, -1]), "<= 0"),
        (lambda: normalized_uncertainty(-2, 0), "k is 0"),
        (lambda: normalized_uncertainty(-1, 1, equation=2), "needs 2 or more"),
        (lambda: normalized_uncertainty(-2, 2.5), "k is 2.5"),
        (lambda: normalized_uncertainty(-2, 8, equation=4), "equation is 4"),
        (lambda: normalized_uncertainty(math.nan, 8), "value nan"),
        (lambda: normalized_uncertainty(-2.1, 8, equation=2), "bounds of Eq. 2 for k=8"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(sampled())
def test_entropies_stay_in_their_bounds(sample):
    similarity, relevance, weights, _ = sample
    k = len(similarity)
    assert 0 <= normalized_uncertainty(relevant_snne(similarity, relevance, weights), k) <= 1
    if k > 1:
        assert 0 <= normalized_uncertainty(snne(similarity, weights), k, equation=2) <= 1


@given(sampled())
def test_the_order_of_the_answers_does_not_matter(sample):
    similarity, relevance, weights, order = sample
    moved, grid = similarity[np.ix_(order, order)], np.array(order)
    assert snne(moved, weights[grid]) == pytest.approx(snne(similarity, weights), abs=1e-12)
    before = relevant_snne(similarity, relevance, weights)
    after = relevant_snne(moved, relevance[grid], weights[grid])
    assert after == pytest.approx(before, abs=1e-12)


@given(sampled())
def test_full_relevance_gives_equation_2_and_less_gives_more_uncertainty(sample):
    similarity, relevance, weights, _ = sample
    plain = snne(similarity, weights)
    assert relevant_snne(similarity, np.ones(len(similarity)), weights) == pytest.approx(plain)
    assert relevant_snne(similarity, relevance, weights) >= plain - 1e-12


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab 北", max_size=5), min_size=1, max_size=5))
def test_similarity_is_symmetric_with_a_full_diagonal(answers):
    similarity = answer_similarity(answers)
    assert similarity.shape == (len(answers), len(answers))
    assert (similarity == similarity.T).all()
    assert (np.diag(similarity) == 1).all()
    assert ((similarity >= 0) & (similarity <= 1)).all()
