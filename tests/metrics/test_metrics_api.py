import inspect

import pytest

import referee.metrics as metrics

CONTRACT = {
    "normalize_answer": ["text", "style"],
    "exact_match": ["prediction", "answers", "style"],
    "rouge_l": ["prediction", "answers", "tokenizer"],
    "answer_similarity": ["answers"],
    "snne": ["similarity", "weights", "temperature"],
    "relevant_snne": ["similarity", "relevance", "weights"],
    "normalized_uncertainty": ["value", "k", "equation"],
    "select_threshold": ["uncertainty", "correct", "rule", "inclusive"],
    "rag_diagnostics": [
        "response_in_gold",
        "gold_in_response",
        "documents_entail_response",
        "documents_entail_gold",
        "compat",
    ],
    "fact_recall": ["covered"],
    "information_density": ["facts", "tokens"],
    "f1_at_k": ["supported", "not_supported", "k"],
    "bootstrap_interval": ["values", "level", "seed"],
    "paired_bootstrap": ["a", "b", "seed"],
}


@pytest.mark.parametrize(("name", "parameters"), CONTRACT.items(), ids=CONTRACT.keys())
def test_public_contract(name, parameters):
    signature = inspect.signature(getattr(metrics, name))
    positional = [
        p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert positional == parameters


def test_all_is_sorted_and_complete():
    assert metrics.__all__ == sorted(metrics.__all__)
    assert all(getattr(metrics, name).__doc__ for name in metrics.__all__)
    assert set(CONTRACT) <= set(metrics.__all__)
