"""Optimizers that compile programs for a backbone."""

from .rules import RuleCheck, verify_rules

__all__ = ["RuleCheck", "verify_rules"]
