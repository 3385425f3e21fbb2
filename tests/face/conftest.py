import pytest


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """A failed request is tried again at once; what the pauses are is tested in the runtime."""
    monkeypatch.setattr("referee.runtime.exchange.pause", lambda *_: 0)
