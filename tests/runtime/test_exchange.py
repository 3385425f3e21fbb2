import asyncio
import threading
import time
from functools import partial

import dspy
import pytest

from referee.errors import BudgetExceeded
from referee.runtime import Budget, Meter, ReplyCache, afan_out, caching, fan_out, metered
from referee.runtime.adapter import CompactAdapter
from referee.runtime.exchange import Channel
from referee.runtime.fake_server import FakeServer, Fault, scripted
from referee.runtime.limits import Limiter
from referee.runtime.meter import nested_meter
from referee.runtime.scripted import in_order, scripted_lm


class Ask(dspy.Signature):
    """Answer."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


@pytest.fixture
def ask():
    return dspy.Predict(Ask)


def under(lm, budget=None):
    """A context in which predictors go through the channel, and its meter."""
    meter = Meter(budget)
    stack = dspy.context(lm=lm, adapter=Channel(CompactAdapter()))
    return meter, stack


def test_requests_tokens_and_answers(ask):
    meter, stack = under(scripted_lm(in_order(["a", "b"])))
    with stack, metered(meter):
        assert [ask(question=q).answer for q in "12"] == ["a", "b"]
    usage = meter.usage()
    assert (usage.requests, usage.cached, usage.tokens) == (2, 0, 30)
    assert usage.cost is None


def test_equal_requests_in_flight_are_asked_once(ask):
    started = []

    def slow(_):
        while len(started) < 5:  # a late thread would ask after the reply has come
            time.sleep(0.01)
        time.sleep(0.2)
        return "once"

    def late():
        started.append(True)
        return ask(question="same")

    lm = scripted_lm(slow)
    meter, stack = under(lm)
    with stack, metered(meter):
        results = fan_out([late] * 5)
    assert [r.answer for r in results] == ["once"] * 5
    assert len(lm.engine.requests) == 1
    assert (meter.usage().requests, meter.usage().cached) == (1, 4)


def test_equal_requests_in_flight_are_asked_once_async(ask):
    def slow(_):
        time.sleep(0.05)
        return "once"

    lm = scripted_lm(slow)
    meter, stack = under(lm)

    async def main():
        with stack, metered(meter):
            return await afan_out([partial(ask.acall, question="same")] * 5)

    assert [r.answer for r in asyncio.run(main())] == ["once"] * 5
    assert len(lm.engine.requests) == 1


def test_each_follower_leaves_its_own_trace(ask):
    lm = scripted_lm(lambda _: time.sleep(0.05) or "once")
    meter, stack = under(lm)
    with stack, metered(meter), dspy.context(trace=[]):
        fan_out([partial(ask, question="same")] * 3)
        assert len(dspy.settings.trace) == 3


def test_samples_stay_distinct_and_are_replayed(ask, tmp_path):
    lm = scripted_lm(in_order([f"s{i}" for i in range(8)]))
    cache = ReplyCache(tmp_path / "replies")

    def draw():
        meter, stack = under(lm)
        calls = [
            partial(ask, question="q", config={"rollout_id": i, "seed": i, "temperature": 0.7})
            for i in range(8)
        ]
        with stack, metered(meter), caching(cache):
            return {r.answer for r in fan_out(calls)}, meter.usage()

    first, paid = draw()
    second, replayed = draw()
    assert first == second == {f"s{i}" for i in range(8)}
    assert (paid.requests, paid.cached) == (8, 0)
    assert (replayed.requests, replayed.cached) == (0, 8)
    assert {r.config.seed for r in lm.engine.requests} == set(range(8))


def test_sync_and_async_share_the_cache(ask, tmp_path):
    lm = scripted_lm(in_order(["only"]))
    meter, stack = under(lm)
    with stack, metered(meter), caching(ReplyCache(tmp_path)):
        assert ask(question="q").answer == "only"
        assert asyncio.run(ask.acall(question="q")).answer == "only"


def test_caches_are_keyed_by_model_and_survive_a_new_process(ask, tmp_path):
    for name, reply in (("scripted/a", "from a"), ("scripted/b", "from b")):
        meter, stack = under(scripted_lm(in_order([reply]), name))
        with stack, metered(meter), caching(ReplyCache(tmp_path)):
            assert ask(question="q").answer == reply
    meter, stack = under(scripted_lm(in_order([]), "scripted/a"))
    with stack, metered(meter), caching(ReplyCache(tmp_path)):
        assert ask(question="q").answer == "from a"


def test_the_cache_on_disk_holds_json_and_no_pickle(ask, tmp_path):
    meter, stack = under(scripted_lm(in_order(["plain"])))
    with stack, metered(meter), caching(ReplyCache(tmp_path)):
        ask(question="q")
    import sqlite3

    rows = sqlite3.connect(tmp_path / "cache.db").execute("select mode from Cache").fetchall()
    assert rows
    assert all(mode != 4 for (mode,) in rows)  # 4 is diskcache's MODE_PICKLE


def test_a_full_disk_is_a_note_and_not_a_failure(ask, tmp_path, monkeypatch):
    cache = ReplyCache(tmp_path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._cache, "set", full)
    meter, stack = under(scripted_lm(in_order(["a"])))
    with stack, metered(meter), caching(cache):
        assert ask(question="q").answer == "a"
    assert any("No space left" in note for note in meter.notes)


def test_dspys_own_cache_is_counted_as_cached(ask):
    meter, stack = under(scripted_lm(in_order(["a"]), cache=True))
    with stack, metered(meter):
        ask(question="q")
        ask(question="q")
    assert (meter.usage().requests, meter.usage().cached) == (1, 1)


def test_budget_of_one_request(ask):
    meter, stack = under(scripted_lm(in_order(["a", "b"])), Budget(requests=1))
    with stack, metered(meter):
        assert ask(question="1").answer == "a"
        with pytest.raises(BudgetExceeded, match="1 request"):
            ask(question="2")
    assert meter.usage().requests == 1


def test_concurrent_requests_never_exceed_the_budget(ask):
    lm = scripted_lm(lambda _: time.sleep(0.01) or "a")
    meter, stack = under(lm, Budget(requests=3))
    with stack, metered(meter):
        results = fan_out(
            [partial(ask, question=str(i)) for i in range(10)], return_exceptions=True
        )
    assert len(lm.engine.requests) == 3
    assert sum(isinstance(r, BudgetExceeded) for r in results) == 7


def test_a_cached_reply_is_free_even_when_the_budget_is_spent(ask, tmp_path):
    lm = scripted_lm(in_order(["a"]))
    meter, stack = under(lm, Budget(requests=1))
    with stack, metered(meter), caching(ReplyCache(tmp_path)):
        ask(question="q")
        assert ask(question="q").answer == "a"


def test_a_spent_budget_of_one_run_does_not_fail_another(ask):
    """An equal request that waited for a leader without budget asks for itself."""
    started = threading.Event()

    def slow(_):
        started.set()
        time.sleep(0.05)
        return "a"

    lm = scripted_lm(slow)
    poor, rich = Meter(Budget(requests=1)), Meter()
    poor.reserve()  # nothing left
    _, stack = under(lm)
    with stack:
        with metered(poor), pytest.raises(BudgetExceeded):
            ask(question="q")
        with metered(rich):
            assert ask(question="q").answer == "a"


def test_what_remains_is_bounded_by_the_larger_run_too():
    outer = Meter(Budget(requests=3))
    assert Meter().remaining() is None
    assert Meter(within=Meter()).remaining() is None
    assert Meter(Budget(requests=2), within=Meter()).remaining() == 2
    assert Meter(Budget(requests=5), within=outer).remaining() == 3
    assert Meter(Budget(requests=2), within=outer).remaining() == 2
    inner = Meter(within=outer)
    inner.reserve()
    assert inner.remaining() == outer.remaining() == 2
    inner.settle(None, None)
    assert inner.remaining() == 2


def test_a_run_within_a_run_counts_in_both_and_is_bounded_by_both(ask, tmp_path):
    lm = scripted_lm(in_order(["a", "b", "c"]))
    outer, stack = under(lm, Budget(requests=3))
    with stack, caching(ReplyCache(tmp_path)):
        inner = Meter(Budget(requests=1), within=outer)
        with metered(inner):
            ask(question="1")
            assert ask(question="1").answer == "a"
            with pytest.raises(BudgetExceeded, match="1 requests"):
                ask(question="2")
        assert not outer.exhausted
        assert (outer.usage().requests, outer.usage().cached) == (1, 1)
        second = Meter(within=outer)
        with metered(second):
            ask(question="2")
            ask(question="3")
            with pytest.raises(BudgetExceeded, match="3 requests"):
                ask(question="4")
            assert ask(question="3").answer == "c"
    assert outer.exhausted
    assert second.exhausted
    assert (second.usage().requests, outer.usage().requests) == (2, 3)
    assert outer.usage().tokens == 45


def test_usd_budget_needs_a_price(ask):
    meter, stack = under(scripted_lm(in_order(["a", "b"])), Budget(usd=1.0))
    with stack, metered(meter):
        ask(question="1")
        with pytest.raises(BudgetExceeded, match="price"):
            ask(question="2")


def test_priced_models_report_dollars(ask):
    with FakeServer(lambda _: "a") as server:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=server.url, api_key="k", cache=False)
        meter, stack = under(lm)
        with stack, metered(meter):
            ask(question="q")
    assert meter.usage().cost > 0


def test_refused_options_are_learned_once_and_recorded(ask):
    with FakeServer(lambda _: "a", reject=frozenset({"temperature", "seed"})) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False, num_retries=0)
        meter, stack = under(lm)
        config = {"temperature": 0.7, "seed": 1}
        with stack, metered(meter):
            assert ask(question="1", config=config).answer == "a"
            asked = len(server.requests)
            assert ask(question="2", config=config).answer == "a"
    assert asked == 3
    assert len(server.requests) == 4
    assert "temperature" not in server.requests[-1].body
    assert any("temperature" in note for note in meter.notes)
    assert any("seed" in note for note in meter.notes)


def test_garbage_is_asked_again(ask):
    replies = [Fault("garbage"), Fault("html"), "a"]
    with FakeServer(scripted(replies)) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False, num_retries=0)
        meter, stack = under(lm)
        with stack, metered(meter):
            assert ask(question="1").answer == "a"
    assert meter.usage().requests == 3


def test_garbage_for_ever_is_a_provider_failure(ask):
    with FakeServer(lambda _: Fault("garbage")) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False, num_retries=0)
        meter, stack = under(lm)
        with stack, metered(meter), pytest.raises(dspy.LMError):
            ask(question="1")
        assert len(server.requests) == 3


def test_the_limit_bounds_threads_and_tasks(ask):
    from referee.runtime.capabilities import identity
    from referee.runtime.limits import limiter

    with FakeServer(lambda _: "a", latency=0.02) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False)
        limiter(identity(lm), 3)
        meter, stack = under(lm)
        with stack, metered(meter):
            fan_out([partial(ask, question=str(i)) for i in range(12)])
            calls = [partial(ask.acall, question=f"a{i}") for i in range(12)]
            asyncio.run(_all(calls))
        assert server.max_in_flight == 3


async def _all(calls):
    return await afan_out(calls)


def test_a_cancelled_waiter_gives_its_turn_on():
    async def main():
        limit = Limiter(1)
        held, release = asyncio.Event(), asyncio.Event()

        async def hold():
            async with limit.aslot():
                held.set()
                await release.wait()

        async def use(log, name):
            async with limit.aslot():
                log.append(name)

        log = []
        holder = asyncio.create_task(hold())
        await held.wait()
        first, second = asyncio.create_task(use(log, 1)), asyncio.create_task(use(log, 2))
        await asyncio.sleep(0)
        first.cancel()
        release.set()
        await asyncio.gather(holder, first, second, return_exceptions=True)
        return log, limit.in_flight

    assert asyncio.run(main()) == ([2], 0)


def test_overhead_is_small(ask):
    """At most 2 ms a request outside the model; dspy alone takes about 0.5 ms."""
    lm = scripted_lm(lambda _: "a")
    meter, stack = under(lm)
    with stack, metered(meter):
        ask(question="warm")
        started = time.perf_counter()
        for i in range(100):
            ask(question=str(i))
        each = (time.perf_counter() - started) / 100
    assert each < 0.01  # the benchmark holds 2 ms; a shared machine gets slack


def test_fallbacks_are_asked_in_order_and_noted(ask):
    from referee.runtime.exchange import set_fallbacks

    def fail(_):
        raise RuntimeError("down")

    first, second, third = (
        scripted_lm(s, f"scripted/{n}")
        for n, s in (("one", fail), ("two", fail), ("three", lambda _: "a"))
    )
    set_fallbacks(first, [second, third])
    meter, stack = under(first.copy())
    with stack, metered(meter):
        assert ask(question="q").answer == "a"
        assert asyncio.run(ask.acall(question="r")).answer == "a"
    assert [len(m.engine.requests) for m in (first, second, third)] == [2, 2, 2]
    assert [n for n in meter.notes if "fallback" in n] == [
        "scripted/one failed: its fallback was asked.",
        "scripted/two failed: its fallback was asked.",
    ]
    assert meter.usage().requests == 6


def test_the_last_failure_is_raised(ask):
    from referee.runtime.exchange import set_fallbacks

    def fail(_):
        raise RuntimeError("down")

    lm = scripted_lm(fail, "scripted/x")
    set_fallbacks(lm, [scripted_lm(fail, "scripted/y")])
    meter, stack = under(lm)
    with stack, metered(meter), pytest.raises(dspy.LMError):
        ask(question="q")


def test_retries_are_counted_and_bounded_by_the_budget(ask, monkeypatch):
    monkeypatch.setattr("referee.runtime.exchange.pause", lambda *_: 0)
    with FakeServer(lambda _: Fault("status", 500)) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False, num_retries=3)
        meter, stack = under(lm, Budget(requests=2))
        with stack, metered(meter), pytest.raises(BudgetExceeded):
            ask(question="1")
        assert len(server.requests) == meter.usage().requests == 2
        meter, stack = under(lm)
        with stack, metered(meter), pytest.raises(dspy.LMServerError):
            ask(question="1")
        assert len(server.requests) == 2 + 4
        assert meter.usage().requests == 4


def test_retry_after_is_honoured_up_to_a_bound(ask):
    replies = [Fault("status", 429, retry_after=0.2), "a", Fault("status", 429, retry_after=3600)]
    with FakeServer(scripted(replies)) as server:
        lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k", cache=False)
        meter, stack = under(lm)
        with stack, metered(meter):
            started = time.monotonic()
            assert ask(question="1").answer == "a"
            assert 0.2 <= time.monotonic() - started < 2
            with pytest.raises(dspy.LMRateLimitError):
                ask(question="2")


def test_a_cached_reply_belongs_to_its_server(ask, tmp_path):
    for reply in ("from one", "from two"):
        with FakeServer(lambda _, reply=reply: reply) as server:
            lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="k")
            meter, stack = under(lm)
            with stack, metered(meter), caching(ReplyCache(tmp_path)):
                assert ask(question="q").answer == reply


@pytest.mark.parametrize("value", [b"notzlib", [], [5], [["x"]], [{"a": 1}], "text"])
def test_a_damaged_cache_entry_is_asked_again(ask, tmp_path, value):
    lm = scripted_lm(in_order(["first", "second"]))
    cache = ReplyCache(tmp_path)
    meter, stack = under(lm)
    with stack, metered(meter), caching(cache):
        ask(question="q")
        for key in list(cache._cache):
            if isinstance(value, bytes):
                cache._cache._sql("UPDATE Cache SET value = ?", (value,))
            else:
                cache._cache.set(key, value)
        assert ask(question="q").answer == "second"


def test_a_part_of_a_run_is_counted_and_bounded_by_the_run(ask):
    lm = scripted_lm(in_order("abc"))
    whole = Meter(Budget(requests=2))
    with dspy.context(lm=lm, adapter=Channel(CompactAdapter())), metered(whole):
        parts = [nested_meter(Budget(requests=5)) for _ in "12"]
        for part, question in zip(parts, "12", strict=True):
            with metered(part):
                ask(question=question)
        with metered(parts[1]), pytest.raises(BudgetExceeded, match="2 requests"):
            ask(question="3")
    assert [p.usage().requests for p in parts] == [1, 1]
    assert (whole.usage().requests, whole.usage().tokens) == (2, 30)
    assert whole.exhausted
    assert parts[1].exhausted
    assert not parts[0].exhausted


def test_a_stopped_run_asks_nothing_more(ask):
    lm = scripted_lm(in_order("a"))
    whole = Meter()
    with dspy.context(lm=lm, adapter=Channel(CompactAdapter())), metered(whole):
        whole.stop()
        with metered(nested_meter()), pytest.raises(BudgetExceeded, match="stopped"):
            ask(question="1")
    assert not lm.engine.requests


def test_without_history_the_price_is_known_and_nothing_is_kept(ask):
    from dspy.clients import base_lm

    kept = len(base_lm.GLOBAL_HISTORY)
    with FakeServer(lambda _: "a") as server:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=server.url, api_key="k", cache=False)
        meter, stack = under(lm)
        with stack, dspy.context(max_history_size=0), metered(meter):
            ask(question="1")
    assert meter.usage().cost > 0
    assert len(base_lm.GLOBAL_HISTORY) == kept
    assert not lm.history
