"""Options that several commands share, and what they turn into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from referee.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
SHORT = ("direct", "icl", "macr", "macr-paper", "vote")
LONG = ("arbgraph", "rag")
PROGRAMS = (*SHORT, *LONG)

_LM = (
    click.option(
        "--lm",
        metavar="MODEL",
        help="A litellm model string or an embedded model. Default: $REFEREE_LM, else embedded.",
    ),
    click.option("--api-base", metavar="URL", help="Address of an OpenAI-compatible server."),
    click.option(
        "--fallback",
        "fallbacks",
        multiple=True,
        metavar="MODEL",
        help="Ask this one when --lm fails (MODEL or MODEL@URL).",
    ),
    click.option(
        "--role", "roles", multiple=True, metavar="ROLE=MODEL", help="Another model for one role."
    ),
)
_RUN = (
    click.option("--date", metavar="YYYY-MM-DD", help="As-of date. Default: today."),
    click.option(
        "--budget", metavar="N", help="Stop after N requests, or requests=N,tokens=N,usd=X."
    ),
    click.option("--concurrency", type=click.IntRange(min=1), help="Requests in flight at once."),
    click.option("--no-cache", is_flag=True, help="Ask again even what was asked before."),
)


_DOCUMENTS = (
    click.option(
        "--doc", "files", multiple=True, metavar="FILE", help="A text file; give it again for more."
    ),
    click.option(
        "--docs",
        "jsonl",
        metavar="FILE",
        help="A JSONL file, one document (text, id, source, date, ...) a line.",
    ),
)


def document_options(command: F) -> F:
    """Which documents are read."""
    return _with(command, _DOCUMENTS)


def documents_of(options: dict[str, Any]) -> list[Any]:
    """The documents that files bring, in the order of the options.

    Raises:
        InputError: A file cannot be read.
    """
    from referee.runtime.documents import read_file, read_jsonl

    documents = [read_file(path) for path in options["files"]]
    return documents + (read_jsonl(options["jsonl"]) if options["jsonl"] else [])


def lm_options(command: F) -> F:
    """Which language models answer."""
    return _with(command, _LM)


def run_options(command: F) -> F:
    """As of when, at what cost, how fast."""
    return _with(command, _RUN)


rules_option = click.option(
    "--rules", "rules_file", metavar="FILE", help="Your own rules.yaml instead of the starter base."
)
queue_option = click.option(
    "--queue", metavar="FILE", help="Append conflicts that no rule covers to this JSONL file."
)


def _with(command: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def connected(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The language model of a command, and those of single roles.

    Raises:
        InputError: A model string cannot be understood.
        WeightsError: The weights of an embedded model cannot be had.
    """
    from referee.progress import pulling
    from referee.runtime import connect

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
    return lm, lms


@contextmanager
def cached(options: dict[str, Any]) -> Iterator[None]:
    """Replies are kept, unless ``--no-cache``."""
    import dspy

    from referee.runtime import ReplyCache, caching

    # dspy's own cache would keep pickles, and answer what --no-cache asks again.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with caching(None if options["no_cache"] else ReplyCache()):
        yield


def built(name: str, lms: dict[str, Any], options: dict[str, Any]) -> Any:
    """A program by name, with the settings of MACR that files bring.

    Raises:
        InputError: A file or a role is wrong.
    """
    from referee.programs import PROGRAMS as CLASSES

    given = {k: options[k] for k in ("rules_file", "queue") if options.get(k)}
    unused = [k for k in given if not _takes(name, k)]
    if unused:
        names = ", ".join("--" + k.removesuffix("_file") for k in unused)
        other = "arbgraph" if name in LONG else "macr"
        raise click.UsageError(f"{name} takes no {names}: choose --program {other}.")
    if "rules_file" in given:
        from referee.cli_rules import load_rules

        given["rules"] = load_rules(given.pop("rules_file"))
    return CLASSES[name](lms=lms, **given)


def _takes(name: str, option: str) -> bool:
    """Whether a program has rules, or a queue for conflicts that none covers."""
    return name.startswith("macr") or (name == "arbgraph" and option == "rules_file")


def several(names: list[str], lms: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Programs by name; each takes of roles and files what it has a use for.

    Raises:
        InputError: No program has a use for one of them.
    """
    from referee.programs import PROGRAMS as CLASSES

    for role in lms:
        if not any(role in CLASSES[name].roles for name in names):
            raise InputError(f"None of {', '.join(names)} has a role {role!r}.")
    if options["rules_file"] and not any(_takes(name, "rules_file") for name in names):
        raise click.UsageError(f"{', '.join(names)}: takes no --rules; add macr.")
    found = {}
    for name in names:
        own = {role: lm for role, lm in lms.items() if role in CLASSES[name].roles}
        found[name] = built(name, own, options if _takes(name, "rules_file") else {})
    return found


def _roles(options: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in options["roles"]]
    for role, sign, model in pairs:
        if not (role and sign and model):
            raise click.UsageError(f"--role is {role + sign + model!r}: write ROLE=MODEL.")
    return [(role, model) for role, _, model in pairs]


def exit_code(statuses: Mapping[str, int]) -> int:
    """Of a run over many rows: 1 when a model or program failed, 2 when only an input was wrong."""
    if any(statuses.get(s) for s in ("provider_error", "parse_error", "program_error")):
        return 1
    return 2 if statuses.get("input_error") else 0


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
