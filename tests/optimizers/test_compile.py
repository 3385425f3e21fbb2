"""compile_program over scripted models: what each optimizer does for every program."""

import io
import json
from contextlib import redirect_stdout

import dspy
import pytest

from referee.data import Row
from referee.errors import InputError
from referee.optimizers import OPTIMIZERS, Bootstrap, Gepa, Mipro, compile_program
from referee.programs import MACR, PROGRAMS, ArbSettings, Gate, Vote
from referee.runtime import Budget, Document, ReplyCache, caching
from referee.runtime.fake_server import FakeServer, Fault
from referee.runtime.scripted import prompt_of

every_program = pytest.mark.parametrize("name", sorted(PROGRAMS))
# Rationales need a program that gives some: `test_rationales`.
every_optimizer = pytest.mark.parametrize("optimizer", sorted({*OPTIMIZERS} - {"rationales"}))

# What default settings never ask: a gate judged by a model, an LM that plays the retriever, the
# composition across documents that alone say nothing, the chain-of-thought ablation.
UNREACHED = {
    "macr": {"compose", "assessment.judge_relevance", "assessment.consult"},
    "macr-paper": {"assessment.judge_relevance", "assessment.consult", "step"},
}


def compiled(lm, examples, program=None, **options):
    long = program is not None and program.long_answers
    options = {"optimizer": "bootstrap", "metric": "fact_recall" if long else "em", **options}
    return compile_program(program or Vote(), examples(4), examples(6)[4:], lm=lm, **options)


def state(program):
    return json.dumps(program.dump_state(), sort_keys=True)


@every_program
def test_every_predictor_gets_demonstrations_but_those_that_are_named(name, make_lm, examples):
    result = compiled(make_lm(), examples, PROGRAMS[name]())
    assert set(result.without_demonstrations) == UNREACHED.get(name, set())
    for predictor_name, predictor in result.program.named_predictors():
        expected = 0 if predictor_name in result.without_demonstrations else 2
        assert len(predictor.demos) == expected, predictor_name
        for demo in predictor.demos:
            assert set(demo.keys()) == {"augmented", *predictor.signature.fields}


def test_settings_reach_the_predictors_that_defaults_do_not(make_lm, examples):
    def script(request):
        said = prompt_of(request)
        if "using only the document" in said or "no answer" in request.messages[-1].text:
            return "no answer"
        return make_lm().engine.script(request)

    gate = Gate(relevance="llm")
    program = MACR(gate=gate, lms={"retriever": make_lm("scripted/retriever")})
    result = compiled(make_lm(), examples, program)
    assert set(result.without_demonstrations) == {"compose"}
    silent = compiled(make_lm("scripted/silent", script), examples)
    assert silent.without_demonstrations == ("read",)
    composing = compiled(make_lm("scripted/compose", script), examples, MACR())
    assert "compose" not in composing.without_demonstrations


@pytest.mark.parametrize(
    ("optimizer", "name"),
    [
        *(("bootstrap", name) for name in sorted(PROGRAMS)),
        *((optimizer, name) for optimizer in ("mipro", "gepa") for name in ("vote", "macr")),
    ],
)
def test_the_estimate_is_told_first_and_never_exceeded(optimizer, name, make_lm, examples):
    lm, said = make_lm(), []

    def tell(line):
        said.append((len(lm.engine.requests), line))

    small = {"mipro": Mipro(candidates=3, trials=2), "gepa": Gepa(rounds=2)}
    program, before = PROGRAMS[name](), state(PROGRAMS[name]())
    out = io.StringIO()
    with redirect_stdout(out):
        result = compiled(
            lm, examples, program, optimizer=small.get(optimizer, optimizer), tell=tell
        )
    assert said[0] == (0, f"At most {result.estimate:,} requests, retries apart.")
    assert len(lm.engine.requests) == result.usage.requests <= result.estimate
    assert out.getvalue() == ""
    assert state(program) == before
    assert program.card == {}
    assert result.complete
    assert all(p.lm is None for p in result.program.predictors())
    assert not getattr(result.program, "_compiled", False)


@every_program
def test_the_bound_of_a_question_holds(name, make_lm, examples):
    def hostile(request):
        return (
            "no answer" if "two" in request.messages[-1].text else make_lm().engine.script(request)
        )

    settings = [{}]
    if name.startswith("macr"):
        gate = Gate(relevance="llm", threshold=1.0, inclusive=True)
        settings = [{"gate": gate}, {"gate": gate, "ablation": "no assessment"}]
    if name == "macr-paper":
        settings.append({"gate": gate, "ablation": "chain of thought"})
    programs = [PROGRAMS[name](**s) for s in settings]
    if name == "arbgraph":
        often = ArbSettings(batch=1, pairs_per_round=1, certain=False)
        settings = [{}, {"preset": "paper"}, {"settings": often, "ask_model": True}]
        settings += [{"ablation": "no soft arbitration", "settings": often}]
        programs = [PROGRAMS[name](**s) for s in settings]
    for variant in (*programs, *programs[0].exercises()):
        for script in (make_lm().engine.script, hostile, lambda _: "unknown"):
            lm = make_lm("scripted/bound", script)
            example = examples(1)[0]
            with dspy.context(lm=lm):
                found = variant(question=example.question, documents=example.documents)
            outcome = found.get("verdict") or found.report
            fewest, most = variant.requests(outcome.documents)
            assert fewest <= outcome.usage.requests + outcome.usage.cached <= most


