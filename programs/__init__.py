"""DSPy programs: the baselines `direct`, `icl` and `vote`, and MACR."""

from .assessment import Gate
from .base import Program
from .direct import Direct
from .icl import InContext
from .macr import MACR
from .macr_paper import PaperMACR
from .rules import Rule, RuleBase, starter_rules
from .vote import Vote

PROGRAMS: dict[str, type[Program]] = {p.name: p for p in (Direct, InContext, MACR, PaperMACR, Vote)}
"""Programs by the name that the command line takes."""

__all__ = [
    "MACR",
    "PROGRAMS",
    "Direct",
    "Gate",
    "InContext",
    "PaperMACR",
    "Program",
    "Rule",
    "RuleBase",
    "Vote",
    "starter_rules",
]
