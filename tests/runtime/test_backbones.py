import dspy
import pytest

from referee.errors import InputError
from referee.runtime import connect
from referee.runtime.backbones import is_embedded
from referee.runtime.capabilities import identity
from referee.runtime.fake_server import FakeServer
from referee.runtime.limits import limiter


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4o-mini",
        "anthropic/claude-3-5-haiku-20241022",
        "gemini/gemini-2.0-flash",
        "ollama_chat/llama3.2",
        "hosted_vllm/my-model",
        "cohere_chat/command-r",
    ],
)
def test_model_strings_of_litellm(model):
    lm = connect(model, api_key="k")
    assert isinstance(lm, dspy.LM)
    assert lm.model == model


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:{}", "http://127.0.0.1:{}/", "http://127.0.0.1:{}/v1"]
)
@pytest.mark.parametrize("provider", ["openai", "ollama_chat", "hosted_vllm", "lm_studio"])
def test_servers_are_reached_with_and_without_v1(base, provider):
    with FakeServer(lambda _: "hi") as server:
        port = server.url.split(":")[2].split("/")[0]
        lm = connect(f"{provider}/m", api_base=base.format(port), max_tokens=7)
        assert lm("hello") == ["hi"]
        body = server.requests[0].body
    assert body["max_tokens"] == 7
    assert body["model"] == "m"


def test_a_servers_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with FakeServer(lambda _: "hi", api_key="secret") as server:
        assert connect("openai/m", api_base=server.url)("hello") == ["hi"]


def test_the_environment_names_the_default(monkeypatch):
    monkeypatch.setenv("REFEREE_LM", "openai/gpt-4o-mini")
    assert connect().model == "openai/gpt-4o-mini"


def test_concurrency_bounds_the_backbone():
    lm = connect("openai/limited", api_base="http://127.0.0.1:9", concurrency=3)
    assert limiter(identity(lm)).limit == 3
    with pytest.raises(InputError, match="concurrency is 0"):
        connect("openai/limited", api_base="http://127.0.0.1:9", concurrency=0)


def test_a_callers_dspy_configuration_is_left_alone():
    before = dict(dspy.settings.config if hasattr(dspy.settings, "config") else {})
    cache = dspy.cache
    connect("openai/gpt-4o-mini", api_key="k")
    assert dict(dspy.settings.config if hasattr(dspy.settings, "config") else {}) == before
    assert dspy.cache is cache


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("gpt", "neither an embedded model"),
        ("nosuch/model", "names no provider"),
        ("openai/", "'openai/'"),
    ],
)
def test_strings_that_name_nothing(model, says):
    with pytest.raises(InputError) as caught:
        connect(model)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_embedded():
    assert is_embedded("")
    assert is_embedded("smollm2-135m")
    assert is_embedded("models/x.gguf")
    assert is_embedded("hf:owner/repo/x.gguf")
    assert not is_embedded("openai/gpt-4o")
    with pytest.raises(InputError):
        connect("missing/x.gguf")


@pytest.mark.parametrize(
    ("model", "api_base"),
    [
        ("openai/m@http://user:hunter2@127.0.0.1:9", None),
        ("openai/m", "http://127.0.0.1:9/v1?api_key=hunter2"),
        ("openai/m", "htp://user:hunter2@127.0.0.1"),
        ("openai/m", "http://user:hunter2@127.0.0.1:9"),
    ],
)
def test_an_address_with_a_key_is_refused_without_showing_it(model, api_base):
    with pytest.raises(InputError) as refused:
        connect(model, api_base=api_base)
    assert "hunter2" not in str(refused.value)
