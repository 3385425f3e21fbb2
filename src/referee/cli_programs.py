"""Programs as the command line names them: by a name, or by the folder of a compiled one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import click

PROGRAMS = ("direct", "icl", "macr", "macr-paper", "vote")


PROGRAM = f"[{'|'.join(PROGRAMS)}|DIR]"


def checked_program(_: click.Context, __: click.Parameter, value: str) -> str:
    """Refuse what is neither the name of a program nor a folder, while options are read."""
    if value not in PROGRAMS and not Path(value).is_dir():
        raise click.BadParameter(
            f"{value!r} is neither a program ({', '.join(PROGRAMS)}) nor the folder of a compiled "
            "one."
        )
    return value


def kind_of(text: str) -> str:
    """The name of the program, which for a compiled one its card tells; empty if it does not."""
    if text in PROGRAMS:
        return text
    try:
        return str(json.loads((Path(text) / "card.json").read_text(encoding="utf-8"))["program"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def program_of(text: str, lm: Any, **parts: Any) -> Any:
    """The program; what may be wrong with a compiled one is said on stderr.

    Args:
        text: A name, or a folder.
        lm: The backbone that it will run on.
        parts: Constructor arguments that no file holds.

    Raises:
        ArtifactError: The folder holds no program that can be used.
    """
    from referee.artifact import load
    from referee.programs import PROGRAMS as CLASSES

    if text in CLASSES:
        return CLASSES[text](**parts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = load(text, lm, **parts)
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    return program
