import dspy
import pytest

from referee.runtime.capabilities import accepted, identity, remember_refusal, supports_schema
from referee.runtime.scripted import in_order, scripted_lm

SAMPLE = {
    "temperature": 0.7,
    "seed": 3,
    "max_tokens": 48,
    "stop": ["\n"],
    "top_p": 0.9,
    "logprobs": True,
    "rollout_id": 3,
}


def lm(model):
    return dspy.LM(model, api_key="k", cache=False)


def left_out(model, **options):
    return set(accepted(lm(model), {**SAMPLE, **options})[1])


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "hosted_vllm/qwen", "groq/llama-3.3-70b"])
def test_ordinary_models_take_all(model):
    assert left_out(model) == set()


@pytest.mark.parametrize("model", ["openai/o3", "openai/o4-mini", "openai/gpt-5", "gpt-5-mini"])
def test_openai_reasoning_models_take_no_sampling_and_no_small_max_tokens(model):
    assert left_out(model) == {"temperature", "seed", "max_tokens", "stop", "top_p", "logprobs"}
    assert left_out(model, temperature=1.0, max_tokens=20_000) == {
        "seed",
        "stop",
        "top_p",
        "logprobs",
    }


def test_chat_variants_of_reasoning_families_are_ordinary():
    assert "temperature" not in left_out("openai/gpt-5-chat-latest")


@pytest.mark.parametrize("model", ["gemini/gemini-2.5-pro", "deepseek/deepseek-reasoner"])
def test_models_that_always_think_get_room_to(model):
    assert "max_tokens" in left_out(model)


def test_claude_takes_no_seed_no_logprobs_and_no_blank_stop():
    assert left_out("anthropic/claude-3-5-haiku-20241022") == {"seed", "logprobs", "stop"}
    assert "stop" not in left_out("anthropic/claude-3-5-haiku-20241022", stop=["END"])


def test_what_is_sent_keeps_everything_else():
    sent, _ = accepted(lm("openai/o3"), SAMPLE)
    assert sent == {"rollout_id": 3}


def test_an_option_that_is_not_set_is_not_refused():
    assert left_out("openai/o3", temperature=None) == left_out("openai/o3") - {"temperature"}


def test_schema_support():
    assert supports_schema(lm("openai/gpt-4o-mini"))
    assert not supports_schema(lm("hosted_vllm/unknown-model"))
    assert supports_schema(scripted_lm(in_order([]), schema=True))
    assert not supports_schema(scripted_lm(in_order([])))


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Unsupported parameter: 'max_completion_tokens' is not supported", "max_tokens"),
        ("stop_sequences: each must contain non-whitespace", "stop"),
        ("response_format is not supported by this server", "response_format"),
        ("the temperature must be 1", "temperature"),
        ("your prompt is blocked", ""),
        ("backstop failed", ""),
    ],
)
def test_refusals_are_read_from_the_providers_words(message, name):
    model = scripted_lm(in_order([]), f"scripted/{abs(hash(message))}", schema=True)
    options = {"max_tokens": 5, "stop": ["x"], "response_format": {}, "temperature": 0.1}
    assert remember_refusal(model, Exception(message), options) == name
    assert accepted(model, options)[1] == ([name] if name else [])


def test_backbones_are_told_apart_by_model_address_and_engine():
    one, two = (dspy.LM("openai/m", api_base=f"http://127.0.0.1:{p}/v1") for p in (1, 2))
    assert identity(one) != identity(two)
    assert identity(one) == identity(one.copy(temperature=1.0))
    assert identity(scripted_lm(in_order([]))) != identity(scripted_lm(in_order([])))
