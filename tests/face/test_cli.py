import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import run

from referee.runtime.fake_server import FakeServer, Fault

ROOT = Path(__file__).resolve().parents[2]


def two_or_three(request):
    return "three" if "three" in request.user else "two"


@pytest.fixture
def server():
    with FakeServer(two_or_three) as running:
        yield running
        assert not running.errors


@pytest.fixture
def served(server):
    return ["--lm", "openai/tiny", "--api-base", server.url, "--program", "vote"]


def test_an_example_is_answered_on_stdout_and_progress_goes_to_stderr(capsys, served):
    code, out, err = run(capsys, "resolve", "--example", "mars-moons", *served)
    assert code == 0
    assert out.startswith("two\n")
    assert "red-planet-fans" in out
    assert "Mars has three moons" in out
    assert "4 requests" in out
    assert "answers 4/4" in err


def test_json_has_the_contract_keys(capsys, served):
    code, out, _ = run(capsys, "resolve", "--example", "mars-moons", "--json", *served)
    record = json.loads(out)
    assert code == 0
    expected = (
        "answer explanation abstained confidence alternatives conflicts judgments rules_used "
        "answers uncertainty branch status usage timings record"
    )
    assert set(expected.split()) <= set(record)
    assert record["usage"]["requests"] == 4


def test_a_second_run_is_answered_from_the_cache(capsys, server, served):
    run(capsys, "resolve", "--example", "mars-moons", *served)
    code, out, _ = run(capsys, "resolve", "--example", "mars-moons", *served)
    assert code == 0
    assert "0 requests, 4 cached" in out
    assert len(server.requests) == 4
    run(capsys, "resolve", "--example", "mars-moons", "--no-cache", *served)
    assert len(server.requests) == 8


def test_files_and_jsonl(capsys, served, tmp_path):
    (tmp_path / "a.txt").write_text("It has two.")
    (tmp_path / "b.jsonl").write_text('{"text": "It has three.", "id": "z", "date": "2020"}\n')
    args = ["--doc", str(tmp_path / "a.txt"), "--docs", str(tmp_path / "b.jsonl")]
    code, out, _ = run(capsys, "resolve", "How many?", *args, "--json", *served)
    assert code == 0
    assert [a["document_id"] for a in json.loads(out)["answers"]] == ["a.txt", "z"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["resolve"], "Give a question"),
        (["resolve", "Why?"], "Give documents"),
        (["resolve", "Why?", "--doc", "missing.txt"], "missing.txt cannot be read"),
        (["resolve", "--example", "telsa"], "did you mean tesla?"),
        (["resolve", "--example", "tesla", "--program", "magic"], "magic"),
        (["resolve", "--example", "tesla", "--lm", "nosuchmodel"], "'nosuchmodel'"),
        (["resolve", "--example", "tesla", "--lm", "nosuch/model"], "'nosuch'"),
        (["resolve", "--example", "tesla", "--lm", "openai/"], "'openai/'"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--api-base", "here"], "'here'"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--budget", "many"], "'many'"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--budget", "0"], "requests is 0"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--date", "now"], "'now'"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--role", "a"], "ROLE=MODEL"),
        (["resolve", "--example", "tesla", "--lm", "openai/x", "--role", "cook=openai/y"], "cook"),
        (["resolve", " ", "--example", "tesla", "--lm", "openai/x"], "question is empty"),
        (["models", "path", "nosuch"], "nosuch"),
        (["nonsense"], "nonsense"),
    ],
)
def test_usage_errors_are_one_sentence_and_exit_2(capsys, args, says):
    code, out, err = run(capsys, *args)
    assert code == 2
    assert out == ""
    assert says in err


def test_a_missing_key_is_exit_1(capsys):
    code, out, _ = run(capsys, "resolve", "--example", "tesla", "--lm", "openai/gpt-4o-mini")
    assert code == 1
    assert "key" in out
    assert out.startswith("No answer")


def test_a_dead_server_is_exit_1(capsys):
    args = ["--lm", "openai/x", "--api-base", "http://127.0.0.1:9"]
    code, out, _ = run(capsys, "resolve", "--example", "tesla", *args)
    assert code == 1
    assert "cannot be reached" in out
    assert "127.0.0.1" not in out


def test_garbage_is_exit_1(capsys):
    with FakeServer(lambda _: Fault("garbage")) as server:
        args = ["--lm", "openai/garbled", "--api-base", server.url]
        code, out, _ = run(capsys, "resolve", "--example", "tesla", *args)
    assert code == 1
    assert out.startswith("No answer: the language model failed.")


def test_a_spent_budget_is_exit_0_and_said(capsys, served):
    code, out, _ = run(capsys, "resolve", "--example", "mars-moons", "--budget", "1", *served)
    assert code == 0
    assert "budget was spent" in out


