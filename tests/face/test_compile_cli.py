"""compile, show and resolve --program DIR, over real sockets."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from runs import run

import referee
from referee.programs import MACR, Gate
from referee.runtime.fake_server import FakeServer, Fault


def two_or_three(request):
    if "JSON object" in request.system:
        return '{"relations": [], "judgments": []}'
    return "three" if "three" in request.user else "two"


@pytest.fixture
def data(tmp_path):
    """A file of eight rows."""
    rows = [
        {
            "id": str(i),
            "question": f"How many moons does planet {i} have?",
            "contexts": [
                {"text": f"Planet {i} has two moons."},
                {"text": f"Planet {i} has three moons."},
                {"text": f"The two moons of planet {i} are small."},
            ],
            "answers": ["two"],
        }
        for i in range(8)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def server():
    with FakeServer(two_or_three) as running:
        yield running
        assert not running.errors


def test_compile_show_resolve(capsys, server, data, tmp_path):
    out = tmp_path / "compiled"
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    code, said, err = run(capsys, "compile", "vote", "--data", data, *served, "--out", out)
    assert code == 0
    assert err.startswith("At most 36 requests, retries apart.")
    assert "after        em 1.000 [1.000, 1.000] on 4 validation rows" in said
    assert sorted(p.name for p in out.iterdir()) == ["card.json", "program.json", "thresholds.json"]

    code, shown, _ = run(capsys, "show", out)
    assert code == 0
    assert "optimizer    bootstrap (demonstrations 2), seed 0" in shown
    assert "read                         2 demonstrations" in shown
    card = json.loads(run(capsys, "show", out, "--json")[1])
    assert card["compiled"]["data"]["train"]["n"] == 4
    text = "\n".join(p.read_text() for p in out.iterdir())
    assert server.url not in text
    assert "127.0.0.1" not in text
    assert str(tmp_path) not in text

    before = len(server.requests)
    args = ["resolve", "--example", "mars-moons", "--program", out, *served]
    code, answer, err = run(capsys, *args)
    assert code == 0
    assert answer.startswith("two\n")
    assert "Warning" not in err
    assert len(server.requests[before].messages) == 6  # system, two demonstrations, question


def test_compile_tunes_and_a_compiled_program_is_tuned_again(capsys, server, data, tmp_path):
    out, again = tmp_path / "compiled", tmp_path / "again"
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    few = ["--data", data, "--seed", "0"]
    code, said, err = run(
        capsys, "compile", "macr", *few, "--no-rules", "--tune", "3", *served, "--out", out
    )
    assert code == 0, err
    assert "best of 3 trials on 4 rows" in said
    assert "Trial 2:" in err
    asked = len(server.requests)
    code, said, _ = run(capsys, "show", out)
    assert code == 0
    assert "tuned        em" in said

    code, said, err = run(
        capsys, "tune", out, *few, "--trials", "2", "--no-plots", *served, "--out", again
    )
    assert code == 0, err
    assert "the tuned program in" in err
    tuned = referee.load(again / "program", lm=None)
    compiled = referee.load(out, lm=None)
    assert tuned.card["tuned"]["trials"] == 2
    assert tuned.card["optimizer"] == compiled.card["optimizer"]
    assert [p.demos for p in tuned.predictors()] == [p.demos for p in compiled.predictors()]
    assert len(server.requests) > asked  # the other half of the rows is asked for the first time
    text = "\n".join(p.read_text() for p in (again / "program").iterdir())
    assert server.url not in text
    assert str(tmp_path) not in text


def test_nothing_is_asked_for_a_program_without_thresholds(capsys, server, data, tmp_path):
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    args = ["compile", "icl", "--data", data, "--tune", "3", *served, "--out", tmp_path / "out"]
    code, _, err = run(capsys, *args)
    assert code == 2
    assert "icl offers nothing to tune: leave --tune out" in err
    assert not server.requests


def test_without_the_budget_for_thresholds_compiling_is_kept(capsys, server, data, tmp_path):
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    args = ["compile", "macr", "--data", data, "--no-rules", *served]
    plain, out = tmp_path / "plain", tmp_path / "out"
    assert run(capsys, *args, "--out", plain)[0] == 0
    spent = json.loads((plain / "card.json").read_text())["compiled"]["usage"]["requests"]
    budget = ["--budget", str(spent), "--tune", "30"]
    code, said, err = run(capsys, *args, *budget, "--out", out)
    assert code == 0, err
    assert "after        em" in said
    assert referee.load(out, lm=None).name == "macr"


SWAP = """
import json, sys, warnings
import dspy, referee
from referee import cli
data, a, b, first, second = sys.argv[1:]
common = ["--data", data, "--rows", "4"]
cli.main(["compile", "macr", *common, "--lm", "mistral/a", "--api-base", a, "--out", first])
lm = dspy.LM("openai/b", api_base=b, api_key="k", engine="litellm", num_retries=0, cache=False)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", referee.ArtifactWarning)
    program = referee.load(first, lm=lm)
