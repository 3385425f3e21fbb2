"""Relations of candidate pairs: several a request, what is missing once more."""

import json
from itertools import pairwise

import dspy
import pytest
from arb_cases import model, pairs_in, stage_of

from referee.programs import ArbSettings
from referee.programs.base import Case
from referee.programs.steps import Clock, Driver
from referee.programs.verification import Verified, Verifier
from referee.runtime.exchange import channel
from referee.runtime.meter import Meter, metered
from referee.signatures.arbgraph import ClaimRelations

TEXTS = [
    f"The {colour} boat sails to town." for colour in ["red", "green", "blue", "grey", "white"]
]
TEXTS += [f"A {colour} cart rolls to town." for colour in ["red", "green", "blue", "grey", "white"]]
PAIRS = list(pairwise(range(10)))


def verified(reply, pairs=PAIRS, most=None, ask_model=True, texts=TEXTS, **settings):
    """Relations, requests, notes."""
    lm = model(relations=reply)
    meter = Meter()
    case = Case("?", [], "2020-01-01", 1000, meter)
    steps = Verifier(ask_model=ask_model).steps(case, texts, pairs, ArbSettings(**settings), most)
    with metered(meter), dspy.context(lm=lm, adapter=channel()):
        found = Driver({}, Clock()).run(steps)
    assert all(stage_of(r) == "relations" for r in lm.engine.requests)
    return found, lm.engine.requests, meter


def saying(*items):
    return lambda request: json.dumps({"relations": list(items)})


def everything(request):
    n = len(pairs_in(request))
    return json.dumps({"relations": [{"pair": i, "relation": "neutral"} for i in range(1, n + 1)]})


@pytest.mark.parametrize("batch", [1, 4, 8, 9, 20])
def test_a_batch_is_a_request(batch):
    found, requests, meter = verified(everything, batch=batch)
    assert list(found) == PAIRS
    assert len(requests) == -(-len(PAIRS) // batch)
    assert not meter.notes


def test_what_a_reply_leaves_out_is_asked_once_more_in_halves():
    def forgetful(request):
        return saying({"pair": 1, "relation": "Support", "confidence": "90 %"})(request)

    found, requests, meter = verified(forgetful, pairs=PAIRS[:8])
    # 1 of 8, then the other 7 in two requests
    assert sorted([len(pairs_in(r)) for r in requests]) == [3, 4, 8]  # halves run together
    assert set(found.values()) == {Verified("support", 0.9, "model")}
    assert len(found) == 3
    assert meter.notes == ("5 candidate pairs got no readable relation: no edge.",)


def test_an_unreadable_reply_is_asked_once_more():
    found, requests, meter = verified(lambda _: "No idea.")
    assert not found
    assert len(requests) == 2 + 3
    assert meter.notes == ("9 candidate pairs got no readable relation: no edge.",)


def test_a_verifier_that_fails_is_not_asked_again_and_all_its_pairs_are_counted():
    def down(request):
        raise dspy.LMServerError("down")

    found, requests, meter = verified(down)
    assert not found
    assert len(requests) == 2
    (note,) = meter.notes
    assert note.startswith("9 candidate pairs were not verified: The model's server failed")


def test_pairs_that_were_not_asked_about_are_ignored_and_the_first_word_counts():
    said = [
        {"pair": 7, "relation": "support"},
        {"pair": 0, "relation": "support"},
        {"pair": 1, "relation": "neutral", "confidence": 0.4},
        {"pair": 1, "relation": "support"},
        {"pair": "2", "relation": "CONTRADICTION."},
    ]
    found, _, _ = verified(saying(*said), pairs=PAIRS[:2])
    assert found == {
        PAIRS[0]: Verified("neutral", 0.4, "model"),
        PAIRS[1]: Verified("contradiction", 1.0, "model"),
    }


@pytest.mark.parametrize("batch", [1, 4])
def test_requests_stay_within_what_a_budget_allows(batch):
    found, requests, meter = verified(lambda _: "{}", most=2, batch=batch)
    assert len(requests) == 2
    assert not found
    assert f"{9 - 2 * batch} candidate pairs were not verified: the budget." in meter.notes
    assert meter.exhausted


def test_what_code_is_sure_of_is_not_asked():
    texts = ["Ann was born in 1990.", "Ann was born in 1991.", "Ann likes tea."]
    found, requests, _ = verified(everything, pairs=[(0, 1), (0, 2)], texts=texts)
    assert found[0, 1] == Verified("contradiction", 1.0, "code")
    assert [len(pairs_in(r)) for r in requests] == [1]
    found, requests, _ = verified(everything, pairs=[(0, 1), (0, 2)], texts=texts, certain=False)
    assert found[0, 1].relation == "neutral"
    assert [len(pairs_in(r)) for r in requests] == [2]


def test_without_a_model_rival_values_are_suspected():
    texts = ["Ghana joined it in 1957.", "Ghana and Mali joined it in 1961.", "Mali is large."]
    found, requests, _ = verified(everything, pairs=[(0, 1), (1, 2)], texts=texts, ask_model=False)
    assert not requests
    assert found == {
        (0, 1): Verified("contradiction", 0.7, "code"),
        (1, 2): Verified("neutral", 1.0, "code"),
    }


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        ([{"pair": 1, "relation": "support"}, {"pair": 2}, "x", None], 1),
        ({"pair": 1, "relation": "support"}, 1),
        ({"a": {"pair": 1, "relation": "support"}, "b": {"pair": 2, "relation": "neutral"}}, 2),
        ([{"pair": 1, "relation": "support", "confidence": "high"}], 0),
        ([{"pair": 1, "relation": "support", "confidence": float("nan")}], 0),
        (None, 0),
        ("neutral", 0),
    ],
)
def test_broken_lists(reply, count):
    assert len(ClaimRelations.model_validate(reply).root) == count
