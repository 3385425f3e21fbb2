"""What holds for the artifact of every registered program."""

import json
import os
import warnings
from pathlib import Path

import dspy
import pytest

import referee
from referee.errors import ArtifactError, ArtifactWarning
from referee.programs import MACR, PROGRAMS, ArbGraph, ArbSettings, Gate, Rule, RuleBase
from referee.programs.settings import TUNED
from referee.programs.thresholds import Thresholds
from referee.runtime.scripted import WordEncoder, prompt_of, scripted_lm

every_program = pytest.mark.parametrize("name", sorted(PROGRAMS))
SECRETS = {"OPENAI_API_KEY": "sk-secret-0123456789", "HOME_SERVER": "http://10.1.2.3:8000/v1"}


def compiled(name):
    """A program as an optimizer leaves it: demonstrations, instructions, an LM somebody pinned."""
    program = PROGRAMS[name](reading_tokens=1234)
    pinned = dspy.LM(
        "hosted_vllm/m", api_base=SECRETS["HOME_SERVER"], api_key=SECRETS["OPENAI_API_KEY"]
    )
    for predictor in program.predictors():
        fields = dict.fromkeys(predictor.signature.fields, f"said by {name}")
        predictor.demos = [dspy.Example(augmented=True, **fields)]
        predictor.signature = predictor.signature.with_instructions(f"Do it well, {name}.")
        predictor.lm = pinned
    program.card = {"backbone": "openai/a", "metric": "em"}
    return program.on(pinned)


def files(folder):
    return {p.name: p.read_text(encoding="utf-8") for p in Path(folder).iterdir()}


def edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.fixture
def saved(tmp_path):
    """A saved MACR with a gate that matters."""
    MACR(gate=Gate(threshold=0.4)).save_artifact(tmp_path / "a")
    return tmp_path / "a"


@every_program
def test_save_and_load_give_an_equal_program(name, tmp_path):
    program = compiled(name)
    program.save_artifact(tmp_path / "a")
    loaded = referee.load(tmp_path / "a")
    loaded.save_artifact(tmp_path / "b")
    assert type(loaded) is type(program)
    assert loaded.dump_settings() == program.dump_settings()
    assert loaded.dump_thresholds() == program.dump_thresholds()
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert loaded.card == program.card
    assert program.predictors()[0].lm is not None  # saving changes nothing


@every_program
def test_a_loaded_program_writes_the_same_prompts(name, tmp_path):
    program = compiled(name).on(None)
    for predictor in program.predictors():
        predictor.lm = None
    program.save_artifact(tmp_path)
    prompts = []
    for one in (program, referee.load(tmp_path)):
        lm = scripted_lm(lambda _: "two", f"scripted/{len(prompts)}")
        with dspy.context(lm=lm):
            one(question="How many?", documents=["It has two moons."], date="2026-01-01")
        # Requests of one wave arrive in any order.
        prompts.append(sorted(prompt_of(r) for r in lm.engine.requests))
    assert prompts[0] == prompts[1]
    assert any(f"said by {name}" in prompt for prompt in prompts[0])


@every_program
def test_every_constructor_argument_is_saved_or_named_as_a_part(name):
    import inspect

    kind = PROGRAMS[name]
    program = kind()
    arguments = set()
    for cls in kind.__mro__[: kind.__mro__.index(dspy.Module)]:
        named = inspect.signature(cls.__init__).parameters
        arguments |= {k for k, v in named.items() if v.kind is v.KEYWORD_ONLY}
    held = program.dump_settings().keys() | program.dump_thresholds().keys()
    rules = {"rules"} if isinstance(getattr(program, "rules", None), RuleBase) else set()
    beside = set() if name != "arbgraph" else {*TUNED, *Thresholds._fields}  # of its settings
    assert arguments == (held - beside) | set(kind.parts) | rules
    json.dumps([program.dump_settings(), program.dump_thresholds()])


@every_program
def test_the_plain_state_loads_with_dspy_alone(name, tmp_path):
    compiled(name).save_artifact(tmp_path)
    plain = PROGRAMS[name]()
    plain.load(tmp_path / "program.json")
    assert all(p.demos for p in plain.predictors())


@every_program
def test_a_copy_is_independent(name, tmp_path):
    program = compiled(name)
    copy = program.deepcopy()
    copy.predictors()[0].demos.clear()
    copy.card["metric"] = "other"
    if hasattr(copy, "rules"):
        copy.rules.rules.clear()
        assert program.rules.rules
    assert program.predictors()[0].demos
    assert program.card["metric"] == "em"


