"""The settings of ArbGraph: thresholds, bounds and policies, saved with the program (§4.1.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, get_args

from dspy.predict.parameter import Parameter

from ..errors import ArtifactError, InputError
from .arbitration_rounds import PAPER_ROUNDS, Policy, Schedule
from .thresholds import THRESHOLDS, Thresholds

_SHARES = ("confidence", "accept", "gate")
_COUNTS = ("pairs_per_round", "batch", "max_pairs", "rounds")
_FLAGS = ("per_node", "focused", "mismatched", "within_document", "homonyms", "certain")
TUNED = ("confidence", "accept", "step_size", "pairs_per_round", "rounds", "gate", "supports")
"""What may be tuned besides the cosines: an artifact keeps these with the thresholds."""
_CHOICES = {"policy": get_args(Policy), "schedule": get_args(Schedule)}


@dataclass(frozen=True)
class ArbSettings:
    """Everything that may be tuned; the cosine thresholds belong to an encoder.

    Attributes:
        thresholds: tau_q, tau_sim and the merging threshold; None: those calibrated for the
            encoder in use (`thresholds.thresholds_for`).
        confidence: tau_conf in [0, 1]: a less sure relation makes no edge. *Paper*: 0.5.
        supports: M, support edges kept. *Paper*: 60. Contradictions are all kept.
        per_node: Whether M holds at each claim (section 3.3.3) instead of for the graph (4.1.4).
        max_pairs: Candidate pairs verified at most, most similar first; what was cut is reported
            (ours, in both presets: the paper bounds them by tau_sim alone).
        batch: Pairs in one request of the verifier (ours, in both presets).
        accept: tau_accept in [0, 1]. *Paper*: 0.3.
        step_size: eta > 0. *Paper*: 0.8.
        pairs_per_round: k of ArbGraph, contradictions asked about in a round. *Paper*: 3.
        rounds: T; None: as the policy says.
        gate: Smallest confidence of the arbiter that counts, in [0, 1].
        prior: p at the start, in (0, 1).
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
            self._check(name, "a number from 0 to 1", lambda v: _number(v) and 0 <= v <= 1)
        for name in _COUNTS:
            if name != "rounds" or self.rounds is not None:
                self._check(name, "a whole number of at least 1", lambda v: _whole(v) and v >= 1)
        for name in _FLAGS:
            self._check(name, "True or False", lambda v: isinstance(v, bool))
        for name, known in _CHOICES.items():
            self._check(name, f"one of {', '.join(known)}", known.__contains__)
        self._check("supports", "a whole number, 0 or more", lambda v: _whole(v) and v >= 0)
        self._check("step_size", "a number above 0", lambda v: _number(v) and 0 < v < math.inf)
        self._check("prior", "a number between 0 and 1", lambda v: _number(v) and 0 < v < 1)
        self._check("thresholds", "Thresholds with cosines from -1 to 1", _are_cosines)

    def _check(self, name: str, wanted: str, right: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        if not right(value):
            raise InputError(f"{name} is {value!r}: give {wanted}.")


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_cosines(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Thresholds) and all(_number(v) and -1 <= v <= 1 for v in value)


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


def saved(settings: ArbSettings) -> dict[str, Any]:
    """What is neither tuned nor a cosine, as JSON-ready data."""
    apart = {"thresholds", *TUNED}
    return {name: value for name, value in asdict(settings).items() if name not in apart}


def from_saved(given: Mapping[str, Any], encoder: str) -> dict[str, Any]:
    """Saved arguments of `ArbGraph`, the tuned ones among them, with their settings as an object.

    Args:
        given: `saved` settings under ``settings``; cosines and tuned values beside them.
        encoder: Whose cosines they are: those calibrated for it stay the calibrated ones.

    Raises:
        KeyError: A value is missing.
        TypeError: An unknown value is given.
        InputError: A value is out of range.
    """
    rest = dict(given)
    cosines = Thresholds(*(rest.pop(name) for name in Thresholds._fields))
    tuned = {name: rest.pop(name) for name in TUNED}
    own = None if cosines == THRESHOLDS.get(encoder) else cosines
    settings = ArbSettings(thresholds=own, **rest.pop("settings"), **tuned)
    return {**rest, "settings": settings}


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
        thresholds = self.value.thresholds
        return {**asdict(self.value), "thresholds": thresholds and thresholds._asdict()}

    def load_state(self, state: dict[str, Any]) -> SettingsParameter:
        """Take saved settings.

        Raises:
            ArtifactError: They are no settings, or those of a program with another prompt.
        """
        try:
            given = state.get("thresholds")
            loaded = ArbSettings(**{**state, "thresholds": given and Thresholds(**given)})
        except (TypeError, InputError) as error:
            raise ArtifactError(
                f"The saved settings cannot be used ({error}): save them again."
            ) from None
        if loaded.focused != self.value.focused:
            raise ArtifactError(
                f"The saved program was built with focused={loaded.focused}, which chooses its "
                "prompt: build it with the same preset or settings before loading."
            )
        self.value = loaded
        return self
