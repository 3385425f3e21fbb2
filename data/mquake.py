"""MQuAKE: a chain of facts before and after an edit (CF-3k-v2), or after time has passed (T)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.records import Document
from .cards import Card
from .hub import Source, field, texts
from .rows import Row


def convert(raw: Mapping[str, Any]) -> Row:
    """One question with two contexts: the joined chain before and after the edit.

    MACR scores the edited answer, so the chain after the edit is the correct context. Of the three
    wordings of a question the first is taken. An alias that both answers share is right.
    """
    temporal = str(raw.get("file", "")).startswith("MQuAKE-T")
    answers = texts(field(raw, "new_answer"), raw.get("new_answer_alias"))
    before = texts(field(raw, "answer"), raw.get("answer_alias"))
    return Row(
        id=f"mquake-{'t' if temporal else 'cf'}-{raw.get('case_id', raw['number'])}",
        question=str(field(raw, "questions", list)[0]),
        documents=(_chain(raw, "new_single_hops"), _chain(raw, "single_hops")),
        answers=answers,
        wrong_answers=tuple(a for a in before if a not in answers),
        roles=("correct", "temporal" if temporal else "original"),
        dataset="mquake-t" if temporal else "mquake",
        conflict_type="temporal" if temporal else "misinformation",
    )


def _chain(raw: Mapping[str, Any], name: str) -> Document:
    hops = field(raw, name, list)
    return Document(text=" ".join(f"{field(h, 'cloze')} {field(h, 'answer')}." for h in hops))


def _source(name: str, file: str, what: str, as_of: str) -> Source:
    return Source(
        Card(
            name,
            what=what,
            gold="the edited answer, as in MACR and the benchmark",
            licence="MIT",
            as_of=as_of,
        ),
        convert,
        revision="main",
        files=(
            "https://raw.githubusercontent.com/princeton-nlp/MQuAKE/{revision}/datasets/" + file,
        ),
    )


SOURCES = {
    "mquake": _source(
        "mquake",
        "MQuAKE-CF-3k-v2.json",
        "Multi-hop questions; one context joins the facts before, one after a counterfactual edit.",
        "2023-05-24",
    ),
    "mquake-t": _source(
        "mquake-t",
        "MQuAKE-T.json",
        "Multi-hop questions whose last fact changed between 2021 and 2023.",
        "2023-04-30",
    ),
}
