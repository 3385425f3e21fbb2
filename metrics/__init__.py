"""Measures of answers, claims and uncertainty.

What asks or imports dspy has its own door: LLM judges in `referee.metrics.judges`, DSPy metrics in
`referee.metrics.as_dspy`.
"""

from .abstention import (
    ReliabilityBin,
    RiskCoverage,
    brier_score,
    expected_calibration_error,
    reliability_bins,
    risk_coverage,
)
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
from .label_diagnostics import Diagnosis, label_diagnostics
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
    "Diagnosis",
    "Interval",
    "PairedComparison",
    "ReliabilityBin",
    "RiskCoverage",
    "RoutingCounts",
    "answer_similarity",
    "auroc",
    "bootstrap_interval",
    "brier_score",
    "cluster_probabilities",
    "containment",
    "count_tokens",
    "discrete_entropy",
    "exact_match",
    "expected_calibration_error",
    "f1_at_k",
    "fact_precision",
    "fact_recall",
    "factscore",
    "information_density",
    "label_diagnostics",
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
    "reliability_bins",
    "risk_coverage",
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
