"""Labelled cases for ArbGraph's verifier and arbiter (ArbGraph, Table 4), as rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import InputError
from ..runtime.chunks import sentences
from ..runtime.records import Document
from .own import check_ids, read_own
from .rows import Row, drawn

RELATIONS = ("support", "contradiction", "neutral")
BUNDLED_CASES = ("relations", "arbitration")
PAIR_QUESTION = "How do the two claims relate?"


class Labelled(NamedTuple):
    """Labelled cases of one kind.

    Attributes:
        kind: ``relations``: two texts and how they relate. ``arbitration``: two contradicting
            claims and which is right.
        name: Of the bundled set, or of the file.
        rows: The label, or the claim that is right, is the answer.
    """

    kind: Literal["relations", "arbitration"]
    name: str
    rows: tuple[Row, ...]


def labelled(source: str, *, limit: int | None = None, seed: int = 0) -> Labelled:
    """Labelled cases, drawn by the seed; of pairs as many of each label as there are.

    Args:
        source: ``relations``, ``arbitration``, or a JSONL file: of pairs (``id``, ``claim_a``,
            ``claim_b``, ``label``), or of rows as in `docs/data.md` whose contexts each begin with
            one of two claims, the right one being the answer.
        limit: At most so many.
        seed: Which ones.

    Raises:
        InputError: There is no such file, or a case is not labelled as it must be.
    """
    path = Path(str(files("referee.data").joinpath(f"{source}.jsonl")))
    path = path if source in BUNDLED_CASES else Path(source)
    pairs = _pairs(path)
    if pairs:
        rows = [_pair(found, f"{path}, row {n}") for n, found in enumerate(pairs, 1)]
        check_ids(rows, path)
        return Labelled("relations", path.stem, tuple(_ranked(rows, seed)[:limit]))
    cases = [_case(row, f"{path}, row {row.id!r}") for row in read_own(path)]
    return Labelled("arbitration", path.stem, tuple(drawn(cases, seed))[:limit])


def _pairs(path: Path) -> list[Mapping[str, Any]]:
    """Plain records of a file of pairs; none for one of rows, whose errors its reader says."""
    if path.suffix != ".jsonl":
        raise InputError(
            f"{path} is no set of labelled cases: give {' or '.join(BUNDLED_CASES)}, or a .jsonl "
            "file of pairs (claim_a, claim_b, label) or of cases (docs/data.md)."
        )
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a JSONL file.") from None
    if not found:
        raise InputError(f"{path} holds no labelled rows: write at least one.")
    return found if isinstance(found[0], Mapping) and "claim_a" in found[0] else []


def _pair(found: Any, where: str) -> Row:
    texts = [found.get(n) if isinstance(found, Mapping) else None for n in ("claim_a", "claim_b")]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError(f"{where} has no texts 'claim_a' and 'claim_b': give both.")
    label = found.get("label")
    if label not in RELATIONS:
        raise InputError(f"{where}, field 'label' is {label!r}: write {', '.join(RELATIONS)}.")
    return Row(
        id=str(found.get("id") or where.rpartition(" ")[2]),
        question=PAIR_QUESTION,
        documents=tuple(
            Document(text=str(text), id=id) for text, id in zip(texts, "ab", strict=True)
        ),
        answers=(label,),
        conflict_type=label,
        dataset="relations",
    )


def _case(row: Row, where: str) -> Row:
    claims = {next((s.text for s in sentences(d.text)), "") for d in row.documents}
    if not row.answers:
        raise InputError(f"{where} is not labelled: its answer must be the claim that is right.")
    if len(claims) != 2 or row.answers[0] not in claims:
        raise InputError(
            f"{where} has {len(claims)} claims: each context must begin with one of two sentences, "
            "and the answer be the one that is right."
        )
    return row


def _ranked(rows: Sequence[Row], seed: int) -> list[Row]:
    """All rows, so that any number of the first ones holds as many of each label as there are."""
    seen: Counter[str] = Counter()
    ranks = []
    for row in drawn(rows, seed):
        ranks.append((seen[row.conflict_type], row))
        seen[row.conflict_type] += 1
    return [row for _, row in sorted(ranks, key=lambda pair: pair[0])]
