"""What may be tuned: a program offers its thresholds as `Tunable`, a tuner needs no other name.

name              symbol    of        what
gate_threshold    tau       MACR      normalised uncertainty below which memory is trusted
samples           k         MACR      answers sampled for the gate, the first of one larger draw
min_coverage      d_cov     rules     share of the examples in which a rule must fire
min_support       d_sup     rules     share of those that it must get right
query             tau_q     ArbGraph  cosine with the question below which a claim is left out
similarity        tau_sim   ArbGraph  cosine from which a pair of claims is verified
confidence        tau_conf  ArbGraph  confidence from which a relation makes an edge
accept            tau_acc   ArbGraph  credibility from which a claim is used
step_size         eta       ArbGraph  what one decision moves a credibility, on the logit
pairs_per_round   k         ArbGraph  contradictions asked about in a round (the budget)
supports          M         ArbGraph  support edges kept
rounds            T         ArbGraph  rounds of arbitration
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError

Values = Mapping[str, float]
DIGITS = 10  # 0.1 + 2 * 0.1 is shown, and kept, as 0.3
_ROUNDING = 1e-9  # of a step


@dataclass(frozen=True)
class Tunable:
    """One number that may be tuned.

    Attributes:
        symbol: What the paper calls it.
        value: In force now.
        low: Smallest value worth trying.
        high: None is larger; the largest one lies a whole number of steps above ``low``.
        step: Values lie this far apart, from ``low`` on; a whole step means whole numbers.
    """

    symbol: str
    value: float
    low: float
    high: float
    step: float = 0.01

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return float(self.step).is_integer()

    @property
    def nearest(self) -> float:
        """The value in force, moved to the nearest one of the search."""
        steps = round((min(max(self.value, self.low), self.last) - self.low) / self.step)
        return self._at(steps)

    @property
    def last(self) -> float:
        """The largest value of the search."""
        return self._at(math.floor((self.high - self.low) / self.step + _ROUNDING))

    def _at(self, steps: int) -> float:
        value = self.low + steps * self.step
        return int(value) if self.whole else round(value, DIGITS)


def chosen(tunables: Mapping[str, Tunable], values: Values, name: str) -> dict[str, float]:
    """Values, each of them known; whole ones as whole numbers.

    Args:
        tunables: What the program offers.
        values: By name.
        name: Of the program, for the message.

    Raises:
        InputError: A value is for nothing that the program offers.
    """
    for given in values:
        if given not in tunables:
            known = ", ".join(tunables) or "nothing"
            raise InputError(f"{name} has no parameter {given!r} to tune: it offers {known}.")
    return {n: int(v) if tunables[n].whole else v for n, v in values.items()}
