"""``referee rules learn`` and ``referee rules test``: measure rules on labelled rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import click

from referee.cli_options import (
    cached,
    connected,
    judge_option,
    metric_option,
    one_lm_options,
    other_lm,
)
from referee.cli_programs import RULED, metric_of, program_of, program_option
from referee.printable import printable

_SHARED = (
    click.option(
        "--data",
        "rows",
        metavar="NAME|FILE",
        required=True,
        help="Labelled rows, as for evaluate: D_val.",
    ),
    one_lm_options,
    program_option(RULED, "macr", "What settles the conflicts"),
    metric_option,
    judge_option,
    click.option("--min-coverage", type=click.FloatRange(0, 1), default=0.05, show_default=True),
    click.option("--min-support", type=click.FloatRange(0, 1), default=0.6, show_default=True),
    click.option("--limit", type=click.IntRange(min=1), help="Take that many rows of each file."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
)


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    return reduce(lambda made, option: option(made), reversed(_SHARED), command)


@click.command()
@click.option("--queue", metavar="FILE", help="Conflicts that no rule covered (JSONL).")
@click.option("--demos", metavar="NAME|FILE", help="Labelled rows to find conflicts in: D_demo.")
@click.option("--out", metavar="FILE", required=True, help="The rules.yaml to write.")
@click.option("--rules", "base", metavar="FILE", help="Start from it. Default: --out, or its own.")
@click.option(
    "--own",
    type=click.Choice(("keep", "verify", "drop")),
    default="keep",
    show_default=True,
    help="What becomes of the rules that stand already.",
)
@click.option("--observer", metavar="MODEL[@URL]", help="Another model to propose the rules.")
@click.option("--passes", type=click.IntRange(min=1), default=3, show_default=True)
@_shared
def learn(**options: Any) -> None:
    """Propose rules for conflicts, verify each alone, and write a new version.

    Killed and started again, it goes on without asking twice.
    """
    from referee.optimizers import InduceRules
    from referee.programs.feedback import read_queue
    from referee.programs.rule_files import save_layout

    if not options["queue"] and not options["demos"]:
        raise click.UsageError("Give conflicts with --queue FILE, or rows with --demos FILE.")
    rows, demos = _rows(options, "rows"), _rows(options, "demos")
    gold = {row.question: row.answers for row in (*demos, *rows) if row.answers}
    queued = read_queue(options["queue"], gold) if options["queue"] else None
    base = _base(options)
    with _connected(options) as lm:
        program = _program(options, lm, base)
        found = InduceRules(
            metric_of(options),
            passes=options["passes"],
            min_coverage=options["min_coverage"],
            min_support=options["min_support"],
            own=options["own"],
            observer=other_lm(options, "observer"),
            seed=options["seed"],
        ).induce(
            program,
            [row.as_example() for row in demos],
            [row.as_example() for row in rows],
            queued.conflicts if queued else (),
        )
    out = Path(options["out"])
    kept = save_layout(found.rules.to_yaml(), out)
    found.matrix.save(out.with_suffix(".matrix.json"))
    if options["as_json"]:
        click.echo(json.dumps(found.record, ensure_ascii=False, indent=2))
    else:
        _print_table(found.table())
    _say_learned(found, queued.broken if queued else 0, out, kept)


@click.command("test")
@click.argument("base", metavar="RULES")
@_shared
def test_rules(**options: Any) -> None:
    """Measure every rule of RULES alone; nothing is written."""
    from referee.optimizers.rule_matrix import measure
    from referee.optimizers.scoring import as_right

    examples = [row.as_example() for row in _rows(options, "rows")]
    base = _base(options)
    with _connected(options) as lm:
        program, right = _program(options, lm, base), as_right(metric_of(options))
        measured = measure(program, program.rules.rules, examples, right)
    table = measured.matrix.table(options["min_coverage"], options["min_support"])
    if options["as_json"]:
        record = {
            "examples": len(examples),
            "baseline": _share(measured.matrix.baseline),
            "rules": table,
            "problems": measured.problems,
            "usage": measured.usage.model_dump(),
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        _print_table(table)
        share_right = _share(measured.matrix.baseline)
        told = f"Without rules {share_right:.2f} of {len(examples)} examples are right."
        click.echo(told, err=True)
    _say_cost(measured.usage, measured.problems)


def _rows(options: Mapping[str, Any], name: str) -> list[Any]:
    from referee.asking import chosen_rows

    if not options[name]:
        return []
    return list(chosen_rows(options[name], limit=options["limit"], seed=options["seed"]).rows)


def _base(options: Mapping[str, Any]) -> Any:
    """The rules to start from, read before a model is connected: as given, else those of --out."""
    from referee.cli_rules import load_rules

    out = options.get("out")
    base = options["base"] or (out if out and Path(out).exists() else None)
    return None if base is None else load_rules(base)


def _program(options: Mapping[str, Any], lm: Any, base: Any) -> Any:
    """The program over these rules; None for its own."""
    program = program_of(options["program"], lm)
    return program if base is None else program.with_rules(base)


@contextmanager
def _connected(options: dict[str, Any]) -> Iterator[Any]:
    """The model and the reply cache around a measurement; yields the model."""
    import dspy

    from referee.progress import stages

    lm, _ = connected(options)
    with cached(options), stages(), dspy.context(lm=lm, trace=None):
        yield lm


def _print_table(table: Sequence[Mapping[str, Any]]) -> None:
    columns = f"{'id':<5} {'type':<14} {'how':<26} {'Cov':>5} {'Sup':>5}  {'95 %':<12} {'gain':>6}"
    click.echo(f"{columns}  kept  resolution")
    for rule in table:
        low, high = rule["interval"] or (None, None)
        numbers = f"{share(rule['coverage'])} {share(rule['support'])}"
        interval = "-" if low is None else f"{low:.2f}-{high:.2f}"
        gain = "-" if rule["gain"] is None else f"{rule['gain']:+.2f}"
        how = rule["operator"] or "in words"
        kept = "yes" if rule["kept"] else "no"
        line = f"{rule['id']:<5} {rule['type']:<14} {how:<26} {numbers}  {interval:<12} {gain:>6}"
        click.echo(printable(f"{line}  {kept:<4}  {rule['resolution']}"))


def share(value: float | None) -> str:
    """A share in a table of five columns; a dash when it was not measured."""
    return f"{'-' if value is None else format(value, '.2f'):>5}"


def _share(flags: Sequence[bool | None]) -> float:
    known = [flag for flag in flags if flag is not None]
    return sum(known) / len(known)


def _say_learned(found: Any, broken: int, out: Path, kept: Path | None) -> None:
    turned = ", ".join(f"{n} {why}" for why, n in found.rejected.items()) or "none"
    lines = [
        f"{found.observed} conflicts shown, {found.unclear} without one right side, {broken} "
        "broken lines.",
        f"{found.proposed} rules proposed, {found.merged} repeat others; turned away: {turned}.",
        f"{out} is version {found.rules.version}" + (f"; the old one is {kept}." if kept else "."),
    ]
    if not found.rules.rules:
        lines.append("No rule reaches the thresholds: this base is empty.")
    for line in lines:
        click.echo(printable(line), err=True)
    _say_cost(found.usage, found.problems)


def _say_cost(usage: Any, problems: Sequence[str]) -> None:
    click.echo(f"{usage.requests} requests, {usage.cached} cached.", err=True)
    for problem in problems:
        click.echo(printable(f"Not measured: {problem}"), err=True)
