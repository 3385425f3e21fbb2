import asyncio
import json
import math

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import InputError
from referee.metrics.judges import (
    EntailmentJudge,
    FactJudge,
    FactLister,
    RecallJudge,
    RelationJudge,
    ResponseJudge,
)
from referee.metrics.judges.asking import batches, certain
from referee.runtime import Budget
from referee.runtime.scripted import in_order, prompt_of, scripted_lm

TEXT = "Ada keeps bees. The hives stand behind her barn, and she sells honey in June."
FACTS = [
    "Ada has hives.",
    "Ada sells honey.",
    "Ada sells wax.",
    "The barn is red.",
    "The hives stand behind a barn.",
]


def asked(request):
    """The items of a request, in order: the list that ends its prompt."""
    prompt = prompt_of(request)
    return json.loads(prompt[prompt.rindex("[{") :])


def key(item):
    return item.get("text") or (item["evidence"], item["claim"])


def judging(label, field="label"):
    """A model whose verdict on an item is ``label(item)``; None leaves it out."""

    def script(request):
        found = [(item["number"], label(key(item))) for item in asked(request)]
        return json.dumps(
            {"verdicts": [{"number": n, field: v} for n, v in found if v is not None]}
        )

    return script


def ask(judge, script, **inputs):
    lm = scripted_lm(script)
    with dspy.context(lm=lm):
        return judge(**inputs), lm.engine.requests


def sells(fact):
    return "wax" not in fact and "red" not in fact


def test_facts_share_requests_and_keep_their_order():
    judged, requests = ask(
        FactJudge(per_request=2), judging(sells, "stated"), text=TEXT, facts=FACTS
    )
    assert judged.stated == (True, True, False, False, True)
    assert (judged.unscored, judged.notes) == (0, ())
    assert len(requests) == judged.usage.requests == 3
    assert sorted(len(asked(r)) for r in requests) == [1, 2, 2]
    assert all(prompt_of(r).count(TEXT) == 1 for r in requests)


@pytest.mark.parametrize(("n", "batch"), [(0, 5), (1, 5), (5, 5), (6, 5), (7, 1), (11, 4)])
def test_n_items_take_n_over_b_requests(n, batch):
    facts = [f"Fact number {i} holds." for i in range(n)]
    judged, requests = ask(
        FactJudge(per_request=batch), judging(lambda _: True, "stated"), text=TEXT, facts=facts
    )
    assert judged.stated == (True,) * n
    assert len(requests) == math.ceil(n / batch)


def test_a_failed_request_leaves_its_items_unscored_and_keeps_the_rest():
    def script(request):
        if any("wax" in item["text"] for item in asked(request)):
            raise RuntimeError("the model is gone")
        return judging(sells, "stated")(request)

    judged, requests = ask(FactJudge(per_request=2), script, text=TEXT, facts=FACTS)
    assert judged.stated == (True, None, None, False, True)
    assert judged.unscored == 2
    assert len(judged.notes) == 1
    assert "the model is gone" in judged.notes[0]
    assert len(requests) == 3


@pytest.mark.parametrize(
    ("reply", "stated"),
    [
        ("no list at all", (None, None)),
        ('{"verdicts": [{"number": 1, "stated": true}, {"number": 2, "sta', (True, None)),
        (
            '{"verdicts": [{"number": 1, "stated": "perhaps"}, {"number": 2, "stated": false}]}',
            (None, False),
        ),
        (
            '{"verdicts": [{"number": 2, "stated": true}, {"number": 9, "stated": true}]}',
            (None, True),
        ),
        (
            '{"verdicts": [{"number": 1, "stated": true}, {"number": 1, "stated": false}]}',
            (None, None),
        ),
    ],
    ids=["prose", "cut off", "one bad value", "unknown number", "two verdicts"],
)
def test_what_cannot_be_read_is_unscored_never_false(reply, stated):
    judged, _ = ask(FactJudge(), in_order([reply]), text=TEXT, facts=FACTS[2:4])
    assert judged.stated == stated
    assert judged.unscored == stated.count(None)


