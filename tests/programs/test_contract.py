"""What holds for every registered program."""

import asyncio
import json

import dspy
import pytest

from referee.errors import InputError
from referee.programs import PROGRAMS
from referee.runtime import Budget, Report
from referee.runtime.chunks import sentences
from referee.runtime.documents import as_documents
from referee.runtime.fake_server import FakeServer, Fault
from referee.runtime.scripted import prompt_of, scripted_lm

DOCUMENTS = [
    {"text": "Mars has two moons.", "id": "a", "source": "A", "date": "2020-01-01"},
    {"text": "Mars has three moons.", "id": "b", "source": "B"},
    {"text": "The two moons of Mars are small.", "id": "c", "source": "C"},
]
QUESTION = "How many moons does Mars have?"

every_program = pytest.mark.parametrize("name", sorted(PROGRAMS))


TYPED = {
    '"groups"': {"groups": [{"passages": [1, 3], "summary": "Mars has two moons."}]},
    '"candidates"': {"candidates": [{"group": 1, "answer": "two"}], "answer": "two"},
    '"rationale"': {"rationale": "Two documents say two.", "answer": "two"},
    '"triples"': {
        "triples": [{"subject": "Mars", "relation": "has", "object": "two moons"}],
    },
    '"answers": [text': {"answers": ["two", "three"], "explanation": "Most say so."},
    '"sentences"': {"sentences": [{"sentence": "Mars has two moons.", "claims": [1]}]},
    '"confidence": number}, ...]': {"relations": [{"pair": 1, "relation": "neutral"}]},
    '"contradict"': {"contradict": True},
    '"relations"': {"relations": [{"pair": 1, "relation": "contradiction", "type": "other"}]},
    '"judgments"': {"judgments": [{"conflict": 1, "rule": "", "winner": "undecided"}]},
    '"first_snippet"': {"first_snippet": "x", "second_snippet": "y", "type": "other"},
    '"explanation"': {"answer": "two", "explanation": "Because."},
    '"reasoning"': {"reasoning": "They agree.", "answer": "two"},
    '"thought"': {"thought": "More.", "action": "search", "query": "moons of Mars"},
    '"critique"': {"verdict": "right"},
    '"correction"': {"verdict": "confirmed"},
    '"steps"': {"steps": [{"action": "search", "text": "moons"}, {"action": "answer"}]},
    '"value"': {"value": 0.5},
}
ONE_REQUEST = ("cot", "direct", "icl", "instructrag", "rag")


def reply(request):
    """What a model says: JSON for typed outputs, else what the document says."""
    prompt = prompt_of(request)
    if "JSON object" in prompt and '"complete"' in prompt:
        text = prompt.rpartition("Text:")[2]
        found = [s.text for s in sentences(text)][:3]
        return json.dumps({"claims": found, "complete": True})
    for key, value in TYPED.items():
        if "JSON object" in prompt and key in prompt:
            return json.dumps(value)
    return "three" if "three" in prompt and "two" not in prompt else "two"


def lm():
    return scripted_lm(reply, logprob=lambda _: -0.1)


def ask(program, model=None, **options):
    with dspy.context(lm=model or lm()):
        return outcome(program(question=QUESTION, documents=DOCUMENTS, **options))


def outcome(prediction):
    return prediction.report if "report" in prediction else prediction.verdict


def answer_of(found):
    return found.text if isinstance(found, Report) else found.answer


def comparable(verdict):
    return verdict.model_dump(exclude={"timings"})


@every_program
def test_building_asks_nothing(name):
    model = lm()
    with dspy.context(lm=model):
        PROGRAMS[name]()
    assert not model.engine.requests


@every_program
def test_answer_record_and_names(name):
    verdict = ask(PROGRAMS[name]())
    assert (verdict.status, verdict.program) == ("ok", name)
    assert "two" in answer_of(verdict)
    assert verdict.question == QUESTION
    assert verdict.explanation
    assert verdict.usage.requests >= 1
    record = json.loads(json.dumps(verdict.record))
    assert answer_of(verdict) in (record.get("answer"), record.get("text"))


@every_program
def test_requests_are_within_what_is_told_beforehand(name):
    program = PROGRAMS[name]()
    low, high = program.requests(as_documents(DOCUMENTS))
    usage = ask(program).usage
    assert low <= usage.requests + usage.cached <= high


@every_program
def test_sync_and_async_give_the_same_verdict(name):
    async def main():
        with dspy.context(lm=lm()):
            prediction = await PROGRAMS[name]().acall(question=QUESTION, documents=DOCUMENTS)
            return outcome(prediction)

    assert comparable(ask(PROGRAMS[name]())) == comparable(asyncio.run(main()))


@every_program
def test_nothing_is_kept_between_calls(name):
    program = PROGRAMS[name]()
    first = ask(program)
    state = {k: v for k, v in vars(program).items() if k not in ("history", "callbacks")}
    assert comparable(ask(program)) == comparable(first)
    assert state == {k: v for k, v in vars(program).items() if k not in ("history", "callbacks")}


