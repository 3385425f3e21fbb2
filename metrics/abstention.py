"""When to trust an answer: risk against coverage, and calibration of a confidence.

Confidence is high when the answer is trusted; of an uncertainty pass its negative to
`risk_coverage`, and 1 minus the normalised one to the measures of calibration. How well an
uncertainty tells wrong from right is `auroc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Flags, Floats, as_flags, as_floats, as_share, in_unit, same_length


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """What answering only the surest questions costs.

    Attributes:
        coverage: 1/n, 2/n, ..., 1: the share that is answered, surest first.
        risk: Share of wrong answers among them; answers of one confidence count as their mean,
            in no order.
        aurc: Mean of the risks, in [0, 1]; low is good.
        excess: aurc minus that of the perfect order of the same answers, at least 0.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    aurc: float
    excess: float

    def coverage_at(self, risk: float) -> float:
        """Largest share that can be answered at no more than this risk; 0 when there is none.

        Raises:
            InputError: The risk is not in [0, 1].
        """
        bound = as_share("risk", risk) + 1e-12
        kept = [c for c, r in zip(self.coverage, self.risk, strict=True) if r <= bound]
        return max(kept, default=0.0)


class ReliabilityBin(NamedTuple):
    """Answers of similar confidence: mean confidence, share that is right, and their number."""

    confidence: float
    accuracy: float
    n: int


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Return the risk-coverage curve of answers.

    Args:
        confidence: One number per question, n >= 1, of any scale: only the order counts.
        correct: Whether the answer is right.

    Returns:
        The curve and its area.

    Raises:
        InputError: Lengths differ, there is no question, or a value is missing.
    """
    values, right = _answers(confidence, correct)
    count = np.arange(1, values.size + 1)
    risk = np.cumsum(_expected_errors(values, right)) / count
    perfect = np.cumsum(np.sort((~right).astype(np.float64))) / count
    area = float(risk.mean())
    return RiskCoverage(
        coverage=tuple((count / values.size).tolist()),
        risk=tuple(risk.tolist()),
        aurc=area,
        excess=max(0.0, area - float(perfect.mean())),
    )


def brier_score(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Return the mean squared distance of the confidence from the outcome.

    Args:
        confidence: Probabilities that the answer is right, in [0, 1], n >= 1.
        correct: Whether it is.

    Returns:
        A number in [0, 1]; 0 is perfect, and 0.25 is what a constant 0.5 gets.

    Raises:
        InputError: Lengths differ, there is no question, or a confidence is out of range.
    """
    values, right = _probabilities(confidence, correct)
    return float(np.mean((values - right) ** 2))


def reliability_bins(
    confidence: ArrayLike,
    correct: ArrayLike,
    bins: int = 10,
    by: Literal["width", "count"] = "width",
) -> list[ReliabilityBin]:
    """Group answers by confidence.

    Args:
        confidence: Probabilities that the answer is right, in [0, 1], n >= 1.
        correct: Whether it is.
        bins: How many bins, at least 1.
        by: ``width``: equal parts of [0, 1], each with its upper end. ``count``: as many answers
            in each as can be, ties in one bin.

    Returns:
        The bins that hold an answer, by growing confidence; their counts add up to n.

    Raises:
        InputError: Lengths differ, there is no question, a confidence is out of range, or an
            option is unknown.
    """
    values, right = _probabilities(confidence, correct)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise InputError(f"bins is {bins!r}: give a whole number of at least 1.")
    if by not in ("width", "count"):
        raise InputError(f"by is {by!r}: choose 'width' or 'count'.")
    inner = np.arange(1, bins) / bins
    edges = inner if by == "width" else np.quantile(values, inner, method="inverted_cdf")
    place = np.searchsorted(edges, values, side="left")
    return [_bin(values[place == index], right[place == index]) for index in np.unique(place)]


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    bins: int = 10,
    by: Literal["width", "count"] = "width",
) -> float:
    """Return the mean distance between confidence and accuracy over the bins, by their counts.

    Args:
        confidence: Probabilities that the answer is right, in [0, 1], n >= 1.
        correct: Whether it is.
        bins: See `reliability_bins`; the error of few answers in many bins is biased upwards.
        by: See `reliability_bins`.

    Returns:
        A number in [0, 1]; 0 is perfect.

    Raises:
        InputError: As `reliability_bins`.
    """
    found = reliability_bins(confidence, correct, bins, by)
    total = sum(b.n for b in found)
    return sum(b.n * abs(b.confidence - b.accuracy) for b in found) / total


def _expected_errors(values: Floats, right: Flags) -> Floats:
    """Errors by falling confidence, those of one confidence spread evenly over its answers."""
    _, group = np.unique(-values, return_inverse=True)
    wrong = np.bincount(group, weights=~right) / np.bincount(group)
    return np.asarray(wrong[np.sort(group)], dtype=np.float64)


def _bin(values: Floats, right: Flags) -> ReliabilityBin:
    return ReliabilityBin(float(values.mean()), float(right.mean()), int(values.size))


def _probabilities(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Flags]:
    values, right = _answers(confidence, correct)
    return in_unit("confidence", values), right


def _answers(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Flags]:
    values, right = as_floats("confidence", confidence), as_flags("correct", correct)
    same_length(confidence=values, correct=right)
    return values, right
