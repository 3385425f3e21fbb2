"""The settings of ArbGraph: thresholds, bounds and policies, saved with the program (§4.1.4)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from dspy.predict.parameter import Parameter

from ..errors import ArtifactError, InputError
from .arbitration_rounds import PAPER_ROUNDS, Policy, Schedule
from .thresholds import Thresholds

_SHARES = ("confidence", "accept", "gate", "prior")
_COUNTS = ("pairs_per_round", "batch", "max_pairs")


@dataclass(frozen=True)
class ArbSettings:
    """Everything that may be tuned; the cosine thresholds belong to an encoder.

    Attributes:
        thresholds: tau_q, tau_sim and the merging threshold; None: those calibrated for the
            encoder in use (`thresholds.thresholds_for`).
        confidence: tau_conf in [0, 1]: a less sure relation makes no edge. *Paper*: 0.5.
        supports: M, support edges kept. *Paper*: 60. Contradictions are all kept.
        per_node: Whether M holds at each claim (section 3.3.3) instead of for the graph (4.1.4).
        max_pairs: Candidate pairs verified at most, most similar first; what was cut is reported.
        batch: Pairs in one request of the verifier.
        accept: tau_accept in [0, 1]. *Paper*: 0.3.
        step_size: eta > 0. *Paper*: 0.8.
        pairs_per_round: k of ArbGraph, contradictions asked about in a round. *Paper*: 3.
        rounds: T; None: as the policy says.
        gate: Smallest confidence of the arbiter that counts, in [0, 1].
        prior: p at the start.
        policy: ``settle`` or ``paper`` (see `arbitrate`).
        schedule: ``intensity``, ``hard-first`` or ``easy-first`` (section 4.4.6).
        focused: Whether only claims that bear on the question are extracted. *Paper*: no.
        mismatched: Whether pairs that share a subject and differ in a value are candidates however
            far apart they are. *Paper*: no.
        within_document: Whether two claims of one document may be related. *Paper*: yes; ours: no,
            a document does not corroborate itself.
        homonyms: Whether documents are left out that spell the question's abbreviation out in
            another way and never name what was asked. *Paper*: no, tau_q alone.
        certain: Whether relations that code is sure of are not asked. *Paper*: no.
    """

    thresholds: Thresholds | None = None
    confidence: float = 0.5
    supports: int = 60
    per_node: bool = False
    max_pairs: int = 600
    batch: int = 8
    accept: float = 0.3
    step_size: float = 0.8
    pairs_per_round: int = 3
    rounds: int | None = None
    gate: float = 0.5
    prior: float = 0.5
    policy: Policy = "settle"
    schedule: Schedule = "intensity"
    focused: bool = True
    mismatched: bool = True
    within_document: bool = False
    homonyms: bool = True
    certain: bool = True

    def __post_init__(self) -> None:
        for name in _SHARES:
            value = getattr(self, name)
            if isinstance(value, bool) or not 0 <= value <= 1:
                raise InputError(f"{name} is {value!r}: give a number from 0 to 1.")
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} is {value!r}: give a whole number of at least 1.")
        if isinstance(self.supports, bool) or self.supports < 0:
            raise InputError(f"supports is {self.supports!r}: give a whole number, 0 or more.")


DEFAULT = ArbSettings()
PAPER = ArbSettings(
    policy="paper",
    rounds=PAPER_ROUNDS,
    focused=False,
    mismatched=False,
    within_document=True,
    homonyms=False,
    certain=False,
)
PRESETS = {"default": DEFAULT, "paper": PAPER}


class SettingsParameter(Parameter):  # type: ignore[misc,unused-ignore]
    """The settings as a part of the program's state: saved with it, kept by optimizers.

    Attributes:
        value: The settings in force.
    """

    def __init__(self, value: ArbSettings) -> None:
        self.value = value

    def reset(self) -> None:
        """Copies that optimizers reset keep the settings."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The settings as JSON-ready data."""
        return asdict(self.value)

    def load_state(self, state: dict[str, Any]) -> SettingsParameter:
        """Take saved settings.

        Raises:
            ArtifactError: They are no settings.
        """
        try:
            known = {f.name for f in fields(ArbSettings)}
            unknown = sorted(set(state) - known)
            if unknown:
                raise InputError(f"{', '.join(unknown)} is no setting")
            saved = dict(state)
            thresholds = saved.pop("thresholds", None)
            self.value = ArbSettings(
                thresholds=Thresholds(**thresholds) if thresholds else None, **saved
            )
        except (TypeError, InputError) as error:
            raise ArtifactError(
                f"The saved settings cannot be used ({error}): save them again."
            ) from None
        return self
