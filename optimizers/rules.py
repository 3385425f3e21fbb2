"""Verification of candidate rules on a validation split (MACR, section 3.5.2, Eq. 9)."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..errors import InputError
from ..metrics import Interval, wilson_interval
from ..metrics.checks import Flags, as_flag_rows, as_flags, as_share


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """What the validation split says about one rule.

    Attributes:
        coverage: Share of the examples in which the rule fires, in [0, 1].
        support: Share of those that it answers correctly, in [0, 1]; 0 when it never fires.
        kept: Whether both reach their thresholds.
        fired: Number of examples in which the rule fires.
        correct: Number of those that it answers correctly.
        examples: Size of the validation split.
        support_interval: Wilson interval of the support at 95 %; [0, 1] when it never fires.
        gain: Support minus the share answered correctly without any rule on the same
            examples, in [-1, 1]; None without a baseline or when the rule never fires.
    """

    coverage: float
    support: float
    kept: bool
    fired: int
    correct: int
    examples: int
    support_interval: Interval
    gain: float | None = None


def verify_rules(
    fired: ArrayLike,
    correct: ArrayLike,
    min_coverage: float,
    min_support: float,
    *,
    baseline: ArrayLike | None = None,
) -> list[RuleCheck]:
    """Return coverage, support and verdict per rule, MACR Eq. 9 with inclusive thresholds.

    Support is over the examples in which the rule fires: over the whole split it could not
    exceed coverage, and the coverage threshold would be idle.

    Args:
        fired: bool[rules, examples], some conflict of the example meets type and condition.
        correct: bool[rules, examples], the answer with this rule alone is right; read only
            where the rule fired.
        min_coverage: The paper's delta_cov (0.05 there), in [0, 1].
        min_support: The paper's delta_sup (0.6 there), in [0, 1].
        baseline: bool[examples], the answer without any rule is right.

    Returns:
        One `RuleCheck` per rule, in order; an empty list without rules.

    Raises:
        ValueError: The tables are not booleans of one shape with at least one example, or a
            threshold is outside [0, 1].

    Example:
        >>> [check] = verify_rules([[1, 1, 0, 0]], [[1, 0, 1, 1]], 0.05, 0.6)
        >>> check.coverage, check.support, check.kept
        (0.5, 0.5, False)
    """
    minima = as_share("min_coverage", min_coverage), as_share("min_support", min_support)
    fires, right = as_flag_rows("fired", fired), as_flag_rows("correct", correct)
    if fires.shape != right.shape or (len(fires) and not fires.size):
        raise InputError(
            f"fired is {fires.shape} and correct {right.shape}: "
            "pass rules x examples, one shape for both, with at least one example."
        )
    without = None if baseline is None else as_flags("baseline", baseline)
    if without is not None and len(fires) and len(without) != fires.shape[1]:
        raise InputError(
            f"baseline has {len(without)} examples, fired {fires.shape[1]}: pass the same ones."
        )
    return [_check_rule(f, r, without, *minima) for f, r in zip(fires, right, strict=True)]


def _check_rule(
    fires: Flags, right: Flags, without: Flags | None, min_coverage: float, min_support: float
) -> RuleCheck:
    fired, correct = int(fires.sum()), int((fires & right).sum())
    coverage, support = fired / len(fires), correct / fired if fired else 0.0
    gain = None if without is None or not fired else support - float(without[fires].mean())
    return RuleCheck(
        coverage=coverage,
        support=support,
        kept=coverage >= min_coverage and support >= min_support,
        fired=fired,
        correct=correct,
        examples=len(fires),
        support_interval=wilson_interval(correct, fired),
        gain=gain,
    )
