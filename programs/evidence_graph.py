"""The evidence graph: claims, and the support and contradiction between them (ArbGraph, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..errors import InputError

if TYPE_CHECKING:
    import networkx

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """A node: one canonical claim.

    Attributes:
        id: Its identifier.
        text: The claim in words.
        sources: Ids of the documents that state it, in order.
    """

    id: str
    text: str = ""
    sources: tuple[str, ...] = ()


class Support(NamedTuple):
    """An undirected edge between two claims that back each other.

    Attributes:
        a: The claim named first when the edge was added.
        b: The other claim.
        similarity: Cosine of the two claims; `EvidenceGraph.top_supports` ranks by it.
        confidence: The verifier's confidence in the relation, in [0, 1].
    """

    a: str
    b: str
    similarity: float
    confidence: float


class Contradiction(NamedTuple):
    """An undirected edge between two claims that cannot both hold.

    Attributes:
        a: The claim named first when the edge was added.
        b: The other claim.
        confidence: The verifier's confidence in the relation, in [0, 1].
    """

    a: str
    b: str
    confidence: float


class EvidenceGraph:
    """Claims and their relations, in order of insertion.

    A pair of claims has at most one edge. Adding changes the graph; everything else leaves it
    alone or returns a new one.

    Example:
        >>> graph = EvidenceGraph()
        >>> for id in ("2003", "2004", "July 2003"):
        ...     graph.add_claim(id, text=f"Founded in {id}.")
        >>> graph.contradict("2003", "2004", confidence=0.9)
        >>> graph.support("2003", "July 2003", similarity=0.8)
        >>> graph.support_neighbours("July 2003")
        ['2003']
    """

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._supports: dict[frozenset[str], Support] = {}
        self._contradictions: dict[frozenset[str], Contradiction] = {}
        self._neighbours: dict[str, list[str]] = {}

    def __repr__(self) -> str:
        counts = len(self._claims), len(self._supports), len(self._contradictions)
        return "EvidenceGraph({} claims, {} supports, {} contradictions)".format(*counts)

    @property
    def claims(self) -> Mapping[str, Claim]:
        """The claims by id, in order of insertion (a read-only view)."""
        return MappingProxyType(self._claims)

    @property
    def supports(self) -> list[Support]:
        """The support edges, in order of insertion."""
        return list(self._supports.values())

    @property
    def contradictions(self) -> list[Contradiction]:
        """The contradiction edges, in order of insertion."""
        return list(self._contradictions.values())

    def add_claim(self, id: str, text: str = "", sources: Iterable[str] = ()) -> None:
        """Add a node.

        Args:
            id: A non-empty string that no other claim has (a whole number works too).
            text: The claim in words.
            sources: Ids of the documents that state it; a lone string is one source.

        Raises:
            InputError: The id is empty, of another type, or taken.
        """
        if not isinstance(id, str | int) or id == "":
            raise InputError(f"claim id is {id!r}: pass a non-empty string.")
        if id in self._claims:
            raise InputError(f"claim {id!r} is already in the graph: give each claim its own id.")
        named = (sources,) if isinstance(sources, str) else tuple(sources)
        self._claims[id] = Claim(id, text, named)
        self._neighbours[id] = []

    def support(self, a: str, b: str, similarity: float = 1.0, confidence: float = 1.0) -> None:
        """Add a support edge.

        Args:
            a: Id of a claim.
            b: Id of another.
            similarity: Their cosine, a finite number.
            confidence: The verifier's confidence, in [0, 1].

        Raises:
            InputError: A claim is unknown, the two are one or already related, or a number is
                out of range.
        """
        pair = self._new_pair(a, b)
        if not isinstance(similarity, Real) or not abs(similarity) < float("inf"):
            raise InputError(f"similarity is {similarity!r}: pass a finite number.")
        edge = Support(a, b, float(similarity), in_unit("confidence", confidence))
        self._supports[pair] = edge
        self._neighbours[a].append(b)
        self._neighbours[b].append(a)

    def contradict(self, a: str, b: str, confidence: float = 1.0) -> None:
        """Add a contradiction edge.

        Args:
            a: Id of a claim; `arbitrate` shows it first when it asks about the pair first.
            b: Id of another.
            confidence: The verifier's confidence, in [0, 1].

        Raises:
            InputError: A claim is unknown, the two are one or already related, or the confidence
                is out of range.
        """
        pair = self._new_pair(a, b)
        self._contradictions[pair] = Contradiction(a, b, in_unit("confidence", confidence))

    def support_neighbours(self, id: str) -> list[str]:
        """Return N_sup of section 3.4: the claims that support this one, by order of their edges.

        Raises:
            InputError: The claim is unknown.
        """
        self._known(id)
        return list(self._neighbours[id])

    def top_supports(self, m: int, per_node: bool = False) -> EvidenceGraph:
        """Return a graph with the most similar support edges only; nothing else changes.

        Args:
            m: How many to keep, at least 0. *Paper*: 60.
            per_node: False (section 4.1.4): the best `m` of the whole graph. True (section
                3.3.3): at most `m` at each claim; taken from the most similar down, an edge stays
                while both its claims have fewer than `m` (*ours*: the paper gives no procedure).

        Returns:
            A new graph. Equal similarities: the edge added first wins. Order stays.

        Raises:
            InputError: `m` is no whole number, or negative.
        """
        if not isinstance(m, int) or m < 0:
            raise InputError(f"m is {m!r}: pass a whole number that is not negative.")
        ranked = sorted(self._supports.values(), key=lambda edge: -edge.similarity)
        kept = set(_at_most_per_node(ranked, m) if per_node else ranked[:m])
        return self._with_supports(edge for edge in self._supports.values() if edge in kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as plain JSON values, with the version of their schema."""
        claims = [
            {**asdict(claim), "sources": list(claim.sources)} for claim in self.claims.values()
        ]
        return {
            "schema": SCHEMA,
            "claims": claims,
            "supports": [edge._asdict() for edge in self._supports.values()],
            "contradictions": [edge._asdict() for edge in self._contradictions.values()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the graph that `to_dict` wrote.

        Raises:
            InputError: Another schema, a missing or unknown key, or an invalid claim or edge.
        """
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
            found = data.get("schema") if isinstance(data, Mapping) else data
            raise InputError(f"graph schema is {found!r}: this version reads {SCHEMA}.")
        graph = cls()
        try:
            for claim in data["claims"]:
                graph.add_claim(**claim)
            for edge in data["supports"]:
                graph.support(**edge)
            for edge in data["contradictions"]:
                graph.contradict(**edge)
        except (KeyError, TypeError) as error:
            raise InputError(f"graph cannot be read ({error}): pass what to_dict wrote.") from error
        return graph

    def to_networkx(self) -> networkx.Graph[str]:
        """Return an undirected networkx graph.

        Nodes have `text` and `sources`; edges have `relation` ("support" or "contradiction"),
        `confidence`, and for support `similarity`.
        """
        import networkx  # only who asks for it pays for the import

        graph: networkx.Graph[str] = networkx.Graph()
        for claim in self._claims.values():
            graph.add_node(claim.id, text=claim.text, sources=claim.sources)
        for a, b, similarity, confidence in self._supports.values():
            graph.add_edge(a, b, relation="support", similarity=similarity, confidence=confidence)
        for a, b, confidence in self._contradictions.values():
            graph.add_edge(a, b, relation="contradiction", confidence=confidence)
        return graph

    def _with_supports(self, supports: Iterable[Support]) -> EvidenceGraph:
        graph = EvidenceGraph()
        for claim in self._claims.values():
            graph.add_claim(claim.id, claim.text, claim.sources)
        for edge in supports:
            graph.support(*edge)
        graph._contradictions = dict(self._contradictions)
        return graph

    def _known(self, id: str) -> None:
        if id not in self._claims:
            raise InputError(f"claim {id!r} is not in the graph: add it with add_claim first.")

    def _new_pair(self, a: str, b: str) -> frozenset[str]:
        self._known(a)
        self._known(b)
        if a == b:
            raise InputError(f"claim {a!r} is on both ends: relate two different claims.")
        pair = frozenset((a, b))
        for kind, edges in (
            ("support", self._supports),
            ("contradiction", self._contradictions),
        ):
            if pair in edges:
                raise InputError(
                    f"{a!r} and {b!r} have a {kind} edge: relate a pair of claims once."
                )
        return pair


def in_unit(name: str, value: float) -> float:
    """Return a number in [0, 1].

    Raises:
        InputError: It is no number, or outside.
    """
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise InputError(f"{name} is {value!r}: pass a number from 0 to 1.")
    return float(value)


def _at_most_per_node(ranked: Iterable[Support], m: int) -> list[Support]:
    kept, degree = [], dict[str, int]()
    for edge in ranked:
        if max(degree.get(edge.a, 0), degree.get(edge.b, 0)) < m:
            kept.append(edge)
            degree[edge.a] = degree.get(edge.a, 0) + 1
            degree[edge.b] = degree.get(edge.b, 0) + 1
    return kept
