import json
from dataclasses import replace
from pathlib import Path

import dspy
import pytest

from referee.data import conflicted, example, examples, read_rows
from referee.errors import InputError
from referee.programs import PROGRAMS
from referee.runtime.scripted import prompt_of, scripted_lm

BENCHDATA = Path(__file__).resolve().parents[3] / "shared" / "benchdata"

ROW = {
    "id": "r1",
    "dataset": "SECRETSET",
    "question": "Where is the seat?",
    "answers": ["Austin"],
    "wrong_answers": ["SECRETWRONG"],
    "contexts": [
        {
            "text": "It is Austin.",
            "date": "2020-01-01",
            "url": "http://example.org/a",
            "title": "SECRETTITLE",
            "id": "SECRETID",
            "gold": {"role": "SECRETROLE", "source": "SECRETSOURCE", "answer": "SECRETGOLD"},
        },
        {"text": "It was Palo Alto.", "gold": {"role": "SECRETROLE"}},
    ],
    "meta": {"x": "SECRETMETA"},
}


SHORT = ["tesla", "mars-moons", "springfield", "telephone", "unknown"]


def write(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return path


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_only_question_text_date_and_url_reach_a_program(tmp_path, name):
    (row,) = read_rows(write(tmp_path, ROW))
    row = row.shuffled(3)
    lm = scripted_lm(lambda _: "Austin")
    with dspy.context(lm=lm):
        found = PROGRAMS[name]()(question=row.question, documents=row.documents)
        outcome = found.report if "report" in found else found.verdict
    seen = "\n".join(prompt_of(r) for r in lm.engine.requests) + json.dumps(outcome.record)
    assert "SECRET" not in seen
    for document in row.documents:
        given = document.model_dump(exclude={"text", "date", "url", "metadata"})
        assert not any(given.values())


def test_gold_is_kept_for_scoring(tmp_path):
    (row,) = read_rows(write(tmp_path, ROW))
    assert (row.answers, row.wrong_answers) == (("Austin",), ("SECRETWRONG",))
    assert row.roles == ("SECRETROLE", "SECRETROLE")


def test_an_example_of_dspy_shows_a_program_what_the_row_shows(tmp_path):
    (row,) = read_rows(write(tmp_path, ROW))
    made = replace(row, date="2024-05-06").as_example()
    assert set(made.inputs().keys()) == {"question", "documents", "date"}
    assert (made.answers, made.id) == (["Austin"], "r1")
    assert "date" not in row.as_example().inputs()  # today, then
    assert "SECRET" not in str(made.inputs())


def test_shuffling_depends_on_seed_and_id_only_and_keeps_roles_in_step(tmp_path):
    many = {**ROW, "contexts": [{"text": f"t{i}", "gold": {"role": f"t{i}"}} for i in range(9)]}
    (row,) = read_rows(write(tmp_path, many))
    assert row.shuffled(1) == row.shuffled(1)
    orders = {tuple(d.text for d in row.shuffled(s).documents) for s in range(5)}
    assert len(orders) > 1
    shuffled = row.shuffled(0)
    assert tuple(d.text for d in shuffled.documents) == shuffled.roles


def test_conflicted_rows_have_one_right_and_a_wrong_answer(tmp_path):
    rows = read_rows(
        write(tmp_path, ROW, {**ROW, "answers": ["a", "b"]}, {**ROW, "wrong_answers": []})
    )
    assert len(conflicted(rows)) == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "row 1 is not JSON"),
        ("[1]", "row 1 is a list"),
        ({**ROW, "id": None}, "field 'id'"),
        ({**ROW, "question": ""}, "field 'question'"),
        ({**ROW, "contexts": {}}, "field 'contexts'"),
        ({**ROW, "contexts": [{"body": "x"}]}, "row 1, context 1 has no field 'text'"),
    ],
)
def test_broken_rows_name_row_and_field(tmp_path, row, says):
    with pytest.raises(InputError) as caught:
        read_rows(write(tmp_path, row))
    assert says in str(caught.value)


@pytest.mark.skipif(not BENCHDATA.is_dir(), reason="the benchmark rows are not on this machine")
def test_every_benchmark_file_can_be_read():
    for path in sorted(BENCHDATA.glob("*.jsonl")):
        if path.stem != "relation_pairs":  # pairs of claims, not questions
            assert read_rows(path), path.name


def test_the_bundled_examples_hold_what_their_card_says():
    found = examples()
    assert list(found) == [*SHORT, "east-asia-summit"]
    for item in found.values():
        texts = " ".join(d.text for d in item.documents)
        for answer in item.answers[:1] + item.wrong_answers[:1]:
            assert answer.lower() in texts.lower(), (item.name, answer)
        assert len({d.source for d in item.documents}) == len(item.documents)
        assert all(d.date and d.id for d in item.documents)
    card = (Path(__file__).parents[2] / "data" / "examples.md").read_text()
    assert all(f"| {name} |" in card for name in found)


def test_an_unknown_example_is_named_with_the_nearest():
    with pytest.raises(InputError, match="did you mean tesla"):
        example("telsa")
