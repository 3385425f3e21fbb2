"""A verdict for people: the answer, why, who says what, and what it cost."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from referee.printable import printable
from referee.runtime.records import Answer, Document, Outcome, Usage, Verdict

_NARROWEST = 40  # columns; below, nothing could be read
_SNIPPET = 240  # characters of a snippet in the table


def print_verdict(
    verdict: Verdict, console: Console | None = None, *, explain: bool = False
) -> None:
    """Print a verdict on stdout; with ``explain`` the stages too."""
    out = console or Console(highlight=False, width=max(_NARROWEST, Console().width))
    out.print(f"[bold]{escape(headline(verdict))}[/bold]")
    if verdict.explanation:
        out.print(escape(verdict.explanation))
    if any(a.document_id for a in verdict.answers):
        out.print(_who_says_what(verdict))
    if verdict.conflicts:
        out.print(_conflicts(verdict))
    if verdict.branch != "not needed":
        out.print(f"[dim]{escape(assessment_line(verdict))}[/dim]")
    if explain:
        _print_stages(verdict, out)
    for note in verdict.notes:
        out.print(f"[dim]note: {escape(note)}[/dim]")
    out.print(f"[dim]{escape(cost_line(verdict))}[/dim]")


def escape(text: str) -> str:
    """A text as rich shows it literally, and as no terminal obeys it."""
    return escape_markup(printable(text))


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


def assessment_line(verdict: Verdict) -> str:
    """How sure the model is of its own memory, and where the basic context came from."""
    sure = "not known" if verdict.uncertainty is None else f"{verdict.uncertainty:.2f}"
    branch = {
        "internal": "its memory is the basic context",
        "external": "an outside source is the basic context",
        "none": "no basic context",
    }[verdict.branch]
    return f"uncertainty of the model's memory: {sure} (0 sure, 1 unsure); {branch}"


def cost_line(verdict: Outcome) -> str:
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


def _conflicts(verdict: Verdict) -> Table:
    table = Table(show_edge=False, pad_edge=False, title="conflicts", title_justify="left")
    for name in ("type", "one side", "other side", "for", "rule"):
        table.add_column(name, overflow="fold")
    for conflict in verdict.conflicts:
        sides = [
            f"{answer}\n{_cut(snippet)}"
            for answer, snippet in zip(conflict["answers"], conflict["snippets"], strict=True)
        ]
        how = conflict["how"] + (", provisional" if conflict["provisional"] else "")
        rule = f"{conflict['rule']} ({how})" if conflict["rule"] else how
        judged = conflict["judgment"] or "-"
        table.add_row(*[escape(t) for t in (conflict["type"], *sides, judged, rule)])
    return table


def _print_stages(verdict: Verdict, out: Console) -> None:
    for name, value in verdict.stages.items():
        if not value:
            continue
        lines = (
            [str(v) if isinstance(v, str) else _pairs(v) for v in value]
            if isinstance(value, list)
            else [str(value)]
        )
        out.print(f"[bold]{escape(name.replace('_', ' '))}[/bold]")
        for line in lines:
            out.print(f"  {escape(line)}")
    seconds = ", ".join(f"{k} {v:.1f} s" for k, v in verdict.timings.items())
    out.print(f"[bold]seconds[/bold]\n  {escape(seconds)}")


def _pairs(relation: Any) -> str:
    one, other = relation["answers"]
    kind = relation["type"] + " conflict" if relation["contradiction"] else relation["shape"]
    return f"{one} / {other}: {kind} ({relation['reason'] or 'no reason'}; by {relation['by']})"


def _cut(snippet: str) -> str:
    return snippet if len(snippet) <= _SNIPPET else snippet[: _SNIPPET - 1] + "…"


def _row(answer: Answer, document: Document) -> list[Any]:
    said = answer.text or f"({answer.status.replace('_', ' ')})"
    snippet = answer.evidence.text if answer.evidence else answer.error
    return [escape(t) for t in (document.id, document.date, said, _cut(snippet))]
