import json
import warnings
from pathlib import Path

import pytest
from runs import run

from referee import cli_tune
from referee.optimizers import RuleMatrix
from referee.runtime.fake_server import FakeServer, Fault

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import matplotlib

matplotlib.use("agg")


def answered(request):
    """Knows the right year by heart; the documents contradict each other."""
    prompt = request.prompt
    year = str(1650 + int(prompt.rsplit("mill ", 1)[1].split()[0]))
    if "using only the document," in prompt:
        return "1801" if "1801" in prompt else "1902"
    if "what you know that bears" in prompt:
        parts = dict.fromkeys(("key_attributes", "background", "details", "knowledge_cutoff"), "")
        return json.dumps({**parts, "details": f"It was built in {year}."})
    if "whether both answers" in prompt:
        pairs = [{"pair": n, "relation": "contradiction"} for n in range(1, 4)]
        return json.dumps({"relations": pairs})
    if "Settle each conflict" in prompt or "which side is true" in prompt:
        conflicts = json.loads(prompt[prompt.rindex("Conflicts:") + 10 :])
        sides = ["first" if c["first"] == year else "second" for c in conflicts]
        known = [year in (c["first"], c["second"]) for c in conflicts]
        return json.dumps(
            {
                "judgments": [
                    {"conflict": c["conflict"], "winner": side if sure else "undecided"}
                    for c, side, sure in zip(conflicts, sides, known, strict=True)
                ]
            }
        )
    return year


def rows(path, n=4):
    lines = [
        {
            "id": str(i),
            "question": f"In which year was mill {i} of Arvel built?",
            "contexts": [
                {"text": f"The mill {i} of Arvel was built in {y}."} for y in (1801, 1902)
            ],
            "answers": [str(1650 + i)],
        }
        for i in range(n)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def tune(capsys, tmp_path, server, *more):
    data = rows(tmp_path / "rows.jsonl")
    out = str(tmp_path / "tuned")
    # No rule: with the starter base a memory without a source loses to any document.
    none = tmp_path / "rules.yaml"
    none.write_text("version: 1\nrules: []\n", encoding="utf-8")
    where = [
        "--rules",
        str(none),
        "--data",
        data,
        "--lm",
        "openai/own",
        "--api-base",
        server.url,
        "--out",
        out,
    ]
    return run(capsys, "tune", "macr", *where, *more)


@pytest.mark.timeout(240)
def test_thresholds_are_found_printed_and_drawn(capsys, tmp_path):
    with FakeServer(answered) as server:
        code, out, err = tune(capsys, tmp_path, server, "--trials", "8")
        assert code == 0, err
        asked = len(server.requests)
        assert f"{asked} requests" in err
        code, again, _ = tune(capsys, tmp_path, server, "--trials", "8", "--json", "--no-plots")
        assert len(server.requests) == asked  # nothing is paid twice
        assert not server.errors
    assert out.startswith("best      1.0000 [1.0000, 1.0000] of 4 rows: trial ")
    assert "gain      +1.0000" in out
    assert "gate_threshold" in out
    assert "Trial 1: " in err
    found = json.loads(again)
    assert found["best"]["score"] == 1.0
    assert found["default"]["number"] == 0
    assert len(found["trials"]) == 8
    folder = tmp_path / "tuned"
    assert found == json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    names = {path.name for path in (folder / "plots").iterdir()}
    assert names >= {"history.png", "history.svg", "slices.png", "slices.svg"}
    everything = "".join(
        path.read_text(encoding="utf-8", errors="ignore")
        for path in folder.rglob("*")
        if path.is_file()
    )
    assert server.url not in everything


@pytest.mark.timeout(240)
def test_a_front_is_drawn(capsys, tmp_path):
    with FakeServer(answered) as server:
        code, out, err = tune(capsys, tmp_path, server, "--trials", "6", "--pareto")
    assert code == 0, err
    assert "front     trial " in out
    assert (Path(tmp_path) / "tuned" / "plots" / "front.svg").exists()


def test_what_cannot_be_tuned(capsys, tmp_path):
    with FakeServer(lambda _: Fault("status", 500)) as server:
        code, _, err = tune(capsys, tmp_path, server, "--parameters", "tau")
        assert code == 2
        assert "it offers gate_threshold, samples" in err
    code, _, err = run(capsys, "tune", "macr", "--data", str(tmp_path / "no.jsonl"), "--out", "x")
    assert code == 2
    assert "no.jsonl" in err


def test_rules_that_compiling_left_belong_to_its_program(tmp_path, monkeypatch):
    """A folder may be named like the program that was compiled into it."""
    folder = tmp_path / "macr"
    folder.mkdir()
    RuleMatrix(rules=(), examples=(), fired=(), correct=(), baseline=()).save(
        folder / "matrix.json"
    )
    monkeypatch.chdir(tmp_path)
    assert cli_tune._matrix({"program": "macr", "matrix": None}) is None
    assert cli_tune._matrix({"program": "./macr", "matrix": None}) is not None
    assert cli_tune._matrix({"program": "macr", "matrix": "macr/matrix.json"}) is not None


def test_what_could_not_be_saved_is_refused_before_a_request(capsys, tmp_path):
    data = rows(tmp_path / "rows.jsonl")
    with FakeServer(answered) as server:
        where = ["--data", data, "--lm", "openai/own", "--api-base", server.url, "--out"]
        for command in ("tune", "compile"):
            for out in ("", data):
                code, _, err = run(capsys, command, "macr", *where, out)
                assert code == 2
                assert f"{out!r} is no folder" in err
        code, _, err = run(capsys, "compile", "madam", "--tune", "3", *where, str(tmp_path / "new"))
        assert code == 2
        assert "madam offers nothing to tune: leave --tune out" in err
        assert not server.requests
