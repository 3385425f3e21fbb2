"""Optimizers that compile programs for a backbone."""

from .bootstrap import Bootstrap
from .compile import OPTIMIZERS, CompileResult, compile_program
from .examples import METRICS, Metric
from .rules import RuleCheck, verify_rules
from .runs import Optimizer, Run, Score
from .searches import Gepa, Mipro

__all__ = [
    "METRICS",
    "OPTIMIZERS",
    "Bootstrap",
    "CompileResult",
    "Gepa",
    "Metric",
    "Mipro",
    "Optimizer",
    "RuleCheck",
    "Run",
    "Score",
    "compile_program",
    "verify_rules",
]
