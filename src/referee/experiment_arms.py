"""From the arms of an experiment to programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import dspy

from referee.components import PROBES
from referee.experiments import Arm, Experiment, Sweep
from referee.programs import ArbGraph, Program
from referee.programs.named import class_of, named
from referee.programs.settings import DEFAULT
from referee.programs.thresholds import Thresholds

_ASKING = "model"  # of a component: the model decides every case, code none


def arms_of(experiment: Experiment) -> list[Arm]:
    """All arms, those of sweeps worked out for the encoder in use."""
    if not experiment.sweeps:
        return list(experiment.arms)
    cosines = ArbGraph().thresholds()
    own = {s.axis: _default(s, cosines) for s in experiment.sweeps}
    standard = [replace(arm, values=own) for arm in experiment.arms]
    return [*standard, *(arm for s in experiment.sweeps for arm in _swept(s, cosines))]


def built(arm: Arm, lms: Mapping[str, dspy.BaseLM]) -> Program:
    """The program of an arm, with the language models of the roles that it has.

    Raises:
        InputError: A setting is out of range.
    """
    base, _, variant = arm.program.partition(":")
    roles = PROBES[base].roles if base in PROBES else class_of(arm.program).roles
    parts: dict[str, Any] = {"lms": {role: lm for role, lm in lms.items() if role in roles}}
    if arm.settings:
        parts["settings"] = _settings(arm.settings)
    if base in PROBES:
        return PROBES[base](ask_model=True if variant == _ASKING else None, **parts)
    return named(arm.program, **parts)


def _settings(changes: Mapping[str, Any]) -> Any:
    cosines = {name: value for name, value in changes.items() if name in Thresholds._fields}
    others = {name: value for name, value in changes.items() if name not in cosines}
    if cosines:
        others["thresholds"] = ArbGraph().thresholds()._replace(**cosines)
    return replace(DEFAULT, **others)


def _default(sweep: Sweep, cosines: Thresholds) -> float:
    where = cosines if sweep.setting in Thresholds._fields else DEFAULT
    return float(getattr(where, sweep.setting))


def _swept(sweep: Sweep, cosines: Thresholds) -> Iterator[Arm]:
    """Arms for all values but the default, for which the unchanged program stands."""
    own = _default(sweep, cosines)
    for value in sweep.values or [round(own + step, 4) for step in sweep.offsets]:
        if value != own:
            shown = f"{value:.2f}" if sweep.offsets else str(value)
            changed = {sweep.setting: value}
            yield Arm("arbgraph", f"{sweep.axis}_{shown}", changed, {sweep.axis: float(value)})
