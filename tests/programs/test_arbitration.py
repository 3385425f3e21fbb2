import json
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.errors import InputError
from referee.programs.arbitration import arbitrate, arbitration_rounds, eliminate
from referee.programs.evidence_graph import EvidenceGraph

ORACLE = json.loads(
    (Path(__file__).parents[1] / "oracles" / "arbgraph_arbitration.json").read_text("utf-8")
)
ONE_DEFEAT, TWO_DEFEATS = (ORACLE["sigma_table_eta0.8"][n]["after_n_defeats"] for n in ("1", "2"))
ONE_WIN, TWO_WINS = 1 - ONE_DEFEAT, 1 - TWO_DEFEATS
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = {"T": "rounds", "k": "budget", "eta": "step_size", "tau_accept": "accept", "gate": "gate"}


def graph_of(contradictions, supports=(), claims=()):
    graph = EvidenceGraph()
    edges = [edge[:2] for edge in [*contradictions, *supports]]
    for id in dict.fromkeys([*claims, *(id for edge in edges for id in edge)]):
        graph.add_claim(id)
    for edge in contradictions:
        graph.contradict(*edge)
    for edge in supports:
        graph.support(*edge)
    return graph


def disjoint(n):
    return graph_of([(f"a{i:02}", f"b{i:02}") for i in range(n)])


def alphabetical(a, b, context):
    return min(a, b), 0.9


def first_shown(a, b, context):
    return a, 0.9


ARBITERS = {
    "alphabetically first wins, conf 0.9": alphabetical,
    "alphabetical": alphabetical,
    "conf 0.50 (>=)": lambda a, b, context: (min(a, b), 0.5),
    "unknown": lambda a, b, context: (None, 0.0),
    "winner A loser A": lambda a, b, context: ("A and A", 0.9),
}


class Recorder:
    """An arbiter that keeps what it was shown."""

    def __init__(self, decide):
        self.decide = decide
        self.asks = []

    def __call__(self, a, b, context):
        self.asks.append((a, b, context))
        return self.decide(a, b, context)

    @property
    def pairs(self):
        return [(a, b) for a, b, _ in self.asks]


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["name"])
def test_paper_equals_the_released_code(case):
    decide = Recorder(ARBITERS[case["arbiter"]])
    options = {NAMES[name]: value for name, value in case["params"].items()}
    graph = graph_of(case["graph"]["contradictions"])
    result, out = arbitrate(graph, decide, policy="paper", **options), case["out"]
    assert decide.pairs == [tuple(call) for call in out["calls"]]
    assert [d.order for d in result.history] == decide.pairs
    assert result.credibility == pytest.approx(out["p"], abs=1e-11)
    assert result.validated == out["accepted"]
    assert result.suppressed == out["suppressed"]
    assert (result.rounds, result.calls) == (out["rounds"], len(out["calls"]))


def test_paper_keeps_an_isolated_claim_and_has_two_rounds():
    out = ORACLE["isolated_claim_kept"]["out"]
    decide = Recorder(alphabetical)
    result = arbitrate(graph_of([("a", "b")], claims="abx"), decide, policy="paper")
    assert decide.pairs == [tuple(call) for call in out["calls"]]
    assert result.credibility == pytest.approx(out["p"], abs=1e-11)
    assert (result.validated, result.suppressed) == (out["accepted"], out["suppressed"])
    assert result.rounds == out["rounds"]


@pytest.mark.parametrize("row", ORACLE["scheduling_pathology"]["table"], ids=str)
def test_paper_schedule_table(row):
    graph = disjoint(row["disjoint_contradictions"])
    result = arbitrate(graph, alphabetical, policy="paper", rounds=row["T"], budget=row["k"])
    assert (result.calls, len(result.suppressed)) == (row["calls"], row["suppressed"])


@pytest.mark.parametrize("wins", [0, 1, 2])
def test_credibility_after_wins_and_defeats(wins):
    row = ORACLE["sigma_table_eta0.8"][str(wins)]
    options = {"policy": "paper", "rounds": max(1, wins), "accept": 0.0}
    decide = alphabetical if wins else ARBITERS["unknown"]
    p = arbitrate(graph_of([("a", "b")]), decide, **options).credibility
    assert p["a"] == pytest.approx(row["after_n_wins"], abs=1e-11)
    assert p["b"] == pytest.approx(row["after_n_defeats"], abs=1e-11)


