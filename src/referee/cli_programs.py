"""Programs as the command line names them: by a name, or by the folder of a compiled one."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
BASELINES = (
    "astute",
    "ckplug-answer",
    "direct",
    "icl",
    "instructrag",
    "madam",
    "truthfulrag",
    "vote",
)
SHORT = (*BASELINES, "macr", "macr-paper")
LONG = ("arbgraph", "cot", "critic", "fire", "mcts-rag", "rag", "react")
PROGRAMS = (*SHORT, *LONG)
RULED = ("macr", "macr-paper", "arbgraph")


def program_option(names: Sequence[str], default: str, help: str) -> Callable[[F], F]:
    """``--program``: one of some programs, or the folder of a compiled one of these."""
    return click.option(
        "--program",
        metavar=f"[{'|'.join(names)}|DIR]",
        callback=lambda _, __, value: checked(value, names),
        default=default,
        show_default=True,
        help=f"{help}: the name of a program, or the folder of a compiled one.",
    )


def is_named(text: str) -> bool:
    """Whether it is the name of a program, with or without a variant, and no folder."""
    return text.partition(":")[0] in PROGRAMS


def checked(text: str, names: Sequence[str] = PROGRAMS) -> str:
    """Refuse what is neither a program of these names nor the folder of one.

    Raises:
        BadParameter: It is none; so options are refused while they are read.
    """
    if not is_named(text) and not (text and Path(text).is_dir()):
        raise click.BadParameter(
            f"{text!r} is neither a program ({', '.join(names)}) nor the folder of a compiled one."
        )
    try:
        kind = kind_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if kind and kind not in names:  # loading says what a folder without one lacks
        shown = text if text == kind else f"{text}, which holds {kind},"
        raise click.BadParameter(f"{shown} is not one of {', '.join(names)}.")
    return text


def kind_of(text: str) -> str:
    """The name of the program, which for a compiled one its card tells; empty if it does not.

    Raises:
        InputError: It has no such variant.
    """
    if text in PROGRAMS:
        return text
    if is_named(text):
        from referee.programs.named import class_of

        return class_of(text).name
    try:
        return str(json.loads((Path(text) / "card.json").read_text(encoding="utf-8"))["program"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def program_of(text: str, lm: Any, **parts: Any) -> Any:
    """The program; what may be wrong with a compiled one is said on stderr.

    Args:
        text: A name, with a colon and a variant or without, or a folder.
        lm: The backbone that it will run on.
        parts: Constructor arguments that no file holds.

    Raises:
        ArtifactError: The folder holds no program that can be used.
    """
    from referee.artifact import load
    from referee.programs.named import named

    if is_named(text):
        return named(text, **parts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = load(text, lm, **parts)
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    return program


def built(text: str, lm: Any, lms: dict[str, Any], options: dict[str, Any]) -> Any:
    """A program with the rules and the queue that options bring, where it takes them.

    Args:
        text: A name, or a folder.
        lm: The backbone that it will run on.
        lms: Language models of roles.
        options: Of the command.

    Raises:
        InputError: A file or a role is wrong.
        UsageError: It has no use for one of them.
    """
    given = {k: options[k] for k in ("rules_file", "queue") if options.get(k)}
    kind = kind_of(text)
    unused = [k for k in given if not _takes(kind, k)]
    if unused:
        names = ", ".join("--" + k.removesuffix("_file") for k in unused)
        other = "arbgraph" if kind in LONG else "macr"
        raise click.UsageError(f"{kind} takes no {names}: choose --program {other}.")
    if "rules_file" in given and not is_named(text):
        raise click.UsageError("A compiled program has rules of its own: edit its rules.yaml.")
    if "rules_file" in given:
        from referee.cli_rules import load_rules

        given["rules"] = load_rules(given.pop("rules_file"))
    return program_of(text, lm, lms=lms, **given)


def answered(question: str, documents: list[Any], options: dict[str, Any]) -> Any:
    """The verdict of the program that options name, or its report where it writes long answers."""
    from referee.api import resolve, write
    from referee.cli_options import cached, connected, parse_budget
    from referee.progress import stages

    door: Callable[..., Any] = write if kind_of(options["program"]) in LONG else resolve
    lm, lms = connected(options)
    with cached(options), stages():
        return door(
            question,
            documents,
            lm=lm,
            program=built(options["program"], lm, lms, options),
            budget=parse_budget(options["budget"]),
            date=options["date"],
        )


def several(
    texts: Sequence[str], lm: Any, lms: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Programs by the name that a table shows; each takes of roles and rules what it has a use for.

    Raises:
        InputError: No program has a use for one of them.
        UsageError: Two have one name.
    """
    from referee.errors import InputError
    from referee.programs import PROGRAMS as CLASSES

    named = {text: text if is_named(text) else Path(text).resolve().name for text in texts}
    if len(set(named.values())) < len(texts):
        raise click.UsageError(f"Two of {', '.join(texts)} have one name: name folders apart.")
    roles = {text: getattr(CLASSES.get(kind_of(text)), "roles", ()) for text in texts}
    for role in lms:
        if not any(role in own for own in roles.values()):
            raise InputError(f"None of {', '.join(texts)} has a role {role!r}.")
    # Compiled ones have rules of their own.
    ruled = [text for text in texts if is_named(text) and kind_of(text) in RULED]
    if options["rules_file"] and not ruled:
        raise click.UsageError(f"{', '.join(texts)}: takes no --rules; add macr.")
    return {
        name: built(
            text,
            lm,
            {role: model for role, model in lms.items() if role in roles[text]},
            options if text in ruled else {},
        )
        for text, name in named.items()
    }


def metric_of(options: dict[str, Any]) -> Any:
    """The metric that a command is given, else the one for answers of the program's length."""
    from referee.cli_options import other_lm
    from referee.optimizers.scoring import as_metric

    own = "fact_recall" if kind_of(options["program"]) in LONG else "em"
    metric = as_metric(options["metric"] or own, other_lm(options, "judge"))
    if metric.name.startswith("fact_recall") and not options["judge"]:
        click.echo("Without --judge a fact counts where its words stand in the text.", err=True)
    return metric


def _takes(kind: str, option: str) -> bool:
    """Whether a program has rules, or a queue for conflicts that none covers."""
    return kind in RULED if option == "rules_file" else kind.startswith("macr")
