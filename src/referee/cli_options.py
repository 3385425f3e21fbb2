"""Options that several commands share, and what they turn into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from referee.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
METRICS = ("em", "fact_recall")
CONCURRENCY = 16  # requests in flight of a run over many rows, unless it says otherwise

_ONE_LM = (
    click.option(
        "--lm",
        metavar="MODEL",
        help="A litellm model string or an embedded model. Default: $REFEREE_LM, else embedded.",
    ),
    click.option("--api-base", metavar="URL", help="Address of an OpenAI-compatible server."),
)
_LM = (
    *_ONE_LM,
    click.option(
        "--fallback",
        "fallbacks",
        multiple=True,
        metavar="MODEL",
        help="Ask this one when --lm fails (MODEL or MODEL@URL).",
    ),
    click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="ROLE=MODEL[@URL]",
        help="Another model for one role.",
    ),
)
budget_option = click.option(
    "--budget", metavar="N", help="Stop after N requests, or requests=N,tokens=N,usd=X."
)
_CONCURRENCY = click.option(
    "--concurrency", type=click.IntRange(min=1), help="Requests in flight at once."
)
_RUN = (
    click.option("--date", metavar="YYYY-MM-DD", help="As-of date. Default: today."),
    budget_option,
    _CONCURRENCY,
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


_ROWS = (
    click.option("--limit", type=click.IntRange(min=1), help="At most so many rows."),
    click.option(
        "--split",
        type=click.Choice(("all", "demonstration", "validation", "test")),
        default="all",
        show_default=True,
        help="Which part of the data.",
    ),
    click.option("--seed", default=0, show_default=True, help="Draws rows, shuffles documents."),
    click.option(
        "--external",
        default="none",
        show_default=True,
        metavar="KIND",
        help="Outside knowledge for all programs: none, field, pool or lm:MODEL[@URL].",
    ),
)


def rows_options(command: F) -> F:
    """Which rows of a data set are asked, and with what knowledge from outside."""
    return _with(command, _ROWS)


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


def one_lm_options(command: F) -> F:
    """Which language model answers, where roles and fallbacks have no place, and how fast."""
    return _with(command, (*_ONE_LM, _CONCURRENCY))


def run_options(command: F) -> F:
    """As of when, at what cost, how fast."""
    return _with(command, _RUN)


judge_option = click.option(
    "--judge",
    metavar="MODEL[@URL]",
    help="Judges long answers: which facts they state, and in evaluate more.",
)
metric_option = click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="What a right answer is. Default: em, and fact_recall for long answers.",
)
rules_option = click.option(
    "--rules", "rules_file", metavar="FILE", help="Your own rules.yaml instead of the starter base."
)
queue_option = click.option(
    "--queue", metavar="FILE", help="Append conflicts that no rule covers to this JSONL file."
)


def folder_option(help: str) -> Callable[[F], F]:
    """``--out``, a folder, made when missing; a wrong one is refused before it is paid for."""
    return click.option(
        "--out",
        required=True,
        metavar="DIR",
        callback=lambda _, __, value: checked_folder(value),
        help=help,
    )


def checked_folder(text: str | None) -> str | None:
    """Refuse a folder that cannot be one; None where an option is not given."""
    if text is None:
        return None
    if not text or (Path(text).exists() and not Path(text).is_dir()):
        raise click.BadParameter(f"{text!r} is no folder: give one, or a new name.")
    return text


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
            fallbacks=options.get("fallbacks") or (),
            progress=progress,
            **settings,
        )
        lms = {
            role: connect(model, api_base=address, progress=progress, **settings)
            for role, (model, address) in _roles(options)
        }
    return lm, lms


def other_lm(options: dict[str, Any], name: str) -> Any:
    """The language model that an option names as ``MODEL[@URL]``; None when it is not given."""
    if not options.get(name):
        return None
    from referee.runtime.backbones import with_address

    model, address = with_address(options[name])
    alone = {"concurrency": options["concurrency"]}
    return connected({"lm": model, "api_base": address, **alone})[0]


@contextmanager
def cached(options: dict[str, Any]) -> Iterator[None]:
    """Replies are kept, unless ``--no-cache``."""
    import dspy

    from referee.runtime import ReplyCache, caching

    # dspy's own cache would keep pickles, and answer what --no-cache asks again.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with caching(None if options.get("no_cache") else ReplyCache()):
        yield


def _roles(options: dict[str, Any]) -> list[tuple[str, tuple[str, str | None]]]:
    from referee.runtime.backbones import with_address, without_password

    pairs = [text.partition("=") for text in options.get("roles") or ()]
    for role, sign, model in pairs:
        if not (role and sign and model):
            shown = without_password(role + sign + model)
            raise click.UsageError(f"--role is {shown!r}: write ROLE=MODEL or ROLE=MODEL@URL.")
    return [(role, with_address(model)) for role, _, model in pairs]


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