def test_the_intensities_of_the_reference_are_the_rank():
    from referee.programs.arbitration_rounds import _Credibility, _Pair, _Run

    graph = graph_of([("i", "j")])
    for row in ORACLE["intensity"]:
        credibility = _Credibility(graph, 0.5, 0.8)
        credibility.record = {"i": 1, "j": 2}
        credibility._known = {1: row["p_i"], 2: row["p_j"]}
        pair = _Pair(graph.contradictions[0], ())
        run = _Run(False, 0.3, 3, 0.5, "intensity", credibility, [pair])
        assert -run._rank(pair)[1] == pytest.approx(row["I"], abs=1e-12)


@pytest.mark.parametrize("n", [6, 8, 12, 40])
def test_the_named_weakness_and_its_repair(n):
    graph = disjoint(n)
    losers = [f"b{i:02}" for i in range(n)]
    printed = arbitrate(graph, alphabetical, policy="paper")
    assert printed.suppressed == ([] if n >= 6 else losers)
    assert len(printed.unresolved) == n
    settled = arbitrate(graph, alphabetical)
    assert sorted(settled.suppressed) == losers
    assert settled.unresolved == []
    assert settled.calls == 2 * n
    assert settled.rounds == math.ceil(2 * n / 3)


def test_settle_swaps_the_second_ask_and_records_it():
    decide = Recorder(alphabetical)
    result = arbitrate(graph_of([("b", "a")]), decide)
    assert decide.pairs == [("b", "a"), ("a", "b")]
    one, two = result.history
    assert (one.round, one.a, one.b, one.order) == (1, "b", "a", ("b", "a"))
    assert (two.round, two.a, two.b, two.order) == (2, "b", "a", ("a", "b"))
    assert (one.winner, one.confidence, one.applied) == ("a", 0.9, True)
    assert one.credibility == pytest.approx((ONE_DEFEAT, ONE_WIN), abs=1e-11)
    assert two.credibility == pytest.approx((TWO_DEFEATS, TWO_WINS), abs=1e-11)
    assert (result.validated, result.suppressed, result.unresolved) == (["a"], ["b"], [])


def test_an_arbiter_that_prefers_a_position_resolves_nothing():
    decide = Recorder(first_shown)
    result = arbitrate(graph_of([("a", "b")]), decide)
    assert decide.pairs == [("a", "b"), ("b", "a")]
    assert [d.applied for d in result.history] == [True, False]
    assert result.history[1].winner == "b"
    assert result.credibility == pytest.approx({"a": ONE_WIN, "b": ONE_DEFEAT}, abs=1e-11)
    assert result.unresolved == [("a", "b")]
    assert (result.validated, result.rounds) == (["a", "b"], 2)


