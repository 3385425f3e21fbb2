"""The figure of an experiment: points or lines with their 95 % intervals, as PNG and SVG."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from referee.experiment_run import Cell, Result
from referee.experiments import MEASURES, Sweep
from referee.printable import printable
from referee.tables import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision tell apart, without the yellow that
# is lost on white; markers and dashes repeat at other lengths, so that no two arms look alike.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_DASHES = ("-", "--", "-.", ":")
_SPREAD = 0.7  # of the room between two ticks, for the arms of one column
_ASIDE = 0.05  # of the room between two ticks, from one line to the next: intervals stay apart
_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "svg.hashsalt": "referee",  # the same result gives the same file
    "text.parse_math": False,  # names of models and files may hold a dollar sign
    "font.size": 9,
}


@dataclass(frozen=True)
class Series:
    """Points of one arm: ``x`` and what was measured there."""

    label: str
    x: Sequence[float]
    found: Sequence[Measure]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        y: Label of the vertical axis, with its unit.
        x: Label of the horizontal axis.
        limits: Of the vertical axis; equal in all panels of a measure.
        series: What is drawn.
        ticks: Names of places on the horizontal axis; empty for a scale.
        joined: Whether the points of a series are joined.
        standard: Where the default setting is, on a scale that has one.
    """

    y: str
    x: str
    limits: tuple[float, float]
    series: Sequence[Series]
    ticks: Mapping[float, str] = field(default_factory=dict)
    joined: bool = False
    standard: float | None = None


def draw(result: Result, folder: Path) -> list[Path]:
    """Write ``figure.png`` and ``figure.svg``; returns their paths.

    Raises:
        OSError: The folder cannot be written.
    """
    import matplotlib

    paths = [folder / "figure.png", folder / "figure.svg"]
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is a box in the figure, and right in the table.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure = _figure(panels(result), _title(result))
        for path in paths:
            stamp = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=150, metadata=stamp)
    return paths


def panels(result: Result) -> list[Panel]:
    """What is drawn, without a library that draws: one panel a measure, or measure and axis."""
    measured = {cell.measure for cell in result.cells}
    names = [m for m in result.experiment.measures if m in measured]
    kind = result.experiment.plot
    if kind == "sweep":
        axes = result.experiment.sweeps
        return [_swept(result, name, sweep) for name in names for sweep in axes]
    make = _lines if kind == "lines" else _points
    return [make(result, name) for name in names]


def _limits(result: Result, measure: str) -> tuple[float, float]:
    """From 0 to 1 for a share, from 0 for any other; in a sweep only what is there."""
    found = [cell.found for cell in result.cells if cell.measure == measure]
    low, high = min(m.low for m in found), max(m.high for m in found)
    if result.experiment.plot != "sweep":
        low, high = 0.0, (1.0 if high <= 1 else high)
    room = 0.04 * (high - low) or 0.04
    return low - room, high + room


def _lines(result: Result, measure: str) -> Panel:
    """Over the number of contexts; of several data sets each has lines of its own."""
    cells = [c for c in result.cells if c.measure == measure and c.contexts is not None]
    alone = len({cell.data for cell in cells}) == 1
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(cell.arm if alone else f"{cell.arm}, {cell.data}", []).append(cell)
    series = [
        Series(
            label,
            [float(c.contexts or 0) + _ASIDE * (n - (len(lines) - 1) / 2) for c in some],
            [c.found for c in some],
        )
        for n, (label, some) in enumerate(lines.items())
    ]
    ticks = {float(n): str(n) for n in result.experiment.contexts}
    label = "contexts, exactly one of them right (number)"
    limits = _limits(result, measure)
    return Panel(MEASURES[measure].title, label, limits, series, ticks, joined=True)


