"""``referee tune``: choose a program's thresholds on one's own labelled rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.cli_options import (
    budget_option,
    connected,
    folder_option,
    judge_option,
    lm_options,
    metric_option,
    parse_budget,
    rules_option,
)
from referee.cli_programs import built, checked, is_named, metric_of
from referee.errors import InputError
from referee.printable import printable


@click.command()
@click.argument("program", callback=lambda _, __, value: checked(value))
@click.option(
    "--data", required=True, metavar="NAME|FILE", help="A data set, or labelled rows: D_val."
)
@click.option(
    "--split",
    type=click.Choice(("all", "demonstration", "validation", "test")),
    default="all",
    show_default=True,
    help="Which part of the data.",
)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows.")
@click.option(
    "--parameters", metavar="A,B,...", help="What to search. Default: all that PROGRAM offers."
)
@click.option("--matrix", metavar="FILE", help="Measured rules, for min_coverage and min_support.")
@metric_option
@judge_option
@click.option("--trials", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--pareto", is_flag=True, help="Also search for few requests.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--storage",
    metavar="URL",
    help="sqlite:///FILE, journal:FILE or a database, for several workers. Default: in DIR.",
)
@budget_option
@click.option("--concurrency", type=click.IntRange(min=1), help="Requests in flight at once.")
@click.option("--no-plots", is_flag=True, help="Draw nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@folder_option("Folder of the tuned program, study and replies.")
@lm_options
@rules_option
def command(**options: Any) -> None:
    """Search the thresholds of PROGRAM on labelled rows.

    PROGRAM is a name, or the folder of a compiled program. The best one is saved in DIR/program;
    `--program DIR/program` uses it. Trial 0 is the program as it is. Ended in any way and started
    again, a run goes on and pays for no request twice. Start it in several processes and they share
    the trials.
    """
    found = _tuned(options)
    out = Path(options["out"])
    found.program.save_artifact(out / "program")
    record = {"program": options["program"], **found.record}
    text = json.dumps(record, ensure_ascii=False, indent=2)
    (out / "tuning.json").write_text(text + "\n", encoding="utf-8")
    if options["as_json"]:
        click.echo(text)
    else:
        _print(found)
    if not options["no_plots"]:
        _plot(found, out / "plots")
    click.echo(
        f"{found.usage.requests} requests, {found.usage.cached} cached; the first pass took "
        f"{found.first_pass}. The numbers are in {out / 'tuning.json'}, the tuned program in "
        f"{out / 'program'}.",
        err=True,
    )
    if not found.complete:
        click.echo("The budget ended it early: started again, it goes on.", err=True)


def _tuned(options: dict[str, Any]) -> Any:
    import dspy

    from referee.optimizers import TuneThresholds
    from referee.progress import stages

    examples = [row.as_example() for row in _rows(options)]
    budget = parse_budget(options["budget"])
    names = options["parameters"]
    lm, lms = connected(options)
    program = built(options["program"], lm, lms, options)
    # dspy's own cache would keep pickles.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    tuner = TuneThresholds(
        metric_of(options),
        parameters=None if names is None else [n.strip() for n in names.split(",")],
        trials=options["trials"],
        pareto=options["pareto"],
        matrix=_matrix(options),
        storage=options["storage"],
        folder=options["out"],
        budget=budget,
        seed=options["seed"],
    )
    with stages(), dspy.context(lm=lm):
        return tuner.tune(program, examples, tell=_say)


def _matrix(options: dict[str, Any]) -> Any:
    """The measured rules that an option names, else those that compiling left in PROGRAM."""
    from referee.optimizers import RuleMatrix

    program, path = options["program"], options["matrix"]
    left = Path(program) / "matrix.json"
    if path is None and not is_named(program) and left.is_file():
        path = left
    return None if path is None else RuleMatrix.load(path)


def _rows(options: dict[str, Any]) -> list[Any]:
    from referee.data import load, split

    rows = list(load(options["data"], seed=options["seed"]).rows)
    if options["split"] != "all":
        rows = list(getattr(split(rows, seed=options["seed"]), options["split"]))
    if not rows:
        raise InputError(f"{options['data']} has no rows: give labelled rows.")
    return rows[: options["limit"]]


def _print(found: Any) -> None:
    low, high = found.interval
    best, default, gain = found.best, found.default, found.gain
    what = "the program as it is" if best.number == default.number else f"trial {best.number}"
    click.echo(f"best      {best.score:.4f} [{low:.4f}, {high:.4f}] of {found.rows} rows: {what}")
    click.echo(f"default   {default.score:.4f}, {default.requests:.1f} requests a row")
    click.echo(
        f"gain      {gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}], chosen among "
        f"{len(found.trials)} trials on these rows: only others tell what to expect"
    )
    importances = found.importances or {}
    click.echo(f"{'parameter':<16} {'default':>8} {'best':>8}  importance")
    for name, value in best.values.items():
        share = f"{importances[name]:.2f}" if name in importances else "-"
        click.echo(f"{name:<16} {default.values[name]:>8g} {value:>8g}  {share}")
    for trial in found.front:
        click.echo(f"front     trial {trial.number}: {trial.score:.4f}, {trial.requests:.1f} a row")
    if found.unscored:
        click.echo(f"{found.unscored} rows could not be scored and were left out.", err=True)


def _plot(found: Any, folder: Path) -> None:
    import matplotlib

    from referee.optimizers.tuning_plots import write_plots

    matplotlib.use("agg")
    written = write_plots(found, folder)
    click.echo(f"{len(written)} plots are in {folder}.", err=True)


def _say(line: str) -> None:
    click.echo(printable(line), err=True)
