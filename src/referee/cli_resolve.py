"""``referee resolve``: one question, its documents, an answer."""

from __future__ import annotations

import json
from typing import Any

import click

from referee.cli_options import (
    document_options,
    documents_of,
    lm_options,
    queue_option,
    rules_option,
    run_options,
)
from referee.cli_programs import SHORT, answered, kind_of, program_option


@click.command()
@click.argument("question", required=False)
@document_options
@click.option(
    "--example",
    metavar="NAME",
    help="A bundled example: tesla, mars-moons, springfield, telephone, unknown.",
)
@program_option(SHORT, "macr", "How to answer")
@lm_options
@rules_option
@queue_option
@run_options
@click.option("--explain", is_flag=True, help="Show the stages too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole record as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Answer QUESTION from documents that may disagree."""
    from referee.render import print_verdict

    question, documents = _asked(options)
    verdict = answered(question, documents, options)
    if options["as_json"]:
        click.echo(json.dumps(verdict.record, ensure_ascii=False, indent=2))
    else:
        print_verdict(verdict, explain=options["explain"])
    ctx.exit(1 if verdict.status in ("provider_error", "parse_error") else 0)


def _asked(options: dict[str, Any]) -> tuple[str, list[Any]]:
    """The question and its documents; an example brings both."""
    question, documents = options["question"], documents_of(options)
    if options["example"]:
        from referee.data import example

        found = example(options["example"])
        return question or found.question, [*found.documents, *documents]
    if question is None:
        raise click.UsageError("Give a question, or --example NAME.")
    if not documents and kind_of(options["program"]) != "direct":
        raise click.UsageError("Give documents with --doc FILE or --docs FILE.jsonl.")
    return question, documents
