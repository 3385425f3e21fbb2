"""An evaluation for people and for programs: table, markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TypeAlias

from referee.errors import InputError
from referee.evaluation import Evaluation
from referee.printable import printable
from referee.tables import Comparison, Measure, Summary, plain

SHOWN = ("em", "containment", "fact_recall")  # in the table; CSV and JSON hold all measures
Cells: TypeAlias = Sequence[str]
Table: TypeAlias = Callable[[Cells, Sequence[Cells]], str]


def printed(evaluation: Evaluation, form: str) -> str:
    """The result as text.

    Args:
        evaluation: What to print.
        form: ``table``, ``markdown``, ``csv`` (one line a program, conflict type and measure) or
            ``json`` (everything but the rows).

    Raises:
        InputError: There is no such form.
    """
    if form == "json":
        return json.dumps(as_dict(evaluation), ensure_ascii=False, indent=2)
    if form == "csv":
        return _csv(evaluation)
    if form == "markdown":
        return _laid_out(evaluation, as_markdown)
    if form == "table":
        return _laid_out(evaluation, as_columns)
    raise InputError(f"There is no format {form!r}: choose table, markdown, csv or json.")


def as_dict(evaluation: Evaluation) -> dict[str, object]:
    """Everything but the rows, JSON-ready."""
    return {
        "evaluation": "referee.evaluation/1",
        "settings": dict(evaluation.settings),
        "programs": [plain(s) for s in evaluation.summaries],
        "by_conflict_type": [plain(s) for s in evaluation.by_conflict_type],
        "comparisons": [asdict(c) for c in evaluation.comparisons],
    }


def _laid_out(evaluation: Evaluation, table: Table) -> str:
    measures = _measures(evaluation.summaries)
    parts = [
        f"{evaluation.data}, {evaluation.lm}, external knowledge: {evaluation.external}",
        table(_header(measures), [_line(s, measures) for s in evaluation.summaries]),
    ]
    if evaluation.by_conflict_type:
        head = ("conflict type", *_header(measures))
        lines = [(s.conflict_type, *_line(s, measures)) for s in evaluation.by_conflict_type]
        parts.append(table(head, lines))
    compared = [_compared(c) for c in evaluation.comparisons if c.measure in measures]
    if compared:
        parts.append(table(("a - b", "measure", "difference", "p", "n", "a better"), compared))
    parts.append(_legend(evaluation))
    return printable("\n\n".join(parts))


def _header(measures: Sequence[str]) -> Cells:
    counts = ("rows", "coverage", "abstained", "failed", "unasked")
    scores = [cell for m in measures for cell in (m, "at least")]
    return ("program", *counts, *scores, "tied", "requests", "tokens", "cost", "s/row")


def _line(s: Summary, measures: Sequence[str]) -> Cells:
    coverage = "-" if s.coverage is None else f"{s.coverage:.3f}"
    counts = (str(s.rows), coverage, str(s.abstained), str(s.failed), str(s.unasked))
    scores = [cell for m in measures for cell in _score(s.measures.get(m))]
    tied = s.measures.get("tied")
    usage = s.usage
    return (
        s.program,
        *counts,
        *scores,
        "-" if tied is None else str(round(tied.mean * tied.n)),
        f"{usage.requests:,}" + (f"+{usage.cached:,}" if usage.cached else ""),
        "-" if usage.tokens is None else f"{usage.tokens:,}",
        "-" if usage.cost is None else f"${usage.cost:.4f}",
        "-" if s.seconds is None else f"{s.seconds:.2f}",
    )


def _score(measure: Measure | None) -> Cells:
    if measure is None:
        return ("-", "-")
    interval = f"[{measure.low:.2f}, {measure.high:.2f}]"
    return (f"{measure.mean:.3f} {interval} n={measure.n}", f"{measure.lower_bound:.3f}")


def _compared(c: Comparison) -> Cells:
    interval = f"{c.difference:+.3f} [{c.low:+.2f}, {c.high:+.2f}]"
    better = f"{c.better} of {c.differ} that differ"
    return (f"{c.a} - {c.b}", c.measure, interval, f"{c.p_value:.3f}", str(c.n), better)


def _legend(evaluation: Evaluation) -> str:
    failed = any(s.failed for s in evaluation.summaries)
    unasked = any(s.unasked for s in evaluation.summaries)
    return " ".join(
        [
            "Coverage: share answered. Scores: rows that ended ok or abstained (an abstention",
            "counts 0), 95 % interval; at least: failed rows count 0 too. Requests: sent+cached.",
            *(["Failed rows are asked again by the same command."] * failed),
            *(["The budget ended the run before all rows were asked."] * unasked),
        ]
    )


def _measures(summaries: Sequence[Summary]) -> list[str]:
    return [m for m in SHOWN if any(m in s.measures for s in summaries)]


def as_markdown(head: Cells, lines: Sequence[Cells]) -> str:
    """A table in Markdown."""
    rule = ["---"] * len(head)
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
        for cells in (head, rule, *lines)
    )


def as_columns(head: Cells, lines: Sequence[Cells]) -> str:
    """A table in columns of equal width."""
    widths = [max(len(row[i]) for row in (head, *lines)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *lines)
    )


def _csv(evaluation: Evaluation) -> str:
    text = io.StringIO()
    names = ("program", "conflict_type", "external", "measure", "mean", "low", "high", "n")
    counts = ("lower_bound", "rows", "answered", "abstained", "failed", "unasked", "coverage")
    cost = ("requests", "cached", "tokens", "cost", "seconds")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*names, *counts, *cost))
    for s in (*evaluation.summaries, *evaluation.by_conflict_type):
        shared = (s.rows, s.answered, s.abstained, s.failed, s.unasked, s.coverage)
        spent = (s.usage.requests, s.usage.cached, s.usage.tokens, s.usage.cost, s.seconds)
        for name, m in s.measures.items():
            place = (s.program, s.conflict_type, evaluation.external, name)
            row = (*place, m.mean, m.low, m.high, m.n, m.lower_bound, *shared, *spent)
            writer.writerow(["" if cell is None else cell for cell in row])
    return text.getvalue().rstrip("\n")
