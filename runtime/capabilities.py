"""What a backbone takes: options it refuses are left out, and that is recorded."""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable
from typing import Any

import dspy

# Models that think before they answer, whether asked to or not: they take no sampling options,
# and a small max_tokens would cut the thinking and leave no answer.
_ALWAYS_REASONS = re.compile(
    r"(^|/)(o[1345](-|$)|gpt-5(?!.*-chat)|gpt-oss|deepseek-(reasoner|r\d)|gemini-(2\.5|[3-9])|"
    r"grok-4|qwq|magistral)",
    re.I,
)
_OPENAI_REASONS = re.compile(r"(^|/)(o[1345](-|$)|gpt-5(?!.*-chat))", re.I)
_SAMPLING = frozenset({"temperature", "top_p", "logprobs", "top_logprobs", "stop", "seed"})
_OPTIONAL = _SAMPLING | {"max_tokens", "response_format", "n", "top_k", "min_p"}
SMALL_MAX_TOKENS = 16_000  # dspy's bound for OpenAI's reasoning models

_refused: dict[object, set[str]] = {}
_supported: dict[object, tuple[frozenset[str], bool]] = {}
_lock = threading.Lock()


def identity(lm: dspy.BaseLM) -> tuple[Any, ...]:
    """What tells two backbones apart: model, address and engine."""
    kwargs = getattr(lm, "kwargs", {})
    base = kwargs.get("api_base") or kwargs.get("base_url")
    engine = getattr(lm, "engine", None)
    # The engine itself, not its id: an id is used again once its engine is gone.
    return (lm.model, base, engine if isinstance(engine, Hashable) else id(engine))


def supports_schema(lm: dspy.BaseLM) -> bool:
    """Whether replies can be constrained to a JSON schema."""
    params, schema = _facts(lm)
    return schema and "response_format" in params and not _is_refused(lm, "response_format")


def accepted(lm: dspy.BaseLM, options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Split request options into those the backbone takes and the names of those it refuses.

    Args:
        lm: The backbone.
        options: Options of one request; names that are not sampling options are kept as they are.

    Returns:
        The options to send, and the names left out, sorted.
    """
    left_out = sorted(name for name in options if _refuses(lm, name, options[name]))
    return {k: v for k, v in options.items() if k not in left_out}, left_out


def remember_refusal(lm: dspy.BaseLM, error: Exception, options: dict[str, Any]) -> str:
    """Learn from a backbone's own error which option it refuses.

    Returns:
        The option's name, or an empty text when the error names none of ``options``.
    """
    text = str(error).lower()
    names = sorted(_OPTIONAL & options.keys(), key=len, reverse=True)
    aliases = {
        "max_tokens": ("max_tokens", "max_completion_tokens"),
        "stop": ("stop", "stop_sequences"),
        "logprobs": ("logprobs", "top_logprobs"),
    }
    for name in names:
        if any(_names(text, alias) for alias in aliases.get(name, (name,))):
            with _lock:
                _refused.setdefault(identity(lm), set()).add(name)
            return name
    return ""


def _names(text: str, option: str) -> bool:
    return re.search(rf"(?<![a-z_]){re.escape(option)}(?![a-z_])", text) is not None


def _is_refused(lm: dspy.BaseLM, name: str) -> bool:
    return name in _refused.get(identity(lm), ())


def _refuses(lm: dspy.BaseLM, name: str, value: Any) -> bool:
    if name not in _OPTIONAL or value is None:
        return False
    if _is_refused(lm, name):
        return True
    if name == "response_format":
        return not supports_schema(lm)
    if name == "stop" and "claude" in lm.model.lower():
        return not all(text.strip() for text in ([value] if isinstance(value, str) else value))
    if name == "max_tokens" and _ALWAYS_REASONS.search(lm.model):
        return int(value) < SMALL_MAX_TOKENS
    if name in _SAMPLING and _OPENAI_REASONS.search(lm.model):
        return not (name == "temperature" and value == 1.0)
    params, _ = _facts(lm)
    known = params | ({"max_tokens"} if "max_completion_tokens" in params else set())
    return bool(params) and name != "n" and name not in known


def _facts(lm: dspy.BaseLM) -> tuple[frozenset[str], bool]:
    """Supported option names and schema support, looked up once per backbone."""
    key = identity(lm)
    facts = _supported.get(key)
    if facts is None:
        facts = frozenset(lm.supported_params), bool(lm.supports_response_schema)
        with _lock:
            _supported[key] = facts
    return facts
