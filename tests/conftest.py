"""No network, no shared state: every test has its own cache and a fresh dspy configuration."""

import os
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Third-party code that warns on import; ours may not.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dspy
    import litellm  # noqa: F401

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache folder of its own, no provider keys, dspy as it is when new."""
    monkeypatch.setenv("REFEREE_CACHE", str(tmp_path / "cache"))
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name in ("REFEREE_LM", "OPENAI_API_BASE"):
            monkeypatch.delenv(name)
    cache = dspy.cache
    dspy.cache = dspy.clients.cache.Cache(
        enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=None
    )
    with dspy.context(lm=None, adapter=None, trace=[], callbacks=[]):
        yield
    dspy.cache = cache


@pytest.fixture(autouse=True)
def no_encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """ArbGraph's default encoder is word counts; a real one takes seconds and is slow."""
    if request.node.get_closest_marker("slow"):
        return
    from referee.programs import arbgraph
    from referee.runtime.scripted import WordEncoder

    monkeypatch.setattr(arbgraph, "default_encoder", WordEncoder)


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections leave this machine only in tests marked live, or slow (pulling weights)."""
    if request.node.get_closest_marker("live") or request.node.get_closest_marker("slow"):
        return
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # pip, which pulls weights, is a process of its own
    real = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else address
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in LOOPBACK:
            raise OSError(f"tests have no network: {address}")
        real(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)
