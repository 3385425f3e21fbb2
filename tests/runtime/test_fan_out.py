import asyncio
import threading
import time
from functools import partial

import dspy
import pytest

from referee.runtime import afan_out, fan_out
from referee.runtime.scripted import prompt_of, scripted_lm


class Plan(dspy.Signature):
    """Plan."""

    question: str = dspy.InputField()
    plan: str = dspy.OutputField()


class Leaf(dspy.Signature):
    """Do one step."""

    step: str = dspy.InputField()
    result: str = dspy.OutputField()


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.plan = dspy.Predict(Plan)
        self.leaf = dspy.Predict(Leaf)

    def forward(self, question):
        self.plan(question=question)
        calls = [partial(self.leaf, step=f"step {i}") for i in range(6)]
        results = fan_out(calls)
        return dspy.Prediction(answer=" ".join(r.result for r in results))


def slow_leaf(request):
    prompt = prompt_of(request)
    if "## plan" in prompt and "step" not in prompt.split("question")[-1]:
        return "[[ ## plan ## ]]\nx\n\n[[ ## completed ## ]]"
    number = int(prompt.rsplit("step ", 1)[1][0])
    time.sleep(0.01 * (6 - number))  # later steps end first
    return f"[[ ## result ## ]]\nr{number}\n\n[[ ## completed ## ]]"


@pytest.fixture
def lm():
    return scripted_lm(slow_leaf)


def test_traces_are_complete_and_in_input_order(lm):
    with dspy.context(lm=lm, trace=[]):
        answer = Program()(question="q").answer
        trace = list(dspy.settings.trace)
    assert answer == "r0 r1 r2 r3 r4 r5"
    assert [t[1].get("step") for t in trace] == [None, *(f"step {i}" for i in range(6))]


def test_usage_is_calls_times_tokens(lm):
    with dspy.context(lm=lm, track_usage=True):
        usage = Program()(question="q").get_lm_usage()
    assert usage["scripted/model"]["total_tokens"] == 7 * 15


def test_workers_use_the_callers_lm(lm):
    other = scripted_lm(slow_leaf, "scripted/other")
    with dspy.context(lm=other):
        Program()(question="q")
    assert len(other.engine.requests) == 7
    assert not lm.engine.requests


def test_bootstrap_gives_the_fanned_out_leaf_its_demos(lm):
    example = dspy.Example(question="q").with_inputs("question")
    with dspy.context(lm=lm):
        optimizer = dspy.BootstrapFewShot(
            metric=lambda *_: True, max_bootstrapped_demos=4, max_labeled_demos=0
        )
        first, second = (optimizer.compile(Program(), trainset=[example]) for _ in range(2))
    assert first.leaf.demos
    assert first.plan.demos
    assert [d.toDict() for d in first.leaf.demos] == [d.toDict() for d in second.leaf.demos]


def test_the_first_failure_in_input_order_is_raised_after_all_have_ended():
    ended = []

    def fail(number, pause):
        time.sleep(pause)
        ended.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        fan_out([partial(fail, 0, 0.05), partial(fail, 1, 0)])
    assert sorted(ended) == [0, 1]


def test_exceptions_can_stay_in_place():
    def fail():
        raise ValueError("x")

    results = fan_out([lambda: 1, fail, lambda: 3], return_exceptions=True)
    assert (results[0], results[2]) == (1, 3)
    assert isinstance(results[1], ValueError)


def test_no_calls_give_no_results():
    assert fan_out([]) == []
    assert asyncio.run(afan_out([])) == []


def test_a_failed_call_leaves_no_trace(lm):
    leaf = dspy.Predict(Leaf)

    def half():
        leaf(step="step 1")
        raise ValueError("after")

    with dspy.context(lm=lm, trace=[]):
        fan_out([half, partial(leaf, step="step 2")], return_exceptions=True)
        steps = [t[1]["step"] for t in dspy.settings.trace]
    assert steps == ["step 2"]


def test_async_twin_keeps_order_trace_and_usage(lm):
    leaf = dspy.Predict(Leaf)

    async def main():
        with dspy.context(lm=lm, trace=[]), dspy.track_usage() as usage:
            calls = [partial(leaf.acall, step=f"step {i}") for i in range(6)]
            results = await afan_out(calls)
            return [r.result for r in results], list(dspy.settings.trace), usage

    results, trace, usage = asyncio.run(main())
    assert results == [f"r{i}" for i in range(6)]
    assert [t[1]["step"] for t in trace] == [f"step {i}" for i in range(6)]
    assert usage.get_total_tokens()["scripted/model"]["total_tokens"] == 6 * 15


def test_calls_really_run_together():
    barrier = threading.Barrier(5, timeout=5)
    assert len(fan_out([barrier.wait] * 5)) == 5
