"""``referee evaluate``: programs on a data set, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from referee.cli_options import (
    CONCURRENCY,
    cached,
    checked_folder,
    connected,
    exit_code,
    judge_option,
    lm_options,
    other_lm,
    parse_budget,
    rows_options,
    rules_option,
    run_options,
)
from referee.cli_programs import checked, several

FORMATS = ("table", "markdown", "csv", "json")


@click.command()
@click.argument("programs", metavar="PROGRAM[,PROGRAM...]")
@click.option(
    "--data",
    "sources",
    required=True,
    multiple=True,
    metavar="NAME|FILE",
    help="A data set, or rows in .jsonl and others; give it again for more.",
)
@rows_options
@click.option(
    "--conflicted", is_flag=True, help="Only rows with one right answer and some wrong one."
)
@judge_option
@click.option(
    "--out",
    metavar="DIR",
    callback=lambda _, __, value: checked_folder(value),
    help="Keep the records here, and go on where a run ended.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print the result.",
)
@lm_options
@rules_option
@run_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Ask PROGRAMs all rows of a data set, and score what they answer.

    Programs: astute, ckplug-answer, direct, icl, instructrag, macr, macr-paper, madam, truthfulrag,
    vote; for long answers arbgraph, cot, critic, fire, mcts-rag, rag, react; with a part left out
    macr:no-assessment, macr:cot, arbgraph:no-graph and others; or folders of compiled ones, which
    the table shows by the folder's name. Scores are over rows that ended ok or abstained (an
    abstention counts 0); beside them stands the lower bound, with failed rows as 0. Records go to
    OUT/PROGRAM.jsonl (a colon becomes a +) as they come; a run that was ended goes on when it is
    started again, and asks failed rows again. Exit code 1 when a row failed.
    """
    names = [checked(name.strip()) for name in options["programs"].split(",")]
    runs = _runs(options["sources"], options["out"])
    _check_all(options["sources"])
    lm, lms = connected(options)
    failed = 0
    for source, out in runs:
        failed = max(failed, _evaluated(names, lm, lms, {**options, "data": source, "out": out}))
    ctx.exit(failed)


def _runs(sources: tuple[str, ...], out: str | None) -> list[tuple[str, str | None]]:
    """Each data set with the folder of its run; several have one each, by the name of the data.

    Raises:
        UsageError: Two data sets would share a folder.
    """
    if len(sources) == 1 or out is None:
        return [(source, out) for source in sources]
    names = [Path(source).stem for source in sources]
    if len(set(names)) < len(names):
        raise click.UsageError("Two --data have one name: evaluate them with an --out each.")
    return [(source, str(Path(out) / name)) for source, name in zip(sources, names, strict=True)]


def _check_all(sources: tuple[str, ...]) -> None:
    """Find what is wrong with the last data set before the first one is paid for.

    Raises:
        InputError: A data set cannot be read.
    """
    from referee.data import load

    for source in sources if len(sources) > 1 else ():
        load(source, limit=1)


def _evaluated(names: list[str], lm: Any, lms: dict[str, Any], options: dict[str, Any]) -> int:
    """Evaluate on one data set and print the result; returns the exit code."""
    from referee.evaluation import evaluate
    from referee.progress import rows, say
    from referee.results import printed
    from referee.scoring import judged, score

    judge = other_lm(options, "judge")
    with cached(options), rows() as progress:
        found = evaluate(
            several(names, lm, lms, options),
            options["data"],
            lm=lm,
            scorer=judged(judge) if judge else score,
            limit=options["limit"],
            seed=options["seed"],
            split=options["split"],
            concurrency=options["concurrency"] or CONCURRENCY,
            budget=parse_budget(options["budget"]),
            external=options["external"],
            date=options["date"],
            out=options["out"],
            only=_is_conflicted if options["conflicted"] else None,
            progress=progress,
            before=say,
        )
    click.echo(printed(found, options["form"]))
    return max(exit_code(s.statuses) for s in found.summaries)


def _is_conflicted(row: Any) -> bool:
    from referee.data import conflicted

    return bool(conflicted([row]))
