"""`load`: names, files, seeds, limits, contexts, cards."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rows import BENCHDATA

from referee.data import DATASETS, Row, load, read_rows, record_facts, sample, split, with_facts
from referee.errors import InputError

ROW = {
    "id": "r1",
    "question": "Where is the seat?",
    "date": "2024-05-31",
    "conflict_type": "temporal",
    "answers": ["Austin"],
    "wrong_answers": ["Palo Alto"],
    "contexts": [
        {
            "text": "Austin it is.",
            "source": "Wire",
            "date": "2022-01-01",
            "gold": {"role": "correct"},
        },
        {"text": "Palo Alto.", "title": "Old", "gold": {"role": "temporal"}},
        {"text": "Palo Alto, too.", "gold": {"role": "misinformation"}},
    ],
    "facts": ["The seat is in Austin."],
}


def jsonl(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return str(path)


def many(number):
    return [{**ROW, "id": f"r{i}", "question": f"Question {i}?"} for i in range(number)]


def csv_of(path, rows):
    import csv

    lists = ("answers", "wrong_answers", "contexts", "facts")
    with path.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(ROW))
        table.writeheader()
        table.writerows({k: json.dumps(v) if k in lists else v for k, v in r.items()} for r in rows)
    return str(path)


def parquet_of(path, rows):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return str(path)


WRITERS = {"jsonl": jsonl, "csv": csv_of, "parquet": parquet_of}


@pytest.mark.parametrize("suffix", WRITERS)
def test_own_files_of_each_format_give_the_same_rows(tmp_path, suffix):
    found = load(WRITERS[suffix](tmp_path / f"mine.{suffix}", many(3)))
    expected = load(jsonl(tmp_path / "same.jsonl", many(3)))
    assert found.rows == expected.rows
    assert found.card.sha256 == expected.card.sha256
    assert found.name == "mine"
    assert found.rows[0].facts == ("The seat is in Austin.",)
    assert found.rows[0].date == "2024-05-31"


def test_source_and_title_of_own_rows_reach_the_program_and_gold_does_not(tmp_path):
    (row,) = load(jsonl(tmp_path / "mine.jsonl", [ROW])).rows
    given = {d.text: (d.source, d.title) for d in row.documents}
    assert given["Austin it is."] == ("Wire", "")
    assert given["Palo Alto."] == ("", "Old")
    assert "role" not in json.dumps([d.model_dump() for d in row.documents])


def test_contexts_may_be_plain_texts_and_a_csv_answer_a_plain_cell(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text('id,question,answers,contexts\n1,Where?,Austin,"[""It is Austin.""]"\n')
    (row,) = load(str(path)).rows
    assert row.answers == ("Austin",)
    assert row.documents[0].text == "It is Austin."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answers": "Austin"}, "row 2, field 'answers'"),
        ({"facts": [1]}, "row 2, field 'facts'"),
        ({"date": "May 2024"}, "row 2, field 'date'"),
        ({"contexts": {}}, "row 2, field 'contexts'"),
        ({"contexts": [{"text": "x", "url": 5}]}, "row 2, context 1, field 'url'"),
        ({"contexts": [{"text": "x", "gold": "correct"}]}, "row 2, context 1, field 'gold'"),
        ({"id": "r0"}, "row 2, field 'id' is 'r0', as in row 1"),
    ],
)
def test_errors_name_row_and_field(tmp_path, change, says):
    first, second = many(2)
    with pytest.raises(InputError) as caught:
        load(jsonl(tmp_path / "mine.jsonl", [first, {**second, **change}]))
    assert says in str(caught.value)


def test_a_broken_list_in_a_cell_names_row_and_field(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,question,answers\n1,Where?,[Austin\n")
    with pytest.raises(InputError, match="row 1, field 'answers' is not a JSON list"):
        load(str(path))


@pytest.mark.parametrize("name", ["no.jsonl", "no.csv", "no.parquet"])
def test_missing_and_broken_files_are_input_errors(tmp_path, name):
    with pytest.raises(InputError, match="cannot be read"):
        load(str(tmp_path / name))
    (tmp_path / name).write_bytes(b"\xff\xfe\x00broken")
    with pytest.raises(InputError):
        load(str(tmp_path / name))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match="holds no rows"):
        load(str(tmp_path / "empty.jsonl"))


def test_unknown_names_and_wrong_options_say_what_to_do():
    with pytest.raises(InputError, match="did you mean conflictbank"):
        load("conflictbnk")
    with pytest.raises(InputError, match="limit is 0"):
        load("conflicts", limit=0)
    with pytest.raises(InputError, match="choose 2, 3 or 4"):
        load("conflicts", contexts=5)
    assert {"conflicts", "long", "conflictbank", "confiqa", "mquake", "ramdocs"} <= set(DATASETS)


@given(st.integers(0, 30), st.integers(1, 40), st.integers(0, 5))
def test_sampling_is_shuffle_then_limit_then_documents(number, limit, seed):
    rows = [Row(f"r{i}", "q", (), ()) for i in range(number)]
    before = list(rows)
    random.Random(seed).shuffle(before)
    assert sample(rows, limit, seed) == [r.shuffled(seed) for r in before[:limit]]


def test_load_draws_as_sample_does(tmp_path):
    path = jsonl(tmp_path / "mine.jsonl", many(20))
    rows = [*load(path, limit=7, seed=3).rows]
    assert [r.id for r in rows] == [r.id for r in sample(read_rows(path), 7, 3)]
    assert [r.roles for r in rows] == [r.roles for r in sample(read_rows(path), 7, 3)]
    assert load(path, limit=7, seed=4).card.sha256 != load(path, limit=7, seed=3).card.sha256


@pytest.mark.parametrize("contexts", [2, 3])
def test_contexts_leave_exactly_one_correct_and_differ_by_seed(tmp_path, contexts):
    lone = {**ROW, "id": "lone", "contexts": ROW["contexts"][:1]}
    noisy = {**ROW["contexts"][0], "gold": {"role": "noise"}}
    rows = [{**r, "contexts": [*r["contexts"], noisy]} for r in many(12)]
    path = jsonl(tmp_path / "mine.jsonl", [*rows, lone])
    found = load(path, contexts=contexts)
    assert len(found.rows) == 12
    assert found.card.left_out == 1
    for row in found.rows:
        assert len(row.documents) == contexts
        assert row.roles.count("correct") == 1
        assert "noise" not in row.roles
    assert len({r.roles for r in found.rows}) > 1
    assert load(path, contexts=contexts).rows == found.rows


def test_more_contexts_than_any_row_has_is_an_error(tmp_path):
    with pytest.raises(InputError, match="ask for fewer contexts"):
        load(jsonl(tmp_path / "mine.jsonl", many(3)), contexts=4)


def test_of_several_right_answers_only_that_of_the_kept_context_stays(tmp_path):
    contexts = [
        {"text": t, "gold": {"role": "correct", "answer": t}} for t in ("Libya", "Lebanon")
    ] + [{"text": "Peru", "gold": {"role": "misinformation", "answer": "Peru"}}]
    rows = [
        {**ROW, "id": f"r{i}", "answers": ["Libya", "Lebanon"], "contexts": contexts}
        for i in range(10)
    ]
    found = load(jsonl(tmp_path / "mine.jsonl", rows), contexts=2).rows
    for row in found:
        (right,) = [d.text for d, x in zip(row.documents, row.roles, strict=True) if x == "correct"]
        assert row.answers == (right,)
    assert {r.answers for r in found} == {("Libya",), ("Lebanon",)}


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60),
    st.integers(0, 3),
    st.integers(1, 50),
)
def test_parts_of_a_split_share_no_id_and_no_question(pairs, seed, size):
    rows = [Row(f"r{i}", f" Question  {q} ", (), ()) for i, q in pairs]
    parts = split(rows, seed=seed, size=size)
    assert parts == split(rows, seed=seed, size=size)
    chosen = [*parts.demonstration, *parts.validation, *parts.test]
    assert len(chosen) <= size
    assert len({r.id for r in chosen}) == len(chosen)
    assert len({r.question for r in chosen}) == len(chosen)
    assert set(chosen) <= set(rows)


def test_a_thousand_rows_are_divided_one_two_seven():
    rows = [Row(f"r{i}", f"q{i}", (), ()) for i in range(1500)]
    parts = split(rows)
    assert [len(p) for p in vars(parts).values()] == [100, 200, 700]
    assert parts != split(rows, seed=1)
    with pytest.raises(InputError, match="three numbers"):
        split(rows, shares=(1, 2))
    with pytest.raises(InputError, match="size is 0"):
        split(rows, size=0)


def test_facts_are_asked_for_once_recorded_and_read_back(tmp_path):
    rows = [Row(f"r{i}", f"q{i}", (), ()) for i in range(3)]
    path = tmp_path / "facts.jsonl"
    asked = []

    def propose(row):
        asked.append(row.id)
        return [f"A fact about {row.question}."]

    record_facts(rows[:2], propose, path)
    found = record_facts(rows, propose, path)
    assert asked == ["r0", "r1", "r2"]
    assert [r.facts for r in found] == [(f"A fact about q{i}.",) for i in range(3)]
    assert with_facts(rows, path) == found
    with pytest.raises(InputError, match="ids must be theirs"):
        with_facts([Row("other", "q", (), ())], path)
    path.write_text('{"id": "r0"}\n')
    with pytest.raises(InputError, match="row 1 needs the fields"):
        with_facts(rows, path)


@pytest.mark.skipif(not BENCHDATA.is_dir(), reason="the benchmark rows are not on this machine")
def test_every_benchmark_file_has_a_card():
    for path in sorted(BENCHDATA.glob("*.jsonl")):
        if path.stem != "relation_pairs":  # pairs of claims, not questions
            found = load(str(path), limit=5)
            assert found.card.gold, path.name
            assert found.card.licence, path.name
            assert all(r.date == found.card.as_of for r in found.rows), path.name
