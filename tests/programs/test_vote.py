import dspy
import pytest

from referee.programs import Vote
from referee.programs.vote import count_votes, ranked_clusters
from referee.runtime import Answer, Document
from referee.runtime.scripted import by_content, prompt_of, scripted_lm


def documents(*texts):
    return [Document(id=f"d{i}", text=t) for i, t in enumerate(texts, 1)]


def answers(*texts):
    return [
        Answer(text=t, document_id=f"d{i}", status="answered" if t else "no answer")
        for i, t in enumerate(texts, 1)
    ]


def test_the_most_independent_sources_win():
    docs = documents("Mars has two moons.", "There are three.", "Two moons circle Mars, says X.")
    verdict = count_votes(answers("two", "three", "2"), docs)
    assert verdict.answer == "two"
    assert verdict.confidence == pytest.approx(2 / 3, abs=1e-4)
    assert [a.answer for a in verdict.alternatives] == ["three"]
    assert verdict.alternatives[0].document_ids == ("d2",)


def test_near_copies_count_once():
    copied = "The harbour of the town was opened in 1901 by the mayor in person, with music. "
    docs = documents(
        copied,
        copied + "Read more.",
        "Copy: " + copied,
        "In 1905 the port began to work.",
        "A chronicle has the first ship arrive at the new quay in the spring of 1905.",
    )
    verdict = count_votes(answers("1901", "1901", "1901", "1905", "1905"), docs)
    assert verdict.answer == "1905"
    assert "2 of them copies" in verdict.explanation


def test_a_tie_is_said_and_the_first_answer_shown():
    docs = documents("It is Austin now.", "The seat was Palo Alto.")
    verdict = count_votes(answers("Austin", "Palo Alto"), docs)
    assert verdict.answer == "Austin"
    assert verdict.confidence == 0.5
    assert "tie" in verdict.explanation


def test_silent_documents_are_no_votes():
    docs = documents("Nothing here.", "Austin it is.", "")
    verdict = count_votes(
        [*answers("", "Austin"), Answer(document_id="d3", status="empty document")], docs
    )
    assert (verdict.answer, verdict.confidence) == ("Austin", 1.0)
    assert "d1 gives no answer" in verdict.explanation


def test_clusters_show_the_most_frequent_wording():
    docs = documents("a b c", "d e f", "g h i")
    clusters = ranked_clusters(answers("Austin, Texas", "Austin", "Austin"), docs)
    assert [c.text for c in clusters] == ["Austin"]


def test_one_request_a_document_and_evidence_with_offsets():
    lm = scripted_lm(by_content({"Austin": "Austin", "Palo": "Palo Alto"}))
    docs = [
        {"text": "News. The seat is in Austin, Texas. More.", "id": "x", "date": "2022"},
        "In 2010 it was Palo Alto.",
    ]
    with dspy.context(lm=lm):
        verdict = Vote()(question="Where is the seat?", documents=docs).verdict
    assert len(lm.engine.requests) == verdict.usage.requests == 2
    first = verdict.answers[0]
    assert first.evidence.text == "The seat is in Austin, Texas."
    assert docs[0]["text"][first.evidence.start : first.evidence.end] == first.evidence.text
    assert first.date == "2022"


def test_equal_documents_are_asked_once():
    lm = scripted_lm(lambda _: "Austin")
    with dspy.context(lm=lm):
        verdict = Vote()(question="Where?", documents=["Austin."] * 3).verdict
    assert (verdict.usage.requests, verdict.usage.cached) == (1, 2)
    assert verdict.confidence == 1.0


def test_the_prompt_shares_its_prefix_and_ends_with_the_question():
    lm = scripted_lm(lambda _: "Austin")
    with dspy.context(lm=lm):
        Vote()(question="Where is it?", documents=["One.", "Two."])
    one, two = (prompt_of(r) for r in lm.engine.requests)
    assert one.split("\n")[0] == two.split("\n")[0]
    assert one.endswith("Question: Where is it?")


def test_one_failed_request_does_not_lose_the_others():
    def script(request):
        if "bad" in prompt_of(request):
            raise RuntimeError("boom")
        return "Austin"

    with dspy.context(lm=scripted_lm(script)):
        verdict = Vote()(question="Where?", documents=["good Austin", "bad"]).verdict
    assert (verdict.status, verdict.answer) == ("ok", "Austin")
    assert verdict.answers[1].status == "provider_error"
    assert any(note.startswith("d2:") for note in verdict.notes)
