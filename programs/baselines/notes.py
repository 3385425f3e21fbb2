"""Passage search for agents, and what an agent has gathered, as one text for a prompt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import dspy

from ...runtime.chunks import chunk
from ...runtime.passages import estimate_tokens
from ...runtime.records import Document
from ...runtime.retrieval import Retriever, as_retriever, asking
from ...runtime.retrievers import FUNCTION_WORDS, words
from ..base import READING_TOKENS, Case, Program
from ..steps import Steps, Task, Wave

PASSAGES = 3  # ours: passages a search finds; a small window holds some ten of them
_PASSAGE_CHARS = 600
_THOUGHT_CHARS = 300  # of a thought or a query in the notes


@dataclass(frozen=True)
class Snippet:
    """A passage that was found.

    Attributes:
        text: The passage, never blank.
        date: Date of its document, or empty.
    """

    text: str
    date: str = ""


@dataclass(frozen=True)
class Notes:
    """Thoughts, searches and passages, in order; never changed, so that a tree may branch.

    Attributes:
        lines: What stands in the prompt.
        passages: The passages among them.
    """

    lines: tuple[str, ...] = ()
    passages: tuple[Snippet, ...] = ()

    @property
    def text(self) -> str:
        """As a prompt shows them."""
        return "\n".join(self.lines)

    def with_line(self, label: str, text: str) -> Notes:
        """These notes and one more line, cut to a readable length."""
        return replace(self, lines=(*self.lines, f"{label}: {short(text)}"))

    def with_search(self, query: str, found: Sequence[Snippet], max_tokens: int) -> Notes:
        """These notes, the query, and those passages that are new and fit.

        Args:
            query: What was searched for.
            found: The best first.
            max_tokens: Bound on the whole notes, in estimated tokens.
        """
        notes = self.with_line("Search", query).with_passages(found, max_tokens)
        if len(notes.passages) > len(self.passages):
            return notes
        return notes.with_line("Found", "nothing new")

    def with_passages(self, found: Sequence[Snippet], max_tokens: int) -> Notes:
        """These notes and those passages that are new and fit."""
        notes = self
        for snippet in found:
            number = len(notes.passages) + 1
            text = " ".join(snippet.text.split())  # one line: a passage adds no "Thought: ..."
            line = f"[{number}] {f'({snippet.date}) ' if snippet.date else ''}{text}"
            fits = estimate_tokens(notes.text) + estimate_tokens(line) <= max_tokens
            if fits and snippet not in notes.passages:
                notes = Notes((*notes.lines, line), (*notes.passages, snippet))
        return notes


class Library:
    """What the search of one case looks through: its documents, and the caller's retriever.

    Passages are ranked in code by the rarity of the query's words that they hold, so that a search
    takes no request and no encoder.

    Args:
        case: The case.
        retriever: Asked besides the documents; what it finds comes after theirs.
    """

    def __init__(self, case: Case, retriever: Retriever | None = None) -> None:
        self.case, self.retriever = case, retriever
        size = min(_PASSAGE_CHARS, max(1, case.reading_tokens // 4))  # so that three always fit
        self.passages = list(dict.fromkeys(s for d in case.documents for s in _snippets(d, size)))
        self._words = [frozenset(words(p.text)) for p in self.passages]
        self._frequency = Counter(word for bag in self._words for word in bag)

    def find(self, query: str, count: int = PASSAGES) -> list[Snippet]:
        """Passages of the documents that share words with a query, the best first."""
        asked = set(words(query)) - FUNCTION_WORDS or set(words(query))
        total = len(self.passages)
        rarity = {w: math.log(1 + total / self._frequency[w]) for w in asked if self._frequency[w]}
        scores = [sum(rarity[w] for w in sorted(rarity.keys() & bag)) for bag in self._words]
        ranked = sorted(range(total), key=lambda i: -scores[i])
        return [self.passages[i] for i in ranked[:count] if scores[i] > 0]

    def steps(self, queries: Sequence[str]) -> Steps[list[list[Snippet]]]:
        """Passages for each query; the retriever, where there is one, in one wave."""
        own = [self.find(query) for query in queries]
        if self.retriever is None or not queries:
            return own
        replies = yield Wave("search", [Task(asking(self.retriever, q, PASSAGES)) for q in queries])
        return [[*mine, *self._read(reply)] for mine, reply in zip(own, replies, strict=True)]

    def opening(self) -> Steps[Notes]:
        """Notes that begin with what the question itself finds, else with the first passages."""
        (found,) = yield from self.steps([self.case.question])
        found = found or self.passages[:PASSAGES]
        return Notes().with_search(self.case.question, found, self.case.reading_tokens)

    def _read(self, reply: Any) -> list[Snippet]:
        if isinstance(reply, Exception):
            self.case.meter.note(f"The retriever failed: {reply}")
            return []
        return [Snippet(p.text[:_PASSAGE_CHARS], p.date) for p in reply]


class SearchingProgram(Program):
    """Base of the agents that search passages.

    Args:
        retriever: Searched besides the documents; see `runtime.retrieval.as_retriever`.
        lms, reading_tokens: As in `Program`.
    """

    long_answers: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("lms", "retriever")

    def __init__(
        self,
        *,
        retriever: Any = None,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        self.retriever = as_retriever(retriever) if retriever is not None else None


def short(text: str) -> str:
    """A thought or a query on one line, cut to a readable length."""
    return " ".join(text.split())[:_THOUGHT_CHARS]


def _snippets(document: Document, size: int) -> list[Snippet]:
    return [Snippet(s.text, document.date) for s in chunk(document.text, max_chars=size)]