def test_a_verdict_that_depends_on_the_order_is_unscored():
    def first_is_stated(request):
        first, *others = asked(request)
        verdicts = [{"number": first["number"], "stated": True}]
        verdicts += [{"number": i["number"], "stated": "honey" in i["text"]} for i in others]
        return json.dumps({"verdicts": verdicts})

    facts = ["Ada sells wax.", "Ada sells honey.", "The barn is red."]
    once, _ = ask(FactJudge(), first_is_stated, text=TEXT, facts=facts)
    assert once.stated == (True, True, False)
    twice, requests = ask(FactJudge(swap=True), first_is_stated, text=TEXT, facts=facts)
    assert twice.stated == (None, True, None)
    assert len(requests) == 2
    _, alone = ask(FactJudge(per_request=1, swap=True), first_is_stated, text=TEXT, facts=facts)
    assert len(alone) == 3


def test_certain_cases_cost_no_request():
    judged, requests = ask(
        FactJudge(), in_order([]), text=TEXT, facts=["ada keeps  bees", "Ada keeps bees."]
    )
    assert (judged.stated, requests) == ((True, True), [])
    judged, requests = ask(FactJudge(), in_order([]), text=" \n", facts=FACTS)
    assert (judged.stated, requests) == ((False,) * 5, [])
    judged, requests = ask(EntailmentJudge(), in_order([]), documents=["", TEXT], claims=[])
    assert (judged.relations, requests) == ((), [])


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("Nobody says that Ada keeps bees.", "Ada keeps bees."),
        ("Ada keeps bees?", "Ada keeps bees."),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("It rose by 3.5 percent.", "It rose by 35 percent."),
    ],
)
def test_what_only_resembles_a_sentence_is_not_certain(text, item):
    assert certain(text, [item], stated=True, blank=False) == {}


def test_equal_facts_are_asked_once():
    judged, requests = ask(
        FactJudge(), judging(sells, "stated"), text=TEXT, facts=["Ada sells wax."] * 3
    )
    assert judged.stated == (False,) * 3
    assert [len(asked(r)) for r in requests] == [1]


def test_every_document_is_asked_about_every_claim():
    def script(request):
        bees = "bees" in prompt_of(request).split("Claims:")[0].split("Document:")[1]
        label = {True: "Supported.", False: "insufficient"}[bees]
        return json.dumps(
            {"verdicts": [{"number": i["number"], "label": label} for i in asked(request)]}
        )

    claims = ["Ada has bees.", "Bees live with Ada.", "Someone keeps bees."]
    judged, requests = ask(
        EntailmentJudge(per_request=2),
        script,
        documents=["Ada likes bees.", "", "Goats."],
        claims=claims,
    )
    assert judged.relations == (("supported", "insufficient", "insufficient"),) * 3
    assert len(requests) == 4  # two documents that are not blank, ceil(3 / 2) requests each


def test_a_long_document_is_cut_to_what_the_claims_are_about():
    text = "Cows eat grass all day long. " * 400 + "Ada was born in Ghent in 1911, they say. "
    judge = EntailmentJudge(reading_tokens=200)
    judged, requests = ask(
        judge, judging(lambda _: "supported"), documents=[text], claims=["Ada was born in Ghent."]
    )
    assert "Ghent in 1911" in prompt_of(requests[0])
    assert len(prompt_of(requests[0])) < 2000
    assert "A text is long (11,641 characters)" in judged.notes[0]


PAIRS = [("Ann won in 1990.", "Ann won in 1991."), ("Bob won twice.", "Bob won.")]


def test_pairs_with_their_own_evidence_share_a_request():
    labels = dict(zip(PAIRS, ["contradicted", "supported"], strict=True))
    judged, requests = ask(RelationJudge(swap=False), judging(labels.get), pairs=PAIRS)
    assert judged.relations == ("contradicted", "supported")
    assert len(requests) == 1


def test_a_contradiction_must_hold_both_ways():
    def script(pair):
        given = {
            PAIRS[0]: "contradicted",
            PAIRS[0][::-1]: "insufficient",
            PAIRS[1]: "supported",
            PAIRS[1][::-1]: "insufficient",
        }
        return given[pair]

    judged, requests = ask(RelationJudge(), judging(script), pairs=PAIRS)
    assert judged.relations == (None, "supported")
    assert (judged.unscored, len(requests)) == (1, 2)


def test_without_the_second_verdict_a_pair_is_unscored():
    def script(pair):
        return "contradicted" if pair == PAIRS[0] else None

    judged, _ = ask(RelationJudge(), judging(script), pairs=PAIRS[:1])
    assert judged.relations == (None,)


def test_a_spent_budget_leaves_the_rest_unscored():
    judged, requests = ask(
        FactJudge(per_request=1),
        judging(sells, "stated"),
        text=TEXT,
        facts=FACTS,
        budget=Budget(requests=2),
    )
    assert (len(requests), judged.unscored) == (2, 3)
    assert judged.notes == ("The budget is spent: 2 requests.",)


