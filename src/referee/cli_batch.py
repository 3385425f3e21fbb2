"""``referee batch``: a file of questions, an answer to each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import click

from referee.cli_options import (
    CONCURRENCY,
    cached,
    checked_folder,
    connected,
    exit_code,
    lm_options,
    parse_budget,
    queue_option,
    rules_option,
    run_options,
)
from referee.cli_programs import PROGRAMS, built, program_option


@click.command()
@click.argument("file", metavar="FILE")
@program_option(PROGRAMS, "macr", "How to answer")
@click.option(
    "--out",
    metavar="DIR",
    callback=lambda _, __, value: checked_folder(value),
    help="Keep the answers here, and go on where a run ended.",
)
@lm_options
@rules_option
@queue_option
@run_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Answer a JSONL FILE of questions; - reads them from stdin.

    Each line is an object with id, question, documents and optionally date. Answers are written as
    they come, one JSON record a line: to OUT/answers.jsonl, or to stdout without --out. A line
    that is wrong gets a record that says so, and the rest goes on. Exit code 1 when an answer
    failed, 2 when only lines were wrong.
    """
    from referee.batch import Batch
    from referee.progress import rows, say

    if options["file"] == "-" and options["out"]:
        raise click.UsageError("What comes from stdin cannot be taken up again: leave --out out.")
    lm, lms = connected(options)
    with cached(options), rows() as progress:
        batch = Batch(
            built(options["program"], lm, lms, options),
            lm,
            options["concurrency"] or CONCURRENCY,
            parse_budget(options["budget"]),
            options["date"],
            progress,
        )
        if options["out"]:
            statuses = batch.to_folder(options["file"], options["out"])
        else:
            with _opened(options["file"]) as lines:
                statuses = batch.to_function(lines, _print)
    say(", ".join(f"{n:,} {status}" for status, n in sorted(statuses.items())) or "No question.")
    ctx.exit(exit_code(statuses))


def _opened(path: str) -> BinaryIO:
    if path == "-":
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read ({error.strerror}).") from None


def _print(record: dict[str, Any]) -> None:
    click.echo(json.dumps(record, ensure_ascii=False))
    sys.stdout.flush()
