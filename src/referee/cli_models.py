"""``referee models``: the weights of embedded models."""

from __future__ import annotations

import json

import click

from referee.progress import pulling


@click.group()
def command() -> None:
    """List, fetch and locate the embedded language models."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models(as_json: bool) -> None:
    """Show the embedded models and which of them are here."""
    from referee.runtime.weights import available, is_pulled

    rows = [
        {
            "name": m.name,
            "bytes": m.size,
            "licence": m.licence,
            "default": m.default,
            "pulled": is_pulled(m.name),
            "description": m.description,
        }
        for m in available()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        mark = "pulled" if row["pulled"] else "-"
        default = " (default)" if row["default"] else ""
        size = f"{int(str(row['bytes'])) / 1e6:,.0f} MB"
        click.echo(f"{row['name']:<20} {size:>9}  {mark:<7} {row['description']}{default}")


@command.command()
@click.argument("name", required=False)
@click.option("--force", is_flag=True, help="Delete what is here and fetch again.")
def pull(name: str | None, force: bool) -> None:
    """Fetch the weights of NAME (the default model when not given) and check them."""
    from referee.runtime.weights import default_model, ensure, remove

    chosen = name or default_model().name
    if force:
        remove(chosen)
    with pulling() as progress:
        path = ensure(chosen, progress=progress)
    click.echo(str(path))


@command.command()
@click.argument("name", required=False)
def path(name: str | None) -> None:
    """Print where the weights of NAME are; exit 1 when they are not here."""
    from referee.runtime.weights import default_model, is_pulled, path_of

    chosen = name or default_model().name
    if not is_pulled(chosen):
        raise click.ClickException(f"{chosen} is not here: run referee models pull {chosen}.")
    click.echo(str(path_of(chosen)))
