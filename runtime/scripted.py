"""Models for tests: scripted replies, kept requests, an error when none is left; word vectors."""

from __future__ import annotations

import asyncio
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import dspy
import numpy as np
from dspy.lm15 import Message, Request, Response, TokenLogprob, Usage
from numpy.typing import NDArray

Script = Callable[[Request], str]


class ScriptedEngine:
    """A `dspy.LM` engine whose replies are a function of the request.

    Args:
        script: Gives the reply; what it raises reaches the caller as a failure of the model.
        schema: Whether it claims to constrain replies to a JSON schema.
        logprob: Gives the natural log-probability of each word of the reply, for requests that ask
            for it; None for an engine that reports none.

    Attributes:
        requests: The requests received, in order of arrival.
    """

    supports_function_calling = supports_reasoning = False
    supported_params = frozenset(
        {
            *("temperature", "max_tokens", "top_p", "stop", "seed", "response_format"),
            *("logprobs", "top_logprobs"),
        }
    )

    def __init__(
        self,
        script: Script,
        *,
        schema: bool = False,
        logprob: Callable[[Request], float] | None = None,
    ) -> None:
        self.script, self.supports_response_schema, self.logprob = script, schema, logprob
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        """Answer one request."""
        with self._lock:
            self.requests.append(request)
        text = self.script(request)
        usage = Usage(input_tokens=10, output_tokens=5, total_tokens=15)
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=usage,
            logprobs=self._logprobs(request, text),
        )

    def _logprobs(self, request: Request, text: str) -> tuple[TokenLogprob, ...] | None:
        if self.logprob is None or request.config.logprobs is None:
            return None
        return tuple(TokenLogprob(word, self.logprob(request)) for word in text.split())

    def __copy__(self) -> ScriptedEngine:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptedEngine:
        return self  # optimizers copy programs, and the LMs pinned in them


class _AsyncEngine:
    supported_params = ScriptedEngine.supported_params

    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        return await asyncio.to_thread(self.engine.complete, request)

    def __deepcopy__(self, memo: dict[int, Any]) -> _AsyncEngine:
        return self


def scripted_lm(script: Script, name: str = "scripted/model", **options: Any) -> dspy.LM:
    """A `dspy.LM` over a `ScriptedEngine`; ``lm.engine.requests`` is its history.

    Args:
        script: Gives the reply to a request; see `in_order` and `by_content`.
        name: The model string; caches are keyed by it, so give engines of one test their own.
        options: Options of `dspy.LM`, and ``schema`` and ``logprob`` of
            `ScriptedEngine`.
    """
    own = {key: options.pop(key) for key in ("schema", "logprob") if key in options}
    engine = ScriptedEngine(script, **own)
    settings = {"num_retries": 0, "cache": False, **options}
    return dspy.LM(name, engine=engine, async_engine=_AsyncEngine(engine), **settings)


def prompt_of(request: Request) -> str:
    """All text of a request: system message, demonstrations and input."""
    system = request.system if isinstance(request.system, str) else ""
    return "\n".join([system, *(m.text or "" for m in request.messages)])


def in_order(replies: Iterable[str]) -> Script:
    """Hands out replies in order of arrival and raises when there is none left."""
    waiting = iter(replies)
    lock = threading.Lock()

    def script(request: Request) -> str:
        with lock:
            try:
                return next(waiting)
            except StopIteration:
                raise LookupError(f"no reply is left for: {prompt_of(request)[-200:]}") from None

    return script


def by_content(replies: Mapping[str, str]) -> Script:
    """Picks the reply whose key stands in the prompt (the first that does), for threads."""

    def script(request: Request) -> str:
        prompt = prompt_of(request)
        for key, reply in replies.items():
            if key in prompt:
                return reply
        raise LookupError(f"no scripted reply fits: {prompt[-200:]}")

    return script


class WordEncoder:
    """An encoder without a model: texts that share words are similar. Loads nothing.

    Args:
        name: Whose thresholds its vectors are to be judged by.
    """

    def __init__(self, name: str = "all-MiniLM-L6-v2", dimensions: int = 512) -> None:
        self.name, self._dimensions = name, dimensions

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, d]: hashed word counts, unit rows; a text without words is no direction."""
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self._dimensions] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(lengths, 1e-9)
