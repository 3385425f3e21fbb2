"""Replies kept on disk as JSON, so that an equal request is never paid for twice.

dspy's own disk cache stores unrestricted pickles and keys sync and async calls apart. This one is
a `diskcache` of JSON documents; the command line switches it on, the library leaves the caller's
`dspy.cache` as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import platformdirs

from ..errors import InputError

SIZE_LIMIT = 4 * 2**30  # bytes; the least recently stored replies go first
_SECRET = frozenset({"api_key", "api_base", "base_url", "headers", "extra_headers", "timeout"})


def cache_folder() -> Path:
    """``$REFEREE_CACHE``, or the user's cache folder of this platform."""
    return Path(os.environ.get("REFEREE_CACHE") or platformdirs.user_cache_dir("referee"))


def request_key(model: str, messages: Any, options: Mapping[str, Any]) -> str:
    """SHA-256 of all that shapes a reply; endpoints and keys are left out."""
    shaping = {k: _plain(v) for k, v in options.items() if k not in _SECRET and v is not None}
    text = json.dumps([model, messages, shaping], sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    schema = getattr(value, "model_json_schema", None)
    return schema() if callable(schema) else value


class ReplyCache:
    """A folder of replies.

    Args:
        folder: Where it lives; made when missing.

    Raises:
        InputError: The folder cannot be made or is not a cache.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        import diskcache

        self.folder = Path(folder) if folder else cache_folder() / "replies"
        try:
            self._cache = diskcache.Cache(
                str(self.folder), disk=diskcache.JSONDisk, size_limit=SIZE_LIMIT
            )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"The reply cache {self.folder} cannot be opened ({error}): set REFEREE_CACHE to "
                "a folder that can be written, or delete this one."
            ) from None

    def get(self, key: str) -> list[Any] | None:
        """The outputs stored under ``key``; None when there are none or they cannot be read."""
        try:
            found = self._cache.get(key)
        except (OSError, sqlite3.Error, ValueError, zlib.error, RecursionError, KeyError):
            return None
        return found if _is_reply(found) else None

    def put(self, key: str, outputs: list[Any]) -> str:
        """Store outputs; returns an empty text, or why they could not be stored."""
        try:
            self._cache.set(key, json.loads(json.dumps(outputs, default=_dump)))
        except (OSError, sqlite3.Error, ValueError, TypeError) as error:
            return f"The reply cache {self.folder} cannot be written ({error})."
        return ""

    def close(self) -> None:
        """Release the file."""
        self._cache.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> ReplyCache:
        return self


def _is_reply(found: Any) -> bool:
    """Outputs as dspy gives them: texts, or mappings with a text."""
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(o.get("text") if isinstance(o, dict) else o, str) for o in found)
    )


def _dump(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a reply holds a {type(value).__name__}, which is not JSON")
    return dump()


_current: ContextVar[ReplyCache | None] = ContextVar("referee_reply_cache", default=None)


def current_cache() -> ReplyCache | None:
    """The cache that is switched on around this call, if any."""
    return _current.get()


@contextmanager
def caching(cache: ReplyCache | None) -> Iterator[None]:
    """Switch a cache on (or off, with None) for the calls inside."""
    token = _current.set(cache)
    try:
        yield
    finally:
        _current.reset(token)
