"""``referee rules``: look at a base of rules, compare two, check, measure and learn them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.cli_learn import learn, share, test_rules
from referee.errors import InputError
from referee.printable import printable


@click.group()
def command() -> None:
    """Rules that settle conflicts: list, show, check, compare, measure and learn them."""


command.add_command(learn)
command.add_command(test_rules)


_FILE = click.option(
    "--rules", "path", metavar="FILE", help="A rules.yaml; the starter base if none."
)


@command.command("list")
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_rules(path: str | None, as_json: bool) -> None:
    """One line a rule, in the order in which they are tried."""
    base = load_rules(path)
    if as_json:
        click.echo(json.dumps(base.dump_state(), ensure_ascii=False, indent=2))
        return
    click.echo(f"{'id':<5} {'type':<14} {'how':<26} {'Cov':>5} {'Sup':>5}  resolution")
    for rule in base.rules:
        measured = f"{share(rule.coverage)} {share(rule.support)}"
        how = rule.operator or "in words"
        line = f"{rule.id:<5} {rule.type:<14} {how:<26} {measured}  {rule.resolution}"
        click.echo(printable(line))


@command.command()
@click.argument("rule_id")
@_FILE
def show(rule_id: str, path: str | None) -> None:
    """Everything about one rule."""
    base = load_rules(path)
    found = next((r for r in base.rules if r.id == rule_id), None)
    if found is None:
        known = ", ".join(r.id for r in base.rules)
        raise InputError(f"There is no rule {rule_id!r}: the base has {known}.")
    for name, value in found.model_dump().items():
        click.echo(printable(f"{name + ':':<12} {'-' if value in (None, '') else value}"))


@command.command()
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(old: str, new: str, as_json: bool) -> None:
    """What NEW changes in OLD, two rules.yaml files."""
    before, after = ({r.id: r for r in load_rules(path).rules} for path in (old, new))
    removed = [id for id in before if id not in after]
    added = [id for id in after if id not in before]
    both = {id: _changed(before[id], after[id]) for id in after if id in before}
    changed = {id: fields for id, fields in both.items() if fields}
    if as_json:
        found = {"removed": removed, "added": added, "changed": changed}
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for sign, ids, rules in (("-", removed, before), ("+", added, after)):
        for rule in (rules[id] for id in ids):
            said = f"{rule.condition} {rule.resolution}"
            click.echo(printable(f"{sign} {rule.id} {rule.type}: {said}"))
    for id, fields in changed.items():
        for name, (was, now) in fields.items():
            click.echo(printable(f"~ {id} {name}: {was} -> {now}"))


def _changed(before: Any, after: Any) -> dict[str, list[Any]]:
    """The fields in which two rules of one id differ, each with both values."""
    one, other = before.model_dump(mode="json"), after.model_dump(mode="json")
    return {name: [one[name], other[name]] for name in one if one[name] != other[name]}


@command.command()
@_FILE
def lint(path: str | None) -> None:
    """Name what is wrong with a base; exit 1 when something is."""
    from referee.programs.rules import lint as check

    complaints = check(load_rules(path))
    for complaint in complaints:
        click.echo(printable(complaint))
    if complaints:
        raise click.exceptions.Exit(1)
    click.echo("No complaint.", err=True)


def load_rules(path: str | None) -> Any:
    """The rule base of a YAML file, or the starter base.

    Raises:
        InputError: The file cannot be read, or a rule in it is wrong.
    """
    from referee.programs.rules import RuleBase, starter_rules

    if path is None:
        return starter_rules()
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a rules.yaml.") from None
    return RuleBase.from_yaml(text)
