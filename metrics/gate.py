"""The gate between the model's memory and an external context (MACR, section 3.4)."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .checks import Flags, Floats, as_flags, as_floats, same_length


@dataclass(frozen=True, slots=True)
class RoutingCounts:
    """Questions by branch and by whether the model's memory answers them.

    Attributes:
        correct_internal: Trusted and right.
        wrong_internal: Trusted and wrong.
        correct_external: Sent outside though the memory was right.
        wrong_external: Sent outside, the memory being wrong.
    """

    correct_internal: int
    wrong_internal: int
    correct_external: int
    wrong_external: int

    @property
    def internal(self) -> int:
        """Number of questions answered from memory."""
        return self.correct_internal + self.wrong_internal

    @property
    def precision(self) -> float | None:
        """Share of the trusted answers that are right; None when none is trusted."""
        return self.correct_internal / self.internal if self.internal else None

    @property
    def accuracy(self) -> float:
        """Share of the questions sent to the branch that fits them."""
        total = self.internal + self.correct_external + self.wrong_external
        return (self.correct_internal + self.wrong_external) / total

    @property
    def youden_j(self) -> float | None:
        """True minus false positive rate in [-1, 1]; None when a class is missing."""
        correct = self.correct_internal + self.correct_external
        wrong = self.wrong_internal + self.wrong_external
        if not correct or not wrong:
            return None
        return self.correct_internal / correct - self.wrong_internal / wrong


def routing_counts(
    uncertainty: ArrayLike, correct: ArrayLike, threshold: float, inclusive: bool = False
) -> RoutingCounts:
    """Count what a threshold does to a validation split.

    Args:
        uncertainty: One entropy per question, n >= 1.
        correct: Whether the model's memory answers the question.
        threshold: Memory is trusted below it; may be infinite.
        inclusive: Whether it is trusted at the threshold too. The paper's Case 1 says no.

    Returns:
        The four counts, with precision, accuracy and Youden's J.

    Raises:
        ValueError: Lengths differ, a value is missing, or the threshold is not a number.
    """
    values, right = _validation_split(uncertainty, correct)
    if math.isnan(threshold):
        raise InputError("threshold is nan: pass a number, or -inf to trust no memory.")
    inside = values <= threshold if inclusive else values < threshold
    return RoutingCounts(
        correct_internal=int((inside & right).sum()),
        wrong_internal=int((inside & ~right).sum()),
        correct_external=int((~inside & right).sum()),
        wrong_external=int((~inside & ~right).sum()),
    )


def select_threshold(
    uncertainty: ArrayLike,
    correct: ArrayLike,
    rule: Literal["paper", "youden"] = "paper",
    inclusive: bool = False,
) -> float:
    """Choose the gate's threshold on a validation split.

    Args:
        uncertainty: One entropy per question, n >= 1, all of one equation and one k.
        correct: Whether the model's memory answers the question.
        rule: ``paper`` (section 4.1): the largest entropy still answered correctly; one lucky
            answer at the top opens the gate for all. ``youden``: the observed entropy with
            the largest Youden's J, the smallest of several.
        inclusive: Whether the gate will trust a value equal to the threshold. It changes the
            choice of ``youden`` only.

    Returns:
        The threshold, one of the observed values, or -inf (trust no memory) when nothing is
        correct or no observed value is better than that.

    Raises:
        ValueError: Lengths differ, the split is empty, or `rule` is unknown.
    """
    values, right = _validation_split(uncertainty, correct)
    if rule not in ("paper", "youden"):
        raise InputError(f"rule is {rule!r}: choose 'paper' or 'youden'.")
    if not right.any():
        return -math.inf
    if rule == "paper" or right.all():
        return float(values[right].max())
    return _youden_threshold(values, right, inclusive)


def auroc(uncertainty: ArrayLike, correct: ArrayLike) -> float | None:
    """Return the chance that a wrong answer is more uncertain than a correct one.

    Args:
        uncertainty: One entropy per question, n >= 1.
        correct: Whether the model's memory answers the question.

    Returns:
        The area under the ROC curve in [0, 1], ties counting half; None when all answers or
        no answer is correct.

    Raises:
        ValueError: Lengths differ, or the split is empty.
    """
    values, right = _validation_split(uncertainty, correct)
    sure, unsure = np.sort(values[right]), values[~right]
    if not sure.size or not unsure.size:
        return None
    below = np.searchsorted(sure, unsure, side="left").sum()
    not_above = np.searchsorted(sure, unsure, side="right").sum()
    return float(below + not_above) / (2 * sure.size * unsure.size)


def _youden_threshold(values: Floats, right: Flags, inclusive: bool) -> float:
    candidates = np.unique(values)
    side: Literal["left", "right"] = "right" if inclusive else "left"
    trusted_right = np.searchsorted(np.sort(values[right]), candidates, side=side)
    trusted_wrong = np.searchsorted(np.sort(values[~right]), candidates, side=side)
    # J times (correct * wrong), in whole numbers: equal J must tie exactly.
    gain = trusted_right * int((~right).sum()) - trusted_wrong * int(right.sum())
    best = int(gain.argmax())
    return float(candidates[best]) if gain[best] > 0 else -math.inf


def _validation_split(uncertainty: ArrayLike, correct: ArrayLike) -> tuple[Floats, Flags]:
    values, right = as_floats("uncertainty", uncertainty), as_flags("correct", correct)
    same_length(uncertainty=values, correct=right)
    return values, right