verdict = program(question="How many moons?", documents=["It has two moons."]).verdict
print("swapped:" + json.dumps([verdict.answer, verdict.backbone, str(caught[0].message)]))
cli.main(["compile", first, *common, "--lm", "mistral/b", "--api-base", b, "--out", second])
assert "litellm" in sys.modules
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_second_backbone_is_one_command(data, tmp_path):
    """Compile on A, use on B with a warning, compile again for B.

    In a process of its own: litellm, which answers here, leaves an event loop behind.
    """
    first, second = tmp_path / "a", tmp_path / "b"
    with FakeServer(two_or_three) as a, FakeServer(two_or_three) as b:
        done = subprocess.run(
            [sys.executable, "-c", SWAP, data, a.url, b.url, first, second],
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert done.returncode == 0, done.stderr
        assert not a.errors + b.errors
    assert {r.body["model"] for r in a.requests} == {"a"}
    assert {r.body["model"] for r in b.requests} == {"b"}
    assert len(b.requests[0].messages) == 6  # the demonstrations came along
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("swapped:")]
    answer, backbone, warning = json.loads(line.removeprefix("swapped:"))
    assert (answer, backbone) == ("two", "openai/b")
    assert "compiled for mistral/a and runs on openai/b" in warning
    assert "Warning: The program was compiled for mistral/a and runs on mistral/b" in done.stderr
    cards = [json.loads((folder / "card.json").read_text()) for folder in (first, second)]
    assert [card["backbone"] for card in cards] == ["mistral/a", "mistral/b"]
    assert cards[0]["settings"] == cards[1]["settings"]


def test_it_takes_the_data_that_evaluate_takes(capsys, server, tmp_path):
    """A bundled set, and CSV; a row without answers is left out."""
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    args = ["compile", "vote", "--data", "conflicts", "--rows", "4", *served]
    code, _, err = run(capsys, *args, "--out", tmp_path / "bundled")
    assert code == 0, err
    rows = tmp_path / "rows.csv"
    with rows.open("w", newline="") as file:
        write = csv.writer(file).writerow
        write(["id", "question", "contexts", "answers"])
        for n, answers in enumerate(["two", "two", "two", ""]):
            write([n, "How many moons?", "Planet 1 has two moons.", answers])
    code, out, err = run(
        capsys, *args, "--data", rows, "--val", rows, "--json", "--out", tmp_path / "own"
    )
    assert code == 0, err
    assert json.loads(out)["compiled"]["data"]["validation"]["n"] == 3
    args = ["rules", "learn", "--data", rows, "--demos", rows, "--limit", "2", *served]
    code, out, err = run(capsys, *args, "--json", "--out", tmp_path / "rules.yaml")
    assert code == 0, err
    assert json.loads(out)["rules"] == []
    args = ["rules", "test", tmp_path / "rules.yaml", "--data", "conflicts", "--limit", "1"]
    code, out, err = run(capsys, *args, *served, "--json")
    assert code == 0, err
    assert json.loads(out)["examples"] == 1


def test_a_teacher_on_another_server(capsys, server, data, tmp_path):
    with FakeServer(lambda _: "three") as weak:
        args = ["--lm", "openai/weak", "--api-base", weak.url]
        args += ["--teacher", f"openai/strong@{server.url}", "--out", tmp_path / "o", "--json"]
        code, out, _ = run(capsys, "compile", "vote", "--data", data, *args)
    assert code == 0
    assert json.loads(out)["compiled"]["without_demonstrations"] == []
    assert {r.body["model"] for r in server.requests} == {"strong"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_and_started_again_it_pays_for_nothing_twice(capsys, data, tmp_path):
    """-9 in the middle of a run, twice; the server counts every request of all runs."""

    def slow(request):
        time.sleep(0.01)
        return two_or_three(request)

    with FakeServer(slow) as server:
        args = ["compile", "macr", "--data", str(data), "--rows", "4", "--concurrency", "2"]
        args += ["--lm", "openai/tiny", "--api-base", server.url, "--out"]
        command = [sys.executable, "-m", "referee", *args, str(tmp_path / "killed")]
        env = {**os.environ, "REFEREE_CACHE": str(tmp_path / "cache")}
        for enough in (10, 40):
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
            )
            while len(server.requests) < enough and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / "killed").exists()
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=200)
        assert done.returncode == 0, done.stderr
        with_kills = len(server.requests)
        assert run(capsys, *args, tmp_path / "whole")[0] == 0
        without_kills = len(server.requests) - with_kills
    # What was in flight when it was killed was not yet paid for on our side: 2 slots, twice.
    assert 40 < without_kills <= with_kills <= without_kills + 4
    states = [(tmp_path / n / "program.json").read_text() for n in ("killed", "whole")]
    assert states[0] == states[1]


