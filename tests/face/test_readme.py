"""The README is a promise: its commands and its code run, and its outputs are what they print."""

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import dspy
import pytest
from click.testing import CliRunner

from referee import cli
from referee.programs import MACR, Vote, starter_rules
from referee.runtime import Document
from referee.runtime.fake_server import FakeServer

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.S)
COMMANDS = [
    line.split("#")[0].strip()
    for language, block in BLOCKS
    if language != "python"
    for line in block.splitlines()
    if line.startswith("referee ")
]
ASK = ("resolve", "write", "evaluate", "batch", "compile", "tune")  # commands that ask a model
ASKING = (["rules", "learn"], ["rules", "test"])
SHOWN = re.findall(r"```console\n\$ (referee .*?)\n(.*?)```", TEXT, re.S)


# What a model replies where JSON is asked for, by a key that the prompt names.
TYPED = {
    '"complete"': {"claims": ["Mars has two moons."], "complete": True},
    '"sentences"': {"sentences": [{"sentence": "Mars has two moons.", "claims": [1]}]},
    '"confidence": number}, ...]': {"relations": [{"pair": 1, "relation": "neutral"}]},
    '"verdicts"': {"verdicts": [{"number": 1, "stated": True, "label": "supported"}]},
    '"facts"': {"facts": ["Mars has two moons."]},
    '"rules"': {"rules": []},
    '"judgments"': {"judgments": []},
    '"relations"': {"relations": []},
}
MODELS = ("--lm", "--fallback", "--judge")  # options that name a model


def answer(request):
    for key, reply in TYPED.items():
        if key in request.system:
            return json.dumps(reply)
    return "three" if "three" in request.user else "two"


def row(i):
    documents = [f"Mars has two moons, says report {i}.", f"Mars has three moons, says paper {i}."]
    contexts = [{"text": text} for text in documents]
    return {
        "id": f"r{i}",
        "question": f"How many moons does Mars have, in the view of {i}?",
        "contexts": contexts,
        "answers": ["two"],
        "wrong_answers": ["three"],
    }


def jsonl(*lines):
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The files that the README names, and a server behind the model it uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Mars has two moons.")
    (tmp_path / "b.txt").write_text("Mars has three moons.")
    (tmp_path / "sources.jsonl").write_text('{"text": "Mars has two moons.", "id": "x"}\n')
    (tmp_path / "rows.jsonl").write_text(jsonl(*map(row, range(4))))
    (tmp_path / "more.jsonl").write_text(jsonl(*map(row, range(4, 10))))
    documents = ["Mars has two moons.", {"text": "Mars has three moons.", "date": "2020-01-01"}]
    question = {"id": "q1", "question": "How many moons does Mars have?", "documents": documents}
    (tmp_path / "questions.jsonl").write_text(jsonl(question))
    conflict = {
        "question": row(1)["question"],
        "date": "2026-01-01",
        "type": "misinformation",
        "answers": ["two", "three"],
        "snippets": [c["text"] for c in row(1)["contexts"]],
        "judgment": {},
    }
    (tmp_path / "queue.jsonl").write_text(jsonl(conflict))
    Vote().save_artifact(tmp_path / "compiled")
    MACR().save_artifact(tmp_path / "tuned" / "program")
    for name in ("rules.yaml", "rules.v2.yaml"):
        (tmp_path / name).write_text(starter_rules().to_yaml())
    passage = Document(text="Mars has two moons.", id="w1")
    monkeypatch.setattr("referee.cli_write._from_wikipedia", lambda _: [passage])
    with FakeServer(answer) as server:
        yield server


def test_the_readme_has_commands():
    assert len(COMMANDS) >= 7
    assert len(SHOWN) >= 2


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command, served):
    args = shlex.split(command.removeprefix("$ "))[1:]
    if args[0] in ASK or args[:2] in ASKING or (args[0] == "experiment" and "--list" not in args):
        args = [a for a in args if not a.startswith("http")]
        judged = "--judge" in args
        for option in (*MODELS, "--api-base"):
            while option in args:
                at = args.index(option)
                del args[at : at + (1 if option == "--api-base" else 2)]
        args += ["--lm", "openai/readme", "--api-base", served.url]
        args += ["--judge", f"openai/judge@{served.url}"] if judged else []
    result = CliRunner().invoke(cli.cli, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_the_python_example_runs():
    (code,) = [block for language, block in BLOCKS if language == "python"]
    from referee.runtime.scripted import prompt_of, scripted_lm

    lm = scripted_lm(lambda r: "three" if "three" in prompt_of(r) else "two")
    out = io.StringIO()
    with dspy.context(lm=lm), redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue().startswith("two ")


def test_an_example_stands_in_the_first_45_lines():
    head = "\n".join(TEXT.splitlines()[:45])
    assert "--program icl" in head
    assert "Austin" in head


def test_the_two_commands_of_the_readme_are_the_scripts_that_ci_runs():
    assert "sh scripts/setup" in TEXT
    assert "sh scripts/test" in TEXT
    assert "sh scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_shown_outputs_are_what_the_local_model_prints(command, output, tmp_path, monkeypatch):
    """The answer is the one shown. Tables and times may differ, and so do the words of a long
    answer: rounding in the local model depends on which requests share a batch.
    """
    monkeypatch.setenv("REFEREE_CACHE", str(Path.home() / ".cache" / "referee"))
    args = [*shlex.split(command)[1:], "--no-cache"]
    result = CliRunner().invoke(cli.cli, args, catch_exceptions=False)
    assert result.exit_code == 0
    if args[0] == "resolve":
        assert result.stdout.splitlines()[0].rstrip() == output.splitlines()[0]
        return
    answer, _, contested = " ".join(result.stdout.split()).partition("contested claims")
    assert "2011" in answer
    assert "2013" not in answer
    assert "2013" in contested
