"""Backbones, concurrency, budgets, records and retrieval."""

from .backbones import connect
from .cache import ReplyCache, cache_folder, caching
from .fan_out import afan_out, fan_out
from .meter import Budget, Meter, current_meter, metered
from .records import Alternative, Answer, Document, Evidence, Outcome, Report, Usage, Verdict

__all__ = [
    "Alternative",
    "Answer",
    "Budget",
    "Document",
    "Evidence",
    "Meter",
    "Outcome",
    "ReplyCache",
    "Report",
    "Usage",
    "Verdict",
    "afan_out",
    "cache_folder",
    "caching",
    "connect",
    "current_meter",
    "fan_out",
    "metered",
]
