import json
import tracemalloc
from collections import Counter

import pytest
from runs import lines_of, run, served, two

from referee.batch import Batch, tasks
from referee.errors import InputError
from referee.programs import Program, Vote
from referee.runner import rows_in_flight
from referee.runtime import Budget, Verdict
from referee.runtime.fake_server import FakeServer, Fault
from referee.runtime.scripted import scripted_lm


@pytest.fixture
def server():
    with FakeServer(two) as running:
        yield running
        assert not running.errors


def question(i, **more):
    found = {"id": f"q{i}", "question": f"How many moons does planet {i} have?"}
    return {**found, "documents": [f"Planet {i} has two moons.", "It has two."], **more}


def write(path, *lines):
    path.write_text(
        "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines),
        encoding="utf-8",
    )
    return str(path)


class Echo(Program):
    """Answers with the question; asks no model."""

    name = "echo"
    needs_documents = False

    def steps(self, case):
        return Verdict(answer=case.question)
        yield


def test_each_question_gets_one_record_in_the_folder(capsys, server, tmp_path):
    path = write(tmp_path / "q.jsonl", *[question(i) for i in range(5)])
    args = ["batch", path, "--program", "vote", "--lm", "openai/t", "--api-base", server.url]
    code, out, err = run(capsys, *args, "--out", str(tmp_path / "run"))
    assert code == 0
    assert out == ""
    assert "5 ok" in err
    records = lines_of(tmp_path / "run" / "answers.jsonl")
    assert {r["id"]: r["result"]["answer"] for r in records} == {f"q{i}": "two" for i in range(5)}
    asked = len(server.requests)
    code, _, err = run(capsys, *args, "--out", str(tmp_path / "run"), "--no-cache")
    assert code == 0
    assert "5 ok" in err
    assert len(server.requests) == asked


def test_without_a_folder_records_go_to_stdout_as_they_come(capsys, server, tmp_path):
    path = write(tmp_path / "q.jsonl", question(1, date="2020-02-02"), "", question(2))
    args = ["--program", "vote", "--lm", "openai/t", "--api-base", server.url]
    code, out, _ = run(capsys, "batch", path, *args, "--date", "2021-01-01")
    assert code == 0
    records = {r["id"]: r["result"] for r in map(json.loads, out.splitlines())}
    assert {i: r["date"] for i, r in records.items()} == {"q1": "2020-02-02", "q2": "2021-01-01"}


WRONG = [
    ("oops", "line 1", "Line 1 is not JSON"),
    ("[1]", "line 1", "is a list"),
    ("[" * 100_000, "line 1", "not JSON"),
    ({"question": "x"}, "line 1", "the id None"),
    ({"id": True, "question": "x"}, "line 1", "the id True"),
    ('{"id": "a\\ud800"}', "line 1", "Unicode"),
    (question(1, question=None), "q1", "question is a NoneType"),
    (question(1, question=" "), "q1", "question is empty"),
    (question(1, documents="text"), "q1", "documents is a str"),
    (question(1, documents=[{"txt": "x"}]), "q1", "no field 'text'"),
    (question(1, documents=[]), "q1", "no documents"),
    (question(1, date="soon"), "q1", "'soon'"),
]


@pytest.mark.parametrize(("line", "row_id", "says"), WRONG)
def test_a_wrong_line_is_a_record_and_the_rest_goes_on(
    capsys, server, tmp_path, line, row_id, says
):
    path = write(tmp_path / "q.jsonl", line, question(7))
    args = ["--program", "vote", "--lm", "openai/t", "--api-base", server.url]
    code, out, err = run(capsys, "batch", path, *args)
    assert code == 2
    records = {r["id"]: r for r in map(json.loads, out.splitlines())}
    assert records["q7"]["status"] == "ok"
    assert records[row_id]["status"] == "input_error"
    assert says in records[row_id]["error"]
    assert "1 input_error, 1 ok" in err


def test_a_doubled_id_does_not_replace_the_first(server, tmp_path):
    path = write(tmp_path / "q.jsonl", question(1), question(1, question="Else?"), question(2))
    batch = Batch(Vote(), served(server))
    for _ in "12":
        assert batch.to_folder(path, tmp_path / "run") == {"ok": 2, "input_error": 1}
        records = {r["id"]: r for r in lines_of(tmp_path / "run" / "answers.jsonl")}
        assert records["q1"]["result"]["question"].startswith("How many")
        assert records["line 2"]["error"] == "Line 2 has the id 'q1', as line 1 has."


