"""The result of an experiment as text: tables for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from referee.errors import InputError
from referee.experiment_run import Result
from referee.experiments import MEASURES
from referee.printable import printable
from referee.results import Cells, Table, as_dict, as_markdown
from referee.tables import Comparison, Measure, Summary

_LEGEND = (
    "Means over the rows that ended ok or abstained (an abstention counts 0) with 95 % intervals "
    "(bootstrap; Wilson's for accuracy) and the number of rows. Failed rows are asked again by the "
    "same command."
)


def written(result: Result, folder: Path) -> list[Path]:
    """Write ``table.md``, ``table.csv``, ``table.json``, ``figure.png`` and ``figure.svg``.

    Returns:
        Their paths.

    Raises:
        InputError: The folder cannot be written.
    """
    from referee.figures import draw  # matplotlib takes a second

    texts = {
        "table.md": laid_out(result, as_markdown),
        "table.csv": as_csv(result),
        "table.json": json.dumps(as_data(result), ensure_ascii=False, indent=2),
    }
    try:
        for name, text in texts.items():
            (folder / name).write_text(text + "\n", encoding="utf-8")
        return [*(folder / name for name in texts), *draw(result, folder)]
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}): make room.") from None


def heading(result: Result) -> str:
    """On which rows, with which model: one line."""
    runs = list(result.evaluations.items())
    data = ", ".join(f"{name} (n = {found.settings['rows']})" for name, found in runs)
    first = runs[0][1]
    outside = "" if first.external == "none" else f"; external knowledge: {first.external}"
    return f"{data}; {first.lm}{outside}"


def laid_out(result: Result, table: Table) -> str:
    """All tables: measures, differences, what it took.

    Args:
        result: What to show.
        table: `results.as_markdown` or `results.as_columns`.
    """
    chosen = result.experiment
    parts = [f"# {chosen.paper}\n\n{chosen.what}\n\n{heading(result)}"]
    parts += _measures(result, table)
    compared = [
        (part, *_difference(c))
        for part, found in result.evaluations.items()
        for c in found.comparisons
        if _telling(result, c)
    ]
    if compared:
        head = ("rows", "a - b", "measure", "difference", "p", "n", "a better")
        parts.append(table(head, compared))
    parts.append(table(_SPENT, [_spent(part, s) for part, s in _summaries(result)]))
    parts.append(" ".join([_LEGEND, *result.notes]))
    return printable("\n\n".join(parts))


def as_csv(result: Result) -> str:
    """One line a number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    axes = [sweep.axis for sweep in result.experiment.sweeps]
    numbers = ("mean", "low", "high", "n", "lower_bound")
    head = ("experiment", "data", "arm", "column", "measure", *numbers, "contexts", *axes)
    writer.writerow(head)
    values = {arm.label: arm.values for arm in result.arms}
    for cell in result.cells:
        place = (result.experiment.name, cell.data, cell.arm, cell.column, cell.measure)
        found = (getattr(cell.found, name) for name in numbers)
        where = (values[cell.arm].get(axis, "") for axis in axes)
        contexts = "" if cell.contexts is None else cell.contexts
        writer.writerow((*place, *found, contexts, *where))
    return text.getvalue().rstrip("\n")


def as_data(result: Result) -> dict[str, Any]:
    """Everything but the rows, JSON-ready."""
    return {
        "result": "referee.experiment/1",
        "experiment": result.experiment.name,
        "paper": result.experiment.paper,
        "arms": [{**asdict(a), "name": a.label} for a in result.arms],
        "columns": list(result.columns),
        "cells": [asdict(cell) for cell in result.cells],
        "notes": list(result.notes),
        "parts": {name: as_dict(found) for name, found in result.evaluations.items()},
    }


def _measures(result: Result, table: Table) -> Iterator[str]:
    """A table for each measure; one for all where there is a single column."""
    found = {(c.arm, c.column, c.measure): c.found for c in result.cells}
    measured = [m for m in result.experiment.measures if any(k[2] == m for k in found)]
    arms = [arm.label for arm in result.arms]
    if len(result.columns) == 1:
        head = ("", *(MEASURES[m].title for m in measured))
        yield table(head, [(a, *_row(found, a, result.columns, measured)) for a in arms])
        return
    for m in measured:
        lines = [(a, *_row(found, a, result.columns, [m])) for a in arms]
        yield f"{MEASURES[m].title}\n\n" + table(("", *result.columns), lines)


def _row(
    found: dict[Any, Measure], arm: str, columns: Sequence[str], measures: Sequence[str]
) -> Cells:
    return [_cell(m, found.get((arm, c, m))) for c in columns for m in measures]


def _cell(measure: str, found: Measure | None) -> str:
    if found is None:
        return "-"
    digits = 1 if measure == "information_density" else 3
    interval = f"[{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return f"{found.mean:.{digits}f} {interval} n={found.n}"


def _telling(result: Result, c: Comparison) -> bool:
    """Whether a comparison is with the program that the experiment is about."""
    return not {c.a, c.b}.isdisjoint(result.experiment.main)


def _difference(c: Comparison) -> Cells:
    interval = f"{c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}]"
    better = f"{c.better} of {c.differ} that differ"
    return (f"{c.a} - {c.b}", c.measure, interval, f"{c.p_value:.4f}", str(c.n), better)


def _summaries(result: Result) -> list[tuple[str, Summary]]:
    runs = result.evaluations.items()
    return [(part, summary) for part, found in runs for summary in found.summaries]


_SPENT = (
    "rows of",
    "program",
    "rows",
    "abstained",
    "failed",
    "unasked",
    "requests",
    "tokens",
    "s/row",
)


def _spent(part: str, s: Summary) -> Cells:
    counts = (s.rows, s.abstained, s.failed, s.unasked)
    cached = f"+{s.usage.cached:,} cached" if s.usage.cached else ""
    tokens = "-" if s.usage.tokens is None else f"{s.usage.tokens:,}"
    seconds = "-" if s.seconds is None else f"{s.seconds:.2f}"
    return (part, s.program, *map(str, counts), f"{s.usage.requests:,}{cached}", tokens, seconds)
