"""Retrieval from structured data: the one-hop subgraph around the entities of a query."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from .embedder import Encoder, Shared
from .retrievers import FUNCTION_WORDS, Passage, check_k, relevance, words

Name = tuple[str, ...]
Triple = tuple[str, str, str]

_TRIPLES_PER_PASSAGE = 8
# A hub entity may touch thousands of triples: only the best by words reach the encoder.
_MAX_ENCODED = 512
_QUALIFIER = re.compile(r"\([^()]*\)\s*$")
_LEGAL_FORMS = frozenset(("inc", "ltd", "llc", "plc", "corp", "co", "gmbh", "ag", "sa"))


class TripleRetriever(Shared):
    """The most relevant one-hop entity-relation subgraph of a knowledge graph (MACR §3.4).

    Entities are found in the query by name, the longest first, whatever their case, accents and
    punctuation, and between word boundaries where the script has them. "Mercury (planet)" is also
    found as "Mercury", "Tesla, Inc." as "Tesla", "The Beatles" as "Beatles".

    Example:
        >>> retrieve = TripleRetriever([("Tesla, Inc.", "founded by", "Martin Eberhard")])
        >>> retrieve("Who founded Tesla?", 1)[0].text
        'Tesla, Inc. — founded by — Martin Eberhard.'
    """

    def __init__(
        self,
        triples: Iterable[Triple],
        *,
        encoder: Encoder | None = None,
        source: str = "knowledge graph",
    ) -> None:
        """Build the graph.

        Args:
            triples: (subject, relation, object); equal ones count once.
            encoder: Ranks triples by cosine; None ranks them by the words they share with the
                query.
            source: Stated as the source of every passage.

        Raises:
            InputError: An item is no triple of texts.
        """
        import networkx  # a fifth of a second that only this retriever needs

        self._graph: Any = networkx.MultiDiGraph()
        self._encoder = encoder
        self._source = source
        read = (_read_triple(item, number) for number, item in enumerate(triples))
        for number, triple in enumerate(dict.fromkeys(read)):
            self._add(number, triple)
        self._names = self._index()

    def __call__(self, query: str, k: int = 1) -> list[Passage]:
        """Return one passage of at most 8 k triples, a line each; none where no entity is named."""
        check_k(k)
        entities = self._entities(words(query))
        facts = self._touching(entities)
        if not facts:
            return []
        chosen, score = self._ranked(query, facts, k * _TRIPLES_PER_PASSAGE)
        title = ", ".join(self._graph.nodes[entity]["label"] for entity in entities)
        return [Passage("\n".join(chosen), title=title, source=self._source, score=score)]

    def _add(self, number: int, triple: Triple) -> None:
        """Add an edge between the normalised forms of the two entities."""
        subject, relation, value = triple
        ends = []
        for label in (subject, value):
            node = tuple(words(label)) or (label,)
            if node not in self._graph:
                self._graph.add_node(node, label=label)
            ends.append(node)
        text = f"{subject} — {relation.replace('_', ' ')} — {value.removesuffix('.')}."
        self._graph.add_edge(*ends, key=number, text=text)

    def _index(self) -> dict[str, list[tuple[Name, list[Name]]]]:
        """By first word: the names that begin with it, the longest first, and their nodes."""
        named: dict[Name, list[Name]] = defaultdict(list)
        for node, label in self._graph.nodes(data="label"):
            for alias in _aliases(node, label):
                named[alias].append(node)
        index: dict[str, list[tuple[Name, list[Name]]]] = defaultdict(list)
        for alias in sorted(named, key=len, reverse=True):
            index[alias[0]].append((alias, named[alias]))
        return dict(index)

    def _entities(self, query: list[str]) -> list[Name]:
        """Nodes named in the query, in its order; a longer name hides those within it."""
        found: dict[Name, None] = {}
        at = 0
        while at < len(query):
            names = self._names.get(query[at], [])
            match = next((n for n in names if tuple(query[at : at + len(n[0])]) == n[0]), None)
            found.update(dict.fromkeys(match[1] if match else ()))
            at += len(match[0]) if match else 1
        return list(found)

    def _touching(self, entities: Sequence[Name]) -> list[str]:
        """Sentences of all triples that begin or end at an entity, in the order given."""
        edges: dict[int, str] = {}
        for entity in entities:
            for view in (self._graph.out_edges, self._graph.in_edges):
                edges.update((key, text) for _, _, key, text in view(entity, "text", keys=True))
        return [edges[number] for number in sorted(edges)]

    def _ranked(self, query: str, facts: list[str], limit: int) -> tuple[list[str], float]:
        """The most relevant facts and the score of the first; ties in the order given."""
        if self._encoder is not None and len(facts) > _MAX_ENCODED:
            by_words = relevance(query, facts, None)
            keep = np.argsort(-by_words, kind="stable")[: max(limit, _MAX_ENCODED)]
            facts = [facts[i] for i in sorted(keep.tolist())]
        scores = relevance(query, facts, self._encoder)
        order = np.argsort(-np.round(scores, 6), kind="stable")[:limit]
        return [facts[i] for i in order.tolist()], float(scores[order[0]])


def _read_triple(item: Any, number: int) -> Triple:
    """Three texts, none blank."""
    parts = [] if isinstance(item, str) or not isinstance(item, Iterable) else list(item)
    texts = [part.strip() for part in parts if isinstance(part, str)]
    if len(parts) != 3 or len(texts) != 3 or not all(texts):
        raise InputError(
            f"Triple {number} is {item!r}; give three texts: (subject, relation, object)."
        )
    return texts[0], texts[1], texts[2]


def _aliases(node: Name, label: str) -> Iterator[Name]:
    """Names under which a query may mention a node; never a function word such as "it"."""
    forms = {node: None, tuple(words(_QUALIFIER.sub("", label))): None}
    for name in list(forms):
        forms[name[1:] if name[:1] == ("the",) else name] = None
        forms[name[:-1] if name[-1:] and name[-1] in _LEGAL_FORMS else name] = None
    for name in forms:
        if name and not FUNCTION_WORDS.issuperset(name):
            yield name