def test_abstaining_is_exit_0(capsys):
    with FakeServer(lambda _: "no answer") as server:
        args = ["--lm", "openai/silent", "--api-base", server.url]
        code, out, _ = run(capsys, "resolve", "--example", "unknown", *args)
    assert code == 0
    assert out.startswith("No answer: the sources do not tell.")


def test_a_fallback_answers_when_the_first_model_fails(capsys, server):
    with FakeServer(lambda _: Fault("status", 500)) as broken:
        args = [
            "--lm",
            "openai/a",
            "--api-base",
            broken.url,
            "--fallback",
            f"openai/b@{server.url}",
        ]
        code, out, _ = run(capsys, "resolve", "--example", "mars-moons", *args)
    assert code == 0
    assert out.startswith("two\n")
    assert {r.body["model"] for r in server.requests} == {"b"}


def test_hostile_markup_is_shown_as_it_is(capsys, served, tmp_path):
    (tmp_path / "a.txt").write_text("[bold]two[/bold] [link=http://x]y[/link] two.")
    code, out, _ = run(capsys, "resolve", "How many?", "--doc", str(tmp_path / "a.txt"), *served)
    assert code == 0
    assert "[bold]two[/bold]" in out


def test_an_unwritable_cache_is_one_sentence(capsys, served, tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("REFEREE_CACHE", str(blocker / "cache"))
    code, _, err = run(capsys, "resolve", "--example", "tesla", *served)
    assert code == 2
    assert "REFEREE_CACHE" in err


def test_choices_of_the_command_line_are_the_registered_programs():
    from referee.cli_programs import PROGRAMS as CHOICES
    from referee.programs import PROGRAMS

    assert set(CHOICES) == set(PROGRAMS)


def test_models_list(capsys):
    code, out, _ = run(capsys, "models", "list", "--json")
    rows = {r["name"]: r for r in json.loads(out)}
    assert code == 0
    assert rows["qwen2.5-coder-1.5b"]["default"]
    assert rows["smollm2-135m"]["bytes"] == 98_362_432
    assert not any(r["pulled"] for r in rows.values())
    assert run(capsys, "models", "path", "smollm2-135m")[0] == 1


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys; from referee import cli\ntry: cli.main(['--help'])\nexcept SystemExit: pass\n"
    )
    code += "heavy = {'dspy', 'torch', 'rich', 'numpy'} & set(sys.modules); assert not heavy, heavy"
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    assert time.perf_counter() - started < 2.0  # the benchmark holds 0.5 s; CI machines get slack


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["batch"],
        ["compile"],
        ["evaluate"],
        ["models"],
        ["models", "pull"],
        ["resolve"],
        ["show"],
        ["write"],
    ],
)
def test_help_exists_everywhere(capsys, args):
    code, out, _ = run(capsys, *args, "--help")
    assert code == 0
    assert out.startswith("Usage: referee")


def test_macr_shows_the_conflict_with_both_snippets_and_the_rule(capsys):
    def model(request):
        if "using only the document" in request.system:
            return "Austin, Texas" if "Austin" in request.user else "Palo Alto"
        return "Palo Alto"

    with FakeServer(model) as server:
        args = ["--lm", "openai/tesla", "--api-base", server.url, "--date", "2026-01-01"]
        code, out, _ = run(capsys, "resolve", "--example", "tesla", "--explain", *args)
        assert not server.errors
    assert code == 0
    assert out.startswith("Austin, Texas\n")
    flat = " ".join(out.split())
    assert "temporal" in flat
    assert "R6 (operator)" in flat
    assert "no basic context" in flat
    assert "samples" in flat
    assert "The temporal conflict between" in flat


def test_rules_are_listed_shown_and_checked(capsys, tmp_path):
    code, out, _ = run(capsys, "rules", "list")
    assert code == 0
    assert "latest_date" in out
    assert run(capsys, "rules", "show", "R6")[1].startswith("id:")
    assert run(capsys, "rules", "show", "R99")[0] == 2
    assert run(capsys, "rules", "lint")[0] == 0
    bad = tmp_path / "rules.yaml"
    bad.write_text("version: 1\nrules:\n- id: A\n  type: any\n  operator: latest_dat\n")
    code, _, err = run(capsys, "rules", "list", "--rules", str(bad))
    assert code == 2
    assert "latest_date" in err or "condition" in err


