"""Optimizers that compile programs for a backbone."""

from .induce import InduceRules, Induction
from .rule_matrix import RuleMatrix
from .rules import RuleCheck, verify_rules
from .tune import TuneThresholds, Tuning

__all__ = [
    "InduceRules",
    "Induction",
    "RuleCheck",
    "RuleMatrix",
    "TuneThresholds",
    "Tuning",
    "verify_rules",
]
