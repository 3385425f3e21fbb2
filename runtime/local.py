"""A small language model in this process, reached like any other backbone.

One llama.cpp server per process and model listens on loopback with a random key; an ordinary
`dspy.LM` talks to it, with JSON schemas enforced by a grammar while decoding.

A forked child inherits the server object but not its threads, so it starts a server of its own at
its first request for one; LMs made before the fork keep talking to the parent's server.
"""

import atexit
import os
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import httpx
from dspy.lm15 import (
    AccessPolicy,
    ModelSupport,
    OpenAIChatCompat,
    ProviderDefinition,
    register_provider,
)

from ..errors import InputError, WeightsError
from .weight_sources import ProgressCallback
from .weights import available, default_model, digest_of, ensure

__all__ = [
    "PROVIDER",
    "LocalServer",
    "LocalSettings",
    "connect_local",
    "declare_provider",
    "local_lm_settings",
    "local_server",
    "stop_local_servers",
]

PROVIDER = "referee-local"

# Each slot that meets a new prefix first reads it anew: eight requests that shared one prefix read
# half as many tokens on two slots as on four, and two cores gain nothing from more slots.
_SLOTS = 2
_CONTEXT_PER_SLOT = 4096
# Prompts that leave a slot are kept here; without it, requests that alternate between three
# signatures on two slots read every prefix again. A token takes 28 kB with the 1.5B model.
_PROMPT_CACHE_MIB = 1024
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class LocalSettings:
    """What an LM needs to reach a running local model.

    Attributes:
        model: Model string; the digest in it makes cached answers belong to these weights.
        base_url: Address of the OpenAI-compatible server.
        api_key: Key of this process only; it is never saved.
        slots: How many requests are decoded at the same time.
    """

    model: str
    base_url: str
    api_key: str
    slots: int


class LocalServer:
    """A llama.cpp server on loopback, started by the constructor and ready when it returns.

    Most code wants `local_server`, which starts each model once per process.

    Args:
        path: A verified GGUF file.
        slots: How many requests are decoded at the same time.
        context: Tokens of prompt and answer that each slot holds.

    Example:
        >>> server = LocalServer(Path("model.gguf"))  # doctest: +SKIP
        >>> server.base_url  # doctest: +SKIP
        'http://127.0.0.1:40173/v1'
    """

    def __init__(
        self, path: Path, *, slots: int = _SLOTS, context: int = _CONTEXT_PER_SLOT
    ) -> None:
        self.path = path
        self.slots = slots
        self.api_key = secrets.token_urlsafe(24)
        self._server: Any = _start(path, slots, context, self.api_key)
        self.base_url = f"{self._server.listening_address}/v1"
        try:
            self._wait_for_loop()
        except httpx.HTTPError as error:
            raise WeightsError(
                f"the local server for {str(path)!r} does not answer ({error}): try again, or "
                "choose another model"
            ) from error

    def stop(self) -> None:
        """Stop the server and free the model; further calls do nothing."""
        server, self._server = self._server, None
        if server is None:
            return
        # Stopping joins the server's threads: bounded, since an exit must never hang.
        holder = [server]
        del server
        stopper = threading.Thread(target=holder.clear, name="referee-local-stop", daemon=True)
        stopper.start()
        stopper.join(_STOP_SECONDS)

    def _wait_for_loop(self) -> None:
        # The server listens a moment before its main loop runs, and to stop it in between waits
        # for ever. The slots are listed by that loop, so an answer proves that it runs.
        root = self.base_url.removesuffix("/v1")
        headers = {"Authorization": f"Bearer {self.api_key}"}
        with httpx.Client(trust_env=False, timeout=60.0) as client:
            client.get(f"{root}/slots", headers=headers).raise_for_status()


_servers: dict[tuple[int, str], LocalServer] = {}
_lock = threading.Lock()


def local_server(path: Path) -> LocalServer:
    """Return the server of this process for a verified GGUF file, starting it when needed."""
    key = (os.getpid(), str(path.resolve()))
    with _lock:
        server = _servers.get(key)
        if server is None:
            server = _servers[key] = LocalServer(path)
        return server