def test_a_budget_ends_it_and_exit_is_0(capsys, server, data, tmp_path):
    args = ["--lm", "openai/tiny", "--api-base", server.url, "--budget", "20"]
    code, out, err = run(capsys, "compile", "vote", "--data", data, *args, "--out", tmp_path / "o")
    assert code == 0
    assert "the budget ends it after 20" in err
    assert "ended        by the budget, with the best so far" in out
    assert len(server.requests) == 20
    assert isinstance(referee.load(tmp_path / "o"), referee.Vote)


@pytest.mark.parametrize("budget", [(), ("--budget", "40")])
def test_a_dead_model_saves_nothing_and_is_exit_1(capsys, data, tmp_path, budget):
    with FakeServer(lambda _: Fault("status", 400)) as server:
        args = ["--lm", "openai/x", "--api-base", server.url, "--out", tmp_path / "o"]
        code, out, err = run(capsys, "compile", "vote", "--data", data, *args, *budget)
    assert code == 1
    assert out == ""
    assert "not scored: " in err
    assert "nothing was saved" in err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["compile", "magic", "--data", "DATA", "--out", "o"], "'magic' is neither a program"),
        (["compile", "vote", "--data", "missing.jsonl", "--out", "o"], "missing.jsonl cannot be"),
        (["compile", "vote", "--data", "DATA", "--rows", "1", "--out", "o"], "has 1 rows"),
        (["compile", "vote", "--out", "o"], "--data"),
        (["compile", "vote", "--data", "DATA"], "--out"),
        (["compile", "vote", "--data", "DATA", "--out", "o", "--metric", "fact_recall"], "'facts'"),
        (["compile", "EMPTY", "--data", "DATA", "--out", "o"], "holds no compiled program"),
        (["show", "EMPTY"], "holds no compiled program"),
        (["show", "missing"], "holds no compiled program"),
        (["resolve", "--example", "tesla", "--program", "EMPTY"], "holds no compiled program"),
    ],
)
def test_usage_errors_are_exit_2(capsys, data, tmp_path, args, says):
    (tmp_path / "empty").mkdir()
    places = {"DATA": str(data), "EMPTY": str(tmp_path / "empty"), "o": str(tmp_path / "o")}
    args = [places.get(a, a) for a in args]
    served = [] if args[0] == "show" else ["--lm", "openai/x", "--api-base", "http://127.0.0.1:9"]
    code, out, err = run(capsys, *args, *served)
    assert code == 2
    assert out == ""
    assert says in err


def test_a_compiled_program_keeps_its_rules(capsys, server, tmp_path):
    MACR(gate=Gate(threshold=0.4)).save_artifact(tmp_path / "m")
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    args = ["resolve", "--example", "mars-moons", "--program", tmp_path / "m", *served]
    assert run(capsys, *args, "--queue", tmp_path / "q.jsonl")[0] == 0
    code, _, err = run(capsys, *args, "--rules", tmp_path / "r.yaml")
    assert code == 2
    assert "edit its rules.yaml" in err
    thresholds = tmp_path / "m" / "thresholds.json"
    thresholds.write_text(thresholds.read_text().replace('"k": 8', '"k": 4'))
    code, _, err = run(capsys, *args)
    assert code == 2
    assert "was chosen with k = 8" in err
    assert "gate         threshold 0.4" not in run(capsys, "show", tmp_path / "m")[1]


