"""What the programs with a knowledge assessment (MACR §3.3-3.4) have in common."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

from .assessment import Assessment, with_gate
from .base import Case, Program
from .feedback import Queue
from .reasoner import as_queue_line
from .tunables import Tunable, Values, chosen


class AssessedProgram(Program):
    """A program whose gate decides whether memory is trusted.

    Attributes:
        assessment: The gate, its predictors and the source of outside knowledge.
        queue: Where conflicts go that no rule covers (§3.5.2 (4)), or None.
    """

    assessment: Assessment
    queue: Queue | None

    @property
    def retriever(self) -> Any:
        """The source of outside knowledge, or None."""
        return self.assessment.retriever

    @property
    def encoder_name(self) -> str:
        """See `Program.encoder_name`."""
        return self.assessment.encoder_name

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {**super().dump_settings(), "subject": self.assessment.subject}

    def dump_thresholds(self) -> dict[str, Any]:
        """The gate: its threshold with the equation, k, relevance and weights it belongs to."""
        return {"gate": asdict(self.assessment.gate)}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], **parts: Any) -> Self:
        """See `Program.from_settings`."""
        return cls(**with_gate(settings), **parts)

    def tunables(self) -> dict[str, Tunable]:
        """The gate: tau, and its k."""
        return self.assessment.tunables()

    def with_values(self, values: Values) -> Self:
        """See `Program.with_values`."""
        other = copy.copy(self)
        other.assessment = self.assessment.with_values(chosen(self.tunables(), values, self.name))
        return other

    def _remember(self, case: Case, sides: Any, pairs: Any, judgments: Any) -> None:
        """Queue what no rule settled; a queue that cannot be written is a note."""
        if self.queue is None:
            return
        for pair, judgment in zip(pairs, judgments, strict=True):
            if judgment.how in ("fallback", "undecided"):
                trouble = self.queue.add(as_queue_line(case, sides, pair, judgment))
                if trouble:
                    case.meter.note(trouble)
