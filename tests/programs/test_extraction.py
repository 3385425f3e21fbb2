"""Reading claims: half-broken replies, cut-off lists, failed chunks."""

import json

import dspy
import pytest
from arb_cases import QUESTION, asked, model, stages_of, write

from referee.programs import ArbGraph
from referee.programs.extraction import CONTINUATIONS
from referee.runtime import Budget
from referee.signatures.arbgraph import Complete

FIRST = "The bridge of Arburg opened in 1932."
SECOND = "The bridge of Arburg is 80 m long."
THIRD = "The bridge of Arburg has four lanes."
DOCUMENT = {"text": f"{FIRST} {SECOND} {THIRD}", "id": "a"}


def read(reply, documents=(DOCUMENT,), **options):
    """What is validated when the extractor answers so; claims of the text, and the model."""
    lm = model(claims=reply if callable(reply) else lambda _: reply)
    report = write(list(documents), lm, **options)
    return report, [claim.text for claim in report.validated], lm


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"claims": [FIRST, SECOND, THIRD], "complete": True}),
        json.dumps(
            {"claims": [FIRST, 3, None, "", {"claim": SECOND}, [], THIRD], "complete": "yes"}
        ),
        json.dumps({"claims": {"1": FIRST, "2": SECOND, "3": THIRD}, "complete": True}),
        json.dumps([FIRST, SECOND, THIRD]),
        f'So:\n```json\n{{"claims": ["{FIRST}", "{SECOND}", "{THIRD}",], complete: true}}',
    ],
)
def test_half_broken_lists_keep_their_good_items(reply):
    assert read(reply)[1] == [FIRST, SECOND, THIRD]


def rest_of(first):
    """A model whose first list is cut off; then it lists all that it is shown."""

    def reply(request):
        text = asked(request).rpartition("Text:")[2]
        if FIRST in text:
            return first
        found = [s for s in (SECOND, THIRD) if s in text]
        return json.dumps({"claims": found, "complete": True})

    return reply


@pytest.mark.parametrize(
    "first",
    [
        f'{{"claims": ["{FIRST}", "The bridge of Arb',
        json.dumps({"claims": [FIRST, "The bridge of Arburg is 8"], "complete": False}),
        json.dumps({"claims": [FIRST]}),
        json.dumps({"claims": [FIRST], "complete": None}),
        json.dumps({"claims": [FIRST], "complete": "not yet"}),
    ],
)
def test_a_list_that_is_not_complete_is_continued_behind_its_last_claim(first):
    report, texts, lm = read(rest_of(first))
    assert texts == [FIRST, SECOND, THIRD]
    assert stages_of(lm).count("claims") == 2
    shown = asked(lm.engine.requests[1]).rpartition("Text:")[2]
    assert FIRST not in shown
    assert SECOND in shown
    assert not report.notes


def test_a_list_that_is_not_in_order_loses_nothing():
    def reply(request):
        text = asked(request).rpartition("Text:")[2]
        found = [s for s in (THIRD, FIRST) if s in text] if FIRST in text else [SECOND, THIRD]
        return json.dumps({"claims": found, "complete": FIRST not in text})

    assert set(read(reply)[1]) == {FIRST, SECOND, THIRD}


def test_a_model_that_never_ends_is_stopped_and_said():
    text = " ".join(f"The bridge of Arburg has a lamp named L{n}." for n in range(20))

    def one(request):
        shown = asked(request).rpartition("Text:")[2].strip()
        return json.dumps({"claims": [shown.split(". ")[0] + "."], "complete": False})

    report, texts, lm = read(one, [{"text": text, "id": "a"}])
    assert stages_of(lm).count("claims") == 1 + CONTINUATIONS
    assert len(texts) == 1 + CONTINUATIONS
    assert any("a: a list of its claims was not finished" in note for note in report.notes)


def test_a_cut_off_list_without_a_grounded_claim_is_said():
    report, texts, _ = read(json.dumps({"claims": ["Cats sleep all day", "x"], "complete": False}))
    assert texts == []
    assert report.status == "abstained"
    assert any("not finished" in note for note in report.notes)
    assert report.stages["ungrounded"] == 1


def test_a_failed_chunk_is_reported_and_the_others_are_used():
    def reply(request):
        if "Brokentown" in asked(request):
            return "I would rather not."
        return json.dumps({"claims": [FIRST], "complete": True})

    broken = {"text": "The bridge of Brokentown opened in 1911.", "id": "x"}
    report, texts, _ = read(reply, [DOCUMENT, broken])
    assert (report.status, texts) == ("ok", [FIRST])
    assert [n for n in report.notes if n.startswith("x: The reply could not be read")]


@pytest.mark.parametrize(
    ("error", "status"),
    [(dspy.LMServerError("down"), "provider_error"), (None, "parse_error")],
)
def test_when_every_chunk_fails_it_is_that_failure(error, status):
    def reply(request):
        if error:
            raise error
        return "No."

    report, _, lm = read(reply, [DOCUMENT, {"text": "Other text here.", "id": "b"}])
    assert (report.status, report.text, report.abstained) == (status, "", False)
    assert stages_of(lm) == ["claims", "claims"]
    assert report.explanation


def test_a_failure_and_an_empty_list_are_no_failure_of_all():
    def reply(request):
        if "Other" in asked(request):
            return "No."
        return json.dumps({"claims": [], "complete": True})

    report, _, _ = read(reply, [DOCUMENT, {"text": "Other text here.", "id": "b"}])
    assert report.status == "abstained"
    assert "no claim could be read" in report.explanation
    assert any(note.startswith("b:") for note in report.notes)


def test_continued_lists_keep_to_the_budget_and_leave_a_request_for_the_answer():
    texts = [
        " ".join(f"The bridge of Arburg has lamp {n}{k}." for k in range(1, 9)) for n in range(1, 6)
    ]

    def one(request):
        shown = asked(request).rpartition("Text:")[2].strip()
        return json.dumps({"claims": [shown.split(". ")[0] + "."], "complete": False})

    report, found, lm = read(one, texts, budget=Budget(requests=10))
    assert report.usage.requests <= 10
    assert stages_of(lm)[-1] == "answer"
    assert report.text
    assert report.status == "budget"
    assert any("not finished: the budget" in note for note in report.notes)
    assert found


def test_all_chunks_of_a_long_document_are_read_with_their_subject():
    text = "Arburg is a town. " + " ".join(f"Its river is calm, says man {n}." for n in range(130))
    nothing = json.dumps({"claims": [], "complete": True})
    report, _, lm = read(nothing, [{"text": text, "title": "T"}])
    prompts = [asked(r) for r in lm.engine.requests]
    assert len(prompts) == 4 == report.stages["chunks"]
    assert all("About: T" in p for p in prompts)
    assert all("Arburg is a town." in p for p in prompts)  # its first sentence names the subject


def test_the_paper_asks_without_the_question():
    lm = model()
    write([DOCUMENT], lm, ArbGraph(preset="paper"))
    assert QUESTION not in asked(lm.engine.requests[0])
    write([DOCUMENT], lm, ArbGraph())
    assert QUESTION in asked(lm.engine.requests[stages_of(lm).index("answer") + 1])


@pytest.mark.parametrize(
    ("said", "means"),
    [(True, True), ("true", True), ("Yes.", True), (False, False), (None, False), ("maybe", False)],
)
def test_only_a_plain_yes_is_complete(said, means):
    assert Complete.model_validate(said).root is means
