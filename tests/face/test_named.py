"""Programs by name and variant, in Python and on the command line."""

import json

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import rows, run

import referee
from referee.api import as_program
from referee.errors import InputError
from referee.evaluation import evaluate
from referee.programs import MACR, PROGRAMS, ArbGraph, PaperMACR, Vote
from referee.programs.named import class_of, named
from referee.runtime.fake_server import FakeServer
from referee.runtime.scripted import scripted_lm
from referee.store import file_of

VARIANTS = {
    "macr:no-assessment": (MACR, "no assessment", "macr:no-assessment"),
    "macr:cot": (PaperMACR, "chain of thought", "macr-paper:cot"),
    "macr-paper:cot": (PaperMACR, "chain of thought", "macr-paper:cot"),
    "macr-paper:no-assessment": (PaperMACR, "no assessment", "macr-paper:no-assessment"),
    "arbgraph:no-graph": (ArbGraph, "no evidence graph", "arbgraph:no-graph"),
    "arbgraph:no-soft": (ArbGraph, "no soft arbitration", "arbgraph:no-soft"),
    "arbgraph:no-screening": (ArbGraph, "no screening", "arbgraph:no-screening"),
    "arbgraph:no-rejection": (ArbGraph, "no rejection", "arbgraph:no-rejection"),
    "arbgraph:no-gating": (ArbGraph, "no gating", "arbgraph:no-gating"),
}


@pytest.fixture
def served():
    with FakeServer(lambda request: "three" if "three" in request.user else "two") as server:
        yield ["--lm", "openai/tiny", "--api-base", server.url]


@pytest.mark.parametrize("text", VARIANTS)
def test_a_variant_is_the_program_with_its_ablation(text):
    kind, ablation, label = VARIANTS[text]
    program = named(text, reading_tokens=1000)
    assert (type(program), program.ablation, program.label) == (kind, ablation, label)
    assert program.reading_tokens == 1000
    assert class_of(text) is kind
    assert as_program(text, long_answers=kind.long_answers).label == label
    assert program.deepcopy().on(None).label == label


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_plain_name_is_the_whole_program(name):
    program = named(name)
    assert type(program) is PROGRAMS[name]
    assert program.label == name
    for variant, ablation in program.variants.items():
        assert named(f"{name}:{variant}").ablation == ablation


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "There is no program 'nothing': choose one of "),
        ("nothing:cot", "There is no program 'nothing'"),
        ("macr:x", "choose macr, macr:no-assessment, macr:cot."),
        ("macr:", "macr has no variant ''"),
        ("arbgraph:cot", "arbgraph:no-graph, arbgraph:no-soft"),
        ("vote:cot", "vote has no variant 'cot': it has none, name vote alone."),
        ("macr:cot:cot", "no variant 'cot:cot'"),
    ],
)
def test_what_is_wrong_is_one_sentence(text, says, capsys, served):
    with pytest.raises(InputError) as error:
        named(text)
    assert says in str(error.value)
    if ":" in text and not text.startswith("nothing"):
        with pytest.raises(InputError):
            as_program(text, long_answers=text.startswith("arbgraph"))
        code, _, err = run(capsys, "resolve", "--example", "tesla", "--program", text, *served)
        assert code == 2
        assert says in " ".join(err.split()) or "is not one of" in err


@given(st.sampled_from([*PROGRAMS, "other"]), st.text(max_size=12))
def test_any_other_variant_is_refused(name, variant):
    with pytest.raises(InputError, match=r"There is no program|has no variant"):
        named(f"{name}:{variant}!")


def test_a_variant_answers_from_python_and_says_its_name():
    documents = ["Mars has two moons.", "Mars has two moons, says the almanac."]
    verdict = referee.resolve(
        "How many moons does Mars have?",
        documents,
        lm=scripted_lm(lambda _: "two"),
        program="macr:no-assessment",
    )
    assert (verdict.answer, verdict.program) == ("two", "macr:no-assessment")
    with pytest.raises(InputError, match="long answers"):
        referee.resolve("q", documents, lm=scripted_lm(lambda _: "x"), program="arbgraph:no-graph")


def test_a_variant_survives_its_artifact(tmp_path):
    named("macr:cot").save_artifact(tmp_path / "a")
    assert json.loads((tmp_path / "a" / "card.json").read_text())["program"] == "macr-paper"
    assert referee.load(tmp_path / "a").label == "macr-paper:cot"


def test_the_command_line_takes_variants(capsys, served, tmp_path):
    example = ("resolve", "--example", "mars-moons", "--json")
    code, out, _ = run(capsys, *example, "--program", "macr:no-assessment", *served)
    assert (code, json.loads(out)["program"]) == (0, "macr:no-assessment")
    queue = str(tmp_path / "queue.jsonl")
    code, _, err = run(capsys, *example, "--program", "macr:cot", "--queue", queue, *served)
    assert code in (0, 1)
    assert "takes no" not in err
    code, _, err = run(capsys, *example, "--program", "vote:cot", *served)
    assert code == 2


def test_tables_and_files_show_the_variant(tmp_path):
    lm = scripted_lm(lambda _: "two")
    found = evaluate(["vote", "macr:no-assessment"], rows(3), lm=lm, out=tmp_path / "run")
    assert list(found.scored) == ["vote", "macr:no-assessment"]
    assert (tmp_path / "run" / file_of("macr:no-assessment")).exists()
    assert file_of("macr:no-assessment") == "macr+no-assessment.jsonl"
    assert len(list(found.records("macr:no-assessment"))) == 3
    with dspy.context(lm=lm), pytest.raises(InputError, match="same name"):
        evaluate([Vote(), Vote()], rows(3), lm=lm)
