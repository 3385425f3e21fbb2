"""The long-answer baselines at the command line."""

import errno
import json
import pathlib

import pytest

from referee import cli
from referee.cli_programs import LONG
from referee.runtime.fake_server import FakeServer

REPLIES = {
    '"complete"': {"claims": ["The bridge opened in 1932."], "complete": True},
    '"sentences"': {"sentences": [{"sentence": "The bridge opened in 1932.", "claims": [1]}]},
    '"relation"': {"relations": []},
    '"reasoning"': {"reasoning": "All agree.", "answer": "The bridge opened in 1932."},
    '"thought"': {"thought": "Enough.", "action": "finish"},
    '"critique"': {"verdict": "right"},
    '"correction"': {"verdict": "confirmed"},
    '"steps"': {"steps": [{"action": "answer"}]},
    '"value"': {"value": 0.5},
}


def reply(request):
    said = next((v for key, v in REPLIES.items() if key in request.prompt), None)
    return "The bridge opened in 1932." if said is None else json.dumps(said)


@pytest.fixture
def served():
    with FakeServer(reply) as server:
        yield ["--lm", "openai/tiny", "--api-base", server.url]
        assert not server.errors


def run(capsys, *args):
    with pytest.raises(SystemExit) as stop:
        raise SystemExit(cli.main([str(arg) for arg in args]))
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return stop.value.code or 0, out, err


@pytest.mark.parametrize("name", LONG)
def test_write(capsys, served, tmp_path, name):
    doc = tmp_path / "doc.txt"
    doc.write_text("The bridge opened in 1932, when the road was new.")
    options = ["--doc", doc, "--program", name, "--out", tmp_path / "report.md"]
    code, out, _ = run(capsys, "write", "When did the bridge open?", *options, *served)
    assert code == 0
    assert out.startswith("The bridge opened in 1932.")
    assert "request" in out
    assert "The bridge opened in 1932." in (tmp_path / "report.md").read_text()


def test_evaluate_side_by_side(capsys, served, tmp_path):
    args = ["evaluate", ",".join(LONG), "--data", "long", "--limit", "2", "--format", "json"]
    code, out, err = run(capsys, *args, "--out", tmp_path, *served)
    assert code == 0, err
    programs = json.loads(out)["programs"]
    assert [p["program"] for p in programs] == list(LONG)
    for name in LONG:
        assert len((tmp_path / f"{name}.jsonl").read_text().splitlines()) == 2


def test_a_baseline_has_no_rules(capsys, served, tmp_path):
    doc = tmp_path / "doc.txt"
    doc.write_text("x")
    args = ["write", "Who?", "--doc", doc, "--program", "react", "--rules", "x.yaml", *served]
    code, _, err = run(capsys, *args)
    assert code == 2
    assert "react takes no --rules" in err


def test_a_full_disk_loses_no_paid_report(capsys, served, tmp_path, monkeypatch):
    doc, real = tmp_path / "doc.txt", pathlib.Path.write_text
    doc.write_text("The bridge opened in 1932, when the road was new.")

    def full(path, *args, **options):
        if path.name == "report.md":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *args, **options)

    monkeypatch.setattr(pathlib.Path, "write_text", full)
    options = ["--doc", doc, "--program", "rag", "--out", tmp_path / "report.md"]
    code, out, err = run(capsys, "write", "When did the bridge open?", *options, *served)
    assert code == 2
    assert out.startswith("The bridge opened in 1932.")
    assert "report.md cannot be written (No space left on device)" in err