def test_show_warns_of_edits(capsys, tmp_path):
    MACR().save_artifact(tmp_path / "m")
    code, out, err = run(capsys, "show", tmp_path / "m")
    assert (code, err) == (0, "")
    assert "backbone     not compiled for any" in out
    assert "rules        version 1" in out
    rules = tmp_path / "m" / "rules.yaml"
    rules.write_text(rules.read_text() + "\n# mine\n")
    assert "Warning: rules.yaml was edited" in run(capsys, "show", tmp_path / "m")[2]


def test_choices_of_the_command_line_are_the_registered_ones():
    from referee import cli_compile, cli_options
    from referee.optimizers import METRICS, OPTIMIZERS

    assert set(cli_compile.OPTIMIZERS) == set(OPTIMIZERS)
    assert set(cli_options.METRICS) == set(METRICS)


def test_compile_learns_rules_and_keeps_their_matrix(capsys, server, data, tmp_path):
    out = tmp_path / "compiled"
    args = ["compile", "macr", "--data", data, "--rows", "4", "--out", out]
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    code, said, err = run(capsys, *args, *served)
    assert code == 0
    assert "rules: 0 of 0 candidates kept" in err
    assert "rules        0 of 0 candidates were kept" in said
    assert json.loads((out / "matrix.json").read_text())["rules"] == []
    assert json.loads((out / "card.json").read_text())["compiled"]["rules"]["observed"] == 2
    code, said, _ = run(capsys, *args, *served, "--no-rules")
    assert code == 0
    assert "candidates" not in said
    assert not (out / "matrix.json").exists()


def test_fact_recall_says_how_it_is_measured(capsys, server, tmp_path):
    row = {"question": "How many?", "contexts": [{"text": "two"}], "facts": ["two"]}
    data = tmp_path / "facts.jsonl"
    data.write_text("\n".join(json.dumps({"id": str(n), **row}) for n in range(2)))
    args = ["compile", "rag", "--data", data, "--lm", "openai/tiny", "--api-base", server.url]
    code, said, err = run(capsys, *args, "--out", tmp_path / "words")
    assert code == 0
    assert err.startswith("Without --judge a fact counts where its words stand")
    assert "after        fact_recall (word for word) 1.000" in said
    judge = f"openai/judge@{server.url}"
    code, said, err = run(capsys, *args, "--out", tmp_path / "judged", "--judge", judge)
    assert code == 0
    assert "fact_recall (judge referee-server/judge)" in said
    assert "words stand" not in err


def test_a_folder_stands_where_a_program_is_named(capsys, server, data, tmp_path):
    referee.Vote().save_artifact(tmp_path / "mine")
    MACR().save_artifact(tmp_path / "macr-mine")
    referee.StandardRAG().save_artifact(tmp_path / "long")
    served = ["--lm", "openai/tiny", "--api-base", server.url]
    both = f"{tmp_path / 'mine'},vote"
    code, out, err = run(capsys, "evaluate", both, "--data", data, "--format", "json", *served)
    assert code == 0, err
    first, second = json.loads(out)["programs"]
    assert (first["program"], second["program"]) == ("mine", "vote")
    lines = tmp_path / "questions.jsonl"
    lines.write_text('{"id": "1", "question": "How many?", "documents": ["It has two moons."]}')
    code, out, _ = run(capsys, "batch", lines, "--program", tmp_path / "mine", *served)
    assert code == 0
    assert json.loads(out.splitlines()[0])["result"]["answer"] == "two"
    doc = tmp_path / "doc.txt"
    doc.write_text("It has two moons.")
    code, out, _ = run(
        capsys, "write", "How many?", "--doc", doc, "--program", tmp_path / "long", *served
    )
    assert code == 0
    assert out.startswith("two")
    rules = tmp_path / "macr-mine" / "rules.yaml"
    code, out, err = run(
        capsys, "rules", "test", rules, "--data", data, "--program", tmp_path / "macr-mine", *served
    )
    assert code == 0
    assert "R1" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["resolve", "Who?", "--doc", "x", "--program", "LONG"], "which holds rag, is not one of"),
        (["resolve", "Who?", "--doc", "x", "--program", "arbgraph"], "arbgraph is not one of"),
        (["write", "Who?", "--doc", "x", "--program", "nothing"], "neither a program"),
        (["evaluate", "vote,nothing", "--data", "x"], "neither a program"),
        (["rules", "test", "x", "--data", "x", "--program", "vote"], "vote is not one of"),
    ],
)
def test_another_kind_of_program_is_refused(capsys, tmp_path, args, says):
    referee.StandardRAG().save_artifact(tmp_path / "long")
    args = [str(tmp_path / "long") if a == "LONG" else a for a in args]
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())