def test_numbers_are_ids_and_bytes_that_are_no_text_are_wrong():
    lines = [b'{"id": 7, "question": "x"}', b"\xff\xfe\n", b'\xef\xbb\xbf{"id": "b"}\n']
    found = list(tasks(lines, "2020-01-01", lambda _: False))
    assert [t.id for t in found] == ["7", "line 2", "b"]
    assert "UTF-8" in found[1].error
    assert not found[0].error


def test_failed_rows_are_exit_1_and_asked_again(capsys, tmp_path):
    broken = [True]

    def model(request):
        return Fault("status", 400) if broken and "planet 2 " in request.user else "two"

    path = write(tmp_path / "q.jsonl", *[question(i, documents=["It."]) for i in range(4)])
    with FakeServer(model) as server:
        args = ["batch", path, "--program", "direct", "--lm", "openai/t"]
        args += ["--api-base", server.url, "--out", str(tmp_path / "run")]
        code, _, err = run(capsys, *args)
        assert code == 1
        assert "3 ok, 1 provider_error" in err
        broken.clear()
        code, _, err = run(capsys, *args)
    assert code == 0
    assert "4 ok" in err
    assert len(lines_of(tmp_path / "run" / "answers.jsonl")) == 4


def test_another_file_is_refused(server, tmp_path):
    batch = Batch(Vote(), served(server))
    batch.to_folder(write(tmp_path / "q.jsonl", question(1)), tmp_path / "run")
    with pytest.raises(InputError, match="data_sha256"):
        batch.to_folder(write(tmp_path / "q.jsonl", question(2)), tmp_path / "run")
    with pytest.raises(InputError, match="nosuch"):
        batch.to_folder(tmp_path / "nosuch.jsonl", tmp_path / "run")


def test_a_spent_budget_is_exit_0(capsys, server, tmp_path):
    path = write(tmp_path / "q.jsonl", *[question(i) for i in range(40)])
    args = ["batch", path, "--program", "direct", "--lm", "openai/t", "--api-base", server.url]
    code, out, _ = run(capsys, *args, "--budget", "3", "--concurrency", "2")
    assert code == 0
    statuses = Counter(json.loads(line)["status"] for line in out.splitlines())
    assert statuses["ok"] == 3
    assert set(statuses) <= {"ok", "budget"}
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [(["nosuch.jsonl"], "nosuch.jsonl"), (["-", "--out", "x"], "stdin"), ([], "FILE")],
)
def test_usage_errors_are_exit_2(capsys, args, says):
    code, out, err = run(capsys, "batch", *args, "--lm", "openai/t")
    assert code == 2
    assert out == ""
    assert says in err


def test_input_is_read_no_further_than_the_window():
    read = written = 0

    def lines():
        nonlocal read
        for i in range(300):
            read += 1
            yield json.dumps({"id": i, "question": "x"}).encode()

    def write(_):
        nonlocal written
        written += 1
        assert read - written <= rows_in_flight(4)

    batch = Batch(Echo(), scripted_lm(lambda _: "a"), concurrency=4)
    assert batch.to_function(lines(), write) == {"ok": 300}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file():
    def peak(number):
        lines = (json.dumps({"id": i, "question": "x" * 500}).encode() for i in range(number))
        batch = Batch(Echo(), scripted_lm(lambda _: "a"), concurrency=4)
        tracemalloc.start()
        try:
            batch.to_function(lines, lambda _: None)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(200)
    few, many = peak(200), peak(3000)
    # 2,800 records more would be some 4 MB.
    assert many < few + 500_000


def test_a_budget_bounds_the_whole_file_not_each_question():
    lm = scripted_lm(lambda _: "two")
    lines = [json.dumps(question(i)).encode() for i in range(50)]
    batch = Batch(Vote(), lm, concurrency=1, budget=Budget(requests=4))
    statuses = batch.to_function(lines, lambda _: None)
    assert len(lm.engine.requests) == 4
    assert statuses["ok"] <= 2


def test_an_id_that_is_the_name_of_another_line_loses_no_line():
    lines = [json.dumps(question(1, id="line 2")).encode(), b"{broken"]
    found = list(tasks(lines, "2026-01-01", lambda _: False))
    assert [t.id for t in found] == ["line 1", "line 2"]
    assert "another line" in found[0].error
    assert "not JSON" in found[1].error
