import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from referee.runtime.fake_server import ChatRequest, FakeServer, Fault, Reply, by_content, scripted

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import dspy
import pydantic
from dspy import lm15

BODY = {"model": "m", "messages": [{"role": "user", "content": "12345678"}]}


def post(server: FakeServer, headers: dict[str, str] | None = None, **body) -> httpx.Response:
    url = f"{server.url}/chat/completions"
    return httpx.post(url, json=BODY | body, headers=headers, timeout=5, verify=False)


def text(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


def request(content: str) -> ChatRequest:
    messages = [{"role": "user", "content": content}]
    return ChatRequest(messages, {"messages": messages}, {}, "/v1/chat/completions", 0.0)


def local_lm(server: FakeServer, **options) -> dspy.LM:
    options = {"api_key": "k", "cache": False, "num_retries": 0} | options
    return dspy.LM("hosted_vllm/m", api_base=server.url, **options)


# Answers


def test_a_string_is_a_completion_with_estimated_tokens() -> None:
    with FakeServer(lambda request: "Paris, of course") as server:
        body = post(server).json()
    assert body["object"] == "chat.completion"
    assert body["model"] == "m"
    choice = {"role": "assistant", "content": "Paris, of course"}
    assert body["choices"] == [{"index": 0, "message": choice, "finish_reason": "stop"}]
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}


