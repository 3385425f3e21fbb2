"""Cluster-based entropies of sampled answers, the baselines of SNNE (MACR, section 3.3, [7]).

High values mean that the model is unsure. All logarithms are natural.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Floats, as_floats, same_length
from .uncertainty import likelihood_weights

Relation = Literal["support", "contradiction", "neutral"]

_RELATIONS = ("support", "contradiction", "neutral")


def semantic_clusters(
    answers: Sequence[str], relation: Callable[[str, str], Relation], *, strict: bool = False
) -> list[int]:
    """Group answers that mean the same, greedily, as semantic entropy does.

    Each answer is compared with the first member of every cluster; when several match, the
    last one takes it, as in the published code.

    Args:
        answers: The k sampled answers.
        relation: What the first text says about the second: support, contradiction or neutral.
        strict: Equal only when both directions support. Otherwise equal when neither
            direction contradicts and not both are neutral.

    Returns:
        One cluster id per answer, numbered from 0 by first member.

    Raises:
        ValueError: `relation` returned something else.
    """
    ids: list[int | None] = [None] * len(answers)
    opened = 0
    for i, first in enumerate(answers):
        if ids[i] is not None:
            continue
        ids[i] = opened
        for j in range(i + 1, len(answers)):
            if _equivalent(first, answers[j], relation, strict=strict):
                ids[j] = opened
        opened += 1
    return [cluster for cluster in ids if cluster is not None]


def discrete_entropy(clusters: Sequence[int]) -> float:
    """Return the entropy of the cluster sizes.

    Args:
        clusters: One cluster id per answer, k >= 1.

    Returns:
        Nats in [0, ln k].

    Raises:
        ValueError: `clusters` is empty.
    """
    ids = as_floats("clusters", clusters)
    sizes = np.unique(ids, return_counts=True)[1]
    return _entropy(sizes / len(ids))


def cluster_probabilities(clusters: Sequence[int], mean_logprobs: ArrayLike) -> Floats:
    """Return the probability of each cluster, the samples' likelihoods summing to 1.

    Args:
        clusters: One cluster id per answer, k >= 1.
        mean_logprobs: One natural log-probability per answer, the mean over its tokens, <= 0.

    Returns:
        One probability per cluster, by rising id.

    Raises:
        ValueError: Lengths differ, or a value is missing or above 0.
    """
    ids, likelihood = as_floats("clusters", clusters), likelihood_weights(mean_logprobs)
    same_length(clusters=ids, mean_logprobs=likelihood)
    return np.array([likelihood[ids == cluster].sum() for cluster in np.unique(ids)])


def rao_entropy(clusters: Sequence[int], mean_logprobs: ArrayLike) -> float:
    """Return the entropy of the clusters weighted by likelihood.

    Args:
        clusters: One cluster id per answer, k >= 1.
        mean_logprobs: One natural log-probability per answer, the mean over its tokens, <= 0.

    Returns:
        Nats in [0, ln k].

    Raises:
        ValueError: Lengths differ, or a value is missing or above 0.
    """
    return _entropy(cluster_probabilities(clusters, mean_logprobs))


def predictive_entropy(mean_logprobs: ArrayLike) -> float:
    """Return the mean negative log-likelihood of the samples, without any clustering.

    Args:
        mean_logprobs: One natural log-probability per answer, the mean over its tokens, <= 0.

    Returns:
        Nats per token, not negative.

    Raises:
        ValueError: Empty, not finite, or above 0.
    """
    logprobs = as_floats("mean_logprobs", mean_logprobs)
    if logprobs.max() > 0:
        raise InputError(f"mean_logprobs reaches {logprobs.max():g}: pass log-probabilities, <= 0.")
    return abs(float(logprobs.mean()))


def _equivalent(a: str, b: str, relation: Callable[[str, str], Relation], *, strict: bool) -> bool:
    both = relation(a, b), relation(b, a)
    for answer in both:
        if answer not in _RELATIONS:
            raise InputError(f"relation gave {answer!r}: return one of {', '.join(_RELATIONS)}.")
    if strict:
        return both == ("support", "support")
    return "contradiction" not in both and "support" in both


def _entropy(probabilities: Floats) -> float:
    positive = probabilities[probabilities > 0]
    return max(0.0, -float(positive @ np.log(positive)))
