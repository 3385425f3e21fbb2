"""Measures of long answers from counts of facts."""

import math
from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import as_count, as_flags


def fact_recall(covered: ArrayLike) -> float | None:
    """Return the share of gold facts that the answer covers (ArbGraph, section 4.1.2, FR).

    Args:
        covered: bool[A], each gold fact is entailed by the answer.

    Returns:
        A number in [0, 1], or None without gold facts (leave it out of the mean).

    Raises:
        ValueError: A value is not a boolean.
    """
    flags = as_flags("covered", covered)
    return float(flags.mean()) if flags.size else None


def information_density(facts: int, tokens: int) -> float | None:
    """Return the facts per 1,000 tokens (ArbGraph, section 4.1.2, ID).

    The paper prints no scale and no tokenizer: 1,000 is the power of ten that fits its
    numbers, and the tokenizer should be named next to the result (see `count_tokens`).

    Args:
        facts: Atomic facts in the answer.
        tokens: Tokens of the answer.

    Returns:
        A number that is not negative, or None without tokens.

    Raises:
        ValueError: A count is negative or not whole.
    """
    facts, tokens = as_count("facts", facts), as_count("tokens", tokens)
    return 1000 * facts / tokens if tokens else None


def fact_precision(supported: int, not_supported: int) -> float | None:
    """Return the share of checked facts that are supported (SAFE); irrelevant ones are in neither.

    Args:
        supported: Supported facts of the answer.
        not_supported: Facts of the answer that are not supported.

    Returns:
        A number in [0, 1], or None without facts.

    Raises:
        ValueError: A count is negative or not whole.
    """
    supported = as_count("supported", supported)
    facts = supported + as_count("not_supported", not_supported)
    return supported / facts if facts else None


def recall_at_k(supported: int, k: int) -> float:
    """Return min(1, supported / k), the recall of SAFE.

    Args:
        supported: Supported facts of the answer.
        k: Facts that a full answer is expected to hold, positive.

    Returns:
        A number in [0, 1].

    Raises:
        ValueError: `k` is not positive, or the count is negative or not whole.
    """
    if not 0 < k < math.inf:
        raise InputError(f"k is {k!r}: pass a positive number of facts.")
    return min(1.0, as_count("supported", supported) / k)


def f1_at_k(supported: int, not_supported: int, k: int) -> float:
    """Return F1@K of SAFE: the harmonic mean of fact precision and recall at K.

    Args:
        supported: Supported facts of the answer.
        not_supported: Facts of the answer that are not supported.
        k: Facts that a full answer is expected to hold, positive (64 and 178 in the paper).

    Returns:
        A number in [0, 1]; 0 when nothing is supported.

    Raises:
        ValueError: `k` is not positive, or a count is negative or not whole.
    """
    precision, recall = fact_precision(supported, not_supported), recall_at_k(supported, k)
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def length_penalty(facts: int, gamma: float = 10) -> float:
    """Return FActScore's penalty of short answers, exp(1 - gamma / facts) up to gamma facts.

    Args:
        facts: Facts of the answer.
        gamma: Facts from which nothing is taken off; 0 switches the penalty off.

    Returns:
        A number in [0, 1]; 0 without facts, its limit.

    Raises:
        ValueError: A number is negative.
    """
    facts = as_count("facts", facts)
    if not 0 <= gamma < math.inf:
        raise InputError(f"gamma is {gamma!r}: pass a number of facts, or 0 for no penalty.")
    if facts >= gamma:
        return 1.0
    return math.exp(1 - gamma / facts) if facts else 0.0


def factscore(supported: int, facts: int, gamma: float = 10) -> float | None:
    """Return FActScore: the share of supported facts times `length_penalty`.

    Args:
        supported: Supported facts of the answer.
        facts: All facts of the answer.
        gamma: See `length_penalty`.

    Returns:
        A number in [0, 1], or None without facts.

    Raises:
        ValueError: A count is negative, or more facts are supported than there are.
    """
    precision = fact_precision(supported, _not_supported(supported, facts))
    return None if precision is None else precision * length_penalty(facts, gamma)


def veriscore(supported: int, facts: int, k: int) -> float | None:
    """Return VeriScore of one answer: F1@K with all its facts in the precision.

    Args:
        supported: Supported facts of the answer.
        facts: All facts of the answer.
        k: Facts that a full answer is expected to hold, see `veriscore_k`.

    Returns:
        A number in [0, 1], or None without facts (the published code divides by zero).

    Raises:
        ValueError: `k` is not positive, a count is negative, or `supported` exceeds `facts`.
    """
    score = f1_at_k(supported, _not_supported(supported, facts), k)
    return score if facts else None


def veriscore_k(facts: Sequence[int], rule: Literal["median", "max"] = "median") -> int:
    """Return K of one domain from the fact counts of its answers, over all systems.

    Args:
        facts: Facts of each answer, at least one answer.
        rule: ``median`` (the upper one for an even number of answers) or ``max``.

    Returns:
        The K for `veriscore`.

    Raises:
        ValueError: `facts` is empty or has a negative count, or `rule` is unknown.
    """
    counts = sorted(as_count("facts", count) for count in facts)
    if not counts:
        raise InputError("facts is empty: pass the fact count of at least one answer.")
    if rule not in ("median", "max"):
        raise InputError(f"rule is {rule!r}: choose 'median' or 'max'.")
    return counts[-1] if rule == "max" else counts[len(counts) // 2]


def _not_supported(supported: int, facts: int) -> int:
    if supported > facts:
        raise InputError(f"supported is {supported!r} of {facts!r} facts: pass no more than all.")
    return facts - supported
