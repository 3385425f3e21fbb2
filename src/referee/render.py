"""A verdict for people: the answer, why, who says what, and what it cost."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from referee.runtime.records import Answer, Document, Usage, Verdict

_SNIPPET = 240  # characters of a snippet in the table


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print a verdict on stdout."""
    out = console or Console(highlight=False)
    out.print(f"[bold]{escape(headline(verdict))}[/bold]")
    if verdict.explanation:
        out.print(escape(verdict.explanation))
    if any(a.document_id for a in verdict.answers):
        out.print(_who_says_what(verdict))
    for note in verdict.notes:
        out.print(f"[dim]note: {escape(note)}[/dim]")
    out.print(f"[dim]{escape(cost_line(verdict))}[/dim]")


def headline(verdict: Verdict) -> str:
    """The answer, or in a few words why there is none."""
    none = {
        "abstained": "No answer: the sources do not tell.",
        "provider_error": "No answer: the language model failed.",
        "parse_error": "No answer: the language model's reply could not be read.",
        "budget": "No answer: the budget is spent.",
        "ok": "",
    }
    if not verdict.answer:
        return none[verdict.status]
    spent = " (the budget was spent before all sources were read)"
    return verdict.answer + (spent if verdict.status == "budget" else "")


def cost_line(verdict: Verdict) -> str:
    """Requests, tokens, dollars and seconds in one line."""
    usage: Usage = verdict.usage
    parts = [f"{usage.requests} request{'s' * (usage.requests != 1)}"]
    if usage.cached:
        parts.append(f"{usage.cached} cached")
    if usage.tokens is not None:
        parts.append(f"{usage.tokens:,} tokens")
    parts.append("cost unknown" if usage.cost is None else f"${usage.cost:.4f}")
    if usage.repaired:
        parts.append(f"{usage.repaired} repaired")
    parts.append(f"{verdict.timings.get('total', 0.0):.1f} s")
    return f"{verdict.program} on {verdict.backbone}: " + ", ".join(parts)


def _who_says_what(verdict: Verdict) -> Table:
    documents = {d.id: d for d in verdict.documents}
    table = Table(show_edge=False, pad_edge=False, expand=False)
    for name in ("document", "date", "answer", "snippet"):
        table.add_column(name, overflow="fold", no_wrap=name == "date")
    for answer in verdict.answers:
        if answer.document_id is not None:
            table.add_row(*_row(answer, documents[answer.document_id]))
    return table


def _row(answer: Answer, document: Document) -> list[Any]:
    said = answer.text or f"({answer.status.replace('_', ' ')})"
    snippet = answer.evidence.text if answer.evidence else answer.error
    if len(snippet) > _SNIPPET:
        snippet = snippet[: _SNIPPET - 1] + "…"
    return [escape(t) for t in (document.id, document.date, said, snippet)]
