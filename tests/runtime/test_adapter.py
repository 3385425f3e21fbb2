from typing import Literal

import dspy
import pydantic
import pytest

from referee.runtime import Meter, metered
from referee.runtime.adapter import CompactAdapter
from referee.runtime.exchange import Channel
from referee.runtime.fake_server import FakeServer
from referee.runtime.scripted import in_order, scripted_lm


class Plain(dspy.Signature):
    """Answer in a few words."""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class Item(pydantic.BaseModel):
    claim: str = pydantic.Field(description="one fact")
    page: int = 0


class Items(pydantic.RootModel[list[Item]]):
    @pydantic.model_validator(mode="before")
    @classmethod
    def keep_good(cls, value):
        good = []
        for item in value if isinstance(value, list) else []:
            try:
                good.append(Item.model_validate(item))
            except pydantic.ValidationError:
                continue
        return good


class Typed(dspy.Signature):
    """Compare."""

    text: str = dspy.InputField()
    relation: Literal["support", "contradiction", "neutral"] = dspy.OutputField()
    confidence: float = dspy.OutputField(desc="from 0 to 1")
    note: str | None = dspy.OutputField(default=None)


class Listed(dspy.Signature):
    """List."""

    text: str = dspy.InputField()
    items: Items = dspy.OutputField()


ADAPTER = CompactAdapter()


def test_prompts_are_short_and_the_varying_part_comes_last():
    messages = ADAPTER.format(Plain, [], {"document": "D" * 300, "question": "why?"})
    assert messages == [
        {"role": "system", "content": "Answer in a few words."},
        {"role": "user", "content": f"Document: \n{'D' * 300}\n\nQuestion: why?"},
    ]


def test_typed_outputs_are_spelled_out():
    system = ADAPTER.format(Typed, [], {"text": "t"})[0]["content"]
    assert '"relation": "support" or "contradiction" or "neutral"' in system
    assert '"confidence": number (from 0 to 1)' in system
    listed = ADAPTER.format(Listed, [], {"text": "t"})[0]["content"]
    assert '"items": [{"claim": text (one fact), "page": whole number}, ...]' in listed


def test_demonstrations_are_turns_in_the_form_of_replies():
    demos = [{"document": "d", "question": "q", "answer": "a"}]
    messages = ADAPTER.format(Plain, demos, {"document": "x", "question": "y"})
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "a"
    typed = [{"text": "d", "relation": "support", "confidence": 0.5}]
    reply = ADAPTER.format(Typed, typed, {"text": "x"})[2]["content"]
    assert ADAPTER.parse(Typed, reply)["relation"] == "support"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Austin", "Austin"),
        ('<think>{"answer": 1}</think>\nAustin', "Austin"),
        ("```\nAustin\n```", "Austin"),
        ("", ""),
    ],
)
def test_a_plain_answer_is_the_text(reply, answer):
    assert ADAPTER.parse(Plain, reply) == {"answer": answer}


@pytest.mark.parametrize(
    "reply",
    [
        '{"relation": "contradiction", "confidence": 0.8}',
        '{"relation": "Contradiction.", "confidence": "0.8 (high)", "note": "n/a"}',
        'Sure! ```json\n{"relation": "CONTRADICTION", "confidence": 0.8}\n```',
        '<think>hm {"relation": "support"}</think>{"relation": "contradiction", "confidence": 0.8}',
        '{"Relation": "contradiction", "Confidence": 0.8,',
        '{"relation": "contradiction", "confidence": 0.8, "note": null, "extra": 1}',
    ],
)
def test_typed_replies_are_read_leniently(reply):
    fields = ADAPTER.parse(Typed, reply)
    assert fields == {"relation": "contradiction", "confidence": 0.8, "note": None}


@pytest.mark.parametrize(
    "reply",
    [
        *("I would say yes", '{"relation": "maybe", "confidence": 1}', '{"confidence": 1}', "[]"),
        pytest.param("[" * 50_000, id="nested too deep"),
    ],
)
def test_what_cannot_be_read_is_a_parse_error_and_never_a_guess(reply):
    with pytest.raises(dspy.AdapterParseError):
        ADAPTER.parse(Typed, reply)


def test_a_truncated_list_keeps_its_good_items():
    reply = '{"items": [{"claim": "a"}, {"page": 3}, {"claim": "b", "page": "2"}, {"claim": "c"'
    claims = [i.claim for i in ADAPTER.parse(Listed, reply)["items"].root]
    assert claims[:2] == ["a", "b"]


def test_repairs_are_counted():
    with metered(Meter()) as meter:
        ADAPTER.parse(Typed, '{"relation": "support", "confidence": 1}')
        ADAPTER.parse(Typed, 'x {"relation": "support", "confidence": 1}')
    assert meter.usage().repaired == 1


def test_an_unreadable_reply_costs_one_request():
    lm = scripted_lm(in_order(["no idea"]))
    with (
        dspy.context(lm=lm, adapter=Channel(CompactAdapter())),
        pytest.raises(dspy.AdapterParseError),
    ):
        dspy.Predict(Typed)(text="t")
    assert len(lm.engine.requests) == 1


def test_a_capable_server_gets_the_schema_and_others_do_not():
    from referee.runtime import connect

    reply = '{"relation": "support", "confidence": 1, "note": null}'
    with FakeServer(lambda _: reply) as server:
        lm = connect("openai/tiny", api_base=server.url, cache=False)
        with dspy.context(lm=lm, adapter=Channel(CompactAdapter())):
            assert dspy.Predict(Typed)(text="t").relation == "support"
        schema = server.requests[0].schema
        assert schema["properties"]["relation"]["enum"] == ["support", "contradiction", "neutral"]
        assert server.requests[0].body["model"] == "tiny"


def test_a_server_that_cannot_constrain_is_asked_in_words():
    from referee.runtime import connect

    reply = 'Here: {"relation": "support", "confidence": 1}'
    with FakeServer(lambda _: reply, reject=frozenset({"response_format"})) as server:
        lm = connect("openai/tiny-2", api_base=server.url, cache=False, num_retries=0)
        with dspy.context(lm=lm, adapter=Channel(CompactAdapter())):
            predict = dspy.Predict(Typed)
            assert predict(text="t").relation == "support"
            assert predict(text="u").relation == "support"
        assert [r.schema is not None for r in server.requests] == [True, False, False]


def test_the_callers_own_adapter_is_counted_too():
    lm = scripted_lm(in_order(["[[ ## answer ## ]]\nhi\n\n[[ ## completed ## ]]"]))
    meter = Meter()
    with metered(meter), dspy.context(lm=lm, adapter=Channel(dspy.ChatAdapter())):
        assert dspy.Predict(Plain)(document="d", question="q").answer == "hi"
    assert meter.usage().requests == 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "two"}', "two"),
        ('{"answer": null}', ""),
        ("[[ ## answer ## ]]\ntwo\n\n[[ ## completed ## ]]", "two"),
        ("{not json}", "{not json}"),
    ],
)
def test_a_plain_answer_may_come_wrapped(reply, answer):
    assert ADAPTER.parse(Plain, reply) == {"answer": answer}
