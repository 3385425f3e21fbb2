"""How a bounded number of requests is shared among the stages of ArbGraph."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.meter import Meter
from .claims import Chunk

_EXTRACTION, _RELATIONS = 0.6, 0.7  # ours: of what is left at that stage, the answer's one aside


class Allowance:
    """Keeps one request for the answer: a budget that is spent on reading alone answers nothing.

    Args:
        meter: Whose budget it is; without a bound on requests nothing is held back.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def chunks(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The chunks that may be read: the first ones of each document, in turn."""
        most = self.reading()
        if most is None or len(chunks) <= most:
            return list(chunks)
        self.meter.spent(f"{len(chunks) - most} of {len(chunks)} chunks were not read: the budget.")
        seen: dict[str, int] = {}
        turns = []
        for n, part in enumerate(chunks):
            turns.append((seen.get(part.document.id, 0), n))
            seen[part.document.id] = turns[-1][0] + 1
        return [chunks[n] for n in sorted(n for _, n in sorted(turns)[:most])]

    def reading(self) -> int | None:
        """Requests that reading may take, continued lists included; None when unbounded."""
        return self._share(_EXTRACTION, least=1)

    def relations(self) -> int | None:
        """Requests that the verifier may take; None when unbounded."""
        return self._share(_RELATIONS, least=0)

    def decisions(self) -> int | None:
        """Requests that the arbiter may take; None when unbounded."""
        return self._share(1.0, least=0)

    def _share(self, share: float, least: int) -> int | None:
        left = self.meter.remaining()
        return None if left is None else max(least, int((left - 1) * share))
