"""``referee resolve``: one question, its documents, an answer."""

from __future__ import annotations

import json
from typing import Any

import click

from referee.cli_programs import PROGRAM, checked_program, kind_of, program_of
from referee.errors import InputError


@click.command()
@click.argument("question", required=False)
@click.option(
    "--doc", "files", multiple=True, metavar="FILE", help="A text file; give it again for more."
)
@click.option(
    "--docs",
    "jsonl",
    metavar="FILE",
    help="A JSONL file, one document (text, id, source, date, ...) a line.",
)
@click.option(
    "--example",
    metavar="NAME",
    help="A bundled example: tesla, mars-moons, springfield, telephone, unknown.",
)
@click.option(
    "--program",
    metavar=PROGRAM,
    callback=checked_program,
    default="macr",
    show_default=True,
    help="How to answer: the name of a program, or the folder of a compiled one.",
)
@click.option(
    "--lm",
    metavar="MODEL",
    help="A litellm model string or an embedded model. Default: $REFEREE_LM, else embedded.",
)
@click.option("--api-base", metavar="URL", help="Address of an OpenAI-compatible server.")
@click.option(
    "--fallback",
    "fallbacks",
    multiple=True,
    metavar="MODEL",
    help="Ask this one when --lm fails (MODEL or MODEL@URL).",
)
@click.option(
    "--role", "roles", multiple=True, metavar="ROLE=MODEL", help="Another model for one role."
)
@click.option(
    "--rules", "rules_file", metavar="FILE", help="Your own rules.yaml instead of the starter base."
)
@click.option(
    "--queue", metavar="FILE", help="Append conflicts that no rule covers to this JSONL file."
)
@click.option("--date", metavar="YYYY-MM-DD", help="As-of date. Default: today.")
@click.option("--budget", metavar="N", help="Stop after N requests, or requests=N,tokens=N,usd=X.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Requests in flight at once.")
@click.option("--no-cache", is_flag=True, help="Ask again even what was asked before.")
@click.option("--explain", is_flag=True, help="Show the stages too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole record as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Answer QUESTION from documents that may disagree."""
    from referee.render import print_verdict

    question, documents = _asked(options)
    verdict = _resolve(question, documents, options)
    if options["as_json"]:
        click.echo(json.dumps(verdict.record, ensure_ascii=False, indent=2))
    else:
        print_verdict(verdict, explain=options["explain"])
    ctx.exit(1 if verdict.status in ("provider_error", "parse_error") else 0)


def _asked(options: dict[str, Any]) -> tuple[str, list[Any]]:
    """The question and its documents; an example brings both."""
    question, documents = options["question"], _documents(options)
    if options["example"]:
        from referee.data import example

        found = example(options["example"])
        return question or found.question, [*found.documents, *documents]
    if question is None:
        raise click.UsageError("Give a question, or --example NAME.")
    if not documents and kind_of(options["program"]) != "direct":
        raise click.UsageError("Give documents with --doc FILE or --docs FILE.jsonl.")
    return question, documents


def _documents(options: dict[str, Any]) -> list[Any]:
    from referee.runtime.documents import read_file, read_jsonl

    documents = [read_file(path) for path in options["files"]]
    return documents + (read_jsonl(options["jsonl"]) if options["jsonl"] else [])


def _resolve(question: str, documents: list[Any], options: dict[str, Any]) -> Any:
    import dspy

    from referee.api import resolve
    from referee.progress import pulling, stages
    from referee.runtime import ReplyCache, caching, connect

    settings = {"concurrency": options["concurrency"]}
    with pulling() as progress:
        lm = connect(
            options["lm"],
            api_base=options["api_base"],
            fallbacks=options["fallbacks"],
            progress=progress,
            **settings,
        )
        lms = {role: connect(m, progress=progress, **settings) for role, m in _roles(options)}
    # dspy's own cache would keep pickles, and answer what --no-cache asks again.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    cache = None if options["no_cache"] else ReplyCache()
    with caching(cache), stages():
        return resolve(
            question,
            documents,
            lm=lm,
            program=program_of(options["program"], lm, lms=lms, **_settings(options)),
            budget=parse_budget(options["budget"]),
            date=options["date"],
        )


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Settings of MACR that files bring; other programs have neither rules nor a queue."""
    given = {k: options[k] for k in ("rules_file", "queue") if options[k]}
    kind = kind_of(options["program"])
    if given and not kind.startswith("macr"):
        names = ", ".join("--" + k.removesuffix("_file") for k in given)
        raise click.UsageError(f"{kind} takes no {names}: choose --program macr.")
    if "rules_file" in given and kind != options["program"]:
        raise click.UsageError("A compiled program has rules of its own: edit its rules.yaml.")
    if "rules_file" in given:
        from referee.cli_rules import load_rules

        given["rules"] = load_rules(given.pop("rules_file"))
    return given


def _roles(options: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in options["roles"]]
    for role, sign, model in pairs:
        if not (role and sign and model):
            raise click.UsageError(f"--role is {role + sign + model!r}: write ROLE=MODEL.")
    return [(role, model) for role, _, model in pairs]


def parse_budget(text: str | None) -> Any:
    """A budget from ``N`` or ``requests=N,tokens=N,usd=X``; None when not given.

    Raises:
        InputError: It cannot be read.
    """
    from referee.runtime import Budget

    if text is None:
        return None
    kinds: dict[str, type[int] | type[float]] = {"requests": int, "tokens": int, "usd": float}
    bounds: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, value = part.strip().partition("=")
        name, value = (name, value) if sign else ("requests", name)
        try:
            bounds[name] = kinds[name](value)
        except (KeyError, ValueError):
            raise InputError(
                f"--budget is {text!r}: write a number of requests, or requests=N,tokens=N,usd=X."
            ) from None
    return Budget(**bounds)