def test_ones_own_rules_and_queue(capsys, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "version: 1\nauthoritative: [Valley Weekly]\nrules:\n- id: MINE\n  type: any\n"
        "  condition: One source is trusted.\n  resolution: Believe the trusted source.\n"
        "  operator: authoritative_source\n  provenance: user\n"
    )
    queue = tmp_path / "queue.jsonl"

    def model(request):
        if "using only the document" in request.system:
            return "Austin, Texas" if "Austin" in request.user else "Palo Alto"
        return "Palo Alto"

    with FakeServer(model) as server:
        args = ["--lm", "openai/own", "--api-base", server.url, "--example", "tesla"]
        code, out, _ = run(capsys, "resolve", *args, "--rules", str(rules))
        assert code == 0
        assert out.startswith("Palo Alto\n")
        assert "MINE" in out
        rules.write_text("version: 1\nrules: []\n")
        args += ["--rules", str(rules), "--queue", str(queue)]
        code, out, _ = run(capsys, "resolve", *args)
        assert code == 0
        assert "not resolved" in " ".join(out.split())
    assert json.loads(queue.read_text())["type"] == "temporal"


def test_rules_are_for_macr_only(capsys):
    args = [
        "resolve",
        "--example",
        "tesla",
        "--lm",
        "openai/x",
        "--program",
        "vote",
        "--queue",
        "q",
    ]
    code, _, err = run(capsys, "resolve", *args)
    assert code == 2
    assert "takes no --queue" in err


def test_terminal_control_is_shown_and_not_obeyed(capsys, served, tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"text": "two \x1b[2J moons", "id": "\x1b]52;c;AAAA\x07x"}) + "\n")
    code, out, _ = run(capsys, "resolve", "How many?", "--docs", str(path), *served)
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "x1b" in out


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('{"text": "a", "source": "b\\ud800"}', "field 'source'"),
        ('{"text": "a", "metadata": {"x": "\\ud800"}}', "metadata"),
        ("[" * 100_000, "not JSON"),
        ('{"text": "a", "metadata": {"x": ' + "[" * 900 + "]" * 900 + "}}", "metadata"),
    ],
)
def test_hostile_rows_are_one_sentence(capsys, served, tmp_path, row, says):
    path = tmp_path / "d.jsonl"
    path.write_text(row)
    code, _, err = run(capsys, "resolve", "How many?", "--docs", str(path), *served)
    assert code == 2
    assert says in err


@pytest.mark.parametrize("value", ["http://[", "http://u:secret@h/v1", "http://h:99999", "h"])
def test_bad_addresses_are_refused_without_echoing_a_password(capsys, value):
    args = ["resolve", "--example", "tesla", "--lm", "openai/x", "--api-base", value]
    code, out, err = run(capsys, *args)
    assert code == 2
    assert "secret" not in out + err


@pytest.mark.parametrize("value", ["usd=inf", "usd=nan", "1e400", "-1"])
def test_budgets_that_bound_nothing(capsys, value):
    args = ["resolve", "--example", "tesla", "--lm", "openai/x", "--budget", value]
    assert run(capsys, *args)[0] == 2


def test_ctrl_c_ends_a_run_at_once(tmp_path):
    import signal

    with FakeServer(lambda _: Fault("stall", seconds=60)) as server:
        command = [sys.executable, "-m", "referee", "resolve", "--example", "mars-moons"]
        command += ["--lm", "openai/x", "--api-base", server.url, "--program", "vote"]
        # A shell that runs the tests in the background makes its children ignore SIGINT.
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            while not server.requests and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            try:
                _, err = process.communicate(timeout=20)
            finally:
                process.kill()
    assert process.returncode == 130
    assert b"Interrupted." in err
    assert b"Traceback" not in err


