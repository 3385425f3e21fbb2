"""``referee show``: what a compiled program is, on what it was compiled, and how well it did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from referee.printable import printable


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def command(folder: str, as_json: bool) -> None:
    """Show the compiled program in DIR, and what does not fit this installation."""
    from referee.cli_programs import program_of
    from referee.programs.restoring import read

    saved = read(Path(folder))
    program = program_of(folder, None)
    if as_json:
        click.echo(json.dumps(saved.card, ensure_ascii=False, indent=2))
        return
    lines = [*describe(saved.card), *_thresholds(saved.thresholds), *_contents(program)]
    for line in lines:
        click.echo(printable(line))


def describe(card: Mapping[str, Any]) -> Iterator[str]:
    """The card in lines."""
    compiled = card["compiled"]
    yield f"program      {card['program']}"
    yield f"backbone     {card['backbone'] or 'not compiled for any'}"
    if "optimizer" in compiled:
        yield from _how(compiled)
    if "tuned" in compiled:
        yield _tuned(compiled["tuned"])
    versions = ", ".join(f"{name} {v}" for name, v in card["versions"].items())
    yield f"versions     {versions}"


def _how(compiled: Mapping[str, Any]) -> Iterator[str]:
    options = ", ".join(f"{k} {v}" for k, v in compiled["optimizer"].items() if k != "name")
    yield f"teacher      {compiled['teacher']}"
    yield f"optimizer    {compiled['optimizer']['name']} ({options}), seed {compiled['seed']}"
    data = ", ".join(
        f"{name} {d['n']} rows {d['sha256'][:12]}" for name, d in compiled["data"].items()
    )
    yield f"data         {data}"
    for when in ("before", "after"):
        yield f"{when:<12} {compiled['metric']} {_score(compiled['scores'][when])}"
    if not compiled["improved"]:
        yield "kept         the program as it was: compiled, it did worse"
    if compiled.get("rules"):
        table = compiled["rules"]["rules"]
        yield f"rules        {sum(r['kept'] for r in table)} of {len(table)} candidates were kept"
    without = compiled["without_demonstrations"]
    if without:
        yield f"unreached    {', '.join(without)}"
    usage = compiled["usage"]
    yield f"spent        {usage['requests']:,} requests, {usage['cached']:,} cached"
    if not compiled["complete"]:
        yield "ended        by the budget, with the best so far"


def _tuned(tuned: Mapping[str, Any]) -> str:
    low, high = tuned["interval"]
    return (
        f"tuned        {tuned['metric']} {tuned['default']:.3f} before, {tuned['best']:.3f} "
        f"[{low:.3f}, {high:.3f}] after, best of {tuned['trials']} trials on {tuned['n']} rows"
    )


def _score(score: Mapping[str, Any] | None) -> str:
    if score is None:
        return "could not be measured"
    low, high = score["interval"]
    lost = f", {score['unscored']} not scored" if score["unscored"] else ""
    return f"{score['mean']:.3f} [{low:.3f}, {high:.3f}] on {score['n']} validation rows{lost}"


def _thresholds(thresholds: Mapping[str, Any]) -> Iterator[str]:
    for name, value in thresholds.items():
        if value not in ("", None):
            shown = value if not isinstance(value, Mapping) else _pairs(value)
            yield f"{name:<12} {shown}"


def _pairs(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items())


def _contents(program: Any) -> Iterator[str]:
    rules = getattr(program, "rules", None)
    if rules is not None:
        by_source = Counter(rule.provenance for rule in rules.rules)
        shown = ", ".join(f"{n} {source}" for source, n in by_source.items())
        yield f"rules        version {rules.version}: {shown or 'none'}"
    for name, predictor in program.named_predictors():
        yield f"{name:<28} {len(predictor.demos)} demonstrations"
