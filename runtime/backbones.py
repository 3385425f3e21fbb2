"""Model strings to language models: litellm's providers, OpenAI-style servers, embedded weights."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import dspy
from dspy.lm15 import (
    AccessPolicy,
    ModelSupport,
    OpenAIChatCompat,
    ProviderDefinition,
    register_provider,
)

from ..errors import InputError
from .capabilities import identity
from .exchange import set_fallbacks
from .limits import limiter

TIMEOUT = 600.0  # seconds; a small model on a CPU may think for minutes
SERVER = "referee-server"  # the declared provider of OpenAI-compatible servers
_OPENAI_STYLE = frozenset(
    {"openai", "hosted_vllm", "vllm", "lm_studio", "llamafile", "ollama", "ollama_chat", "local"}
)
_COMMON = _OPENAI_STYLE - {"local"} | {
    *("anthropic", "azure", "bedrock", "cohere", "deepseek", "fireworks_ai", "gemini", "groq"),
    *("huggingface", "mistral", "openrouter", "together_ai", "vertex_ai", "xai"),
}


def connect(
    model: str | None = None,
    *,
    api_base: str | None = None,
    fallbacks: Sequence[str] = (),
    concurrency: int | None = None,
    timeout: float = TIMEOUT,
    progress: Any = None,
    **options: Any,
) -> dspy.LM:
    """A language model from a model string.

    Args:
        model: A litellm model string (``anthropic/claude-...``, ``ollama_chat/...``), the name of
            an embedded model, ``path/to/file.gguf``, ``hf:owner/repo/file.gguf``; None for
            ``$REFEREE_LM`` or else the embedded default.
        api_base: Address of an OpenAI-compatible server; its replies are constrained to JSON
            schemas when it can do that.
        fallbacks: Model strings (``MODEL`` or ``MODEL@ADDRESS``) to ask, in order, when it fails.
        concurrency: Requests in flight at once; None for the backbone's default.
        timeout: Seconds until a request is given up.
        progress: Called while the weights of an embedded model are fetched.
        options: Further options of `dspy.LM` (``api_key``, ``temperature``, ``num_retries``, ...).

    Raises:
        InputError: The model string cannot be understood.
        WeightsError: The weights of an embedded model cannot be had.
    """
    name = model if model is not None else os.environ.get("REFEREE_LM", "")
    if is_embedded(name) and not api_base:
        from .local import connect_local

        lm = connect_local(name or None, progress=progress, **options)
    else:
        lm = _remote(name, api_base, {"timeout": timeout, **options})
    if concurrency is not None:
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}: give at least 1.")
        limiter(identity(lm), concurrency)
    if fallbacks:
        set_fallbacks(
            lm, [_fallback(text, concurrency=concurrency, **options) for text in fallbacks]
        )
    return lm


def _fallback(text: str, **options: Any) -> dspy.LM:
    model, api_base = with_address(text)
    return connect(model, api_base=api_base, **options)


def with_address(text: str) -> tuple[str, str | None]:
    """Model string and address of ``MODEL[@URL]``; a model's own name may hold an @."""
    model, _, rest = text.partition("@http")
    return model, f"http{rest}" if rest else None


def is_embedded(model: str) -> bool:
    """Whether a model string names weights that run in this process."""
    from .weights import available

    known = {info.name for info in available()}
    return not model or model in known or model.startswith("hf:") or model.endswith(".gguf")


def display_name(lm: dspy.BaseLM) -> str:
    """A backbone's name for reports: never an address, never a key."""
    return str(lm.model)


def _remote(model: str, api_base: str | None, options: dict[str, Any]) -> dspy.LM:
    if "://" in model:
        raise InputError(
            "The model string holds an address: give it as --api-base, or as MODEL@http://... "
            "where an option takes that."
        )
    provider, _, rest = model.partition("/")
    if not rest:
        from .weights import available

        raise InputError(
            f"{model!r} is neither an embedded model ({', '.join(i.name for i in available())}) "
            "nor a model string: write provider/model, such as openai/gpt-4o-mini."
        )
    if api_base:
        options["api_base"] = _with_path(api_base)
        options.setdefault("api_key", _key_for(provider))
    if api_base and provider in _OPENAI_STYLE:
        _declare_server()
        return dspy.LM(f"{SERVER}/{rest}", **options)
    _check_provider(provider, model)
    return dspy.LM(model, **options)


def _with_path(api_base: str) -> str:
    try:
        parts = urlsplit(api_base)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise InputError(
            f"--api-base is {without_password(api_base)!r}: give an address like "
            "http://127.0.0.1:8000/v1."
        )
    if parts.query or parts.fragment:
        raise InputError(
            "--api-base holds a query: give the address alone, and a key as OPENAI_API_KEY."
        )
    if parts.username or parts.password:
        raise InputError("--api-base holds a password: give it as OPENAI_API_KEY instead.")
    return api_base.rstrip("/") + ("" if parts.path.strip("/") else "/v1")


def without_password(text: str) -> str:
    """An address as an error may show it."""
    return re.sub(r"[^/@\s]+@", "...@", text)


def _key_for(provider: str) -> str:
    return os.environ.get(f"{provider.upper()}_API_KEY") or "none"


def _declare_server() -> None:
    # Undeclared, an unknown model gets no response_format at all. Servers that cannot constrain
    # refuse it once, and the refusal is remembered (capabilities.py).
    register_provider(
        ProviderDefinition.chat(
            AccessPolicy(provider=SERVER, base_url="http://127.0.0.1/v1"),
            compat=OpenAIChatCompat(max_tokens_field="max_tokens"),
            placeholder_key="none",
        ),
        supports=ModelSupport(response_schema=True),
    )


def _check_provider(provider: str, model: str) -> None:
    if provider in _COMMON:
        return
    import litellm  # takes a second, and only unusual providers need it

    known = {str(getattr(p, "value", p)) for p in litellm.provider_list}
    if provider not in known:
        raise InputError(
            f"{model!r} names no provider that litellm knows ({provider!r}): write provider/model, "
            "such as openai/gpt-4o-mini, ollama_chat/llama3.2 or hosted_vllm/my-model."
        )


def roles(models: Mapping[str, str], **options: Any) -> dict[str, dspy.LM]:
    """Language models for the roles of a program, from ``{role: model string}``."""
    return {role: connect(model, **options) for role, model in models.items()}
