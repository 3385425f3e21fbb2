"""``referee experiment``: the tables and figures of both papers, as one command each."""

from __future__ import annotations

from typing import Any

import click

from referee.cli_options import (
    CONCURRENCY,
    cached,
    connected,
    exit_code,
    judge_option,
    lm_options,
    other_lm,
    parse_budget,
    rows_options,
    run_options,
)


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Show all experiments and what they compare.")
@click.option(
    "--data",
    "sources",
    multiple=True,
    metavar="NAME|FILE",
    help="A data set, or rows in .jsonl and others; give it again for more. Default: bundled.",
)
@rows_options
@judge_option
@click.option(
    "--out", metavar="DIR", help="Records, table and figure; goes on where a run there ended."
)
@lm_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the experiment NAME of a paper, and write its table and figure into OUT.

    Writes table.md, table.csv, table.json, figure.png, figure.svg, and for each data set a folder
    of records, one file a program. Equal requests of several programs are answered from the cache,
    so a sweep pays for what changes. Exit code 1 when a row failed: the same command asks it again.
    """
    if options["listed"]:
        _show_all()
        return
    for option in ("name", "out"):
        if not options[option]:
            missing = "a NAME (see --list)" if option == "name" else "a folder: --out DIR"
            raise click.UsageError(f"Give {missing}.")
    ctx.exit(_run(options))


def _show_all() -> None:
    from referee.experiments import EXPERIMENTS

    for name, each in EXPERIMENTS.items():
        click.echo(f"{name:<18} {each.paper}. {each.what}")


def _run(options: dict[str, Any]) -> int:
    """Run, write and print; returns the exit code."""
    from pathlib import Path

    from referee.experiment_run import run_experiment
    from referee.experiment_tables import laid_out, written
    from referee.experiments import experiment
    from referee.progress import rows, say
    from referee.results import as_columns

    experiment(options["name"])  # before weights are fetched for a name that is none
    lm, lms = connected(options)
    judge = other_lm(options, "judge")
    with cached(options), rows() as progress:
        result = run_experiment(
            options["name"],
            out=options["out"],
            data=options["sources"],
            lm=lm,
            lms=lms,
            judge=judge,
            limit=options["limit"],
            seed=options["seed"],
            split=options["split"],
            external=options["external"],
            concurrency=options["concurrency"] or CONCURRENCY,
            budget=parse_budget(options["budget"]),
            date=options["date"],
            progress=progress,
            before=say,
        )
    click.echo(laid_out(result, as_columns))
    for path in written(result, Path(options["out"])):
        say(f"Wrote {path}")
    found = [s for each in result.evaluations.values() for s in each.summaries]
    return max(exit_code(s.statuses) for s in found)
