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
    folder_option,
    judge_option,
    metric_option,
    one_lm_options,
    other_lm,
    parse_budget,
)
from referee.cli_programs import checked, metric_of, program_of
from referee.errors import BackboneError, BudgetExceeded, InputError
from referee.printable import printable

OPTIMIZERS = ("bootstrap", "gepa", "mipro", "rationales")


@click.command()
@click.argument("program", callback=lambda _, __, value: checked(value))
@click.option(
    "--data",
    metavar="NAME|FILE",
    required=True,
    help="Rows with answers, as for evaluate; half of them train unless --val is given.",
)
@click.option("--val", metavar="NAME|FILE", help="Rows to choose by, instead of half of --data.")
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
@click.option(
    "--tune",
    type=click.IntRange(min=1),
    metavar="TRIALS",
    help="Then choose its thresholds in so many trials, as referee tune does.",
)
@metric_option
@judge_option
@budget_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@folder_option("Folder for the compiled program.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def command(**options: Any) -> None:
    """Give PROGRAM rules, demonstrations or instructions, and thresholds, for a backbone.

    PROGRAM is a name, or the folder of a compiled program that is to be compiled again. Replies are
    kept in DIR.replies: ended in any way and started again, a run pays for none twice.
    """
    from referee.runtime.meter import Meter, metered

    logging.getLogger("dspy").setLevel(logging.ERROR)
    with metered(Meter(parse_budget(options["budget"]))):
        result = _compile(options)
        if result.before is None and result.after is None:
            raise BackboneError("No example could be scored, so nothing was saved: see above why.")
        result.program.save_artifact(options["out"])
        _save_matrix(result, Path(options["out"]) / "matrix.json")
        if options["tune"] and result.complete:
            _tune(result, options)
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
    program = program_of(options["program"], lm)
    if options["tune"] and not program.tunables():
        raise click.UsageError(f"{program.label} offers nothing to tune: leave --tune out.")
    return compile_program(
        program,
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


def _tune(result: Any, options: dict[str, Any]) -> None:
    """Choose thresholds on the validation rows, with what the budget has left, and save again.

    The compiled program is saved already: whatever ends this, it stays as it is.
    """
    import dspy

    from referee.optimizers import TuneThresholds
    from referee.runtime import ReplyCache, caching

    _, val = _rows(options)
    tuner = TuneThresholds(
        metric_of(options),
        trials=options["tune"],
        matrix=None if result.induction is None else result.induction.matrix,
        folder=_replies(options) / "tuning",
        seed=options["seed"],
    )
    cache = ReplyCache(_replies(options))
    try:
        with caching(cache), dspy.context(lm=connected(options)[0]):
            examples = [row.as_example() for row in val]
            tuner.tune(result.program, examples, tell=_say).program.save_artifact(options["out"])
    except BudgetExceeded as error:
        _say(f"The thresholds stay as they are: {error}")
    except BackboneError as error:
        raise BackboneError(
            f"Compiled and saved in {options['out']}, but not tuned: {error}"
        ) from None
    finally:
        cache.close()
    _save_matrix(result, Path(options["out"]) / "matrix.json")


def _rows(options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    from referee.asking import chosen_rows

    def drawn(source: str) -> list[Any]:
        return list(chosen_rows(source, limit=options["rows"], seed=options["seed"]).rows)

    rows = drawn(options["data"])
    if options["val"]:
        return rows, drawn(options["val"])
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
