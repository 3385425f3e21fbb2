"""Means with intervals: bootstrap for scores, Wilson for counts."""

from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Floats, as_count, as_floats, same_length

_BLOCK = 1_000_000  # drawn indices held in memory at once
_FEW = 50  # items per distinct value from which on counts are drawn instead of items
_TIE = 1e-12


class Interval(NamedTuple):
    """Lower and upper end of a confidence interval."""

    low: float
    high: float


class PairedComparison(NamedTuple):
    """Mean of a minus mean of b over the same items, its interval and two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def mean_measured(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None, or None when there is none.

    Args:
        values: Scores, None where nothing could be measured.

    Returns:
        The mean over the measured items only.

    Raises:
        ValueError: A score is not finite.
    """
    measured = [value for value in values if value is not None]
    return float(as_floats("values", measured).mean()) if measured else None


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, seed: int = 0, *, resamples: int = 10_000
) -> Interval:
    """Return the percentile bootstrap interval of the mean.

    Args:
        values: One score per item, n >= 1, without None (see `mean_measured`).
        level: Confidence level in (0, 1).
        seed: Seed of the draws; equal seeds give equal intervals.
        resamples: Number of bootstrap samples.

    Returns:
        The interval, in the unit of the values; it always holds their mean.

    Raises:
        ValueError: `values` is empty or not finite, or an option is out of range.
    """
    scores = as_floats("values", values)
    return _percentile_interval(scores, _resampled_means(scores, seed, resamples), level)


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, seed: int = 0, *, level: float = 0.95, resamples: int = 10_000
) -> PairedComparison:
    """Compare two systems on the same items by resampling the items.

    Args:
        a: One score per item, n >= 1.
        b: The other system's scores of the same items, in the same order.
        seed: Seed of the draws; equal seeds give equal results.
        level: Confidence level in (0, 1).
        resamples: Number of bootstrap samples.

    Returns:
        mean(a) - mean(b), its percentile interval, and the p-value in (0, 1] of a difference
        at least as large when there is none (draws centred on zero, plus one).

    Raises:
        ValueError: Lengths differ, a value is missing, or an option is out of range.
    """
    first, second = as_floats("a", a), as_floats("b", b)
    same_length(a=first, b=second)
    gaps = first - second
    means = _resampled_means(gaps, seed, resamples)
    difference = float(gaps.mean())
    as_large = np.abs(means - difference) >= abs(difference) * (1 - _TIE)
    p_value = (1 + int(as_large.sum())) / (1 + resamples)
    return PairedComparison(difference, *_percentile_interval(gaps, means, level), p_value)


def wilson_interval(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a rate.

    Args:
        successes: Number of successes.
        trials: Number of trials; 0 gives [0, 1], nothing being known.
        level: Confidence level in (0, 1).

    Returns:
        The interval within [0, 1]; it always holds successes / trials.

    Raises:
        ValueError: A count is negative, successes exceed trials, or `level` is out of range.
    """
    successes, trials = as_count("successes", successes), as_count("trials", trials)
    if successes > trials:
        raise InputError(f"successes is {successes} of {trials} trials: pass no more than all.")
    z = NormalDist().inv_cdf(0.5 + _checked_level(level) / 2)
    if not trials:
        return Interval(0.0, 1.0)
    rate, spread = successes / trials, z * z / trials
    centre = rate + spread / 2
    margin = z * (rate * (1 - rate) / trials + spread / (4 * trials)) ** 0.5
    low, high = (centre - margin) / (1 + spread), (centre + margin) / (1 + spread)
    return Interval(max(0.0, min(low, rate)), min(1.0, max(high, rate)))


def _resampled_means(values: Floats, seed: int, resamples: int) -> Floats:
    if as_count("resamples", resamples) < 1:
        raise InputError("resamples is 0: pass at least 1, better 1,000 or more.")
    rng, n = np.random.default_rng(as_count("seed", seed)), len(values)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) * _FEW < n:
        # To draw n items is to draw how many have each value: the same law, and no draw per item.
        means: Floats = rng.multinomial(n, counts / n, size=resamples) @ distinct / n
        return means
    rows = max(1, _BLOCK // n)
    return np.concatenate(
        [
            values[rng.integers(n, size=(min(rows, resamples - start), n))].mean(axis=1)
            for start in range(0, resamples, rows)
        ]
    )


def _percentile_interval(values: Floats, means: Floats, level: float) -> Interval:
    tail, mean = (1 - _checked_level(level)) / 2, float(values.mean())
    low, high = (float(end) for end in np.quantile(means, (tail, 1 - tail)))
    return Interval(min(low, mean), max(high, mean))


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}: pass a number between 0 and 1, such as 0.95.")
    return level
