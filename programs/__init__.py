"""DSPy programs: the baselines `direct`, `icl` and `vote`."""

from .base import Program
from .direct import Direct
from .icl import InContext
from .vote import Vote

PROGRAMS: dict[str, type[Program]] = {p.name: p for p in (Direct, InContext, Vote)}
"""Programs by the name that the command line takes."""

__all__ = ["PROGRAMS", "Direct", "InContext", "Program", "Vote"]
