"""Optimizers that compile programs for a backbone."""

from .bootstrap import Bootstrap
from .compile import OPTIMIZERS, CompileResult, compile_program
from .induce import InduceRules, Induction
from .rationales import Rationales
from .rule_matrix import RuleMatrix
from .rules import RuleCheck, verify_rules
from .runs import Optimizer, Run, Score
from .scoring import METRICS, Metric
from .searches import Gepa, Mipro
from .tune import TuneThresholds
from .tuning import Tuning

__all__ = [
    "METRICS",
    "OPTIMIZERS",
    "Bootstrap",
    "CompileResult",
    "Gepa",
    "InduceRules",
    "Induction",
    "Metric",
    "Mipro",
    "Optimizer",
    "Rationales",
    "RuleCheck",
    "RuleMatrix",
    "Run",
    "Score",
    "TuneThresholds",
    "Tuning",
    "compile_program",
    "verify_rules",
]
