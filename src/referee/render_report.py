"""A report for people: the answer with citations, what was contested, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from referee.printable import printable
from referee.render import cost_line, escape
from referee.runtime.records import Claim, Report

_NARROWEST = 40  # columns
_NOTHING = {
    "abstained": "No answer: abstained.",
    "parse_error": "No answer: the reply of the language model could not be read.",
    "provider_error": "No answer: the language model failed.",
    "budget": "No answer: the budget is spent.",
    "ok": "",
}
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_[]#|<>"} | {"&": "&amp;"})


def print_report(report: Report, console: Console | None = None) -> None:
    """Print a report on stdout."""
    out = console or Console(highlight=False, width=max(_NARROWEST, Console().width))
    text = report.cited_text or report.text or _NOTHING[report.status]
    out.print(f"[bold]{escape(text)}[/bold]")
    if report.explanation:
        out.print(escape(report.explanation))
    contested = contested_claims(report)
    if contested:
        out.print(_table(contested))
    for one, other in unresolved_texts(report):
        out.print(escape(f"unresolved: “{one}” / “{other}”"))
    out.print(f"[dim]{escape(stage_line(report))}[/dim]")
    for note in report.notes:
        out.print(f"[dim]note: {escape(note)}[/dim]")
    out.print(f"[dim]{escape(cost_line(report))}[/dim]")


def contested_claims(report: Report) -> list[Claim]:
    """Claims of a contradiction: those that lost first, then those that won or stayed open."""
    contested = {
        end for edge in report.graph.get("contradictions", ()) for end in (edge["a"], edge["b"])
    }
    return [c for c in (*report.suppressed, *report.validated) if c.id in contested]


def unresolved_texts(report: Report) -> list[tuple[str, str]]:
    """The claims of each contradiction that stayed open, in words."""
    texts = {claim.id: claim.text for claim in report.validated}
    return [(texts[a], texts[b]) for a, b in report.unresolved]


def stage_line(report: Report) -> str:
    """Counts of the stages in one line; empty for a program that counts none."""
    s = report.stages
    if "chunks" not in s:  # a baseline: its own counts
        return ", ".join(f"{n} {name}" for name, n in s.items() if isinstance(n, int))
    return (
        f"{s['chunks']} chunks, {s['claims']} claims, {s['nodes']} nodes "
        f"({s['filtered']} off the question), {s['pairs']} pairs, {s['supports']} supports, "
        f"{s['contradictions']} contradictions, {s['rounds']} rounds"
    )


def as_markdown(report: Report) -> str:
    """The report as Markdown; texts of documents and models cannot act as markup in it."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {_plain(report.question)}"
    yield ""
    yield _plain(report.cited_text or report.text or _NOTHING[report.status])
    yield ""
    yield _plain(report.explanation)
    contested = contested_claims(report)
    if contested:
        yield "\n## Contested claims\n"
        yield "| claim | documents | credibility | why it lost |"
        yield "|---|---|---|---|"
        for claim in contested:
            documents = ", ".join(claim.document_ids)
            cells = (claim.text, documents, _credibility(claim), claim.reason or "it stands")
            yield "| " + " | ".join(_plain(c) for c in cells) + " |"
    for one, other in unresolved_texts(report):
        yield f"\nUnresolved: “{_plain(one)}” / “{_plain(other)}”"
    yield "\n## Documents\n"
    for document in report.documents:
        named = ", ".join(p for p in (document.title, document.source, document.date) if p)
        yield f"- {_plain(document.id)}" + (f": {_plain(named)}" if named else "")
    yield ""
    yield _plain(f"{cost_line(report)}; as of {report.date}")
    for note in report.notes:
        yield f"\nNote: {_plain(note)}"


def _table(claims: list[Claim]) -> Table:
    table = Table(show_edge=False, pad_edge=False, title="contested claims", title_justify="left")
    for name in ("claim", "documents", "credibility", "why it lost"):
        table.add_column(name, overflow="fold")
    for claim in claims:
        cells = (
            claim.text,
            ", ".join(claim.document_ids),
            _credibility(claim),
            claim.reason or "-",
        )
        table.add_row(*[escape(cell) for cell in cells])
    return table


def _credibility(claim: Claim) -> str:
    return "-" if claim.credibility is None else f"{claim.credibility:.2f}"


def _plain(text: str) -> str:
    """A text on one line, with nothing that Markdown or HTML would obey."""
    return printable(" ".join(text.split())).translate(_MARKUP)