def test_a_reply_sets_counts_and_finish_reason() -> None:
    reply = Reply("cut", prompt_tokens=100, completion_tokens=0, finish_reason="length")
    with FakeServer(lambda request: reply) as server:
        body = post(server).json()
    assert body["usage"] == {"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100}
    assert body["choices"][0]["finish_reason"] == "length"


def test_logprobs_are_sent_only_when_asked_for() -> None:
    entry = {"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "A", "logprob": -0.1}]}
    with FakeServer(lambda request: Reply("A", logprobs=[entry])) as server:
        silent = post(server).json()["choices"][0]
        asked = post(server, logprobs=True, top_logprobs=1).json()["choices"][0]
    assert "logprobs" not in silent
    assert asked["logprobs"] == {"content": [{"bytes": None, **entry}]}


def test_n_asks_for_every_choice() -> None:
    with FakeServer(scripted(["a", "bb", "c" * 8])) as server:
        body = post(server, n=3).json()
    assert [c["message"]["content"] for c in body["choices"]] == ["a", "bb", "c" * 8]
    assert [c["index"] for c in body["choices"]] == [0, 1, 2]
    assert body["usage"]["completion_tokens"] == 1 + 1 + 3


def test_requests_are_kept_as_sent() -> None:
    parts = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": parts},
    ]
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    with FakeServer(scripted(["ok", "ok"])) as server:
        before = time.monotonic()
        post(
            server, {"Authorization": "Bearer K"}, messages=messages, response_format=wanted, seed=7
        )
        post(server)
    first, second = server.requests
    assert (first.system, first.user) == ("rules", "two parts")
    assert first.prompt == "rules\nfirst\n\ntwo parts"
    assert first.schema == {"type": "object"}
    assert first.messages == messages
    assert first.body["seed"] == 7
    assert first.headers["authorization"] == "Bearer K"
    assert first.path == "/v1/chat/completions"
    assert before <= first.received <= second.received <= time.monotonic()
    assert (second.system, second.schema) == ("", None)


def test_models_lists_one_model() -> None:
    with FakeServer(scripted([])) as server:
        body = httpx.get(f"{server.url}/models", verify=False).json()
    assert [model["object"] for model in body["data"]] == ["model"]
    assert server.requests == []


# Refusals


def test_a_wrong_key_is_refused() -> None:
    with FakeServer(lambda request: "ok", api_key="right") as server:
        wrong = post(server, {"Authorization": "Bearer wrong"})
        missing = httpx.get(f"{server.url}/models", verify=False)
        right = post(server, {"Authorization": "Bearer right"})
    assert (wrong.status_code, missing.status_code) == (401, 401)
    assert wrong.json()["error"]["code"] == "invalid_api_key"
    assert text(right) == "ok"
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", ["temperature", "seed", "response_format"])
def test_rejected_parameters_get_the_error_of_a_reasoning_model(name: str) -> None:
    with FakeServer(lambda request: "ok", reject=frozenset({name})) as server:
        refused = post(server, **{name: 1})
        assert text(post(server)) == "ok"
    assert refused.status_code == 400
    assert refused.json()["error"] == {
        "message": f"Unsupported parameter: '{name}' is not supported with this model.",
        "type": "invalid_request_error",
        "param": name,
        "code": "unsupported_parameter",
    }


def test_streaming_and_other_paths_and_bodies_are_refused() -> None:
    with FakeServer(scripted([])) as server:
        assert post(server, stream=True).json()["error"]["param"] == "stream"
        chat = f"{server.url}/chat/completions"
        assert httpx.post(chat.replace("/v1", ""), json=BODY, verify=False).status_code == 404
        assert httpx.post(chat, content=b"{", verify=False).status_code == 400
        assert httpx.get(f"{server.url}/files", verify=False).status_code == 404
    assert server.errors == []


# Faults


def test_status_429_carries_retry_after() -> None:
    with FakeServer(lambda request: Fault("status", 429, retry_after=0.25)) as server:
        response = post(server)
    assert response.status_code == 429
    assert response.headers["retry-after"] == "0.25"
    assert response.json()["error"]["code"] == "rate_limit_exceeded"


def test_status_fault_defaults_to_500_and_takes_any_code() -> None:
    window = Fault("status", 400, message="too long", code="context_length_exceeded")
    with FakeServer(scripted([Fault("status"), window, Fault("status", 529)])) as server:
        broken, long, overloaded = (post(server) for _ in range(3))
    assert (broken.status_code, broken.json()["error"]["type"]) == (500, "server_error")
    assert "retry-after" not in broken.headers
    assert long.json()["error"]["message"] == "too long"
    assert long.json()["error"]["code"] == "context_length_exceeded"
    assert overloaded.status_code == 529


def test_reset_aborts_the_connection() -> None:
    error = pytest.raises(httpx.ReadError, match="reset by peer")
    with FakeServer(lambda request: Fault("reset")) as server, error:
        post(server)


def test_garbage_empty_and_html_are_successes_without_an_answer() -> None:
    with FakeServer(scripted([Fault("garbage"), Fault("html"), Fault("empty")])) as server:
        garbage, html, empty = (post(server) for _ in range(3))
    assert garbage.status_code == html.status_code == 200
    with pytest.raises(ValueError, match="utf-8"):
        garbage.json()
    assert html.headers["content-type"].startswith("text/html")
    assert html.text.startswith("<!DOCTYPE html>")
    assert text(empty) == ""


def test_truncated_sends_half_of_what_it_announces() -> None:
    error = pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body")
    with FakeServer(lambda request: Fault("truncated")) as server, error:
        post(server)


def test_stall_says_nothing_for_its_time() -> None:
    with FakeServer(lambda request: Fault("stall", seconds=0.1)) as server:
        start = time.monotonic()
        with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
            post(server)
    assert 0.1 <= time.monotonic() - start < 0.5


def test_stop_ends_stalled_slow_and_idle_connections_at_once() -> None:
    replies = by_content({"stall": Fault("stall"), "slow": "late", "idle": "ok"})
    server = FakeServer(lambda r: "ok" if r.user == "idle" else replies(r), latency=0.0).start()
    slow = FakeServer(replies, latency=60).start()
    with httpx.Client(verify=False, timeout=30) as client, ThreadPoolExecutor() as pool:
        assert text(client.post(f"{server.url}/chat/completions", json=asking("idle")))
        waiting = [
            pool.submit(client.post, f"{s.url}/chat/completions", json=asking(word))
            for s, word in ((server, "stall"), (slow, "slow"))
        ]
        while len(server.requests) < 2 or not slow.requests:
            time.sleep(0.005)
        start = time.monotonic()
        server.stop()
        slow.stop()
        assert time.monotonic() - start < 0.5
        assert all(isinstance(f.exception(5), httpx.RemoteProtocolError) for f in waiting)
    assert server.errors == slow.errors == []


def asking(content: str) -> dict:
    return BODY | {"messages": [{"role": "user", "content": content}]}


def test_a_client_that_gives_up_is_no_longer_in_flight() -> None:
    with FakeServer(scripted([Fault("stall"), Fault("stall"), "ok"]), latency=0.05) as server:
        for _ in range(2):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{server.url}/chat/completions", json=BODY, timeout=0.1)
            time.sleep(0.05)
        assert text(post(server)) == "ok"
    assert server.max_in_flight == 1


def test_an_exception_in_reply_is_a_500_and_is_kept() -> None:
    def reply(request: ChatRequest) -> str:
        raise ValueError("bad script")

    with FakeServer(reply) as server:
        response = post(server)
    assert response.status_code == 500
    assert response.json()["error"]["message"] == "ValueError: bad script"
    assert [str(error) for error in server.errors] == ["bad script"]


# Life cycle and load


def test_start_and_stop() -> None:
    server = FakeServer(lambda request: "ok")
    server.stop()
    assert server.start() is server
    with pytest.raises(RuntimeError, match="stop it before"):
        server.start()
    assert text(post(server)) == "ok"
    server.stop()
    server.stop()
    with pytest.raises(httpx.ConnectError):
        post(server)
    with server:
        assert text(post(server)) == "ok"
    assert len(server.requests) == 2


def test_max_in_flight_is_the_clients_concurrency() -> None:
    server = FakeServer(lambda request: "ok", latency=0.03)
    with server, httpx.Client(verify=False) as client, ThreadPoolExecutor(4) as pool:
        url = f"{server.url}/chat/completions"
        answers = list(pool.map(lambda _: client.post(url, json=BODY), range(24)))
    assert {text(answer) for answer in answers} == {"ok"}
    assert server.max_in_flight == 4
    assert len(server.requests) == 24


def test_latency_is_respected_under_load() -> None:
    with FakeServer(lambda request: "ok", latency=0.2) as server:
        url = f"{server.url}/chat/completions"
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        with httpx.Client(verify=False, limits=limits) as client, ThreadPoolExecutor(64) as pool:
            list(pool.map(lambda _: client.post(url, json=BODY), range(64)))  # connections
            for _ in range(5):  # other work on the machine is not ours
                start = time.monotonic()
                list(pool.map(lambda _: client.post(url, json=BODY), range(256)))
                seconds = time.monotonic() - start
                assert seconds >= 4 * 0.2
                if seconds < 4 * 0.2 * 2:  # benchmarks hold it to 1.15; CI machines are shared
                    break
    assert 32 < server.max_in_flight <= 64
    assert seconds < 4 * 0.2 * 2


def test_a_connection_is_kept_alive() -> None:
    with FakeServer(lambda request: "ok") as server, httpx.Client(verify=False) as client:
        answers = [client.post(f"{server.url}/chat/completions", json=BODY) for _ in range(3)]
        ports = {a.extensions["network_stream"].get_extra_info("client_addr")[1] for a in answers}
    assert len(ports) == 1


# Reply functions


def test_scripted_hands_out_in_order_and_raises_when_exhausted() -> None:
    reply = scripted(["a", Fault("empty")])
    assert [reply(request("x")), reply(request("x"))] == ["a", Fault("empty")]
    with pytest.raises(LookupError, match=r"all 2 scripted replies are used; .* 'third'"):
        reply(request("third"))


def test_scripted_hands_out_each_reply_once_across_threads() -> None:
    reply, start = scripted(map(str, range(400))), threading.Barrier(8)

    def take(_: int) -> list:
        start.wait(5)
        return [reply(request("x")) for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        taken = [item for part in pool.map(take, range(8)) for item in part]
    assert sorted(taken, key=int) == [str(i) for i in range(400)]


def test_by_content_picks_by_substring() -> None:
    reply = by_content({"rain": "wet", "sun": ["dry", Reply("hot")]})
    assert reply(request("will it rain?")) == "wet"
    assert [reply(request("sun")), reply(request("sunny"))] == ["dry", Reply("hot")]
    with pytest.raises(LookupError, match="all 2 scripted"):
        reply(request("sun"))
    with pytest.raises(LookupError, match=r"none of \['rain', 'sun'\] .* 'snow"):
        reply(request("snow" * 100))


# As a dspy LM sees it


def test_dspy_obeys_retry_after() -> None:
    with FakeServer(scripted([Fault("status", 429, retry_after=0.15), "ok"])) as server:
        assert local_lm(server, num_retries=1)("hi") == ["ok"]
    first, second = server.requests
    assert 0.15 <= second.received - first.received < 0.6


def test_dspy_retries_500_reset_and_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr("dspy.clients.execution._delay", lambda e, n: waits.append(n) or 0.0)
    faults = [Fault("status", 500), Fault("reset"), Fault("truncated")]
    with FakeServer(scripted([*faults, "ok"])) as server:
        assert local_lm(server, num_retries=3)("hi") == ["ok"]
    assert len(waits) == 3
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("fault", "error", "retryable"),
    [
        (Fault("status", 429), dspy.LMRateLimitError, True),
        (Fault("status", 500), dspy.LMServerError, True),
        (Fault("reset"), dspy.LMTransportError, True),
        (Fault("truncated"), dspy.LMTransportError, True),
        (Fault("stall"), dspy.LMTransportError, True),  # not LMTimeoutError
        (Fault("garbage"), dspy.LMProviderError, False),
        (Fault("html"), dspy.LMProviderError, False),
        (
            Fault("status", 400, code="context_length_exceeded"),
            dspy.ContextWindowExceededError,
            False,
        ),
    ],
)
def test_dspy_error_class(fault: Fault, error: type[Exception], retryable: bool) -> None:
    with FakeServer(lambda request: fault) as server, pytest.raises(error) as raised:
        local_lm(server, timeout=0.5)("hi")
    assert type(raised.value) is error
    assert dspy.is_retryable_lm_error(raised.value) is retryable
    assert len(server.requests) == 1
    assert server.errors == []


def test_dspy_takes_an_empty_answer_for_success() -> None:
    with FakeServer(lambda request: Fault("empty")) as server:
        assert local_lm(server, num_retries=3)("hi") == [""]
    assert len(server.requests) == 1


def test_dspy_does_not_drop_a_rejected_parameter() -> None:
    with FakeServer(lambda request: "ok", reject=frozenset({"temperature"})) as server:
        with pytest.raises(dspy.LMInvalidRequestError, match="temperature") as raised:
            local_lm(server, num_retries=3, temperature=0.5)("hi")
        assert local_lm(server, temperature=None)("hi") == ["ok"]
    assert raised.value.status == 400
    assert len(server.requests) == 2


def test_dspy_sees_a_wrong_key() -> None:
    error = pytest.raises(dspy.LMAuthError)
    with FakeServer(lambda request: "ok", api_key="other") as server, error:
        local_lm(server)("hi")


class Verdict(pydantic.BaseModel):
    holds: bool


class Judge(dspy.Signature):
    """Say whether the claim holds."""

    claim: str = dspy.InputField()
    verdict: Verdict = dspy.OutputField()


def test_dspy_sends_the_schema_to_a_declared_server() -> None:
    with FakeServer(by_content({"claim": '{"verdict": {"holds": true}}'})) as server:
        lm15.register_provider(
            lm15.ProviderDefinition.chat(
                lm15.AccessPolicy(provider="fakeserver", base_url=server.url),
                compat=lm15.OpenAIChatCompat(max_tokens_field="max_tokens"),
                placeholder_key="none",
            ),
            supports=lm15.ModelSupport(response_schema=True),
        )
        lm = dspy.LM("fakeserver/m", cache=False, num_retries=0, max_tokens=50)
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            prediction = dspy.Predict(Judge)(claim="Water is wet.")
    assert prediction.verdict == Verdict(holds=True)
    (sent,) = server.requests
    assert sent.schema is not None
    assert list(sent.schema["properties"]) == ["verdict"]
    assert sent.body["max_tokens"] == 50
    assert "Water is wet." in sent.user
    assert "Say whether the claim holds." in sent.system
