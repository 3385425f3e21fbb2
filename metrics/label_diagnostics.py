"""From labels, of which some may be missing, to the measures of a long answer (ArbGraph, 4.1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ..errors import InputError
from .long_form import fact_recall
from .rag_diagnostics import rag_diagnostics

Row: TypeAlias = Sequence[str | None]
T = TypeVar("T")

SUPPORTED, CONTRADICTED, INSUFFICIENT = LABELS = ("supported", "contradicted", "insufficient")


@dataclass(frozen=True)
class Diagnosis:
    """Measures of one answer, and what they rest on.

    Attributes:
        measures: The measures by name, each in [0, 1], or None where nothing can be measured.
        claims: Claims of the response behind them.
        facts: Gold facts behind them.
        unscored: Claims and facts left out because a label is missing.
    """

    measures: Mapping[str, float | None]
    claims: int
    facts: int
    unscored: int


def label_diagnostics(
    claims_by_gold: Row,
    facts_stated: Sequence[bool | None],
    claims_by_documents: Sequence[Row],
    facts_by_documents: Sequence[Row],
) -> Diagnosis:
    """Return the measures of one answer from labels, None standing for a judge that failed.

    A claim or fact with a missing label is left out of all measures, so that their sums hold
    (`rag_diagnostics`); only ``fact_recall`` counts every fact that was judged in the response.

    Args:
        claims_by_gold: R labels, what the gold answer says about each claim of the response:
            ``supported``, ``contradicted``, ``insufficient`` or None.
        facts_stated: A flags, each gold fact is stated in the response, or None.
        claims_by_documents: R rows of D labels.
        facts_by_documents: A rows of D labels.

    Returns:
        The eleven measures of `rag_diagnostics`, and ``fact_recall``; ``contradicted`` (claims
        that a document contradicts and none supports) and ``unsupported`` (claims that no
        document supports or contradicts), so that faithfulness + contradicted + unsupported = 1;
        ``wrong`` (claims that the gold answer contradicts, the others that it does not support
        being merely absent from it).

    Raises:
        InputError: A label is unknown, or the tables disagree in R, A or D.
    """
    _same("claims_by_documents", claims_by_gold, claims_by_documents)
    _same("facts_by_documents", facts_stated, facts_by_documents)
    for row in (claims_by_gold, *claims_by_documents, *facts_by_documents):
        _check(row)
    claims = _complete(claims_by_gold, claims_by_documents)
    facts = _complete(facts_stated, facts_by_documents)
    rows = [row for _, row in claims]
    measures = rag_diagnostics(
        [label == SUPPORTED for label, _ in claims],
        [stated for stated, _ in facts],
        [_supported(row) for row in rows],
        [_supported(row) for _, row in facts],
    )
    measures |= {
        "fact_recall": fact_recall([s for s in facts_stated if s is not None]),
        "wrong": _share([label == CONTRADICTED for label, _ in claims]),
        "contradicted": _share([CONTRADICTED in r and SUPPORTED not in r for r in rows if r]),
        "unsupported": _share([set(r) == {INSUFFICIENT} for r in rows if r]),
    }
    left_out = len(claims_by_gold) + len(facts_stated) - len(claims) - len(facts)
    return Diagnosis(measures, len(claims), len(facts), left_out)


def _complete(heads: Sequence[T | None], rows: Sequence[Row]) -> list[tuple[T, Row]]:
    pairs = zip(heads, rows, strict=True)
    return [(h, row) for h, row in pairs if h is not None and None not in row]


def _supported(row: Row) -> list[bool]:
    return [label == SUPPORTED for label in row]


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _same(name: str, heads: Sequence[object], rows: Sequence[Row]) -> None:
    if len(heads) != len(rows):
        raise InputError(f"{name} has {len(rows)} rows for {len(heads)}: pass one row for each.")


def _check(row: Row) -> None:
    for label in row:
        if label is not None and label not in LABELS:
            raise InputError(f"a label is {label!r}: pass {', '.join(LABELS)} or None.")