@every_optimizer
def test_equal_seeds_give_equal_programs(optimizer, make_lm, examples):
    small = {"mipro": Mipro(candidates=3, trials=3), "gepa": Gepa(rounds=3)}
    states = {}
    for seed in (0, 0, 1):
        lm = make_lm("scripted/seeded")
        result = compile_program(
            MACR() if optimizer == "bootstrap" else Vote(),
            examples(6),
            examples(8)[6:],
            lm=lm,
            optimizer=small.get(optimizer, optimizer),
            seed=seed,
        )
        states.setdefault(seed, []).append(state(result.program))
    assert states[0][0] == states[0][1]
    if optimizer == "bootstrap":
        assert states[1][0] != states[0][0]


def test_a_teacher_may_be_another_backbone(make_lm, examples):
    student = make_lm("scripted/student", lambda _: "three")
    teacher = make_lm("scripted/teacher")
    program = Vote(lms={"reader": make_lm("scripted/role", lambda _: "three")})
    result = compiled(student, examples, program, teacher_lm=teacher)
    assert len(result.program.read.demos) == 2
    assert teacher.engine.requests
    assert (result.before.mean, result.after.mean) == (0.0, 0.0)
    assert result.program.card["teacher"] == "scripted/teacher"
    assert result.program.card["backbone"] == "scripted/student"


def test_the_search_ends_when_nothing_more_comes(make_lm, examples):
    """Three predictors of the default MACR are never asked: all rows would be in vain."""
    said = []
    compile_program(MACR(), examples(60), examples(1), lm=make_lm(), tell=said.append)
    batches = [line for line in said if line.startswith("demonstrations")]
    assert len(batches) < 2 * 15


def test_only_runs_that_were_right_are_shown(make_lm):
    rows = [
        Row(str(i), f"How many, {i}?", (Document(text=f"It has two, {i}."),), (gold,))
        for i, gold in enumerate(["four", "two", "four", "two"])
    ]
    result = compile_program(Vote(), rows, rows, lm=make_lm())
    assert {d["question"] for d in result.program.read.demos} == {"How many, 1?", "How many, 3?"}
    assert result.before.mean == 0.5


def test_a_program_that_got_worse_is_not_kept(make_lm, examples):
    def script(request):
        return "four" if len(request.messages) > 1 else "two"

    result = compiled(make_lm(script=script), examples)
    assert (result.before.mean, result.after.mean, result.improved) == (1.0, 0.0, False)
    assert not result.program.read.demos
    assert result.program.card["improved"] is False


@every_optimizer
@pytest.mark.parametrize("requests", [1, 7, 15])
def test_a_spent_budget_stops_it_with_the_best_so_far(optimizer, requests, make_lm, examples):
    small = {"mipro": Mipro(candidates=3, trials=4), "gepa": Gepa(rounds=4)}
    lm, said = make_lm(), []
    result = compiled(
        lm,
        examples,
        optimizer=small.get(optimizer, optimizer),
        budget=Budget(requests=requests),
        tell=said.append,
    )
    assert len(lm.engine.requests) <= requests
    assert not result.complete
    assert "the budget ends it" in said[0]
    assert isinstance(result.program, Vote)
    assert result.program.card["complete"] is False


def test_half_a_budget_still_compares_the_same_examples(make_lm, examples):
    result = compile_program(
        Vote(), examples(4), examples(12)[4:], lm=make_lm(), budget=Budget(requests=36)
    )
    assert (result.before.n, result.before.unscored) == (4, 4)
    assert (result.after.n, result.after.unscored) == (4, 4)
    assert result.improved
    assert len(result.program.read.demos) == 2


def test_replies_are_never_paid_for_twice(make_lm, examples, tmp_path):
    first, second = make_lm(), make_lm()
    once = compiled(first, examples, MACR(), replies=tmp_path)
    again = compiled(second, examples, MACR(), replies=tmp_path)
    assert not second.engine.requests
    assert state(once.program) == state(again.program)
    assert again.usage.requests == 0
    assert again.before == once.before


def test_the_cache_around_the_call_is_used(make_lm, examples, tmp_path):
    for _ in range(2):
        lm = make_lm()
        with caching(ReplyCache(tmp_path)):
            compiled(lm, examples)
    assert not lm.engine.requests


