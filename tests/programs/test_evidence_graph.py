import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.errors import InputError
from referee.programs.evidence_graph import Claim, Contradiction, EvidenceGraph, Support

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def graph_of(claims, supports=(), contradictions=()):
    graph = EvidenceGraph()
    for id in claims:
        graph.add_claim(id)
    for edge in supports:
        graph.support(*edge)
    for edge in contradictions:
        graph.contradict(*edge)
    return graph


@st.composite
def graphs(draw):
    claims = [f"c{i}" for i in range(draw(st.integers(0, 7)))]
    graph = EvidenceGraph()
    for id in draw(st.permutations(claims)):
        graph.add_claim(
            id, draw(st.text(max_size=5)), draw(st.lists(st.text(max_size=3), max_size=2))
        )
    pairs = [(a, b) for a in claims for b in claims if a < b]
    for a, b in draw(st.permutations(pairs)):
        kind, share = draw(st.sampled_from("snc")), st.floats(0, 1)
        if kind == "s":
            graph.support(b, a, draw(st.sampled_from([-0.2, 0.5, 0.9])), draw(share))
        elif kind == "c":
            graph.contradict(a, b, draw(share))
    return graph


def test_order_of_insertion_and_orientation_are_kept():
    graph = EvidenceGraph()
    graph.add_claim("z", "Last letter.", ["d2", "d1"])
    graph.add_claim("a", sources="d3")
    graph.add_claim("m")
    graph.contradict("z", "a", confidence=0.7)
    graph.contradict("m", "a")
    graph.support("z", "m", similarity=0.8, confidence=0.6)
    assert list(graph.claims.values()) == [
        Claim("z", "Last letter.", ("d2", "d1")),
        Claim("a", "", ("d3",)),
        Claim("m", "", ()),
    ]
    assert graph.contradictions == [Contradiction("z", "a", 0.7), Contradiction("m", "a", 1.0)]
    assert graph.supports == [Support("z", "m", 0.8, 0.6)]
    assert repr(graph) == "EvidenceGraph(3 claims, 1 supports, 2 contradictions)"


def test_support_neighbours_come_from_both_ends_in_order_of_their_edges():
    graph = graph_of("abcd", [("c", "a"), ("a", "d"), ("b", "a")], [("b", "c")])
    assert graph.support_neighbours("a") == ["c", "d", "b"]
    assert graph.support_neighbours("c") == ["a"]


def test_what_is_handed_out_cannot_change_the_graph():
    graph = graph_of("abc", [("a", "b")], [("b", "c")])
    graph.supports.clear()
    graph.contradictions.clear()
    graph.support_neighbours("a").clear()
    with pytest.raises(TypeError):
        graph.claims["x"] = Claim("x")
    assert (len(graph.supports), len(graph.contradictions)) == (1, 1)
    assert graph.support_neighbours("a") == ["b"]


@pytest.mark.parametrize("add", [EvidenceGraph.support, EvidenceGraph.contradict])
@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("a", "x"), "'x' is not in the graph"),
        (("x", "a"), "'x' is not in the graph"),
        (("a", "a"), "'a' is on both ends"),
        (("a", "b"), "'a' and 'b' have a support edge"),
        (("b", "a"), "'b' and 'a' have a support edge"),
        (("b", "c"), "'b' and 'c' have a contradiction edge"),
        (("c", "b"), "'c' and 'b' have a contradiction edge"),
    ],
)
def test_edges_join_two_known_claims_once(add, pair, message):
    graph = graph_of("abc", [("a", "b")], [("b", "c")])
    before = graph.to_dict()
    with pytest.raises(InputError, match=message):
        add(graph, *pair)
    assert graph.to_dict() == before


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), "high", None])
def test_confidences_are_shares(confidence):
    graph = graph_of("ab")
    with pytest.raises(InputError, match="confidence is"):
        graph.contradict("a", "b", confidence=confidence)
    with pytest.raises(InputError, match="confidence is"):
        graph.support("a", "b", confidence=confidence)
    assert not graph.supports
    assert not graph.contradictions
    assert graph.support_neighbours("a") == []


@pytest.mark.parametrize("similarity", [float("nan"), float("inf"), "near", None])
def test_similarities_are_finite(similarity):
    with pytest.raises(InputError, match="similarity is"):
        graph_of("ab").support("a", "b", similarity=similarity)


@pytest.mark.parametrize("id", ["", None, ("a",), 1.5])
def test_ids_are_strings(id):
    with pytest.raises(InputError, match="claim id is"):
        EvidenceGraph().add_claim(id)


