"""The door to retrieval: every retriever, and `as_retriever` for what the caller brings.

A retriever is any callable `(query, k) -> list[Passage]`.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import BackboneError, InputError, RefereeError
from .embedder import Shared
from .retrievers import CorpusRetriever, Passage, Retriever, check_k, field_of, passage_from
from .triples import TripleRetriever
from .wikipedia import WikipediaRetriever

__all__ = [
    "CorpusRetriever",
    "Passage",
    "Retriever",
    "TripleRetriever",
    "WikipediaRetriever",
    "as_retriever",
    "asking",
]

_COUNT_NAMES = ("k", "top_k", "topk", "n", "limit", "num_results", "max_results", "n_results")
_TEXT_NAMES = ("text", "long_text", "page_content", "content")
_LIST_NAMES = ("passages", "documents", "results")
_ACCEPTED = (
    "give a callable (query) or (query, k), an object with .search, .forward or .retrieve, "
    "or a list of documents"
)


def asking(retriever: Retriever, query: str, k: int) -> Callable[[], list[Passage]]:
    """A call of a retriever whose failure, of whatever kind, is a `BackboneError`."""

    def run() -> list[Passage]:
        try:
            return retriever(query, k)
        except RefereeError:
            raise
        except Exception as error:
            raise BackboneError(f"{type(error).__name__}: {error}") from error

    return run


def as_retriever(obj: Any) -> Retriever:
    """Make a retriever of what the caller has.

    Args:
        obj: A callable `(query)` or `(query, k)`; an object with `.search`, `.forward` or
            `.retrieve`; a DSPy module; or a list of documents, which becomes a `CorpusRetriever`.
            Results may be texts, mappings or objects with `text`, `long_text`, `page_content` or
            `content`, `Passage`s, or an object that holds such a list as `passages`.

    Returns:
        A retriever that returns at most k passages in the order of the source, blank ones left
        out. Its errors are those of `obj`.

    Raises:
        InputError: `obj` is none of these; also when a result has no text.

    Example:
        >>> retrieve = as_retriever(lambda query: [f"About {query}", {"text": "Else", "url": "u"}])
        >>> [passage.text for passage in retrieve("Bern", 1)]
        ['About Bern']
    """
    if isinstance(obj, (_Adapted, CorpusRetriever, TripleRetriever, WikipediaRetriever)):
        return obj
    if isinstance(obj, Sequence) and not isinstance(obj, (str, bytes)):
        return CorpusRetriever(obj)
    if isinstance(obj, type):
        raise InputError(f"The retriever is the class {obj.__name__}; give an instance of it.")
    for name in ("__call__", "search", "forward", "retrieve"):
        found: Any = obj if name == "__call__" else getattr(obj, name, None)
        if callable(found):
            return _Adapted(obj, found)
    raise InputError(f"The retriever is {_described(obj)}; {_ACCEPTED}.")


class _Adapted(Shared):
    """A foreign callable, called the way it wants and its results read."""

    def __init__(self, owner: Any, function: Callable[..., Any]) -> None:
        self._function = function
        self._described = _described(owner)
        # A DSPy module is called, but its parameters stand on `forward`, by keyword only. Read
        # from the class: on the instance, DSPy logs a warning for the mere look.
        forward = getattr(type(owner), "forward", None)
        self._by_keyword = function is owner and callable(forward)
        if self._by_keyword and forward is not None:
            function = partial(forward, owner)
        self._query_name, self._count_name = self._parameters(function)

    def __call__(self, query: str, k: int = 1) -> list[Passage]:
        check_k(k)
        named = {self._count_name: k} if self._count_name else {}
        if self._by_keyword:
            result = self._function(**{self._query_name: query}, **named)
        elif self._count_name == "":
            result = self._function(query, k)
        else:
            result = self._function(query, **named)
        return self._read(result)[:k]

    def _parameters(self, function: Callable[..., Any]) -> tuple[str, str | None]:
        """Name of the query and of the count: "" is the second position, None is nowhere."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # built without a signature, as some C functions are
            return "query", ""
        first, rest = parameters[:1], parameters[1:]
        if not first or first[0].kind in (first[0].KEYWORD_ONLY, first[0].VAR_KEYWORD):
            raise InputError(f"The retriever {self._described} takes no query; {_ACCEPTED}.")
        if first[0].kind is first[0].VAR_POSITIONAL:
            return "query", ""
        return first[0].name, self._count(rest)

    def _count(self, rest: list[inspect.Parameter]) -> str | None:
        """How to pass k, from the parameters behind the query."""
        named = next((p for p in rest if p.name in _COUNT_NAMES), None)
        open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        needed = [
            p for p in rest if p is not named and p.default is p.empty and p.kind not in open_ended
        ]
        if named is None and len(needed) == 1 and needed[0].kind is not needed[0].KEYWORD_ONLY:
            return ""  # whatever its name, a second required argument can only be the count
        if needed:
            names = ", ".join(p.name for p in needed)
            raise InputError(f"The retriever {self._described} also needs {names}; {_ACCEPTED}.")
        if named is None:
            return None
        return "" if named.kind is named.POSITIONAL_ONLY else named.name

    def _read(self, result: Any) -> list[Passage]:
        """Passages of whatever the callable returned."""
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise InputError(f"The retriever {self._described} is asynchronous; give a plain one.")
        passages = [self._passage(item) for item in _items(result)]
        return [passage for passage in passages if passage.text.strip()]

    def _passage(self, item: Any) -> Passage:
        """One result as a passage."""
        if isinstance(item, Passage):
            return item
        text = _text(item)
        if text is None:
            raise InputError(
                f"The retriever {self._described} returned {_described(item)}; results must be "
                f"texts, or have one of {', '.join(_TEXT_NAMES)}."
            )
        return passage_from(item, text, _score(field_of(item, "score")))


def _items(result: Any) -> Iterable[Any]:
    """The single results in what a callable returned."""
    if result is None:
        return []
    if isinstance(result, (list, tuple)):
        return result
    if _text(result) is not None:
        return [result]
    for name in _LIST_NAMES:
        found = field_of(result, name)
        if isinstance(found, (list, tuple)):
            return found
    iterable = isinstance(result, Iterable) and not isinstance(result, Mapping)
    return result if iterable else [result]


def _text(item: Any) -> str | None:
    """The text of a result, if it has one."""
    if isinstance(item, str):
        return item
    texts = (field_of(item, name) for name in _TEXT_NAMES)
    return next((text for text in texts if isinstance(text, str)), None)


def _score(value: Any) -> float | None:
    """A finite number as a float; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _described(obj: Any) -> str:
    """Type and beginning of an object, for messages."""
    text = repr(obj)
    return f"{text[:60]}{'…' if len(text) > 60 else ''} ({type(obj).__name__})"