def _points(result: Result, measure: str) -> Panel:
    """A column of points for each column of the table; for a single one, the arms side by side."""
    cells = [cell for cell in result.cells if cell.measure == measure]
    title, arms = MEASURES[measure].title, [arm.label for arm in result.arms]
    limits = _limits(result, measure)
    if len(result.columns) == 1:
        found = {cell.arm: cell.found for cell in cells}
        shown = [arm for arm in arms if arm in found]
        one = Series("", [float(i) for i in range(len(shown))], [found[arm] for arm in shown])
        return Panel(title, "", limits, [one], {float(i): arm for i, arm in enumerate(shown)})
    places = {column: float(i) for i, column in enumerate(result.columns)}
    series = []
    for n, arm in enumerate(arms):
        own = [cell for cell in cells if cell.arm == arm]
        aside = _SPREAD * ((n + 0.5) / len(arms) - 0.5)
        series.append(Series(arm, [places[c.column] + aside for c in own], [c.found for c in own]))
    return Panel(title, "", limits, series, {x: column for column, x in places.items()})


def _swept(result: Result, measure: str, sweep: Sweep) -> Panel:
    """Over the values of one setting, a line for each data set."""
    at = {arm.label: arm.values[sweep.axis] for arm in result.arms if sweep.axis in arm.values}
    cells = [c for c in result.cells if c.measure == measure and c.arm in at]
    cells.sort(key=lambda cell: at[cell.arm])
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(cell.data, []).append(cell)
    series = [
        Series(data, [at[c.arm] for c in some], [c.found for c in some])
        for data, some in lines.items()
    ]
    standard = at.get(result.experiment.arms[0].label)
    label, limits = f"{sweep.label}; dotted: default", _limits(result, measure)
    return Panel(MEASURES[measure].title, label, limits, series, joined=True, standard=standard)


def _title(result: Result) -> str:
    from referee.experiment_tables import heading

    told = f"{result.experiment.paper}: {heading(result)}"
    return printable(told).replace("n = ", "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def _figure(shown: Sequence[Panel], title: str) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(4, len(shown)) or 1
    down = -(-len(shown) // across) or 1
    crowd = max((len(p.ticks) * (3 + len(p.series)) for p in shown if not p.joined), default=0)
    width = max(4.2, 0.12 * crowd) * across
    figure = Figure(figsize=(width, 3.6 * down + 1), layout="constrained")
    FigureCanvasAgg(figure)
    lines = textwrap.wrap(title, max(40, int(width * 13)), break_on_hyphens=False)
    figure.suptitle("\n".join(lines))
    if not shown:
        figure.text(0.5, 0.5, "Nothing could be measured.", ha="center")
        return figure
    for n, panel in enumerate(shown, start=1):
        _fill(figure.add_subplot(down, across, n), panel)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        columns = max(1, int(width // 2))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    return figure


def _fill(axes: Axes, panel: Panel) -> None:
    for n, series in enumerate(panel.series):
        axes.errorbar(series.x, [m.mean for m in series.found], **_look(n, series, panel.joined))
    if panel.standard is not None:
        axes.axvline(panel.standard, color="0.6", linestyle=":", zorder=0)
        axes.set_xticks(sorted({x for series in panel.series for x in series.x}))
    if panel.ticks:
        axes.set_xticks(list(panel.ticks), list(panel.ticks.values()))
        if max(map(len, panel.ticks.values())) * len(panel.ticks) > 40:
            for label in axes.get_xticklabels():
                label.set(rotation=35, ha="right", rotation_mode="anchor")
        axes.set_xlim(min(panel.ticks) - 0.5, max(panel.ticks) + 0.5)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y.replace(" (", "\n(", 1))
    axes.set_ylim(*panel.limits)
    axes.grid(axis="y", color="0.9")


def _look(n: int, series: Series, joined: bool) -> dict[str, Any]:
    below = [m.mean - m.low for m in series.found]
    above = [m.high - m.mean for m in series.found]
    return {
        "yerr": [below, above],
        "label": series.label,
        "color": _COLOURS[n % len(_COLOURS)],
        "marker": _MARKERS[n % len(_MARKERS)],
        "linestyle": _DASHES[n % len(_DASHES)] if joined else "none",
        "capsize": 3,
        "markersize": 5,
        "linewidth": 1.2,
    }