def stop_local_servers() -> None:
    """Stop every server that this process started; later requests start new ones."""
    with _lock:
        # Stopping an inherited server would wait for threads that a forked child has not got.
        own = [key for key in _servers if key[0] == os.getpid()]
        stopped = [_servers.pop(key) for key in own]
    for server in stopped:
        server.stop()


atexit.register(stop_local_servers)


def _after_fork() -> None:
    # Another thread of the parent may have held the lock at the fork.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def local_lm_settings(
    name_or_path: str | Path | None = None, *, progress: ProgressCallback | None = None
) -> LocalSettings:
    """Fetch, verify and start a local model.

    Args:
        name_or_path: As for `weights.ensure`; None stands for the default model.
        progress: Called while weights are fetched or verified.

    Raises:
        InputError: The name is unknown, or `referee[local]` is not installed.
        WeightsError: The weights cannot be fetched, verified or loaded.
    """
    _import_xllamacpp()  # before a gigabyte is fetched in vain
    path = ensure(name_or_path or default_model().name, progress=progress)
    server = local_server(path)
    model = f"{PROVIDER}/{_label(path)}@{digest_of(path)[:12]}"
    return LocalSettings(model, server.base_url, server.api_key, server.slots)


def connect_local(
    name_or_path: str | Path | None = None,
    *,
    progress: ProgressCallback | None = None,
    **lm_kwargs: Any,
) -> dspy.LM:
    """Return a `dspy.LM` that talks to a local model of this process.

    Answers are deterministic unless `temperature` says otherwise, and end after 512 tokens unless
    `max_tokens` does: a small model that loses the thread would else fill its whole context.

    Args:
        name_or_path: As for `local_lm_settings`.
        progress: Called while weights are fetched or verified.
        **lm_kwargs: Passed on to `dspy.LM`.
    """
    settings = local_lm_settings(name_or_path, progress=progress)
    declare_provider()
    options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 512, **lm_kwargs}
    return dspy.LM(settings.model, api_base=settings.base_url, api_key=settings.api_key, **options)


def declare_provider() -> None:
    """Make `referee-local/...` model strings known to DSPy; calling it again is harmless.

    One declaration serves every local model, since each LM carries its own address. The declared
    address answers nobody: an LM that lost its own fails instead of reaching a stranger.
    """
    # DSPy would first ask the network for a price list, in vain and for seconds when offline.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    register_provider(
        ProviderDefinition.chat(
            AccessPolicy(provider=PROVIDER, base_url="http://127.0.0.1:1/v1"),
            compat=OpenAIChatCompat(max_tokens_field="max_tokens"),
            placeholder_key="none",
        ),
        supports=ModelSupport(response_schema=True),
    )


def _label(path: Path) -> str:
    return next((model.name for model in available() if model.file_name == path.name), path.stem)


def _import_xllamacpp() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise InputError(
            f"a local model needs llama.cpp ({error}): run `pip install 'referee[local]'`, or "
            "name another backbone with --lm or REFEREE_LM"
        ) from error
    return xllamacpp


def _start(path: Path, slots: int, context: int, api_key: str) -> Any:
    llama = _import_xllamacpp()
    params = llama.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.n_parallel = slots
    params.n_ctx = slots * context  # divided evenly among the slots
    params.cont_batching = True
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _cores()
    # To fit a model into a GPU's memory costs a second of every start; these models always fit.
    params.fit_params = False
    params.warmup = False  # the first request does the same work
    params.endpoint_slots = True
    params.ui = False
    params.verbosity = -1
    try:
        return llama.Server(params)
    except Exception as error:
        raise WeightsError(
            f"llama.cpp cannot load {str(path)!r} ({error}): check that it is a GGUF language "
            "model and that there is memory for it"
        ) from error


def _cores() -> int:
    """Physical cores that this process may use: a second thread on one core only adds waiting."""
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:  # not on macOS and Windows
        return max(1, os.cpu_count() or 1)
    cores = len({_siblings(cpu) for cpu in allowed})
    return max(1, min(cores, _quota() or cores))


def _siblings(cpu: int) -> str:
    topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return topology.read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)


def _quota() -> int | None:
    """Whole CPUs that the container may use, None without such a limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None
