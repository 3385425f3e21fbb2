"""Measures of answers, claims and uncertainty."""

from .containment import containment
from .exact_match import exact_match
from .gate import RoutingCounts, auroc, routing_counts, select_threshold
from .intervals import (
    Interval,
    PairedComparison,
    bootstrap_interval,
    mean_measured,
    paired_bootstrap,
    wilson_interval,
)
from .long_form import (
    f1_at_k,
    fact_precision,
    fact_recall,
    factscore,
    information_density,
    length_penalty,
    recall_at_k,
    veriscore,
    veriscore_k,
)
from .memorization import memorization_ratio
from .normalize import normalize_answer
from .rag_diagnostics import rag_diagnostics
from .rouge import rouge_l
from .semantic_entropy import (
    cluster_probabilities,
    discrete_entropy,
    predictive_entropy,
    rao_entropy,
    semantic_clusters,
)
from .tokens import count_tokens, unicode_tokens
from .uncertainty import (
    answer_similarity,
    likelihood_weights,
    normalized_uncertainty,
    relevant_snne,
    snne,
)

__all__ = [
    "Interval",
    "PairedComparison",
    "RoutingCounts",
    "answer_similarity",
    "auroc",
    "bootstrap_interval",
    "cluster_probabilities",
    "containment",
    "count_tokens",
    "discrete_entropy",
    "exact_match",
    "f1_at_k",
    "fact_precision",
    "fact_recall",
    "factscore",
    "information_density",
    "length_penalty",
    "likelihood_weights",
    "mean_measured",
    "memorization_ratio",
    "normalize_answer",
    "normalized_uncertainty",
    "paired_bootstrap",
    "predictive_entropy",
    "rag_diagnostics",
    "rao_entropy",
    "recall_at_k",
    "relevant_snne",
    "rouge_l",
    "routing_counts",
    "select_threshold",
    "semantic_clusters",
    "snne",
    "unicode_tokens",
    "veriscore",
    "veriscore_k",
    "wilson_interval",
]
