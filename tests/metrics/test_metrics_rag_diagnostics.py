import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import mean_measured, rag_diagnostics

EDGES = json.loads(
    (Path(__file__).parents[1] / "oracles" / "ragchecker_edge_cases.json").read_text("utf-8")
)["cases"]
# RAGChecker's own labels stay outside the repository.
EXAMPLE = Path(__file__).parents[2].parent / "shared" / "oracles" / "ragchecker_example.json"
NAMES = {
    "noise_sensitivity_in_relevant": "relevant_noise",
    "noise_sensitivity_in_irrelevant": "irrelevant_noise",
}
ORDER = [
    "precision",
    "recall",
    "f1",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "relevant_noise",
    "irrelevant_noise",
    "hallucination",
    "self_knowledge",
    "faithfulness",
]
NEEDS_DOCUMENTS = ORDER[3:]
NOISE = ["relevant_noise", "irrelevant_noise"]


def diagnose(labels, **options):
    def entailed(row):
        return [label == "Entailment" for label in row]

    return rag_diagnostics(
        entailed(labels["answer2response"]),
        entailed(labels["response2answer"]),
        [entailed(row) for row in labels["retrieved2response"]],
        [entailed(row) for row in labels["retrieved2answer"]],
        **options,
    )


def renamed(metrics):
    return {NAMES.get(name, name): value for name, value in metrics.items()}


def missing(measures):
    return [name for name, value in measures.items() if value is None]


@st.composite
def tables(draw, min_size=1):
    r, a, d = (draw(st.integers(min_size, 5)) for _ in range(3))
    flags = st.booleans()
    row = st.lists(flags, min_size=d, max_size=d)
    return (
        draw(st.lists(flags, min_size=r, max_size=r)),
        draw(st.lists(flags, min_size=a, max_size=a)),
        draw(st.lists(row, min_size=r, max_size=r)),
        draw(st.lists(row, min_size=a, max_size=a)),
    )


@pytest.mark.parametrize("case", EDGES, ids=lambda case: case["name"])
def test_toy_inputs_of_the_reference(case):
    assert diagnose(case, compat=True) == pytest.approx(renamed(case["metrics"]), abs=1e-9)
    for name, value in diagnose(case).items():
        assert value is None or value == pytest.approx(renamed(case["metrics"])[name], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "unmeasured"),
    [
        ("hand_checkable", []),
        ("contradiction_by_doc_is_not_negative", ["context_utilization"]),
        ("no_relevant_doc", ["context_utilization"]),
        ("empty_response_claims", ["precision", "f1", *ORDER[6:]]),
        ("empty_gold_claims", ["recall", "f1", *ORDER[3:6], *NOISE]),
    ],
)
def test_nothing_to_measure_gives_none(name, unmeasured):
    [case] = [case for case in EDGES if case["name"] == name]
    assert missing(diagnose(case)) == unmeasured


@pytest.mark.skipif(not EXAMPLE.exists(), reason=f"RAGChecker's labels are not at {EXAMPLE}")
def test_example_of_the_reference():
    oracle = json.loads(EXAMPLE.read_text("utf-8"))
    got = [diagnose(result["labels"], compat=True) for result in oracle["results"]]
    for measures, result in zip(got, oracle["results"], strict=True):
        assert measures == pytest.approx(renamed(result["metrics"]), abs=1e-9)
    for group in oracle["aggregate"].values():
        for name, value in renamed(group).items():
            assert round(100 * mean_measured(m[name] for m in got), 1) == value


def test_names_and_order():
    assert list(rag_diagnostics([1], [1], [[1]], [[1]])) == ORDER


def test_without_documents_only_the_overall_measures_are_known():
    measures = rag_diagnostics([1, 0], [1], [[], []], [[]])
    assert missing(measures) == NEEDS_DOCUMENTS
    compat = rag_diagnostics([1, 0], [1], [[], []], [[]], compat=True)
    assert [compat[name] for name in NEEDS_DOCUMENTS] == [0.0] * len(NEEDS_DOCUMENTS)


def test_without_any_claim_nothing_is_known():
    assert missing(rag_diagnostics([], [], [], [])) == ORDER
    empty = np.zeros((0, 3), dtype=bool)
    assert missing(rag_diagnostics([], [], empty, empty)) == ORDER


def test_noise_of_a_relevant_document_is_exclusive():
    measures = rag_diagnostics([0], [0], [[1, 1]], [[1, 0]])
    assert (measures["relevant_noise"], measures["irrelevant_noise"]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["Entailment"], [1], [[1]], [[1]]), "response_in_gold holds 'Entailment'"),
        (([1], [None], [[1]], [[1]]), "gold_in_response holds None"),
        (([1], [1], [[2]], [[1]]), r"documents_entail_response\[0\] holds 2"),
        (([1], [1], [1], [[1]]), r"documents_entail_response\[0\] has shape"),
        (([1], [1], "no", [[1]]), "documents_entail_response is 'no'"),
        (([1, 0], [1], [[1]], [[1]]), "documents_entail_response has 1 rows for 2 claims"),
        (([1], [1, 0], [[1]], [[1]]), "documents_entail_gold has 1 rows for 2 claims"),
        (([1, 0], [1], [[1], [1, 0]], [[1]]), r"lengths \[1, 2\]"),
        (([1], [1], [[1, 0]], [[1]]), "2 and 1 documents"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        rag_diagnostics(*arguments)


@given(tables(min_size=0))
def test_bounds_and_compat(labels):
    measures = rag_diagnostics(*labels)
    assert all(value is None or 0 <= value <= 1 for value in measures.values())
    filled = {name: 0.0 if value is None else value for name, value in measures.items()}
    assert rag_diagnostics(*labels, compat=True) == filled


@given(tables())
def test_shares_add_up(labels):
    m = rag_diagnostics(*labels)
    assert m["faithfulness"] + m["hallucination"] + m["self_knowledge"] == pytest.approx(1)
    wrong = m["relevant_noise"] + m["irrelevant_noise"] + m["hallucination"]
    assert wrong == pytest.approx(1 - m["precision"])


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_matter(labels, rng):
    order = list(range(len(labels[2][0])))
    rng.shuffle(order)
    moved = [[[row[d] for d in order] for row in table] for table in labels[2:]]
    assert rag_diagnostics(*labels[:2], *moved) == rag_diagnostics(*labels)


@given(tables(min_size=0))
def test_changing_sides_turns_precision_into_recall(labels):
    response, gold, by_response, by_gold = labels
    here = rag_diagnostics(response, gold, by_response, by_gold)
    there = rag_diagnostics(gold, response, by_gold, by_response)
    assert (here["precision"], here["recall"]) == (there["recall"], there["precision"])
    assert here["f1"] == pytest.approx(there["f1"]) if here["f1"] else here["f1"] == there["f1"]


@given(tables())
def test_the_order_of_the_claims_does_not_matter(labels):
    assert rag_diagnostics(*[table[::-1] for table in labels]) == pytest.approx(
        rag_diagnostics(*labels)
    )
