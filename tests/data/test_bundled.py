"""The bundled sets hold what their cards say, and what they say can be checked."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from referee.data import load

DATA = Path(__file__).parents[2] / "data"
TYPES = ("temporal", "misinformation", "semantic", "granularity", "agreement")
SHAPES = {
    "list",
    "refinement",
    "scope",
    "namesake",
    "plan",
    "conditional",
    "retold",
    "notation",
    "identifier",
    "negation",
    "no answer",
}


def words(text):
    return [w for w in re.findall(r"[\w.,-]*\w", text.lower()) if len(w) > 3 or w.isdigit()]


def role_texts(row, *roles):
    pairs = zip(row.documents, row.roles, strict=True)
    return [d.text.lower() for d, role in pairs if role in roles]


@pytest.mark.parametrize("name", ["conflicts", "long"])
def test_the_card_tells_the_hash_and_the_counts_of_the_file(name):
    card = (DATA / f"{name}.md").read_text(encoding="utf-8")
    content = (DATA / f"{name}.jsonl").read_bytes()
    rows = load(name).rows
    kinds = Counter(r.conflict_type for r in rows)
    assert f"`{hashlib.sha256(content).hexdigest()}`" in card
    assert f"| rows | {len(rows)} |" in card
    assert f"| contexts | {sum(len(r.documents) for r in rows)} |" in card
    assert all(f"| {kind} | {number} |" in card for kind, number in kinds.items())
    assert "Licence: MIT" in card
    if name == "long":
        assert f"| gold facts | {sum(len(r.facts) for r in rows)} |" in card


def test_types_are_spread_and_every_compatible_shape_is_there():
    rows = load("conflicts").rows
    kinds = Counter(r.conflict_type for r in rows)
    assert len(rows) >= 60
    assert all(9 <= kinds[kind] <= 13 for kind in TYPES)
    assert set(kinds) == {*TYPES, *SHAPES}
    assert sum(kinds[shape] for shape in SHAPES) >= 12


@pytest.mark.parametrize("name", ["conflicts", "long"])
def test_every_context_has_provenance_and_every_row_an_as_of_date_after_it(name):
    for row in load(name).rows:
        assert 2 <= len(row.documents) <= 5, row.id
        sources = [d.source for d in row.documents]
        assert all(sources), row.id
        assert len(set(sources)) == len(sources), row.id
        assert all(d.date and d.date < row.date for d in row.documents), row.id
        assert all(row.roles), row.id


def test_right_answers_stand_in_correct_contexts_and_wrong_ones_in_some_context():
    for row in load("conflicts").rows:
        right = " ".join(role_texts(row, "correct"))
        all_texts = " ".join(d.text.lower() for d in row.documents)
        if row.conflict_type == "no answer":
            assert row.answers == ()
        elif row.conflict_type != "negation":  # a denial does not contain the word "no"
            assert any(a.lower() in right for a in row.answers), row.id
        assert all(w.lower() in all_texts for w in row.wrong_answers), row.id
        assert not {a.lower() for a in row.answers} & {w.lower() for w in row.wrong_answers}


def test_some_rows_outvote_the_truth_by_copies_give_orders_or_use_other_scripts():
    rows = load("conflicts").rows
    outvoted = [
        r
        for r in rows
        if sum(x not in ("correct", "noise") for x in r.roles) > r.roles.count("correct")
    ]
    hostile = [
        r
        for r in rows
        if any(re.search(r"(?i)ignore (all|previous)|system:", d.text) for d in r.documents)
    ]
    foreign = [r for r in rows if any(ord(c) > 0x370 for c in r.question)]
    assert len(outvoted) >= 5
    assert len(hostile) >= 3
    assert len(foreign) >= 5


def test_gold_facts_are_stated_by_a_correct_document_and_false_claims_are_planted():
    rows = load("long").rows
    assert len(rows) >= 12
    for row in rows:
        assert 6 <= len(row.facts) <= 12, row.id
        assert 1 <= len(row.wrong_answers) <= 3, row.id
        assert 3 <= len(row.documents) <= 5, row.id
        assert all(120 <= len(d.text.split()) <= 250 for d in row.documents), row.id
        good, bad = role_texts(row, "correct"), role_texts(row, "misinformation", "temporal")
        for fact in row.facts:
            needed = words(fact)
            best = max(sum(w in text for w in needed) / len(needed) for text in good)
            assert best >= 0.8, (row.id, fact, best)
        for claim in row.wrong_answers:
            assert any(claim.lower().rstrip(".") in text for text in bad), (row.id, claim)
            assert not any(claim.lower().rstrip(".") in text for text in good), (row.id, claim)
        assert "noise" in row.roles  # the homonym


def test_the_bundled_files_are_one_object_a_line():
    for name in ("conflicts", "long"):
        lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len({json.loads(line)["id"] for line in lines}) == len(lines)
