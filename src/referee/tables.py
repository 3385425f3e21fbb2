"""From scored rows to a table: means, intervals, lower bounds, paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from referee.data import Row
from referee.metrics import bootstrap_interval, paired_bootstrap
from referee.runtime import Usage
from referee.scoring import Scores

DIAGNOSTIC = frozenset({"tied", "context_right"})  # say why, not how good: never compared
FINISHED = ("ok", "abstained")


@dataclass(frozen=True)
class Scored:
    """One row of one program.

    Attributes:
        id: Of the row.
        status: How it ended.
        conflict_type: Of the row, or empty.
        scores: Empty for a row that failed.
        usage: What it cost.
        seconds: How long it took.
    """

    id: str
    status: str
    conflict_type: str
    scores: Scores
    usage: Usage
    seconds: float


@dataclass(frozen=True)
class Measure:
    """One measure of one program.

    Attributes:
        mean: Over the rows that ended ``ok`` or ``abstained``; an abstention counts 0.
        low, high: 95 % bootstrap interval of the mean.
        n: Rows that were measured.
        lower_bound: The mean with every failed row as 0.
    """

    mean: float
    low: float
    high: float
    n: int
    lower_bound: float


@dataclass(frozen=True)
class Summary:
    """What one program did on all rows, or on those of one conflict type.

    Attributes:
        program: Its name in the table.
        conflict_type: Empty for all rows.
        rows: Rows that were asked.
        answered, abstained, failed: How they ended; they add up to ``rows``.
        unasked: Rows that were not asked, because the budget was spent before.
        coverage: Share of ``rows`` that were answered.
        statuses: Rows by status.
        measures: By name; one that nothing could be measured of is left out.
        usage: What it cost, earlier runs of the folder included.
        seconds: Median time of a row.
    """

    program: str
    conflict_type: str
    rows: int
    answered: int
    abstained: int
    failed: int
    unasked: int
    coverage: float | None
    statuses: Mapping[str, int]
    measures: Mapping[str, Measure]
    usage: Usage
    seconds: float | None


@dataclass(frozen=True)
class Comparison:
    """Program a minus program b, on the rows that both finished.

    Attributes:
        a, b: Names of the programs.
        measure: What is compared.
        difference: Mean difference.
        low, high: Its 95 % bootstrap interval.
        p_value: Two-sided.
        n: Rows that both finished.
        differ: Rows among them that score differently.
        better: Rows among those where a scores higher.
    """

    a: str
    b: str
    measure: str
    difference: float
    low: float
    high: float
    p_value: float
    n: int
    differ: int
    better: int


def summarize(
    program: str, scored: Sequence[Scored], rows: int, conflict_type: str = ""
) -> Summary:
    """Counts and measures of one program's rows, of ``rows`` that were to be asked."""
    statuses = {s: sum(r.status == s for r in scored) for s in sorted({r.status for r in scored})}
    answered, abstained = statuses.get("ok", 0), statuses.get("abstained", 0)
    failed = len(scored) - answered - abstained
    seconds = sorted(r.seconds for r in scored)
    return Summary(
        program=program,
        conflict_type=conflict_type,
        rows=len(scored),
        answered=answered,
        abstained=abstained,
        failed=failed,
        unasked=rows - len(scored),
        coverage=answered / len(scored) if scored else None,
        statuses=statuses,
        measures=_measures(scored, failed),
        usage=_total([r.usage for r in scored]),
        seconds=seconds[len(seconds) // 2] if seconds else None,
    )


def by_conflict_type(scored: Mapping[str, Sequence[Scored]], rows: Sequence[Row]) -> list[Summary]:
    """A summary for each program and conflict type, where the data name types."""
    kinds = sorted({row.conflict_type for row in rows if row.conflict_type})
    return [
        summarize(
            program,
            [r for r in found if r.conflict_type == kind],
            sum(row.conflict_type == kind for row in rows),
            kind,
        )
        for kind in kinds
        for program, found in scored.items()
    ]


def compare(scored: Mapping[str, Sequence[Scored]]) -> list[Comparison]:
    """Paired differences between all programs, for each measure that both have."""
    found = []
    for a, b in combinations(scored, 2):
        first, second = _finished(scored[a]), _finished(scored[b])
        both = [(first[i], second[i]) for i in first if i in second]
        for measure in _names([s for pair in both for s in pair]):
            if measure not in DIAGNOSTIC:
                found += _comparison(a, b, measure, both)
    return found


def plain(summary: Summary) -> dict[str, Any]:
    """A summary as JSON-ready data."""
    return {**asdict(summary), "usage": summary.usage.model_dump()}


def _measures(scored: Sequence[Scored], failed: int) -> dict[str, Measure]:
    measures = {}
    for name in _names([r.scores for r in scored]):
        values = [v for r in scored if (v := r.scores.get(name)) is not None]
        low, high = bootstrap_interval(values)
        total = sum(values)
        measures[name] = Measure(
            total / len(values), low, high, len(values), total / (len(values) + failed)
        )
    return measures


def _comparison(
    a: str, b: str, measure: str, both: Sequence[tuple[Scores, Scores]]
) -> list[Comparison]:
    pairs = [
        (x, y)
        for one, other in both
        if (x := one.get(measure)) is not None and (y := other.get(measure)) is not None
    ]
    if not pairs:
        return []
    result = paired_bootstrap([x for x, _ in pairs], [y for _, y in pairs])
    return [
        Comparison(
            a,
            b,
            measure,
            *result,
            n=len(pairs),
            differ=sum(x != y for x, y in pairs),
            better=sum(x > y for x, y in pairs),
        )
    ]


def _finished(rows: Sequence[Scored]) -> dict[str, Scores]:
    return {r.id: r.scores for r in rows if r.status in FINISHED}


def _names(scores: Sequence[Scores]) -> list[str]:
    """Measures that some row has, in the order of the scorer."""
    return list(dict.fromkeys(n for s in scores for n, value in s.items() if value is not None))


def _total(usages: Sequence[Usage]) -> Usage:
    """The sum; None where a part is not known."""
    known = [u for u in usages if u.requests]
    return Usage(
        requests=sum(u.requests for u in usages),
        cached=sum(u.cached for u in usages),
        tokens=None if any(u.tokens is None for u in known) else sum(u.tokens or 0 for u in known),
        cost=None if any(u.cost is None for u in known) else sum(u.cost or 0.0 for u in known),
        repaired=sum(u.repaired for u in usages),
    )
