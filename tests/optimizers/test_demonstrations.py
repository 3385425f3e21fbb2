import dspy
from hypothesis import given
from hypothesis import strategies as st

from referee.optimizers.demonstrations import ROOM, SHORT, Demonstration, choose, demonstration
from referee.runtime.passages import estimate_tokens
from referee.signatures import AnswerFromDocument, CompareAnswers, JudgeFromKnowledge, OpenConflict
from referee.signatures.baselines_short import AnswerWithRationale

FILLER = "Nothing of interest happened that day. " * 200


def made(document, answer="Austin", question="Where is the seat of Tesla?"):
    return demonstration(
        0, AnswerFromDocument, {"document": document, "question": question}, {"answer": answer}
    )


def test_a_short_call_is_kept_as_it_is():
    found = made("The seat of Tesla is Austin.")
    assert found.values == {
        "document": "The seat of Tesla is Austin.",
        "question": "Where is the seat of Tesla?",
        "answer": "Austin",
    }
    assert found.as_example().augmented


def test_a_long_document_is_cut_around_the_answer():
    found = made(FILLER + "The seat of Tesla is Austin. " + FILLER)
    assert "Austin" in found.values["document"]
    assert found.tokens <= SHORT


def test_a_long_reply_does_not_keep_a_long_document_whole():
    """A rationale fills a demonstration: uncut documents would bar it from any prompt."""
    said = {
        "rationale": "Report 3 says that the seat of Tesla is Austin. " * 20,
        "answer": "Austin",
    }
    given_ = {"documents": FILLER + "The seat of Tesla is Austin. " + FILLER, "question": "Where?"}
    found = demonstration(0, AnswerWithRationale, given_, said)
    assert "Austin" in found.values["documents"]
    assert found.values["rationale"] == said["rationale"]
    assert choose([found], 1) == [found]
    some = {**given_, "documents": "The seat of Tesla is Austin. " * 30}
    assert (
        demonstration(0, AnswerWithRationale, some, said).values["documents"] == some["documents"]
    )


def test_a_demonstration_that_lost_its_answer_is_none():
    elsewhere = "The seat of Tesla is known. " + FILLER + "Austin. " + FILLER
    assert made(elsewhere, "ustin") is None
    assert made("The seat of Tesla is Austin. " + FILLER, "ustin") is not None


def test_missing_fields_make_no_demonstration():
    assert demonstration(0, AnswerFromDocument, {"question": "?"}, {"answer": "a"}) is None


def test_an_empty_reply_shows_nothing():
    assert made("The seat of Tesla is Austin.", answer="") is None
    inputs = {"question": "?", "today": "2026-01-01", "conflicts": []}
    assert demonstration(0, JudgeFromKnowledge, inputs, {"judgments": []}) is None
    inputs = {"question": "?", "first": "a", "second": "b"}
    assert demonstration(0, CompareAnswers, inputs, {"contradict": False}) is not None


def test_logprobs_and_other_extras_stay_out():
    outputs = dspy.Prediction(answer="a", logprobs={"content": []})
    found = demonstration(0, AnswerFromDocument, {"document": "a", "question": "?"}, outputs)
    assert set(found.values) == {"document", "question", "answer"}


def test_typed_values_are_plain_data():
    conflict = OpenConflict(conflict=1, first="a", first_text="A.", second="b", second_text="B.")
    found = demonstration(
        0,
        JudgeFromKnowledge,
        {"question": "?", "today": "2026-01-01", "conflicts": [conflict]},
        {"judgments": [{"conflict": 1, "winner": "first"}]},
    )
    assert found.values["conflicts"][0]["first_text"] == "A."


def item(example, outputs="x", tokens=10):
    return Demonstration(example, {"n": (example, outputs)}, outputs, tokens)


def test_one_of_each_example_and_different_outputs_first():
    found = [item(0, "a"), item(0, "b"), item(1, "a"), item(2, "c")]
    assert choose(found, 2) == [found[0], found[3]]
    assert choose(found, 3) == [found[0], found[2], found[3]]


def test_the_room_is_kept():
    found = [item(0, "a", ROOM - 5), item(1, "b", 10), item(2, "c", 5)]
    assert choose(found, 3) == [found[0], found[2]]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(1, 600))),
    st.integers(0, 4),
)
def test_choice_is_within_its_bounds(rows, count):
    found = [item(*row) for row in rows]
    chosen = choose(found, count)
    assert len(chosen) <= count
    assert sum(d.tokens for d in chosen) <= ROOM
    assert len({d.example for d in chosen}) == len(chosen)
    assert all(d in found for d in chosen)


@given(st.text(max_size=3000), st.text(max_size=20))
def test_a_demonstration_is_short_whatever_the_document(document, answer):
    found = made(document, answer, question="?")
    if found is not None:
        # Escapes of odd characters count several times; a cut text itself is never over the bound.
        assert estimate_tokens(found.values["document"]) <= max(SHORT, estimate_tokens("x" * 960))
