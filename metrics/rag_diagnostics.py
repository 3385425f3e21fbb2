"""Claim-level diagnostics of a RAG answer, as RAGChecker defines them (ArbGraph, section 4.1.2)."""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Flags, as_flag_rows, as_flags


def rag_diagnostics(
    response_in_gold: ArrayLike,
    gold_in_response: ArrayLike,
    documents_entail_response: ArrayLike,
    documents_entail_gold: ArrayLike,
    compat: bool = False,
) -> dict[str, float | None]:
    """Return the eleven measures of one answer from four tables of entailment.

    A contradiction is no entailment. A document is relevant when it entails a gold claim. A
    wrong claim that a relevant document entails is relevant noise, even if an irrelevant one
    entails it too. So faithfulness + hallucination + self_knowledge = 1, and relevant_noise +
    irrelevant_noise + hallucination = 1 - precision, where they are measured.

    Args:
        response_in_gold: bool[R], each response claim is entailed by the gold answer.
        gold_in_response: bool[A], each gold claim is entailed by the response.
        documents_entail_response: bool[R][D], each response claim by each document.
        documents_entail_gold: bool[A][D], each gold claim by each document.
        compat: Give RAGChecker's 0.0 instead of None.

    Returns:
        precision, recall, f1, claim_recall, context_precision, context_utilization,
        relevant_noise, irrelevant_noise, hallucination, self_knowledge and faithfulness, each
        in [0, 1], or None where there is nothing to measure: no claim of that side, no
        document, or for context_utilization no gold claim in the documents.

    Raises:
        ValueError: A value is not a boolean, or the tables disagree in R, A or D.
    """
    response = as_flags("response_in_gold", response_in_gold)
    gold = as_flags("gold_in_response", gold_in_response)
    by_response = as_flag_rows("documents_entail_response", documents_entail_response)
    by_gold = as_flag_rows("documents_entail_gold", documents_entail_gold)
    _check_shapes(response, gold, by_response, by_gold)
    relevant = _any(by_gold, axis=0) if by_gold.size else None
    measures = (
        _overall(response, gold)
        | _retrieval(gold, by_gold)
        | _noise(response, by_response, relevant)
        | _grounding(response, by_response)
    )
    return {name: 0.0 if compat and value is None else value for name, value in measures.items()}


def _overall(response: Flags, gold: Flags) -> dict[str, float | None]:
    precision, recall = _share(response), _share(gold)
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _retrieval(gold: Flags, by_gold: Flags) -> dict[str, float | None]:
    names = ("claim_recall", "context_precision", "context_utilization")
    if not by_gold.size:
        return dict.fromkeys(names)
    found, relevant = _any(by_gold, axis=1), _any(by_gold, axis=0)
    return dict(zip(names, (_share(found), _share(relevant), _share(gold[found])), strict=True))


def _noise(response: Flags, by_response: Flags, relevant: Flags | None) -> dict[str, float | None]:
    if relevant is None or not by_response.size:
        return {"relevant_noise": None, "irrelevant_noise": None}
    near = _any(by_response[:, relevant], axis=1)
    far = _any(by_response, axis=1) & ~near
    return {"relevant_noise": _share(~response & near), "irrelevant_noise": _share(~response & far)}


def _grounding(response: Flags, by_response: Flags) -> dict[str, float | None]:
    names = ("hallucination", "self_knowledge", "faithfulness")
    if not by_response.size:
        return dict.fromkeys(names)
    backed = _any(by_response, axis=1)
    shares = _share(~response & ~backed), _share(response & ~backed), _share(backed)
    return dict(zip(names, shares, strict=True))


def _any(table: Flags, axis: int) -> Flags:
    return np.asarray(table.any(axis=axis), dtype=np.bool_)


def _share(flags: Flags) -> float | None:
    return float(flags.mean()) if flags.size else None


def _check_shapes(response: Flags, gold: Flags, by_response: Flags, by_gold: Flags) -> None:
    for name, claims, table in (
        ("documents_entail_response", response, by_response),
        ("documents_entail_gold", gold, by_gold),
    ):
        if len(claims) != len(table):
            raise InputError(
                f"{name} has {len(table)} rows for {len(claims)} claims: pass one row per claim."
            )
    if len(response) and len(gold) and by_response.shape[1] != by_gold.shape[1]:
        raise InputError(
            f"the tables have {by_response.shape[1]} and {by_gold.shape[1]} documents: "
            "pass the same documents to both."
        )