@every_program
def test_save_load_and_deepcopy(name, tmp_path):
    program = PROGRAMS[name]()
    for _, predictor in program.named_predictors():
        predictor.demos = [{"question": "q", "answer": "a"}]
    program.save(tmp_path / "p.json")
    loaded = PROGRAMS[name]()
    loaded.load(tmp_path / "p.json")
    copy = program.deepcopy()
    for other in (loaded, copy):
        assert [p.demos for p in other.predictors()] == [p.demos for p in program.predictors()]
    copy.predictors()[0].demos.clear()
    assert program.predictors()[0].demos


@every_program
def test_predictors_are_visible_under_signatures_of_their_own(name):
    signatures = [p.signature for p in PROGRAMS[name]().predictors()]
    assert signatures
    assert len({s.__name__ for s in signatures}) == len(signatures)
    assert all(s.instructions for s in signatures)


@every_program
@pytest.mark.parametrize("fault", ["status", "reset", "garbage", "empty"])
def test_a_failing_model_is_a_status_and_never_an_answer(name, fault):
    with FakeServer(lambda _: Fault(fault)) as server:
        model = dspy.LM(
            "hosted_vllm/m", api_base=server.url, api_key="secret-key-123", num_retries=0
        )
        verdict = ask(PROGRAMS[name](), model)
    assert answer_of(verdict) == ""
    assert verdict.status == ("parse_error" if fault == "empty" else "provider_error")
    assert verdict.explanation
    shown = json.dumps(verdict.record)
    assert "127.0.0.1" not in shown
    assert "secret-key-123" not in shown


@every_program
def test_a_dead_server_is_said_in_a_sentence(name):
    model = dspy.LM("hosted_vllm/m", api_base="http://127.0.0.1:9/v1", api_key="k", num_retries=0)
    verdict = ask(PROGRAMS[name](), model)
    assert verdict.status == "provider_error"
    assert "cannot be reached" in verdict.explanation


@every_program
def test_a_missing_key_is_said_in_a_sentence(name):
    verdict = ask(PROGRAMS[name](), dspy.LM("openai/gpt-4o-mini", num_retries=0))
    assert verdict.status == "provider_error"
    assert "key" in verdict.explanation


@every_program
def test_a_budget_of_one_request(name):
    verdict = ask(PROGRAMS[name](), budget=Budget(requests=1))
    assert verdict.usage.requests == 1
    assert verdict.status == ("ok" if name in ONE_REQUEST else "budget")


@every_program
def test_refusals_are_abstentions(name):
    verdict = ask(PROGRAMS[name](), scripted_lm(lambda _: "No answer."))
    if name in ("arbgraph", "cot"):  # they ask for lists or several fields; a refusal is none
        assert verdict.status == "parse_error"
        return
    assert (verdict.status, verdict.abstained, answer_of(verdict)) == ("abstained", True, "")


@every_program
def test_bad_input_is_refused_before_any_request(name):
    model = lm()
    with dspy.context(lm=model):
        program = PROGRAMS[name]()
        for bad in ({"question": " "}, {"documents": "text"}, {"date": "tomorrow"}):
            with pytest.raises(InputError):
                program(**{"question": QUESTION, "documents": DOCUMENTS, **bad})
    assert not model.engine.requests


@every_program
@pytest.mark.parametrize(
    "texts",
    [
        ["word " * 40_000],
        ["x" * 200_000],
        [f"Document {i}: Mars has two moons." for i in range(30)],
        ["火星有两颗卫星。" * 500, "للمريخ قمران. " * 500],
        ["", "Mars has two moons."],
        ["same text"] * 5,
        ["\x07\x00 \u202e odd", "Mars has two moons."],
    ],
)
def test_odd_documents_are_answered_or_said(name, texts):
    model = lm()
    with dspy.context(lm=model):
        verdict = outcome(PROGRAMS[name]()(question="?", documents=texts))
    assert verdict.status in (("ok", "abstained") if name == "arbgraph" else ("ok",))
    longest = max(len(prompt_of(r)) for r in model.engine.requests)
    assert longest < 12_000


@every_program
def test_what_was_cut_is_said(name):
    with dspy.context(lm=lm()):
        documents = ["filler. " * 20_000 + QUESTION + " Mars has two moons."]
        verdict = outcome(PROGRAMS[name]()(question=QUESTION, documents=documents))
    if name not in ("direct", "arbgraph", "react", "mcts-rag"):  # these read none, or all of it
        assert any("d1 is long" in note for note in verdict.notes)


@every_program
def test_the_date_is_recorded(name):
    assert ask(PROGRAMS[name](), date="2020-02-03").date == "2020-02-03"


@every_program
def test_a_role_may_have_a_model_of_its_own(name):
    other = scripted_lm(reply, "scripted/role", logprob=lambda _: -0.1)
    model = lm()
    with dspy.context(lm=model):
        program = PROGRAMS[name](lms=dict.fromkeys(PROGRAMS[name].roles, other))
        assert "two" in program(question=QUESTION, documents=DOCUMENTS).answer
    # What has no role (the subject line, the basic context) stays with the main model.
    assert len(model.engine.requests) <= 2
    assert other.engine.requests