def test_an_id_is_given_once_and_asked_for_when_known():
    graph = graph_of("a")
    with pytest.raises(InputError, match="already in the graph"):
        graph.add_claim("a")
    with pytest.raises(InputError, match="'b' is not in the graph"):
        graph.support_neighbours("b")


SUPPORTS = [("a", "b", 0.7), ("c", "d", 0.9), ("a", "c", 0.9), ("b", "d", 0.6), ("a", "d", 0.95)]


@pytest.mark.parametrize(
    ("m", "per_node", "kept"),
    [
        (0, False, []),
        (1, False, ["ad"]),
        (2, False, ["cd", "ad"]),
        (9, False, ["ab", "cd", "ac", "bd", "ad"]),
        (0, True, []),
        (1, True, ["ad"]),
        (2, True, ["ab", "cd", "ac", "ad"][1:]),
        (3, True, ["ab", "cd", "ac", "bd", "ad"]),
    ],
)
def test_top_supports(m, per_node, kept):
    graph = graph_of("abcd", SUPPORTS, [("b", "c", 0.5)])
    top = graph.top_supports(m, per_node=per_node)
    assert [edge.a + edge.b for edge in top.supports] == kept
    assert top.contradictions == graph.contradictions
    assert top.claims == graph.claims
    assert len(graph.supports) == len(SUPPORTS)


def test_top_supports_rebuilds_neighbours_and_is_independent():
    graph = graph_of("abcd", SUPPORTS, [("b", "c")])
    top = graph.top_supports(2)
    assert top.support_neighbours("a") == ["d"]
    top.add_claim("e")
    top.contradict("a", "e")
    assert "e" not in graph.claims
    assert len(graph.contradictions) == 1


@pytest.mark.parametrize("m", [-1, 1.5, None])
def test_m_is_a_count(m):
    with pytest.raises(InputError, match="m is"):
        graph_of("ab").top_supports(m)


@settings(RELAXED)
@given(graphs(), st.integers(0, 4))
def test_top_supports_keeps_the_most_similar_in_order(graph, m):
    best = graph.top_supports(m).supports
    assert len(best) == min(m, len(graph.supports))
    left = [edge for edge in graph.supports if edge not in best]
    assert all(one.similarity >= other.similarity for one in best for other in left)
    position = {edge: at for at, edge in enumerate(graph.supports)}
    assert all(position[one] < position[other] for one, other in pairwise(best))


@settings(RELAXED)
@given(graphs(), st.integers(0, 3))
def test_per_node_no_claim_has_more_and_no_edge_is_dropped_for_nothing(graph, m):
    top = graph.top_supports(m, per_node=True)
    degree = {id: len(top.support_neighbours(id)) for id in top.claims}
    assert max(degree.values(), default=0) <= m
    for edge in set(graph.supports) - set(top.supports):
        assert m in (degree[edge.a], degree[edge.b])


@settings(RELAXED)
@given(graphs())
def test_a_graph_survives_json(graph):
    again = EvidenceGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert again.to_dict() == graph.to_dict()
    assert list(again.claims.items()) == list(graph.claims.items())
    for id in graph.claims:
        assert again.support_neighbours(id) == graph.support_neighbours(id)


def valid(**changed):
    return {**graph_of("ab", [("a", "b")]).to_dict(), **changed}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "schema is None"),
        ({}, "schema is None"),
        (valid(schema=2), "schema is 2: this version reads 1"),
        ({"schema": 1}, "cannot be read"),
        (valid(claims=[{"name": "a"}]), "cannot be read"),
        (valid(supports=[{"a": "a", "b": "x", "similarity": 1, "confidence": 1}]), "'x' is not"),
        (valid(contradictions=[{"a": "a", "b": "b", "confidence": 1}]), "have a support edge"),
    ],
)
def test_a_damaged_dictionary_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        EvidenceGraph.from_dict(data)


def test_networkx_has_every_node_edge_and_attribute():
    graph = EvidenceGraph()
    graph.add_claim("a", "Founded in 2003.", ["d1"])
    graph.add_claim("b")
    graph.add_claim("c")
    graph.support("a", "b", 0.8, 0.9)
    graph.contradict("c", "a", 0.7)
    net = graph.to_networkx()
    assert list(net.nodes) == ["a", "b", "c"]
    assert net.nodes["a"] == {"text": "Founded in 2003.", "sources": ("d1",)}
    assert net.edges["b", "a"] == {"relation": "support", "similarity": 0.8, "confidence": 0.9}
    assert net.edges["a", "c"] == {"relation": "contradiction", "confidence": 0.7}
    assert not net.is_directed()
