"""``referee write``: one question, its documents, a long answer with citations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.cli_options import (
    document_options,
    documents_of,
    lm_options,
    rules_option,
    run_options,
)
from referee.cli_programs import LONG, answered, program_option
from referee.errors import InputError

EXAMPLE = "east-asia-summit"


@click.command()
@click.argument("question", required=False)
@document_options
@click.option("--wikipedia", is_flag=True, help="Read what Wikipedia has on the question.")
@click.option("--example", metavar="NAME", help=f"A bundled example: {EXAMPLE}.")
@program_option(LONG, "arbgraph", "How to write")
@lm_options
@rules_option
@run_options
@click.option("--out", metavar="FILE", help="Write the report as Markdown into this file too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole record as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Write a long answer to QUESTION from documents that may disagree.

    Below the answer stand the claims that lost, with their credibility and why they lost.
    """
    from referee.render_report import as_markdown, print_report

    question, documents = _asked(options)
    out = _writable(options["out"])
    report = answered(question, documents, options)
    # Shown before it is written: it is paid for, and the disk may be full.
    if options["as_json"]:
        click.echo(json.dumps(report.record, ensure_ascii=False, indent=2))
    else:
        print_report(report)
    if out:
        try:
            out.write_text(as_markdown(report), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"--out {out} cannot be written ({error.strerror}); the report stands above."
            ) from None
    ctx.exit(1 if report.status in ("provider_error", "parse_error") else 0)


def _asked(options: dict[str, Any]) -> tuple[str, list[Any]]:
    """The question and its documents; an example brings both."""
    question, documents = options["question"], documents_of(options)
    if options["example"]:
        from referee.data import example

        found = example(options["example"])
        if not found.facts:
            raise InputError(
                f"The example {found.name!r} asks for a short answer: use referee resolve."
            )
        return question or found.question, [*found.documents, *documents]
    if question is None:
        raise click.UsageError(f"Give a question, or --example {EXAMPLE}.")
    if options["wikipedia"]:
        documents += _from_wikipedia(question)
    if not documents:
        raise click.UsageError(
            "Give documents with --doc FILE or --docs FILE.jsonl, or read --wikipedia."
        )
    return question, documents


def _from_wikipedia(question: str) -> list[Any]:
    from referee.runtime import Document
    from referee.runtime.retrieval import WikipediaRetriever

    passages = WikipediaRetriever()(question, 5)
    if not passages:
        raise InputError("Wikipedia has nothing on the question: give documents with --doc FILE.")
    return [
        Document(text=p.text, title=p.title, url=p.url, source="Wikipedia", id=f"w{n}")
        for n, p in enumerate(passages, start=1)
    ]


def _writable(out: str | None) -> Path | None:
    """The file for the report, opened once before anything is paid for.

    Raises:
        InputError: It cannot be written.
    """
    if out is None:
        return None
    try:
        with Path(out).open("a", encoding="utf-8"):
            return Path(out)
    except OSError as error:
        raise InputError(f"--out {out} cannot be written ({error.strerror}).") from None
