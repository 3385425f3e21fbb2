import asyncio

import dspy
import pytest

from referee.programs.steps import Call, Clock, Driver, Progress, Wave, listener
from referee.runtime.scripted import by_content, scripted_lm
from referee.signatures import AnswerFromMemory


@pytest.fixture
def recall():
    return dspy.Predict(AnswerFromMemory)


def chat(answer):
    return f"[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"


def two_waves(recall):
    first = yield Wave("one", [Call(recall, {"question": q}) for q in ("qa", "qb")])
    second = yield Wave("two", [Call(recall, {"question": first[0].answer})])
    return [r.answer for r in (*first, *second)]


SCRIPT = {"qa": chat("x1"), "qb": chat("x2"), "x1": chat("x3")}


def test_waves_run_one_after_the_other_and_replies_keep_order(recall):
    clock = Clock()
    with dspy.context(lm=scripted_lm(by_content(SCRIPT)), adapter=dspy.ChatAdapter()):
        assert Driver({}, clock).run(two_waves(recall)) == ["x1", "x2", "x3"]
        assert asyncio.run(Driver({}, clock).arun(two_waves(recall))) == ["x1", "x2", "x3"]
    assert set(clock.seconds) == {"one", "two"}


def test_failures_of_a_call_are_replies_and_bugs_are_raised(recall):
    def steps(inputs):
        replies = yield Wave("one", [Call(recall, inputs)])
        return replies

    def fail(_):
        raise RuntimeError("model broke")

    with dspy.context(lm=scripted_lm(fail)):
        (reply,) = Driver({}, Clock()).run(steps({"question": "q"}))
        assert isinstance(reply, dspy.LMError)
    with dspy.context(lm=None), pytest.raises(ValueError, match="No LM"):
        Driver({}, Clock()).run(steps({"question": "q"}))


def test_progress_is_told(recall):
    told = []
    token = listener.set(told.append)
    with dspy.context(lm=scripted_lm(by_content(SCRIPT)), adapter=dspy.ChatAdapter()):
        Driver({}, Clock()).run(two_waves(recall))
    listener.reset(token)
    assert told[0] == Progress("one", 0, 2)
    assert told[-1] == Progress("two", 1, 1)
