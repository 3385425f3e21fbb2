"""The one door to a backbone: every request is cached, shared, bounded, counted and explained.

`Channel` is the dspy adapter that programs run under. It lets an inner adapter write the prompt and
read the reply, and hands that adapter a stand-in for the LM whose calls pass through here. So the
caller's LM, the LM pinned on a predictor and the LM of a role are all treated alike, and no LM has
to be of a class of ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.clients._deprecation import adapter_message_call

from ..errors import BudgetExceeded
from .adapter import CompactAdapter
from .cache import current_cache, request_key
from .capabilities import accepted, identity, remember_refusal
from .limits import Limiter, limiter
from .meter import current_meter

Outputs = list[Any]
_FALLBACKS = "referee_fallbacks"  # an attribute, so that copies of an LM keep them
LONGEST_PAUSE = 30.0  # seconds; a server that asks for more has failed
GARBLED_TRIES = 3
LOCAL_PREFIX = "referee-local"  # providers of embedded models start with it: they cost nothing

_in_flight: dict[object, Future[Outputs]] = {}
_lock = threading.Lock()


def pause(failed: int, asked: float | None) -> float:
    """Seconds before the next try: what the server asks for, else 1, 2, 4, ..."""
    return asked if asked is not None else min(2.0**failed, LONGEST_PAUSE)


class _LeaderGone(Exception):  # noqa: N818 - a signal between equal requests, never shown
    """The request that others waited for was given up for a reason of its own."""


def set_fallbacks(lm: dspy.LM, others: Sequence[dspy.LM]) -> None:
    """Name the backbones to ask, in order, when ``lm`` fails; its copies keep them.

    litellm's own fallbacks start an event loop a call and leave its tasks behind, and they know
    neither the embedded model nor a server's schema support.
    """
    setattr(lm, _FALLBACKS, tuple(others))


def ask(lm: dspy.BaseLM, messages: Any, options: dict[str, Any]) -> Outputs:
    """Ask a backbone and, when it fails, its fallbacks.

    Args:
        lm: The backbone.
        messages: Chat messages.
        options: Options of this request; they override the LM's own.

    Returns:
        The LM's outputs.

    Raises:
        BudgetExceeded: The run's budget is spent.
        dspy.LMError: The backbone, and the last fallback, failed after dspy's retries.
    """
    *rest, last = _chain(lm)
    for candidate in rest:
        try:
            return _ask_one(candidate, messages, options)
        except dspy.LMError:
            current_meter().note(f"{candidate.model} failed: its fallback was asked.")
    return _ask_one(last, messages, options)


async def aask(lm: dspy.BaseLM, messages: Any, options: dict[str, Any]) -> Outputs:
    """The twin of `ask` for coroutines; both share the cache and the limit."""
    *rest, last = _chain(lm)
    for candidate in rest:
        try:
            return await _aask_one(candidate, messages, options)
        except dspy.LMError:
            current_meter().note(f"{candidate.model} failed: its fallback was asked.")
    return await _aask_one(last, messages, options)


def _chain(lm: dspy.BaseLM) -> tuple[dspy.BaseLM, ...]:
    return (lm, *getattr(lm, _FALLBACKS, ()))


def _ask_one(lm: dspy.BaseLM, messages: Any, options: dict[str, Any]) -> Outputs:
    """Ask one backbone, or the cache, or wait for an equal request in flight."""
    request = _Request(lm, messages, options, twin="sync")
    while request.follows():
        try:
            return request.shared(request.leader.result())
        except _LeaderGone:
            continue
    with request.leading(), request.limiter.slot():
        while request.outputs is None:
            time.sleep(request.pause)
            with request.attempt() as sent:
                request.outputs = request.once(messages=messages, **sent)
        request.keep()
    return request.outputs


async def _aask_one(lm: dspy.BaseLM, messages: Any, options: dict[str, Any]) -> Outputs:
    request = _Request(lm, messages, options, twin="async")
    while request.follows():
        try:
            return request.shared(await asyncio.shield(asyncio.wrap_future(request.leader)))
        except _LeaderGone:
            continue
    with request.leading():
        async with request.limiter.aslot():
            while request.outputs is None:
                await asyncio.sleep(request.pause)
                with request.attempt() as sent:
                    request.outputs = await request.once.acall(messages=messages, **sent)
            request.keep()
    return request.outputs


class Channel(dspy.Adapter):
    """Runs an adapter's prompts through the door."""

    def __init__(self, inner: dspy.Adapter) -> None:
        super().__init__()
        self.inner = inner

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        """See `dspy.Adapter`."""
        door: Any = _Door(lm)
        return self.inner(door, lm_kwargs, signature, demos, inputs)

    async def acall(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        """See `dspy.Adapter`."""
        door: Any = _Door(lm)
        return await self.inner.acall(door, lm_kwargs, signature, demos, inputs)


def channel() -> dspy.Adapter:
    """The caller's adapter, or ours, behind the door that counts and bounds requests."""
    adapter = dspy.settings.adapter
    return adapter if isinstance(adapter, Channel) else Channel(adapter or CompactAdapter())


class _Door:
    """Stands in for an LM inside an adapter: the same attributes, but calls go through `ask`."""

    def __init__(self, lm: dspy.BaseLM) -> None:
        self.behind = lm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    def __call__(self, *, messages: Any, **options: Any) -> Outputs:
        return ask(self.behind, messages, options)

    async def acall(self, *, messages: Any, **options: Any) -> Outputs:
        return await aask(self.behind, messages, options)


class _Request:
    """One request: what is known about it, and the steps that sync and async callers share."""

    def __init__(self, lm: dspy.BaseLM, messages: Any, options: dict[str, Any], twin: str) -> None:
        self.lm, self.messages, self.options = lm, messages, options
        self.meter = current_meter()
        self.limiter: Limiter = limiter(identity(lm))
        self.outputs: Outputs | None = None
        self._garbled = 0
        self._failed = 0
        self.pause = 0.0  # seconds to wait before the next try
        # Retries are ours, so that each is bounded by the budget and counted.
        self.once = lm.copy()
        self.once.num_retries = 0
        self.once.history = lm.history
        self.leader: Future[Outputs] = Future()
        own = getattr(lm, "kwargs", {})
        self.key = request_key(lm.model, messages, {**own, **options, "served_at": _place(lm)})
        # A thread that waits for a coroutine of its own loop would wait for ever: twins do not mix.
        self._flight = (twin, identity(lm), self.key)

    def follows(self) -> bool:
        """Whether the answer is in the cache, or an equal request is already on its way."""
        cache = current_cache()
        found = cache.get(self.key) if cache else None
        if found is not None:
            self.leader = Future()
            self.leader.set_result(found)
            return True
        with _lock:
            other = _in_flight.get(self._flight)
            if other is None:
                self.leader = _in_flight[self._flight] = Future()
                return False
            self.leader = other
            return True

    def shared(self, outputs: Outputs) -> Outputs:
        """Book an answer that cost nothing."""
        self.meter.settle_cached()
        return outputs

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Ask for all equal requests; whatever happens, they hear of it."""
        try:
            yield
        except BudgetExceeded:
            self._end(_LeaderGone())
            raise
        except Exception as error:
            self._end(error)
            raise
        except BaseException:
            self._end(_LeaderGone())
            raise
        self._end(None)

    @contextmanager
    def attempt(self) -> Iterator[dict[str, Any]]:
        """One try with the options that the backbone takes; learns from a refusal."""
        sent, left_out = accepted(self.lm, self.options)
        for name in left_out:
            self.meter.note(f"{self.lm.model} does not take {name}: it was left out.")
        if current_cache() is not None:
            sent["cache"] = False  # ours holds the reply; dspy's own cache need not
        self.meter.reserve()
        probe = _Probe(self.lm)
        try:
            with probe.listening(self.once), adapter_message_call(self.once, self.messages):
                yield sent
        except dspy.LMInvalidRequestError as error:
            if not remember_refusal(self.lm, error, sent):
                raise
        except dspy.LMError as error:
            if not self._again(error):
                raise
        finally:
            if self.outputs is not None and not probe.heard:
                self.meter.settle_cached(reserved=True)  # dspy's own cache had it
            else:
                self.meter.settle(probe.usage, probe.cost(failed=self.outputs is None))

    def _again(self, error: dspy.LMError) -> bool:
        """Whether to try once more, and after which pause."""
        if getattr(error, "status", None) == 200:
            # A page of a proxy or garbled JSON: dspy does not count it as worth another try.
            self._garbled += 1
            return self._garbled < GARBLED_TRIES
        retries = getattr(self.lm, "num_retries", 0)
        asked = getattr(error, "retry_after", None)
        if not dspy.is_retryable_lm_error(error) or self._failed >= retries:
            return False
        if asked is not None and asked > LONGEST_PAUSE:
            return False
        self.pause = pause(self._failed, asked)
        self._failed += 1
        return True

    def keep(self) -> None:
        """Store the reply, while the slot is held: a killed process loses no more than it holds."""
        cache = current_cache()
        trouble = cache.put(self.key, self.outputs) if cache and self.outputs is not None else ""
        if trouble:
            self.meter.note(trouble)

    def _end(self, error: Exception | None) -> None:
        with _lock:
            _in_flight.pop(self._flight, None)
        if error is None:
            self.leader.set_result(self.outputs or [])
        else:
            self.leader.set_exception(error)


def _place(lm: dspy.BaseLM) -> str | None:
    """Which server answers, as a digest: servers at two addresses may use one model name.

    An embedded model listens elsewhere in each process; its weights stand in its name.
    """
    kwargs = getattr(lm, "kwargs", {})
    base = kwargs.get("api_base") or kwargs.get("base_url")
    if not base or lm.model.startswith(LOCAL_PREFIX):
        return None
    return hashlib.sha256(str(base).encode()).hexdigest()


class _Probe:
    """Listens to what dspy books for one call: usage (none for a cached reply) and price."""

    def __init__(self, lm: dspy.BaseLM) -> None:
        self.lm = lm
        self.heard = False
        self.usage: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self._outer = dspy.settings.usage_tracker

    def add_usage(self, model: str, usage: dict[str, Any]) -> None:
        """Called by dspy once for each reply that was paid for."""
        self.heard = True
        self.usage = usage
        if self._outer:
            self._outer.add_usage(model, usage)

    def cost(self, *, failed: bool) -> float | None:
        """US dollars, 0 for an embedded model or a failed call, None when not known."""
        if failed or self.lm.model.startswith(LOCAL_PREFIX):
            return 0.0
        return self.history[-1].get("cost") if self.history else None

    @contextmanager
    def listening(self, once: dspy.BaseLM) -> Iterator[None]:
        """Be dspy's usage tracker, and one more module whose history it keeps."""
        if dspy.settings.max_history_size == 0:
            # A long run keeps no history, which dspy takes as: tell nobody. The price is in it.
            once.update_history = self.history.append
        callers = [*(dspy.settings.caller_modules or []), self]
        with dspy.context(usage_tracker=self, caller_modules=callers):
            yield
