"""Facts of several documents as a graph, and the paths in it that bear on a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...runtime.retrievers import FUNCTION_WORDS, words

Node = tuple[str, ...]
EXPANDED = 20  # ours: facts, best first, from which a second hop is taken; bounds the work


@dataclass(frozen=True)
class Fact:
    """One edge: a triple and the documents that state it."""

    subject: str
    relation: str
    object: str
    document_ids: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[Node, Node]:
        """The two nodes it joins."""
        return _node(self.subject), _node(self.object)

    @property
    def text(self) -> str:
        """The fact as a sentence."""
        relation = self.relation.replace("_", " ")
        return f"{self.subject} {relation} {self.object.removesuffix('.')}."


@dataclass(frozen=True)
class Path:
    """One or two facts that lead away from what the question names.

    Attributes:
        facts: In order.
        score: In [0, 1]: how much of the question's entities and other words it holds.
    """

    facts: tuple[Fact, ...]
    score: float

    @property
    def text(self) -> str:
        """Its facts as sentences."""
        return " ".join(fact.text for fact in self.facts)

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that state its facts, each once."""
        return tuple(dict.fromkeys(i for fact in self.facts for i in fact.document_ids))


def merged(stated: Iterable[Fact]) -> list[Fact]:
    """Facts, equal ones once, with all documents that state them; without empty ends."""
    found: dict[tuple[Node, Node, Node], Fact] = {}
    for fact in stated:
        key = (*fact.ends, _node(fact.relation))
        if not all(fact.ends):
            continue
        known = found.setdefault(key, fact)
        ids = dict.fromkeys((*known.document_ids, *fact.document_ids))
        found[key] = Fact(known.subject, known.relation, known.object, tuple(ids))
    return list(found.values())


def reasoning_paths(question: str, facts: Sequence[Fact], most: int) -> list[Path]:
    """Paths of at most two hops from the entities of the question, the most relevant first.

    A path that adds no fact to better ones is left out.

    Args:
        question: What is asked.
        facts: Without repetitions (see `merged`).
        most: How many at most.

    Returns:
        Up to ``most`` paths; those of equal score in order of length, then of the facts.
    """
    asked = _content(question)
    keys = _key_entities(asked, facts)
    rest = asked - {word for key in keys for word in key}
    first = _ranked(_scored((f,), keys, rest) for f in facts if keys & {*f.ends})
    paths = [*first, *_second_hops(first[:EXPANDED], facts, keys, rest)]
    chosen: list[Path] = []
    seen: set[Fact] = set()
    for path in _ranked(paths):
        if len(chosen) < most and not seen.issuperset(path.facts):
            chosen.append(path)
            seen.update(path.facts)
    return chosen


def _second_hops(
    first: Sequence[Path], facts: Sequence[Fact], keys: set[Node], rest: set[str]
) -> Iterator[Path]:
    touching: Mapping[Node, list[Fact]] = defaultdict(list)
    for fact in facts:
        for end in dict.fromkeys(fact.ends):
            touching[end].append(fact)
    for path in first:
        (start,) = path.facts
        for middle in dict.fromkeys(start.ends):
            if middle in keys:
                continue
            for fact in touching[middle]:
                if not keys & {*fact.ends}:
                    yield _scored((start, fact), keys, rest)


def _key_entities(asked: set[str], facts: Sequence[Fact]) -> set[Node]:
    """Nodes that the question names; else those that share a word with it; else all."""
    nodes = [node for fact in facts for node in fact.ends]
    named = {node for node in nodes if asked.issuperset(node)}
    return named or {node for node in nodes if asked.intersection(node)} or {*nodes}


def _scored(facts: tuple[Fact, ...], keys: set[Node], rest: set[str]) -> Path:
    """Half for the key entities on the path, half for the question's other words (paper's form)."""
    ends = {end for fact in facts for end in fact.ends}
    said = {w for fact in facts for w in words(fact.text)}
    entities = len(ends & keys) / len(keys)
    others = len(rest & said) / len(rest) if rest else 1.0
    return Path(facts, (entities + others) / 2)


def _ranked(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda p: (-p.score, len(p.facts)))


def _node(label: str) -> Node:
    return tuple(words(label))


def _content(text: str) -> set[str]:
    every = set(words(text))
    return every - FUNCTION_WORDS or every
