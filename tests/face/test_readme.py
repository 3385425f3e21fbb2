"""The README is a promise: its commands and its code run, and its outputs are what they print."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import dspy
import pytest
from click.testing import CliRunner

from referee import cli
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
SHOWN = re.findall(r"```console\n\$ (referee .*?)\n(.*?)```", TEXT, re.S)


def answer(request):
    return "three" if "three" in request.user else "two"


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The files that the README names, and a server behind the model it uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Mars has two moons.")
    (tmp_path / "b.txt").write_text("Mars has three moons.")
    (tmp_path / "sources.jsonl").write_text('{"text": "Mars has two moons.", "id": "x"}\n')
    with FakeServer(answer) as server:
        yield server


def test_the_readme_has_commands():
    assert len(COMMANDS) >= 7
    assert len(SHOWN) >= 2


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command, served):
    args = shlex.split(command.removeprefix("$ "))[1:]
    if args[0] == "resolve":
        args = [a for a in args if not a.startswith("http")]
        for option in ("--lm", "--api-base", "--fallback"):
            while option in args:
                at = args.index(option)
                del args[at : at + (1 if option == "--api-base" else 2)]
        args += ["--lm", "openai/readme", "--api-base", served.url]
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
    """The first line shown is the answer; tables and times may differ."""
    monkeypatch.setenv("REFEREE_CACHE", str(Path.home() / ".cache" / "referee"))
    args = [*shlex.split(command)[1:], "--no-cache"]
    result = CliRunner().invoke(cli.cli, args, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == output.splitlines()[0]
