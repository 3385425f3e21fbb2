import csv
import json
import re
import struct
from statistics import mean
from xml.etree import ElementTree

import pytest
from runs import lines_of, run, served, write_rows

from referee.data.labelled import labelled
from referee.data.longfact import DOMAINS
from referee.errors import InputError
from referee.experiment_arms import arms_of
from referee.experiment_run import Cell, Result, run_experiment
from referee.experiment_tables import as_data, laid_out, written
from referee.experiments import EXPERIMENTS, MEASURES, Arm, experiment
from referee.figures import panels
from referee.metrics import exact_match
from referee.programs import ArbGraph
from referee.results import as_markdown
from referee.runtime import Budget, ReplyCache, caching
from referee.runtime.chunks import sentences
from referee.runtime.fake_server import FakeServer, Fault, Reply
from referee.tables import Measure

FILES = ("table.md", "table.csv", "table.json", "figure.png", "figure.svg")
JUDGED = "arbgraph-table-2"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr("referee.runtime.exchange.pause", lambda *_: 0)


def model(request):
    """One model for every program: it copies sentences, and says of every pair the same."""
    prompt = request.prompt
    if '"complete"' in prompt:
        text = prompt.rpartition("Text:")[2].strip()
        return json.dumps({"claims": [s.text for s in sentences(text)], "complete": True})
    if '"pair"' in prompt:
        pairs = json.loads(prompt[prompt.rindex("[{") :])
        said = [{"pair": p["pair"], "relation": relation(p), "confidence": 0.9} for p in pairs]
        return json.dumps({"relations": said})
    if '"winner"' in prompt:
        return json.dumps({"winner": "first", "confidence": 0.9})
    if '"sentences"' in prompt:
        claims = re.findall(r"^\s*\d+\. (.+)$", prompt.rpartition("Claims:")[2], re.M)
        told = enumerate((c.partition(" (disputed")[0] for c in claims), start=1)
        return json.dumps({"sentences": [{"sentence": c, "claims": [n]} for n, c in told]})
    says = "three" if "three" in request.user else "two"
    fields = re.findall(r'^"(\w+)": (.+)$', request.system, re.M)
    if fields:
        return json.dumps({name: plain(kind, says) for name, kind in fields})
    sure = {"token": says, "logprob": -0.1, "top_logprobs": [{"token": says, "logprob": -0.1}]}
    return Reply(says, logprobs=[sure])


def plain(kind, text):
    """A value of the kind that a prompt asks for."""
    if kind.startswith("["):
        return []
    if kind.startswith('"'):
        return kind.split('"')[1]
    plain = {"true or false": True, "whole number": 1, "number": 0.9}
    return next((value for name, value in plain.items() if kind.startswith(name)), text)


def relation(pair):
    return "contradiction" if "1934" in pair["first"] + pair["second"] else "neutral"


def judge(request):
    """A judge to whom everything is stated, and supported."""
    if '"facts": ' in request.prompt:
        return json.dumps({"facts": ["The bridge opened in 1932."]})
    found = {"stated": True} if "stated" in request.prompt else {"label": "supported"}
    return json.dumps({"verdicts": [{"number": n, **found} for n in (1, 2)]})


@pytest.fixture
def server():
    with FakeServer(model) as running:
        yield running
        assert not running.errors


