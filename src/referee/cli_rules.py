"""``referee rules``: look at a base of rules, and check one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.errors import InputError
from referee.printable import printable


@click.group()
def command() -> None:
    """List, show and check rules that settle conflicts."""


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
    for rule in base.rules:
        measured = "-" if rule.support is None else f"{rule.support:.2f}"
        how = rule.operator or "in words"
        line = f"{rule.id:<5} {rule.type:<14} {how:<26} {measured:>5}  {rule.resolution}"
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
