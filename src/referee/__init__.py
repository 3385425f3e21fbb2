"""Settle conflicts between sources before a language model answers.

    >>> import referee
    >>> verdict = referee.resolve(
    ...     "How many moons does Mars have?",
    ...     ["Mars has two moons.", "Mars has three moons.", "The two moons of Mars are small."],
    ... )
    >>> verdict.answer
    'two'

Names are imported on first use: dspy and the encoder take seconds, ``referee --help`` must not.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# Without it dspy and litellm fetch a price list over the network before the first request.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

if TYPE_CHECKING:
    from referee.api import aresolve, awrite, resolve, write
    from referee.artifact import load
    from referee.errors import (
        ArtifactError,
        ArtifactWarning,
        BackboneError,
        BudgetExceeded,
        InputError,
        ParseError,
        RefereeError,
        WeightsError,
    )
    from referee.evaluation import Evaluation, evaluate
    from referee.optimizers import InduceRules, TuneThresholds, compile_program
    from referee.programs import (
        MACR,
        ArbGraph,
        ArbSettings,
        Direct,
        Gate,
        InContext,
        PaperMACR,
        Program,
        RuleBase,
        StandardRAG,
        Vote,
    )
    from referee.runtime import Budget, Document, Report, Verdict, connect

__version__ = "0.1.0"

_HOMES = {
    "referee.api": ("aresolve", "awrite", "resolve", "write"),
    "referee.artifact": ("load",),
    "referee.errors": (
        "ArtifactError",
        "ArtifactWarning",
        "BackboneError",
        "BudgetExceeded",
        "InputError",
        "ParseError",
        "RefereeError",
        "WeightsError",
    ),
    "referee.evaluation": ("Evaluation", "evaluate"),
    "referee.optimizers": ("InduceRules", "TuneThresholds", "compile_program"),
    "referee.programs": (
        "MACR",
        "ArbGraph",
        "ArbSettings",
        "Direct",
        "Gate",
        "InContext",
        "PaperMACR",
        "Program",
        "RuleBase",
        "StandardRAG",
        "Vote",
    ),
    "referee.runtime": ("Budget", "Document", "Report", "Verdict", "connect"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_FOLDERS = frozenset({"programs", "signatures", "optimizers", "metrics", "data", "runtime"})

__all__ = [
    "MACR",
    "ArbGraph",
    "ArbSettings",
    "ArtifactError",
    "ArtifactWarning",
    "BackboneError",
    "Budget",
    "BudgetExceeded",
    "Direct",
    "Document",
    "Evaluation",
    "Gate",
    "InContext",
    "InduceRules",
    "InputError",
    "PaperMACR",
    "ParseError",
    "Program",
    "RefereeError",
    "Report",
    "RuleBase",
    "StandardRAG",
    "TuneThresholds",
    "Verdict",
    "Vote",
    "WeightsError",
    "aresolve",
    "awrite",
    "compile_program",
    "connect",
    "evaluate",
    "load",
    "resolve",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return importlib.import_module(f"referee.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'referee' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_FOLDERS})
