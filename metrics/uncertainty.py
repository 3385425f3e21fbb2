"""Similarity-based uncertainty of sampled answers: SNNE (MACR, section 3.3, Eq. 2 and 3).

High values mean that the model is unsure. All logarithms are natural.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Floats, as_floats, as_square, in_unit, same_length
from .rouge import RougeTokenizer, f_measure

_BOUND_NOISE = 1e-9
_WEIGHT_NOISE = 1e-6


def answer_similarity(answers: Sequence[str], *, tokenizer: RougeTokenizer = "rouge") -> Floats:
    """Return the pairwise ROUGE-L F-measure of k sampled answers (MACR, section 4.1).

    Args:
        answers: The k sampled answers, k >= 1.
        tokenizer: See `rouge_l`; use ``unicode`` for scripts other than Latin.

    Returns:
        A symmetric array [k, k] in [0, 1] with diagonal 1.

    Raises:
        ValueError: `answers` is empty or a bare string, or `tokenizer` is unknown.
    """
    if isinstance(answers, str) or not len(answers):
        raise InputError(f"answers is {answers!r}: pass a list of sampled answers.")
    measure, similarity = f_measure(tokenizer), np.eye(len(answers))
    for i, answer in enumerate(answers):
        for j in range(i):
            similarity[i, j] = similarity[j, i] = measure(answer, answers[j])
    return similarity


def likelihood_weights(mean_logprobs: ArrayLike) -> Floats:
    """Return P(a|q) from log-probabilities, renormalised over the k samples (Eq. 2).

    Args:
        mean_logprobs: One natural log-probability per sample, the mean over its tokens, <= 0.

    Returns:
        An array [k] that sums to 1, for the argument ``weights`` of `snne`.

    Raises:
        ValueError: Empty, not finite, or above 0.
    """
    logprobs = as_floats("mean_logprobs", mean_logprobs)
    if logprobs.max() > _WEIGHT_NOISE:
        raise InputError(f"mean_logprobs reaches {logprobs.max():g}: pass log-probabilities, <= 0.")
    likelihood = np.exp(logprobs - logprobs.max())
    return np.asarray(likelihood / likelihood.sum(), dtype=np.float64)


def snne(
    similarity: ArrayLike,
    weights: ArrayLike | None = None,
    temperature: float = 1.0,
    *,
    include_self: bool = True,
) -> float:
    """Return the semantic nearest-neighbour entropy, MACR Eq. 2.

    H = -sum_i P_i log sum_j exp(similarity_ij / temperature).

    Args:
        similarity: Array [k, k] in [0, 1], k >= 1; rescale cosines first.
        weights: P(a|q), array [k] that sums to 1; uniform by default.
        temperature: Positive divisor of the similarity.
        include_self: Whether j = i belongs to the inner sum, as Eq. 2 has it.

    Returns:
        The entropy in nats; with temperature 1, the self term and a diagonal of 1 it lies in
        [-1 - ln k, -ln(e + k - 1)].

    Raises:
        ValueError: A shape, a range, the sum of the weights or the temperature is wrong.
    """
    checked = in_unit("similarity", as_square("similarity", similarity))
    if not 0 < temperature < math.inf:
        raise InputError(f"temperature is {temperature!r}: pass a positive number.")
    if not include_self and len(checked) < 2:
        raise InputError("similarity has 1 answer: pass 2 or more to leave the self term out.")
    exponents = checked / temperature
    if not include_self:
        np.fill_diagonal(exponents, -np.inf)
    return _neighbour_entropy(exponents, weights)


def relevant_snne(
    similarity: ArrayLike, relevance: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Return the relevance-weighted entropy, MACR Eq. 3.

    As `snne`, with the similarity of row i multiplied by the relevance of answer i to the
    question. Relevance 0 throughout gives -ln k whatever the answers are: the gate is dead.

    Args:
        similarity: Array [k, k] in [0, 1], k >= 1.
        relevance: sim(a_i, q), array [k] in [0, 1].
        weights: P(a|q), array [k] that sums to 1; uniform by default.

    Returns:
        The entropy in nats, in [-1 - ln k, -ln k].

    Raises:
        ValueError: A shape, a range or the sum of the weights is wrong.
    """
    checked = in_unit("similarity", as_square("similarity", similarity))
    scale = in_unit("relevance", as_floats("relevance", relevance))
    same_length(similarity=checked, relevance=scale)
    return _neighbour_entropy(checked * scale[:, None], weights)


def normalized_uncertainty(value: float, k: int, equation: Literal[2, 3] = 3) -> float:
    """Map an entropy to [0, 1] by the bounds of its equation for k samples, temperature 1.

    Eq. 2 lies in [-1 - ln k, -ln(e + k - 1)], Eq. 3 in [-1 - ln k, -ln k].

    Args:
        value: What `snne` (equation 2) or `relevant_snne` (equation 3) returned, in nats.
        k: The number of samples; at least 1, for equation 2 at least 2.
        equation: 2 or 3.

    Returns:
        0 when all answers agree (and are relevant), 1 when they are as diverse as k allows.

    Raises:
        ValueError: `k` or `equation` is wrong, or `value` leaves the bounds by more than 1e-9.
    """
    if equation not in (2, 3):
        raise InputError(f"equation is {equation!r}: pass 2 (plain) or 3 (relevance-weighted).")
    if k != int(k) or k < 4 - equation:
        raise InputError(f"k is {k!r}: Eq. {equation} needs {4 - equation} or more samples.")
    low = -1 - math.log(k)
    high = -math.log(k) if equation == 3 else -math.log(math.e + k - 1)
    if not low - _BOUND_NOISE <= value <= high + _BOUND_NOISE:
        raise InputError(
            f"value {value!r} is outside [{low:.6f}, {high:.6f}], the bounds of Eq. {equation} "
            f"for k={k}: pass the k and the equation it was computed with."
        )
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _neighbour_entropy(exponents: Floats, weights: ArrayLike | None) -> float:
    peak = exponents.max(axis=1, keepdims=True)
    log_sums = peak[:, 0] + np.log(np.exp(exponents - peak).sum(axis=1))
    return -float(_probabilities(weights, len(exponents)) @ log_sums)


def _probabilities(weights: ArrayLike | None, k: int) -> Floats:
    if weights is None:
        return np.full(k, 1 / k)
    given = as_floats("weights", weights)
    total = float(given.sum())
    if len(given) != k or given.min() < 0 or abs(total - 1) > _WEIGHT_NOISE:
        raise InputError(
            f"weights {given.tolist()} are not {k} probabilities that sum to 1: "
            "pass likelihood_weights(...) or None."
        )
    return given / total