class Pipeline(dspy.Module):
    """Somebody's module with one of ours in it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, question):
        return self.inner(question=question, documents=["It has two."])


@every_program
def test_a_compiled_program_in_another_module_keeps_its_state(name, tmp_path):
    compiled(name).save_artifact(tmp_path / "a")
    outer = Pipeline(referee.load(tmp_path / "a"))
    outer.save(tmp_path / "outer.json")
    again = Pipeline(PROGRAMS[name]())
    again.load(tmp_path / "outer.json")
    assert again.dump_state() == outer.dump_state()
    assert len(again.predictors()) == len(PROGRAMS[name]().predictors())
    assert all(p.demos for p in again.predictors())


@every_program
def test_no_key_endpoint_path_or_pickle(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["OPENAI_API_KEY"])
    program = compiled(name)
    kind = type(program)
    parts = {"queue": tmp_path / "queue.jsonl", "retriever": ["A passage."], "lms": {}}
    program = kind.from_settings(
        {**program.dump_settings(), **program.dump_thresholds()},
        **{k: v for k, v in parts.items() if k in kind.parts},
    ).on(program.backbone)
    program.save_artifact(tmp_path / "a")
    assert {p.suffix for p in (tmp_path / "a").iterdir()} <= {".json", ".yaml"}
    text = "\n".join(files(tmp_path / "a").values())
    hidden = [*SECRETS.values(), "10.1.2.3", str(tmp_path), os.path.expanduser("~"), "queue.jsonl"]
    assert not [secret for secret in hidden if secret in text]


def test_rules_are_edited_by_hand(saved):
    text = (saved / "rules.yaml").read_text()
    (saved / "rules.yaml").write_text(text.replace("authoritative: []", "authoritative: [Times]"))
    with pytest.warns(ArtifactWarning, match=r"rules\.yaml was edited"):
        program = referee.load(saved)
    assert program.rules.authoritative == ["Times"]


def test_a_threshold_may_be_edited(saved):
    edit(saved / "thresholds.json", lambda d: d["gate"].update(threshold=0.2))
    with pytest.warns(ArtifactWarning, match=r"thresholds\.json was edited"):
        program = referee.load(saved)
    assert program.assessment.gate.threshold == 0.2


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("card.json", lambda d: d.update(schema=2), "has schema 2 and this version reads 1"),
        ("card.json", lambda d: d.pop("signatures"), "lacks signatures"),
        ("card.json", lambda d: d.update(settings=[]), "lacks a table"),
        ("card.json", lambda d: d.update(files={}), "is not the file that card.json"),
        ("card.json", lambda d: d.update(program="oracle"), "'oracle', which this version"),
        ("card.json", lambda d: d["settings"].update(magic=1), "settings that macr does not take"),
        (
            "card.json",
            lambda d: d["signatures"]["read"].update(fields="0"),
            "The fields of read are not",
        ),
        ("card.json", lambda d: d["signatures"].pop("read"), r"differ in their predictors \(read"),
        ("program.json", lambda d: d["read"].update(demos=[]), "is not the file that card.json"),
        ("thresholds.json", lambda d: d["gate"].update(k=4), "chosen with k = 8 .* says 4"),
        ("thresholds.json", lambda d: d["gate"].update(equation=2), "chosen with equation = 3"),
        ("thresholds.json", lambda d: d.pop("gate"), "lacks 'gate'"),
        ("thresholds.json", lambda d: d["gate"].update(threshold=7), "settings that macr"),
        ("thresholds.json", lambda d: d.update(encoder="other"), "belong to the encoder 'other'"),
    ],
)
def test_what_would_run_wrongly_is_refused_and_says_what_to_do(saved, file, change, says):
    edit(saved / file, change)
    with pytest.raises(ArtifactError, match=says) as error:
        referee.load(saved)
    assert any(word in str(error.value) for word in (" again", "back", "use that", "it has"))


@pytest.mark.parametrize("file", ["card.json", "program.json", "rules.yaml", "thresholds.json"])
@pytest.mark.parametrize("content", [None, "", "{", "[]", "[" * 100_000, "\x00"])
def test_missing_and_damaged_files_are_one_sentence(saved, file, content):
    (saved / file).unlink() if content is None else (saved / file).write_text(content)
    with pytest.raises(ArtifactError):
        referee.load(saved)


def test_a_folder_without_a_card_is_no_artifact(tmp_path):
    with pytest.raises(ArtifactError, match="holds no compiled program"):
        referee.load(tmp_path)


def test_another_k_cannot_be_given_beside_the_artifact(saved):
    with pytest.raises(ArtifactError, match="gate cannot be given to a saved macr"):
        referee.load(saved, gate=Gate(k=4))


def test_a_threshold_on_cosines_belongs_to_its_encoder(tmp_path, monkeypatch):
    from referee.runtime import embedder

    MACR(gate=Gate(threshold=0.3, relevance="embedding")).save_artifact(tmp_path)
    assert json.loads((tmp_path / "thresholds.json").read_text())["encoder"] == "all-MiniLM-L6-v2"
    monkeypatch.setattr(embedder, "_DEFAULT", embedder.SentenceEncoder("bge"))
    with pytest.raises(ArtifactError, match="belong to the encoder 'all-MiniLM"):
        referee.load(tmp_path)


def test_reworded_prompts_and_missing_parts_are_warned_of(tmp_path):
    MACR(retriever=["A passage."]).save_artifact(tmp_path)
    edit(tmp_path / "card.json", lambda d: d["signatures"]["read"].update(wording="0"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        referee.load(tmp_path)
    said = [str(w.message) for w in caught]
    assert any("prompts of read were reworded" in s for s in said)
    assert any("saved with a retriever" in s for s in said)
    with pytest.warns(ArtifactWarning, match="reworded") as only:
        referee.load(tmp_path, retriever=["A passage."])
    assert len(only) == 1


def test_another_version_of_dspy_is_warned_of(saved):
    edit(saved / "card.json", lambda d: d["versions"].update(dspy="3.3.9"))
    with pytest.warns(ArtifactWarning, match=r"saved with dspy 3\.3\.9"):
        referee.load(saved)


def test_another_backbone_is_warned_of(tmp_path):
    program = MACR()
    program.card = {"backbone": "scripted/a"}
    program.save_artifact(tmp_path)
    with pytest.warns(ArtifactWarning, match="compiled for scripted/a and runs on scripted/b"):
        loaded = referee.load(tmp_path, lm=scripted_lm(lambda _: "two", "scripted/b"))
    assert loaded.backbone.model == "scripted/b"
    referee.load(tmp_path, lm=scripted_lm(lambda _: "two", "scripted/a"))


def test_the_bound_backbone_answers_unless_the_caller_names_another(tmp_path):
    PROGRAMS["vote"]().save_artifact(tmp_path)
    bound, other = (scripted_lm(lambda _: "two", f"scripted/{n}") for n in ("bound", "other"))
    program = referee.load(tmp_path, lm=bound)
    with dspy.context(lm=other):
        assert program(question="?", documents=["two"]).verdict.backbone == "scripted/bound"
        assert referee.resolve("?", ["two"], program=program).backbone == "scripted/bound"
    assert referee.resolve("?", ["two"], program=program, lm=other).backbone == "scripted/other"
    assert program.backbone is bound


def test_saving_again_replaces_the_artifact(tmp_path):
    MACR().save_artifact(tmp_path)
    rule = Rule(id="MINE", condition="One is newer.", resolution="Believe it.", support=0.9)
    MACR(rules=RuleBase([rule])).save_artifact(tmp_path)
    assert [r.id for r in referee.load(tmp_path).rules.rules] == ["MINE"]
    PROGRAMS["vote"]().save_artifact(tmp_path)
    assert not (tmp_path / "rules.yaml").exists()
    assert isinstance(referee.load(tmp_path), PROGRAMS["vote"])


def test_an_unwritable_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot be written"):
        MACR().save_artifact(tmp_path / "file" / "a")


def test_arbgraph_keeps_its_settings_and_the_cosines_of_its_encoder(tmp_path):
    settings = ArbSettings(rounds=3, accept=0.35, homonyms=False, batch=4)
    program = ArbGraph(settings=settings, ask_model=True, ablation="no gating")
    program.save_artifact(tmp_path)
    loaded = referee.load(tmp_path)
    assert loaded.settings.value == settings
    assert (loaded.verifier.ask_model, loaded.arbiter.ask_model) == (True, True)
    assert loaded.ablation == "no gating"
    edit(tmp_path / "thresholds.json", lambda d: d.update(similarity=0.5, accept=0.2))
    with pytest.warns(ArtifactWarning, match=r"thresholds.json was edited"):
        edited = referee.load(tmp_path)
    assert edited.settings.value.thresholds.similarity == 0.5
    assert edited.settings.value.accept == 0.2


def test_arbgraph_is_loaded_with_the_encoder_of_its_thresholds_alone(tmp_path):
    cosines = Thresholds(query=0.2, similarity=0.5, merge=0.9)
    other = WordEncoder("words")
    program = ArbGraph(settings=ArbSettings(thresholds=cosines), encoder=other)
    program.save_artifact(tmp_path / "other")
    ArbGraph().save_artifact(tmp_path / "own")
    with pytest.raises(ArtifactError, match="belong to the encoder 'words'"):
        referee.load(tmp_path / "other")
    with pytest.raises(ArtifactError, match="belong to the encoder 'all-MiniLM"):
        referee.load(tmp_path / "own", encoder=other)
    loaded = referee.load(tmp_path / "other", encoder=other)
    assert loaded.settings.value.thresholds == cosines
    assert ArbGraph(preset="paper").dump_settings() == saved_and_loaded(
        ArbGraph(preset="paper"), tmp_path / "paper"
    )


def saved_and_loaded(program, folder):
    program.save_artifact(folder)
    loaded = referee.load(folder)
    assert loaded.rules.rules == program.rules.rules
    return loaded.dump_settings()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.pop("accept"), "settings that arbgraph does not take"),
        (lambda d: d.update(accept=7), "accept is 7"),
    ],
)
def test_broken_thresholds_of_arbgraph_are_refused(tmp_path, change, says):
    ArbGraph().save_artifact(tmp_path)
    edit(tmp_path / "thresholds.json", change)
    with pytest.raises(ArtifactError, match=says):
        referee.load(tmp_path)