def test_the_twin_for_coroutines_judges_alike():
    lm = scripted_lm(judging(sells, "stated"))
    with dspy.context(lm=lm):
        judged = asyncio.run(FactJudge(per_request=2).acall(text=TEXT, facts=FACTS))
    assert judged.stated == (True, True, False, False, True)
    assert judged.usage.requests == 3


def test_a_judge_keeps_a_model_of_its_own():
    judge, own = FactJudge(), scripted_lm(judging(sells, "stated"), name="scripted/own")
    judge.set_lm(own)
    judged, others = ask(judge, in_order([]), text=TEXT, facts=FACTS)
    assert (judged.unscored, others) == (0, [])
    assert len(own.engine.requests) == 1


def test_calls_stand_in_the_trace_so_that_judges_can_be_compiled():
    with dspy.context(lm=scripted_lm(judging(sells, "stated")), trace=[]):
        judge = FactJudge(per_request=2)
        judge(text=TEXT, facts=FACTS)
        assert [step[0] for step in dspy.settings.trace] == [judge.find] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FactJudge(per_request=0), "per_request is 0"),
        (lambda: FactJudge(per_request=True), "per_request is True"),
        (lambda: FactJudge()(text=TEXT, facts="Ada"), "facts is 'Ada'"),
        (lambda: FactJudge()(text=TEXT, facts=[" "]), "facts holds ' '"),
        (lambda: FactJudge()(text=None, facts=["x"]), "text is None"),
        (lambda: EntailmentJudge()(documents=[3], claims=["x"]), "documents is 3"),
        (lambda: RelationJudge()(pairs=[("a", "")]), "pairs holds ''"),
        (lambda: ResponseJudge()(response=TEXT), "no gold answer"),
        (lambda: FactLister()(text=3), "text is 3"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_facts_are_listed_passage_by_passage_and_once():
    def script(request):
        passage = prompt_of(request).split("Passage:")[1]
        if "Goats" in passage:
            raise RuntimeError("gone")
        lines = [s.strip() + "." for s in passage.split(".") if s.strip()]
        return json.dumps({"facts": [*lines, 3, " ", "Ada keeps bees"]})

    text = "Ada keeps bees. She sells honey. The barn is red. Goats. The barn is red."
    listed, requests = ask(FactLister(per_request=1), script, text=text, question="Who is Ada?")
    assert listed.facts == ("Ada keeps bees.", "She sells honey.", "The barn is red.")
    assert (listed.unread, len(requests)) == (1, 4)  # equal passages are one request
    blank, requests = ask(FactLister(), in_order([]), text="")
    assert (blank.facts, blank.unread, requests) == ((), 0, [])


GOLD = ["Ada keeps bees.", "Ada sells honey."]
CLAIMS = ["Ada is a keeper of bees.", "Ada sells honey in May.", "Ada owns goats."]
DOCUMENTS = [{"text": "Bees are what Ada keeps. In June she sells honey."}, "Ada likes May."]


def referee_script(request):
    """Replies of a judge that is always right about Ada."""
    prompt = prompt_of(request)
    if "Passage:" in prompt:
        return json.dumps({"facts": CLAIMS})
    if "Facts:" in prompt:
        return judging(lambda f: "bees" in f, "stated")(request)
    first = "June" in prompt.split("Claims:")[0]
    gold = GOLD[0] in prompt.split("Claims:")[0]

    def label(claim):
        if "bees" in claim:
            return "supported" if first or gold else "insufficient"
        if "honey" in claim and first:
            return "contradicted" if "May" in claim else "supported"
        return "insufficient"

    return judging(label)(request)


RESPONSE = "Ada keeps many bees. Honey is sold in May, and she has goats."


def test_a_response_is_measured_in_two_rounds():
    judged, requests = ask(
        ResponseJudge(), referee_script, response=RESPONSE, facts=GOLD, documents=DOCUMENTS
    )
    assert judged.claims == tuple(CLAIMS)
    assert judged.stated == (True, False)
    assert judged.by_gold == ("supported", "insufficient", "insufficient")
    assert judged.by_documents == (
        ("supported", "insufficient"),
        ("contradicted", "insufficient"),
        ("insufficient", "insufficient"),
    )
    third = pytest.approx(1 / 3)
    assert judged.measures == {
        "precision": third,
        "recall": 0.5,
        "f1": pytest.approx(0.4),
        "claim_recall": 1.0,
        "context_precision": 0.5,
        "context_utilization": 0.5,
        "relevant_noise": 0.0,
        "irrelevant_noise": 0.0,
        "hallucination": pytest.approx(2 / 3),
        "self_knowledge": 0.0,
        "faithfulness": third,
        "fact_recall": 0.5,
        "wrong": 0.0,
        "contradicted": third,
        "unsupported": third,
        "information_density": pytest.approx(1000 * 3 / 16),
    }
    assert (judged.unscored, judged.unread) == (0, 0)
    assert len(requests) == 5  # list; facts, gold, two documents


def test_recall_and_density_alone_take_one_round():
    whole, _ = ask(ResponseJudge(), referee_script, response=RESPONSE, facts=GOLD)
    judged, requests = ask(RecallJudge(), referee_script, response=RESPONSE, facts=GOLD)
    assert judged.measures == {
        name: whole.measures[name] for name in ("fact_recall", "information_density")
    }
    assert (judged.claims, judged.stated) == (whole.claims, whole.stated)
    assert len(requests) == 2  # list; facts
    with dspy.context(lm=scripted_lm(referee_script)):
        twin = asyncio.run(RecallJudge().acall(response=RESPONSE, facts=GOLD))
    assert twin.measures == judged.measures


def test_what_one_half_of_recall_and_density_lacks_the_other_keeps():
    def unread(request):
        if "Passage:" in prompt_of(request):
            raise RuntimeError("gone")
        return referee_script(request)

    def unjudged(request):
        if "Passage:" not in prompt_of(request):
            raise RuntimeError("gone")
        return referee_script(request)

    judged, _ = ask(RecallJudge(), unread, response=RESPONSE, facts=GOLD)
    assert judged.measures == {"fact_recall": 0.5, "information_density": None}
    judged, _ = ask(RecallJudge(), unjudged, response=RESPONSE, facts=GOLD)
    assert judged.stated == (None, None)
    assert judged.measures["fact_recall"] is None
    assert judged.measures["information_density"] > 0
    blank, requests = ask(RecallJudge(), in_order([]), response=" ", facts=GOLD)
    assert blank.measures == {"fact_recall": 0.0, "information_density": None}
    assert requests == []


def test_given_claims_are_not_listed_and_async_measures_alike():
    inputs = {"response": RESPONSE, "facts": GOLD, "documents": DOCUMENTS}
    listed, _ = ask(ResponseJudge(), referee_script, **inputs)
    given, requests = ask(ResponseJudge(), referee_script, **inputs, claims=CLAIMS)
    assert given.measures == listed.measures
    assert len(requests) == 4
    with dspy.context(lm=scripted_lm(referee_script)):
        twin = asyncio.run(ResponseJudge().acall(**inputs))
    assert twin.measures == listed.measures


def test_a_failed_document_leaves_its_measures_unknown_and_fact_recall_known():
    def script(request):
        if "likes May" in prompt_of(request):
            raise RuntimeError("gone")
        return referee_script(request)

    judged, _ = ask(
        ResponseJudge(), script, response=RESPONSE, facts=GOLD, documents=DOCUMENTS, claims=CLAIMS
    )
    assert judged.measures["fact_recall"] == 0.5
    assert judged.measures["faithfulness"] is judged.measures["contradicted"] is None
    assert judged.unscored == len(CLAIMS) + len(GOLD)


def test_unread_passages_leave_the_density_unknown():
    def script(request):
        if "Passage:" in prompt_of(request):
            raise RuntimeError("gone")
        return referee_script(request)

    judged, _ = ask(ResponseJudge(), script, response=RESPONSE, facts=GOLD)
    assert (judged.unread, judged.claims) == (1, ())
    assert judged.measures["information_density"] is None
    assert judged.measures["fact_recall"] == 0.5


def test_a_blank_response_states_nothing_and_asks_nothing_about_itself():
    judged, requests = ask(ResponseJudge(), in_order([]), response="", facts=GOLD)
    assert judged.measures["fact_recall"] == 0.0
    assert judged.measures["precision"] is judged.measures["information_density"] is None
    assert requests == []


@given(st.lists(st.integers(), max_size=40), st.integers(1, 12))
def test_batches_hold_every_item_in_order_and_are_few(items, size):
    parts = batches(items, size)
    assert [item for part in parts for item in part] == items
    assert len(parts) == math.ceil(len(items) / size)
    assert all(0 < len(part) <= size for part in parts)
