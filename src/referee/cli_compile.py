"""``referee compile``: fit a program to a backbone on one's own data, and save it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import click

from referee.cli_options import (
    budget_option,
    connected,
    judge_option,
    metric_option,
    one_lm_options,
    other_lm,
    parse_budget,
)
from referee.cli_programs import checked, metric_of, program_of
from referee.errors import BackboneError, InputError
from referee.printable import printable

OPTIMIZERS = ("bootstrap", "gepa", "mipro", "rationales")


@click.command()
@click.argument("program", callback=lambda _, __, value: checked(value))
@click.option(
    "--data",
    metavar="FILE",
    required=True,
    help="Rows with answers, as JSONL; half of them train unless --val is given.",
)
@click.option("--val", metavar="FILE", help="Rows to choose by, instead of half of --data.")
@click.option("--rows", type=click.IntRange(min=1), help="Use that many rows, drawn by the seed.")
@one_lm_options
@click.option("--teacher", metavar="MODEL[@URL]", help="Another model to demonstrate and propose.")
@click.option(
    "--optimizer",
    type=click.Choice(OPTIMIZERS),
    help="What finds demonstrations or instructions: bootstrap, for instructrag rationales.",
)
@click.option(
    "--rules/--no-rules",
    default=True,
    show_default=True,
    help="Learn rules too, where the program has a rule base.",
)
@metric_option
@judge_option
@budget_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", metavar="DIR", required=True, help="Folder for the compiled program.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def command(**options: Any) -> None:
    """Give PROGRAM rules, and demonstrations or instructions, for a backbone.

    PROGRAM is a name, or the folder of a compiled program that is to be compiled again. Replies are
    kept in DIR.replies: ended in any way and started again, a run pays for none twice.
    """
    logging.getLogger("dspy").setLevel(logging.ERROR)
    result = _compile(options)
    if result.before is None and result.complete:
        raise BackboneError("No example could be scored, so nothing was saved: see above why.")
    result.program.save_artifact(options["out"])
    _save_matrix(result, Path(options["out"]) / "matrix.json")
    card = json.loads((Path(options["out"]) / "card.json").read_text(encoding="utf-8"))
    if options["as_json"]:
        click.echo(json.dumps(card, ensure_ascii=False, indent=2))
    else:
        from referee.cli_show import describe

        for line in describe(card):
            click.echo(printable(line))
    click.echo(
        f"Saved in {options['out']}. {_replies(options).name} beside it holds the replies and may "
        "be deleted.",
        err=True,
    )


def _compile(options: dict[str, Any]) -> Any:
    """The recipe: rules, then demonstrations or instructions."""
    import dspy

    from referee.optimizers import compile_program

    train, val = _rows(options)
    (lm, _), teacher = connected(options), other_lm(options, "teacher")
    # dspy's own cache would keep pickles.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    return compile_program(
        program_of(options["program"], lm),
        train,
        val,
        metric=metric_of(options),
        optimizer=options["optimizer"],
        rules=options["rules"],
        lm=lm,
        teacher_lm=teacher,
        budget=parse_budget(options["budget"]),
        seed=options["seed"],
        replies=_replies(options),
        tell=_say,
    )


def _rows(options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    from referee.data import read_rows, sample

    rows = sample(read_rows(options["data"]), options["rows"], options["seed"])
    if options["val"]:
        return rows, sample(read_rows(options["val"]), options["rows"], options["seed"])
    if len(rows) < 2:
        raise InputError(f"{options['data']} has {len(rows)} rows: give 2 or more, or --val FILE.")
    half = len(rows) // 2
    return rows[:half], rows[half:]


def _save_matrix(result: Any, path: Path) -> None:
    """Keep which rule was right where, from which other thresholds choose without a request."""
    path.unlink(missing_ok=True)
    if result.induction is not None:
        result.induction.matrix.save(path)


def _replies(options: dict[str, Any]) -> Path:
    out = Path(options["out"]).resolve()
    return out.with_name(f"{out.name}.replies")


def _say(line: str) -> None:
    click.echo(printable(line), err=True)