def long_rows(path):
    """Rows for long answers in two domains."""
    lines = []
    for n, domain in enumerate(["Law", "Science", "Law"]):
        texts = [f"The bridge of Town {n} opened in 1932. It is 80 m long.", "It opened in 1934."]
        row = {"id": f"b{n}", "question": f"When did the bridge of Town {n} open?"}
        facts = [f"The bridge of Town {n} opened in 1932.", "The mayor was there."]
        lines.append({**row, "domain": domain, "contexts": texts, "facts": facts})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def short_rows(path, number=2):
    """Rows that can be reduced to two, three and four contexts."""
    lines = []
    for n in range(number):
        texts = [
            f"Planet {n} has two moons.",
            *(f"Planet {n} has three moons, {i}." for i in "abc"),
        ]
        roles = ["correct", "misinformation", "temporal", "semantic"]
        contexts = [
            {"text": t, "gold": {"role": role}} for t, role in zip(texts, roles, strict=True)
        ]
        row = {"id": f"p{n}", "question": f"How many moons does planet {n} have?"}
        lines.append({**row, "contexts": contexts, "answers": ["two"], "wrong_answers": ["three"]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def data_for(name, folder):
    needs = experiment(name).needs
    if needs == "labels":
        return ()
    return (
        short_rows(folder / "s.jsonl") if needs == "answers" else long_rows(folder / "l.jsonl"),
    )


def at(server, **more):
    return {"lm": served(server), "concurrency": 4, **more}


@pytest.mark.parametrize("name", sorted(set(EXPERIMENTS) - {JUDGED}))
def test_each_experiment_writes_its_table_and_figure_and_asks_nothing_twice(name, server, tmp_path):
    data, out = data_for(name, tmp_path), tmp_path / "out"
    with caching(ReplyCache()):
        result = run_experiment(name, data=data, out=out, limit=2, **at(server))
    paths = written(result, out)
    assert [p.name for p in paths] == list(FILES)
    for part in result.evaluations.values():
        for summary in part.summaries:
            assert summary.failed == 0, summary
            assert lines_of(part.folder / f"{summary.program}.jsonl")
    png = (out / "figure.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert 500 < width < 6000
    assert 500 < height < 4000
    assert len(png) > 10_000
    shown = " ".join("".join(e.itertext()) for e in ElementTree.parse(out / "figure.svg").iter())
    assert result.experiment.paper in shown
    assert MEASURES[result.experiment.measures[0]].name in shown
    assert "n\xa0=\xa0" in shown
    assert_numbers_agree(result, out)
    before = len(server.requests)
    again = run_experiment(name, data=data, out=out, limit=2, **at(server))
    assert len(server.requests) == before
    assert again.cells == result.cells


def assert_numbers_agree(result, out):
    """The three tables say what was measured, and all of it."""
    with (out / "table.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    told = {(r["data"], r["arm"], r["column"], r["measure"]): float(r["mean"]) for r in rows}
    assert told == {(c.data, c.arm, c.column, c.measure): c.found.mean for c in result.cells}
    found = json.loads((out / "table.json").read_text())
    assert [c["found"]["mean"] for c in found["cells"]] == [c.found.mean for c in result.cells]
    assert [a["name"] for a in found["arms"]] == [arm.label for arm in result.arms]
    text = (out / "table.md").read_text()
    assert all(f"{c.found.mean:.3f} [" in text for c in result.cells)
    assert all(f"\n| {arm.label} |" in text for arm in result.arms)


def test_the_cells_are_the_means_over_the_records(server, tmp_path):
    data = (short_rows(tmp_path / "a.jsonl", 3), str(write_rows(tmp_path / "b.jsonl", 4)))
    result = run_experiment("macr-table-1", data=data, out=tmp_path / "out", **at(server))
    assert result.columns == ["a", "b"]
    for cell in result.cells:
        if cell.measure == "em" and cell.arm in ("direct", "icl", "macr"):
            records = lines_of(tmp_path / "out" / cell.column / f"{cell.arm}.jsonl")
            scores = [exact_match(r["result"]["answer"], ["two"]) for r in records]
            assert (cell.found.mean, cell.found.n) == (mean(scores), len(records))
    em = {(c.arm, c.column): c.found.mean for c in result.cells if c.measure == "em"}
    assert em["direct", "a"] == 1.0
    assert em["icl", "b"] == 0.0


def test_a_run_that_was_cut_goes_on(server, tmp_path):
    given = {"data": (short_rows(tmp_path / "a.jsonl", 5),), "out": tmp_path / "out"}
    first = run_experiment("macr-table-1", budget=Budget(requests=4), **given, **at(server))
    assert len(server.requests) == 4
    left = [s.rows - s.answered + s.unasked for s in first.evaluations["a"].summaries]
    assert any(left)
    run_experiment("macr-table-1", **given, **at(server))
    records = lines_of(tmp_path / "out" / "a" / "direct.jsonl")
    assert [r["status"] for r in records] == ["ok"] * 5


def test_a_budget_bounds_all_parts_together(server, tmp_path):
    data = (short_rows(tmp_path / "a.jsonl", 5),)
    run_experiment(
        "macr-table-2", data=data, out=tmp_path / "o", budget=Budget(requests=7), **at(server)
    )
    assert len(server.requests) == 7


def test_contexts_vary_and_the_questions_do_not(server, tmp_path):
    extra = json.loads((tmp_path / write_rows(tmp_path / "two.jsonl", 1)).read_text())
    path = tmp_path / "a.jsonl"
    short_rows(path, 3)
    path.write_text(path.read_text() + json.dumps(extra) + "\n")
    result = run_experiment("macr-table-2", data=(str(path),), out=tmp_path / "o", **at(server))
    assert result.columns == ["2 contexts", "3 contexts", "4 contexts"]
    assert list(result.evaluations) == ["a-2", "a-3", "a-4"]
    for number, part in zip((2, 3, 4), result.evaluations.values(), strict=True):
        records = list(part.records("icl"))
        assert {r["id"] for r in records} == {"p0", "p1", "p2"}  # not the row with two contexts
        for record in records:
            texts = [d["text"] for d in record["result"]["documents"]]
            assert len(texts) == number
            assert sum("two" in text for text in texts) == 1


def test_domains_are_columns_in_the_order_of_the_paper(server, tmp_path):
    data = (long_rows(tmp_path / "l.jsonl"),)
    result = run_experiment("arbgraph-table-1", data=data, out=tmp_path / "o", **at(server))
    assert result.columns == ["Science", "Law", "all"]
    assert list(DOMAINS).index("Science") < list(DOMAINS).index("Law")
    counts = {c.column: c.found.n for c in result.cells if c.arm == "arbgraph"}
    assert counts == {"Science": 1, "Law": 2, "all": 3}
    recall = {c.column: c.found.mean for c in result.cells if c.arm == "arbgraph"}
    assert recall["all"] == pytest.approx((recall["Science"] + 2 * recall["Law"]) / 3)
    assert recall["Law"] == 0.5  # one of two facts stands in the answer
    assert any("Without --judge" in note for note in result.notes)


def test_rows_without_a_domain_are_said(server, tmp_path):
    path = tmp_path / "l.jsonl"
    long_rows(path)
    path.write_text(path.read_text().replace('"domain"', '"topic"'))
    result = run_experiment("arbgraph-table-1", data=(str(path),), out=tmp_path / "o", **at(server))
    assert result.columns == ["l"]
    assert any("No row names a domain" in note for note in result.notes)


def test_the_bundled_rows_name_domains():
    from referee.data import load

    domains = {row.domain for row in load("long").rows}
    assert domains <= set(DOMAINS)
    assert len(domains) == 3


def test_a_sweep_pays_only_for_what_changes(server, tmp_path):
    data, out = (long_rows(tmp_path / "l.jsonl"),), tmp_path / "out"
    with caching(ReplyCache()):
        result = run_experiment("arbgraph-figure-2", data=data, out=out, **at(server))
    spent = {s.program: s.usage for s in result.evaluations["l"].summaries}
    assert spent["arbgraph"].requests > 0
    for arm, usage in spent.items():
        if arm.startswith(("M_", "k_")):
            assert usage.requests == 0, arm
            assert usage.cached > 0
    others = sum(u.requests for arm, u in spent.items() if arm != "arbgraph")
    assert others < spent["arbgraph"].requests * (len(spent) - 1) / 2


def test_the_arms_of_a_sweep_surround_the_default_of_the_encoder():
    arms = arms_of(experiment("arbgraph-figure-2"))
    cosines = ArbGraph().thresholds()
    assert arms[0].values == {
        "tau_q": cosines.query,
        "M": 60.0,
        "k": 3.0,
        "tau_sim": cosines.similarity,
    }
    at_axis = [sorted(a.values[x] for a in arms if x in a.values) for x in arms[0].values]
    assert at_axis[1] == [0, 30, 60, 90]
    assert at_axis[0] == pytest.approx([cosines.query + step for step in (-0.2, -0.1, 0, 0.1, 0.2)])
    assert len({arm.label for arm in arms}) == len(arms)


def test_arms_name_settings_and_programs_that_can_be_built():
    from referee.experiment_arms import built

    for each in EXPERIMENTS.values():
        for arm in arms_of(each):
            assert built(arm, {}).name
        assert set(each.measures) <= set(MEASURES)
        assert set(each.ours) <= {arm.program for arm in each.arms}
        assert set(each.main) & {arm.label for arm in each.arms}


def test_components_are_scored_by_label(server, tmp_path):
    result = run_experiment("arbgraph-table-4", out=tmp_path / "o", **at(server))
    assert result.columns == ["contradiction", "neutral", "support", "relations", "arbitration"]
    found = {(c.arm, c.column): c.found for c in result.cells}
    # The model says neutral to all; code knows none of these pairs for certain.
    assert found["verifier-model", "neutral"].mean == 1.0
    assert found["verifier-model", "support"].mean == 0.0
    assert found["verifier-model", "relations"].mean == pytest.approx(1 / 3)
    # A model that always says "first" contradicts itself when the order is swapped.
    assert found["arbiter-model", "arbitration"].mean < found["arbiter", "arbitration"].mean
    one = found["verifier-model", "neutral"]
    assert one.low < 0.7  # Wilson: six of six are no certainty
    assert one.high == 1.0


def test_a_failed_call_a_bad_reply_and_no_decision_are_no_wrong_answers(tmp_path):
    def broken(request):
        if "Kestrel" in request.prompt:
            return Fault("status", 400)
        if '"winner"' in request.prompt:
            return json.dumps({"winner": "undecided", "confidence": 0.9})
        return '{"relations": []}'

    with FakeServer(broken) as server:
        result = run_experiment("arbgraph-table-4", out=tmp_path / "o", **at(server))
    relations, cases = result.evaluations.values()
    statuses = {s.program: s.statuses for s in relations.summaries}["verifier-model"]
    assert statuses == {"parse_error": 15, "provider_error": 3}
    assert {s.program: s.statuses for s in cases.summaries}["arbiter-model"] == {"abstained": 14}
    assert not [c for c in result.cells if c.arm == "verifier-model"]
    assert "verifier-model" in laid_out(result, as_markdown)


def test_own_pairs_take_the_place_of_the_bundled_ones(server, tmp_path):
    path = tmp_path / "mine.jsonl"
    pair = {"claim_a": "A is 3 m high.", "claim_b": "A is red.", "label": "neutral"}
    path.write_text(json.dumps(pair) + "\n")
    result = run_experiment("arbgraph-table-4", data=(str(path),), out=tmp_path / "o", **at(server))
    assert list(result.evaluations) == ["mine", "arbitration"]
    assert result.columns == ["neutral", "mine", "arbitration"]


def test_the_command_lists_runs_and_prints(capsys, server, tmp_path):
    code, out, _ = run(capsys, "experiment", "--list")
    assert code == 0
    assert all(name in out and e.paper in out for name, e in EXPERIMENTS.items())
    data = short_rows(tmp_path / "a.jsonl")
    lm = ["--lm", "openai/tiny", "--api-base", server.url, "--out", str(tmp_path / "o")]
    code, out, err = run(capsys, "experiment", "macr-table-1", "--data", data, *lm)
    assert "MACR, Table I" in out
    assert "Exact match" in out
    assert f"Wrote {tmp_path / 'o' / 'figure.svg'}" in err
    assert all((tmp_path / "o" / name).exists() for name in FILES)


def test_the_list_needs_no_language_model_library():
    import subprocess
    import sys

    code = (
        "import sys\nfrom referee import cli\n"
        "try:\n    cli.main(['experiment', '--list'])\nexcept SystemExit:\n    pass\n"
        "assert not {'dspy', 'matplotlib', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["macr-tabel-1"], "did you mean macr-table-1?"),
        (["x"], "There is no experiment 'x'"),
        ([], "a NAME"),
        (["macr-table-1", "--data", "nosuch"], "nosuch"),
        (["macr-table-1", "--data", "long"], "no row with answers"),
        (["arbgraph-table-1", "--data", "conflicts"], "no row with facts"),
        (["arbgraph-table-2"], "--judge"),
        (["arbgraph-table-4", "--data", "conflicts"], "conflicts"),
        (["arbgraph-table-4", "--split", "test"], "--split"),
        (["macr-table-1", "--data", "conflicts", "--data", "conflicts"], "conflicts"),
        (["macr-table-1", "--role", "cook=openai/y"], "cook"),
    ],
)
def test_bad_input_is_one_sentence(capsys, server, tmp_path, args, says):
    lm = ["--lm", "openai/tiny", "--api-base", server.url, "--out", str(tmp_path / "o")]
    code, out, err = run(capsys, "experiment", *args, *lm)
    assert code == 2
    assert out == ""
    assert says in err
    assert not server.requests


def test_without_a_folder_and_with_a_bad_one(capsys, server, tmp_path):
    lm = ["--lm", "openai/tiny", "--api-base", server.url]
    code, _, err = run(capsys, "experiment", "macr-table-1", *lm)
    assert (code, "--out DIR" in err) == (2, True)
    (tmp_path / "file").write_text("")
    wrong = ["--out", str(tmp_path / "file" / "o")]
    code, _, err = run(capsys, "experiment", "macr-table-1", *lm, *wrong)
    assert (code, "cannot be used" in err) == (2, True)
    assert not server.requests


def test_a_folder_belongs_to_one_experiment(server, tmp_path):
    data, out = (short_rows(tmp_path / "a.jsonl", 1),), tmp_path / "o"
    run_experiment("macr-table-1", data=data, out=out, **at(server))
    with pytest.raises(InputError, match="macr-table-1"):
        run_experiment("macr-table-3", data=data, out=out, **at(server))
    (out / "experiment.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        run_experiment("macr-table-1", data=data, out=out, **at(server))


def test_too_few_contexts_are_said(server, tmp_path):
    data = (str(write_rows(tmp_path / "two.jsonl", 3)),)
    with pytest.raises(InputError, match="one correct and 3 conflicting contexts"):
        run_experiment("macr-table-2", data=data, out=tmp_path / "o", **at(server))
    assert not (tmp_path / "o").exists()


def made(name, cells, arms, columns, evaluations):
    return Result(experiment(name), arms, columns, cells, evaluations)


def test_panels_say_what_is_drawn():
    found = Measure(0.5, 0.4, 0.6, 9, 0.5)
    arms = [Arm("icl"), Arm("macr")]
    single = [Cell(a.label, "x", "em", found, "x") for a in arms]
    (panel,) = panels(made("macr-table-1", single, arms, ["x"], {}))
    assert list(panel.ticks.values()) == ["icl", "macr"]
    assert panel.limits == pytest.approx((-0.04, 1.04))
    both = [*single, *(Cell(a.label, "y", "em", found, "y") for a in arms)]
    (panel,) = panels(made("macr-table-1", both, arms, ["x", "y"], {}))
    assert [s.label for s in panel.series] == ["icl", "macr"]
    assert list(panel.ticks.values()) == ["x", "y"]
    assert panel.series[0].x[0] < 0 < panel.series[1].x[0]
    dense = [Cell("icl", "x", "information_density", Measure(90, 80, 120, 9, 90), "x")]
    (panel,) = panels(made("arbgraph-table-1", dense, arms[:1], ["x"], {}))
    assert panel.limits == pytest.approx((-4.8, 124.8))
    assert panels(made("macr-table-1", [], arms, [], {})) == []


def test_names_in_a_figure_may_hold_anything(server, tmp_path):
    path = tmp_path / "a$x$ <b>&月.jsonl"
    out = tmp_path / "o"
    result = run_experiment("macr-table-1", data=(short_rows(path),), out=out, **at(server))
    written(result, out)
    root = ElementTree.parse(out / "figure.svg").getroot()
    shown = "".join(root.itertext())
    assert "a$x$ <b>&月" in shown
    assert not root.findall(".//{*}b")


def test_an_experiment_of_which_nothing_could_be_measured_is_still_written(tmp_path):
    with FakeServer(lambda _: Fault("status", 400)) as server:
        given = {"data": (short_rows(tmp_path / "a.jsonl", 1),), "out": tmp_path / "o"}
        result = run_experiment("macr-table-1", **given, **at(server))
    written(result, tmp_path / "o")
    assert result.cells == []
    assert "Nothing could be measured" in (tmp_path / "o" / "figure.svg").read_text()
    assert "| a | direct | 1 | 0 | 1 |" in (tmp_path / "o" / "table.md").read_text()
    assert as_data(result)["cells"] == []


def test_a_judge_measures_the_second_table(server, tmp_path):
    data = (long_rows(tmp_path / "l.jsonl"),)
    with FakeServer(judge) as other:
        given = {"judge": served(other, "openai/judge"), "out": tmp_path / "o", "data": data}
        result = run_experiment(JUDGED, limit=1, **given, **at(server))
        assert other.requests
    found = {(c.arm, c.measure): c.found.mean for c in result.cells}
    arms = [arm.label for arm in result.arms]
    assert {"rag", "arbgraph"} <= set(arms)
    assert {measure for _, measure in found} == set(experiment(JUDGED).measures)
    assert all(found[arm, "fact_recall"] == 1.0 for arm in arms)
    assert all(found[arm, "hallucination"] == 0.0 for arm in arms)
    assert result.notes == []
    written(result, tmp_path / "o")
    svg = (tmp_path / "o" / "figure.svg").read_text()
    assert "lower is better" in svg


def test_a_judge_of_recall_and_density_is_not_asked_about_documents(server, tmp_path):
    data = (long_rows(tmp_path / "l.jsonl"),)
    with FakeServer(judge) as other:
        given = {"judge": served(other, "openai/judge"), "out": tmp_path / "o", "data": data}
        result = run_experiment("arbgraph-table-1", limit=1, **given, **at(server))
        # One round an answer: its facts, and which gold facts it states.
        assert 0 < len(other.requests) <= 2 * len(result.arms)
        assert not any('"label"' in r.prompt for r in other.requests)
    assert {c.measure for c in result.cells} == {"fact_recall", "information_density"}


def test_bundled_cases_have_one_right_claim_each():
    cases = labelled("arbitration").rows
    assert len(cases) >= 12
    for row in cases:
        rights = [d.text.startswith(row.answers[0]) for d in row.documents]
        assert 0 < sum(rights) < len(rights)