def test_a_closed_gate_is_not_asked_again_and_holds_nobody_up():
    undecided = [(f"u{i}", f"v{i}") for i in range(5)]
    decide = Recorder(lambda a, b, context: (None, 0.0) if a[0] in "uv" else (min(a, b), 0.9))
    result = arbitrate(graph_of([*undecided, ("a", "b"), ("c", "d")]), decide)
    assert Counter(decide.pairs) == Counter(
        [*undecided, ("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    )
    assert result.suppressed == ["b", "d"]
    assert result.unresolved == undecided
    printed = arbitrate(graph_of([*undecided, ("a", "b")]), decide, policy="paper", rounds=9)
    assert printed.suppressed == []


def test_a_closed_gate_is_asked_again_swapped_when_one_of_its_claims_changed():
    graph = graph_of([("a", "b"), ("b", "c")])
    decide = Recorder(lambda a, b, context: (None, 0.0) if "a" in (a, b) else (min(a, b), 0.9))
    result = arbitrate(graph, decide, budget=1)
    assert decide.pairs == [("a", "b"), ("b", "c"), ("b", "a"), ("c", "b"), ("a", "b")]
    assert (result.suppressed, result.unresolved) == (["c"], [("a", "b")])
    assert result.rounds == 5 == 2 * 2 + 1


@pytest.mark.parametrize("edges", [[("a", "b"), ("b", "c")], [("b", "c"), ("a", "b")]])
def test_a_change_in_the_same_round_counts(edges):
    decide = Recorder(lambda a, b, context: (None, 0.0) if "a" in (a, b) else (min(a, b), 0.9))
    arbitrate(graph_of(edges), decide)
    assert decide.pairs == [*edges, ("b", "a"), ("c", "b"), ("a", "b")]


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("policy", ["paper", "settle"])
def test_a_claim_at_the_threshold_is_accepted_and_no_longer_active(pair, policy):
    lost = arbitrate(graph_of([pair]), alphabetical, rounds=1).credibility["b"]
    result = arbitrate(graph_of([pair]), alphabetical, policy=policy, accept=lost)
    assert result.calls == 1
    assert result.unresolved == [pair]


def test_a_closed_gate_is_asked_again_when_its_context_changed():
    graph = graph_of([("a", "b"), ("s", "t")], [("a", "s")])
    decide = Recorder(lambda a, b, context: (None, 0.0) if "a" in (a, b) else (min(a, b), 0.9))
    arbitrate(graph, decide)
    assert decide.pairs.count(("a", "b")) + decide.pairs.count(("b", "a")) == 3
    apart = graph_of([("a", "b"), ("s", "t")], [("a", "x")])
    decide.asks.clear()
    arbitrate(apart, decide)
    assert decide.pairs.count(("a", "b")) + decide.pairs.count(("b", "a")) == 1


def test_a_first_clear_answer_is_confirmed_in_the_other_order_even_after_silence():
    answers = iter([("a", 0.9), (None, 0.9), ("a", 0.9)])

    def decide(a, b, context):
        return next(answers) if "a" in (a, b) else ("c", 0.9)

    seen = Recorder(decide)
    arbitrate(graph_of([("a", "b"), ("b", "c")]), seen, accept=0.01, rounds=3)
    assert [pair for pair in seen.pairs if "a" in pair] == [("a", "b"), ("b", "a"), ("b", "a")]


def test_after_a_disagreement_only_two_equal_answers_in_a_row_move_a_pair():
    script = {"ab": iter(["a", "b", "a", "b", "b"]), "bc": iter("cbcbc")}

    def decide(a, b, context):
        return next(script["".join(sorted((a, b)))]), 0.9

    history = arbitrate(
        graph_of([("a", "b"), ("b", "c")], [("a", "c"), ("b", "x")]),
        decide,
        accept=0.01,
        rounds=5,
    ).history
    ab = [(d.order, d.winner, d.applied) for d in history if d.a == "a"]
    assert ab[:2] == [(("a", "b"), "a", True), (("b", "a"), "b", False)]
    for (order, winner, _), (next_order, next_winner, applied) in pairwise(ab):
        assert next_order == order[::-1]
        assert applied == (winner == next_winner)


def test_a_contested_cycle_cannot_starve_the_others():
    cycle = [("r", "s"), ("s", "t"), ("t", "r")]
    others = [(f"a{i}", f"b{i}") for i in range(6)]

    def decide(a, b, context):
        winner = next((pair[0] for pair in cycle if set(pair) == {a, b}), min(a, b))
        return winner, 0.9

    result = arbitrate(graph_of([*cycle, *others]), decide)
    assert result.suppressed == [b for _, b in others]
    assert result.unresolved == cycle
    assert result.rounds == 2 * 3 + 1


CONTEXT = [("a", "s"), ("x", "b"), ("a", "x"), ("s", "b"), ("b", "y"), ("s", "z")]


@pytest.mark.parametrize("policy", ["paper", "settle"])
def test_the_context_is_what_supports_either_claim(policy):
    decide = Recorder(alphabetical)
    arbitrate(graph_of([("a", "b")], CONTEXT, claims="abcxyzs"), decide, policy=policy)
    assert [context for _, _, context in decide.asks] == [("s", "x", "y")] * 2


def test_all_decisions_of_a_round_come_before_its_updates():
    order = []

    def batched(function, items):
        items = list(items)
        order.append([item.a + item.b for item in items])
        return [function(item) for item in items]

    graph = graph_of([("a", "z"), ("b", "z"), ("c", "z"), ("d", "z")])
    result = arbitrate(graph, alphabetical, map=batched)
    assert order == [["az", "bz", "cz"]]
    assert result.credibility["d"] == 0.5
    assert result.unresolved == []


def test_a_thread_pool_gives_the_same():
    graph = disjoint(7)
    with ThreadPoolExecutor(4) as pool:
        assert arbitrate(graph, alphabetical, map=pool.map) == arbitrate(graph, alphabetical)


def test_what_decide_raises_ends_the_run():
    def broken(a, b, context):
        raise ConnectionError("provider is down")

    with pytest.raises(ConnectionError, match="provider is down"):
        arbitrate(disjoint(1), broken)


@pytest.mark.parametrize(
    "answer", [None, "a", 0.5, ("a", 2), ("a", -0.1), ("a", math.nan), ("a", "x"), ("a", 1, 2)]
)
def test_a_malformed_decision_is_refused(answer):
    with pytest.raises(InputError, match=r"decide returned|confidence of a decision is"):
        arbitrate(graph_of([("a", "b")]), lambda a, b, context: answer)


def test_map_must_give_one_decision_for_each_pair():
    with pytest.raises(InputError, match="map gave 0 decisions for 2 pairs"):
        arbitrate(disjoint(2), alphabetical, map=lambda function, items: [])


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("policy", ["printed", None]),
        ("schedule", ["hard", None]),
        ("step_size", [0, -1, math.inf, math.nan, "0.8"]),
        ("accept", [-0.1, 1.1, math.nan, None]),
        ("gate", [-0.1, 1.1, math.nan, None]),
        ("prior", [0, 1, -1, 2, math.nan, None]),
        ("budget", [0, -1, 1.5, None]),
        ("rounds", [0, -1, 1.5]),
    ],
)
def test_options_are_checked_before_anything_is_asked(option, values):
    for value in values:
        with pytest.raises(InputError, match=f"{option} is"):
            arbitrate(disjoint(1), pytest.fail, **{option: value})
        if option != "map":
            with pytest.raises(InputError, match=f"{option} is"):
                arbitration_rounds(disjoint(1), **{option: value})


def test_no_gating_applies_every_named_winner():
    unsure = lambda a, b, context: (min(a, b), 0.0)  # noqa: E731
    graph = graph_of([("a", "b")])
    assert arbitrate(graph, unsure).suppressed == []
    assert arbitrate(graph, unsure, gate=0.0).suppressed == ["b"]
    assert arbitrate(graph, ARBITERS["unknown"], gate=0.0).suppressed == []


@pytest.mark.parametrize("policy", ["paper", "settle"])
@pytest.mark.parametrize(
    ("schedule", "order"),
    [("intensity", "aceg"), ("hard-first", "gcea"), ("easy-first", "aecg")],
)
def test_schedules(policy, schedule, order):
    edges = [("a", "b", 0.9), ("c", "d", 0.6), ("e", "f", 0.7), ("g", "h", 0.5)]
    decide = Recorder(alphabetical)
    arbitrate(graph_of(edges), decide, policy=policy, schedule=schedule, budget=2)
    fresh = [a for a, b in dict.fromkeys(tuple(sorted(pair)) for pair in decide.pairs)]
    assert "".join(fresh[:2]) == order[:2]
    if policy == "settle":
        assert "".join(fresh) == order
    if policy == "paper" and schedule != "intensity":
        assert "".join(fresh) == order[:2]  # a fixed order stays with its first pairs


def test_ties_keep_the_order_of_insertion():
    edges = [(a, b, 0.5) for a, b in ["qr", "cd", "xy", "ab"]]
    for schedule in ("intensity", "hard-first", "easy-first"):
        decide = Recorder(alphabetical)
        arbitrate(graph_of(edges), decide, budget=2, rounds=2, schedule=schedule)
        assert decide.pairs == [("q", "r"), ("c", "d"), ("x", "y"), ("a", "b")]


@pytest.mark.parametrize(
    ("edges", "second"),
    [
        # After (a, b): a 0.69, b 0.31, all others 0.5.
        ([("a", "b"), ("b", "c"), ("d", "e")], ("d", "e")),  # 0.68 < 1
        ([("a", "b"), ("d", "e"), ("a", "f")], ("d", "e")),  # 1 = 1, first in the graph
        ([("a", "b"), ("a", "f"), ("d", "e")], ("a", "f")),
        ([("a", "b"), ("b", "c")], ("a", "b")),  # 0.72 > 0.68
    ],
)
def test_intensity_prefers_credible_and_close_pairs(edges, second):
    decide = Recorder(alphabetical)
    arbitrate(graph_of(edges), decide, policy="paper", budget=1, rounds=2)
    assert decide.pairs == [("a", "b"), second]


def test_settle_asks_every_pair_once_before_the_most_intense_one_again():
    decide = Recorder(alphabetical)
    arbitrate(graph_of([("a", "b"), ("b", "c")]), decide, budget=1, rounds=2)
    assert decide.pairs == [("a", "b"), ("b", "c")]


def test_eliminate_asks_once_and_removes_every_loser():
    decide = Recorder(lambda a, b, context: (min(a, b), 0.4 if "x" in (a, b) else 0.9))
    result = eliminate(graph_of([("a", "b"), ("b", "c"), ("x", "y"), ("c", "d")]), decide)
    assert decide.pairs == [("a", "b"), ("b", "c"), ("x", "y"), ("c", "d")]
    assert (result.validated, result.suppressed) == (["a", "x", "y"], ["b", "c", "d"])
    assert result.unresolved == [("x", "y")]
    assert (result.rounds, result.calls) == (1, 4)
    assert eliminate(graph_of([], claims="a"), decide).validated == ["a"]


def test_the_generator_can_be_driven_by_hand():
    steps = arbitration_rounds(graph_of([("a", "b")], [("a", "s")]))
    assert next(steps) == [("a", "b", ("s",))]
    assert steps.send([("b", 0.9)]) == [("b", "a", ("s",))]
    with pytest.raises(StopIteration) as stop:
        steps.send([("b", 0.9)])
    assert stop.value.value.suppressed == ["a"]


def test_without_contradictions_nothing_is_asked():
    for policy in ("paper", "settle"):
        result = arbitrate(graph_of([], [("a", "b")]), pytest.fail, policy=policy, prior=0.3)
        assert (result.credibility, result.validated) == ({"a": 0.3, "b": 0.3}, ["a", "b"])
        assert (result.rounds, result.calls, result.history) == (0, 0, [])


@pytest.mark.parametrize("step_size", [50.0, 5000.0])
def test_many_wins_leave_credibility_inside_the_open_interval(step_size):
    graph = graph_of([("a", f"b{i}") for i in range(60)])
    result = arbitrate(graph, alphabetical, step_size=step_size, budget=60)
    assert 0.5 < result.credibility["a"] < 1
    assert all(0 < result.credibility[f"b{i}"] < 1e-20 for i in range(60))


@st.composite
def runs(draw):
    """A graph, an arbiter with one scripted answer for each order of each pair, and options."""
    claims = [f"c{i}" for i in range(draw(st.integers(1, 8)))]
    pairs = [(a, b) for a in claims for b in claims if a < b]
    kinds = draw(st.lists(st.sampled_from("ccsn"), min_size=len(pairs), max_size=len(pairs)))
    edges = {kind: [p for p, k in zip(pairs, kinds, strict=True) if k == kind] for kind in "cs"}
    answer = st.tuples(st.sampled_from([0, 0, 0, 1, 1, None]), st.sampled_from([0.2, 0.5, 0.9]))
    script = {pair: draw(answer) for a, b in pairs for pair in ((a, b), (b, a))}

    def decide(a, b, context):
        position, confidence = script[a, b]
        return None if position is None else (a, b)[position], confidence

    options = {
        "budget": draw(st.integers(1, 5)),
        "step_size": draw(st.sampled_from([0.1, 0.8, 3.0])),
        "accept": draw(st.sampled_from([0.0, 0.3, 0.5])),
        "schedule": draw(st.sampled_from(["intensity", "hard-first", "easy-first"])),
        "prior": draw(st.sampled_from([0.3, 0.5, 0.8])),
    }
    return graph_of(edges["c"], edges["s"], claims), Recorder(decide), options


def check_result(graph, decide, options, result):
    assert list(result.credibility) == list(graph.claims)
    assert all(0 < p < 1 for p in result.credibility.values())
    assert sorted(result.validated + result.suppressed) == sorted(graph.claims)
    accept = options["accept"]
    assert result.validated == [c for c, p in result.credibility.items() if p >= accept]
    disputed = {id for edge in graph.contradictions for id in edge[:2]}
    for id in set(graph.claims) - disputed:
        assert result.credibility[id] == options["prior"]
    valid = set(result.validated)
    pairs = [(edge.a, edge.b) for edge in graph.contradictions]
    assert result.unresolved == [pair for pair in pairs if set(pair) <= valid]
    assert decide.pairs == [d.order for d in result.history]
    for number in range(1, result.rounds + 1):
        asked = [(d.a, d.b) for d in result.history if d.round == number]
        assert 1 <= len(asked) == len(set(asked)) <= options["budget"]


@settings(RELAXED, max_examples=200)
@given(runs())
def test_settle_is_bounded_sound_and_ends(run):
    graph, decide, options = run
    result = arbitrate(graph, decide, **options)
    check_result(graph, decide, options, result)
    waves = math.ceil(len(graph.contradictions) / options["budget"])
    assert result.rounds <= 2 * waves + 1
    asked = Counter((d.a, d.b) for d in result.history)
    assert max(asked.values(), default=0) <= 2 * waves + 1
    for edge in graph.contradictions:
        check_pair([d for d in result.history if (d.a, d.b) == (edge.a, edge.b)])
        if all(result.credibility[id] > options["accept"] for id in edge[:2]):
            taken = [d for d in result.history if (d.a, d.b) == (edge.a, edge.b)]
            assert taken[0].round <= waves
            assert not taken[0].applied or taken[1].round <= 2 * waves


def check_pair(decisions):
    """The orders alternate as promised, and updates need both orders after the first."""
    clear = [d for d in decisions if d.winner and d.confidence >= 0.5]
    if decisions:
        assert decisions[0].order == (decisions[0].a, decisions[0].b)
    if len(decisions) > 1:
        assert decisions[1].order == decisions[0].order[::-1]
    assert [d.applied for d in clear[:1]] == [True] * len(clear[:1])
    for one, two in pairwise(clear):
        assert two.order == one.order[::-1]
        assert two.applied == (one.winner == two.winner)
    assert not any(d.applied for d in decisions if d not in clear)


@settings(RELAXED, max_examples=100)
@given(runs(), st.integers(1, 4))
def test_paper_is_bounded_and_sound(run, rounds):
    graph, decide, options = run
    result = arbitrate(graph, decide, policy="paper", rounds=rounds, **options)
    check_result(graph, decide, options, result)
    assert result.rounds <= rounds
    assert all(d.order == (d.a, d.b) for d in result.history)


@settings(RELAXED)
@given(runs(), st.randoms(use_true_random=False), st.sampled_from(["paper", "settle"]))
def test_insertion_matters_through_ties_only(run, random, policy):
    graph, decide, options = run
    options["schedule"] = "hard-first"
    edges = [(a, b, (at + 1) / 50) for at, (a, b, _) in enumerate(graph.contradictions)]
    supports = [edge[:2] for edge in graph.supports]
    one = arbitrate(graph_of(edges, supports, graph.claims), decide, policy=policy, **options)
    random.shuffle(edges)
    claims = random.sample(list(graph.claims), len(graph.claims))
    two = arbitrate(graph_of(edges, supports[::-1], claims), decide, policy=policy, **options)
    assert one.credibility == two.credibility
    assert one.history == two.history
    assert set(one.unresolved) == set(two.unresolved)