def test_an_ascii_terminal_gets_escapes(tmp_path):
    import os

    (tmp_path / "a.txt").write_text("火星有两颗卫星。")
    with FakeServer(lambda _: "两颗卫星") as server:
        command = [
            sys.executable,
            "-m",
            "referee",
            "resolve",
            "?",
            "--doc",
            str(tmp_path / "a.txt"),
        ]
        command += ["--lm", "openai/x", "--api-base", server.url, "--program", "vote"]
        env = {**os.environ, "PYTHONIOENCODING": "ascii", "REFEREE_CACHE": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(rb"\u4e24")


# Rules: learn, test, diff


def seats(path, numbers):
    """Labelled rows: a firm that has moved, the later report is right."""
    towns = ("Brenford", "Caltrice", "Dorvale", "Elmgard", "Fenwyck", "Gralton", "Holmere")
    rows = [
        {
            "id": f"m{n}",
            "question": f"In which city is the headquarters of Firm{n} located?",
            "answers": [towns[n % 7]],
            "contexts": [
                {
                    "text": f"The headquarters of Firm{n} is in {towns[(n + 1) % 7]}.",
                    "date": "2010-02-12",
                },
                {
                    "text": f"The headquarters of Firm{n} has been in {towns[n % 7]} since 2021.",
                    "date": "2022-03-01",
                },
            ],
        }
        for n in numbers
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def observer(request):
    if "using only the document" in request.system:
        document = request.user.split("Question:")[0]
        if "Tesla" in document:
            return "Austin, Texas" if "Austin" in document else "Palo Alto"
        return document.rsplit(" in ", 1)[1].split(" since")[0].split(".")[0].strip()
    if "general rules" in request.system:
        rule = {"type": "temporal", "condition": "c", "operator": "latest_date"}
        return json.dumps({"rules": [rule]})
    return json.dumps({"judgments": []}) if "JSON" in request.system else "unknown"


def test_rules_are_learned_from_a_queue_and_a_new_version_is_written(capsys, tmp_path):
    rows = seats(tmp_path / "val.jsonl", range(4, 8))
    base, out, queue = (str(tmp_path / n) for n in ("base.yaml", "rules.yaml", "queue.jsonl"))
    Path(base).write_text("version: 1\nrules: []\n")
    with FakeServer(observer) as server:
        shared = ["--lm", "openai/own", "--api-base", server.url]
        asked = ["resolve", "--example", "tesla", *shared, "--rules", base, "--queue", queue]
        assert run(capsys, *asked)[0] == 0
        args = ["rules", "learn", "--queue", queue, "--data", rows, *shared, "--out", out]
        code, shown, err = run(capsys, *args, "--rules", base)
        assert code == 0, err
        assert "R1    temporal       latest_date                 1.00  1.00  0.51-1.00" in shown
        assert "  yes   Believe the statement with the later date" in shown
        assert "is version 2" in err
        listed = run(capsys, "rules", "list", "--rules", out)[1]
        assert "latest_date                 1.00  1.00" in listed
        assert "coverage:    1.0" in run(capsys, "rules", "show", "R1", "--rules", out)[1]
        paid = len(server.requests)
        code, shown, err = run(capsys, *args, "--own", "verify", "--min-coverage", "1", "--json")
        assert code == 0
        assert json.loads(shown)["rules"][0]["support"] == 1.0
        assert "\n0 requests" in err
        code, shown, err = run(capsys, "rules", "test", out, "--data", rows, *shared, "--json")
        assert code == 0
        tested = json.loads(shown)
        assert (tested["examples"], tested["rules"][0]["kept"]) == (4, True)
        assert len(server.requests) == paid
    text = Path(out).read_text()
    assert "version: 2" in text
    assert "provenance: feedback" in text
    assert Path(out).with_suffix(".matrix.json").exists()


def test_an_older_version_is_kept_and_diff_tells_the_difference(capsys, tmp_path):
    from referee.programs.rule_files import save_layout

    path = tmp_path / "rules.yaml"
    texts = [
        "version: 1\nrules:\n- {id: A, type: any, condition: c, resolution: one}\n"
        "- {id: B, type: any, condition: c, resolution: other}\n",
        "version: 2\nrules:\n- {id: A, type: any, condition: c, resolution: other, support: 0.0}\n"
        "- {id: C, type: temporal, condition: later, resolution: one}\n",
    ]
    assert save_layout(texts[0], path) is None
    assert save_layout(texts[0], path) is None
    kept = save_layout(texts[1], path)
    assert kept == tmp_path / "rules.v1.yaml"
    assert kept.read_text() == texts[0]
    save_layout(texts[0].replace("other", "both"), path)
    save_layout(texts[1], path)
    assert (tmp_path / "rules.v1-2.yaml").read_text() == texts[0].replace("other", "both")
    code, out, _ = run(capsys, "rules", "diff", str(kept), str(path))
    assert code == 0
    assert out.splitlines() == [
        "- B any: c other",
        "+ C temporal: later one",
        "~ A resolution: one -> other",
        "~ A support: None -> 0.0",
    ]
    changes = json.loads(run(capsys, "rules", "diff", str(kept), str(path), "--json")[1])
    assert changes["changed"]["A"]["support"] == [None, 0.0]


def test_learning_needs_conflicts_and_a_model_that_answers(capsys, tmp_path):
    rows = seats(tmp_path / "val.jsonl", range(2))
    out = tmp_path / "rules.yaml"
    args = ["rules", "learn", "--data", rows, "--out", str(out), "--lm", "openai/own"]
    code, _, err = run(capsys, *args)
    assert code == 2
    assert "--queue FILE" in err
    dead = ["--api-base", "http://127.0.0.1:9/v1", "--demos", rows, "--own", "verify"]
    with FakeServer(lambda _: Fault("status")) as server:
        dead[1] = server.url
        code, _, err = run(capsys, *args, *dead)
    assert code == 1
    assert "No validation example could be answered" in err
    assert not out.exists()
    code, _, err = run(capsys, "rules", "test", str(tmp_path / "none.yaml"), "--data", rows)
    assert code == 2
    assert "cannot be read" in err