def test_a_failing_model_is_unscored_and_not_wrong(examples):
    said = []
    with FakeServer(lambda _: Fault("status", 400)) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", num_retries=0)
        result = compiled(lm, examples, tell=said.append)
    assert result.before is None
    assert result.complete
    assert any(line.startswith("not scored: ") for line in said)
    assert server.url not in "".join(said)


def test_gepa_shows_each_predictor_its_own_calls(make_lm, examples):
    """Attribution over fan-out: reflection on one predictor holds no inputs of another."""
    seen = []

    def script(request):
        prompt = prompt_of(request)
        if "examples_with_feedback" in prompt or "Examples with feedback" in prompt:
            seen.append(request.messages[-1].text)
            return "Read it again, slowly."
        return make_lm().engine.script(request)

    result = compile_program(
        MACR(),
        examples(4, "four"),
        examples(6, "four")[4:],
        lm=make_lm(script=script),
        optimizer=Gepa(rounds=4),
    )
    own = {
        "using only the document": '"document"',
        "what the question is about": '"subject": "two"',
        "from your own knowledge": '"today"',
        "Say for each pair": '"pairs"',
    }
    kinds = set()
    for text in seen:
        (kind,) = [k for k in own if k in text.split("Examples with feedback")[0]]
        kinds.add(kind)
        assert own[kind] in text
        assert '"document"' not in text or kind == "using only the document"
        assert "right is 'four'" in text
    assert len(kinds) >= 3  # rounds go to different predictors
    assert result.complete


def test_gepa_keeps_an_instruction_that_helps(make_lm, examples):
    def script(request):
        prompt = prompt_of(request)
        if "xamples with feedback" in prompt:
            return "Say four."
        return "four" if "Say four." in prompt else "two"

    result = compile_program(
        Vote(),
        examples(4, "four"),
        examples(6, "four")[4:],
        lm=make_lm(script=script),
        optimizer="gepa",
    )
    assert result.program.read.signature.instructions == "Say four."
    assert (result.before.mean, result.after.mean) == (0.0, 1.0)
    assert result.without_demonstrations == ()


def test_mipro_finds_the_instruction_that_helps(make_lm, examples):
    def script(request):
        prompt = prompt_of(request)
        if "Basic instruction" in prompt:
            return "Say four."
        return "four" if "Say four." in prompt else "two"

    result = compile_program(
        Vote(),
        examples(4, "four"),
        examples(6, "four")[4:],
        lm=make_lm(script=script),
        optimizer="mipro",
    )
    assert result.program.read.signature.instructions == "Say four."
    assert result.after.mean == 1.0


def test_tuned_thresholds_are_said_to_be_stale(make_lm, examples):
    said = []
    compiled(make_lm(), examples, MACR(gate=Gate(threshold=0.3)), tell=said.append)
    assert any("tune them again" in line for line in said)


def test_a_metric_may_be_a_function_with_feedback(make_lm, examples):
    def metric(example, prediction):
        return dspy.Prediction(score=0.7, feedback="Fine.")

    result = compiled(make_lm(), examples, metric=metric)
    assert result.before.mean == pytest.approx(0.7)
    assert result.program.card["metric"] == "metric"


def test_facts_are_recalled(make_lm):
    rows = [
        dspy.Example(question="?", documents=["It has two moons."], facts=["two", "small"]),
    ]
    result = compile_program(Vote(), rows, rows, lm=make_lm(), metric="fact_recall")
    assert result.before.mean == 0.5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"trainset": []}, "trainset is empty"),
        ({"valset": [dspy.Example(question=" ", documents=["a"])]}, "valset, example 1: "),
        ({"valset": [{"question": "?"}]}, "valset, example 1 is a dict"),
        (
            {"trainset": [dspy.Example(question="Who?", documents=["a"])]},
            "has no 'answers', which the metric em",
        ),
        ({"metric": "rouge"}, "no metric 'rouge'"),
        ({"metric": lambda e, p: 7}, "gave 7.0"),
        ({"optimizer": "magic"}, "no optimizer 'magic'"),
        ({"program": "vote"}, "program is a str"),
        ({"lm": None}, "no backbone"),
    ],
)
def test_wrong_arguments_are_refused(change, says, make_lm, examples):
    lm = make_lm()
    options = {"program": Vote(), "trainset": examples(2), "valset": examples(2), "lm": lm}
    with pytest.raises(InputError, match=says):
        compile_program(**{**options, **change})
    assert not lm.engine.requests or "metric" in change


def test_recompiling_replaces_demonstrations(make_lm, examples):
    first = compiled(make_lm(), examples, MACR()).program
    again = compiled(make_lm("scripted/b"), examples, first, optimizer=Bootstrap(1)).program
    assert {len(p.demos) for p in again.predictors()} == {0, 1}
    assert again.card["backbone"] == "scripted/b"
