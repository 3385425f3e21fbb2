"""Iterative credibility arbitration: which claims survive their contradictions (ArbGraph, 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .arbitration_rounds import (
    Answer,
    Arbitration,
    Ask,
    Decision,
    Policy,
    Schedule,
    arbitration_rounds,
    sorted_out,
)
from .evidence_graph import EvidenceGraph

__all__ = ["Arbitration", "Ask", "Decision", "arbitrate", "arbitration_rounds", "eliminate"]

Decide = Callable[[str, str, tuple[str, ...]], Answer]


def arbitrate(
    graph: EvidenceGraph,
    decide: Decide,
    *,
    policy: Policy = "settle",
    step_size: float = 0.8,
    accept: float = 0.3,
    budget: int = 3,
    rounds: int | None = None,
    gate: float = 0.5,
    schedule: Schedule = "intensity",
    prior: float = 0.5,
    map: Callable[..., Iterable[Answer]] = map,
) -> Arbitration:
    """Ask about contradictions, round by round, and let winners gain and losers lose credibility.

    A contradiction is active while both its claims have p > accept. Each round asks about at most
    `budget` active ones, chosen by the credibility at its start; all are asked before the first
    update, and the updates follow in the same order, also for a pair whose claim has just fallen.
    An update needs a winner that is one of the two and a confidence >= gate: the winner's logit
    gains `step_size` and the loser's loses it. The run ends when nothing is left to ask.

    ``policy="paper"`` is Algorithm 1 as printed, with T = 2 as released: a pair is asked in the
    order of its edge, again and again while it is active. With these constants one defeat leaves
    p = 0.310, and fresh pairs come first: with 6 or more disjoint contradictions nothing is
    suppressed.

    ``policy="settle"`` keeps this, and:

    1. A pair is shown in the order of its edge first and swapped the second time. Then always
       against the order of its last clear answer, or of its last one while none was clear.
    2. A clear answer (a winner with enough confidence) that differs from the pair's last clear
       answer, which was given in the other order, closes the gate: no update. What an earlier
       answer changed stays. So after its first update a pair moves only when the arbiter says the
       same in both orders.
    3. A pair whose gate closed is asked again only after the credibility of one of its claims or
       of its context has become another than in the round in which it was asked. A pair that was
       updated is asked again while it is active: one defeat of 0.8 leaves p = 0.310, the swapped
       answer confirms it (p = 0.168, suppressed) or closes the gate.
    4. Pairs asked less often come first, then the schedule. So, whatever the others do, every
       contradiction that stays active is asked within ceil(E / k) rounds and, where that gave an
       update, asked again in the other order within 2 * ceil(E / k).
    5. Without `rounds` it ends after 2 * ceil(E / k) + 1 rounds, for E contradictions and budget
       k; no pair is asked twice in a round. Only cycles and pairs stirred by others get there.

    The paper's *no gating* is `gate=0`; its *no soft arbitration* is `eliminate`.

    Args:
        graph: Claims and relations; not changed.
        decide: The arbiter, `decide(a, b, context) -> (winner, confidence)`: claim ids in the
            order to show them, the context as in `Ask`; the winner's id or None, and a confidence
            in [0, 1]. An id that is neither claim counts as None. What it raises ends the run.
        policy: See above.
        step_size: eta > 0. *Paper*: 0.8.
        accept: tau_accept in [0, 1]. *Paper*: 0.3.
        budget: k >= 1, pairs per round. *Paper*: 3.
        rounds: T >= 1. None: 2 for ``paper`` (*released code*), the bound above for ``settle``
            (*ours*).
        gate: Smallest confidence that counts, in [0, 1]. *Released code*: 0.5.
        schedule: ``intensity``: largest (p_i + p_j) / (1 + |p_i - p_j|) first (Eq. 4).
            ``hard-first`` and ``easy-first`` (section 4.4.6) have a fixed order; by what is not
            printed, here the verifier's confidence in the contradiction, lowest or highest first
            (*ours*). Ties: order of insertion.
        prior: p0 of every claim, in (0, 1). *Released code*: 0.5.
        map: `map(function, items)`, results in the order of the items; runs the decisions of a
            round, so that they can be asked concurrently.

    Returns:
        Credibilities, the validated and the suppressed claims, what stays unresolved, and every
        decision. A claim without contradiction keeps the prior. For a given arbiter the result is
        deterministic, and apart from ties independent of the order of insertion.

    Raises:
        InputError: An argument is out of range, or `decide` or `map` breaks its contract.

    Example:
        >>> graph = EvidenceGraph()
        >>> for id in ("in 2003", "in 2004", "by two engineers"):
        ...     graph.add_claim(id)
        >>> graph.contradict("in 2003", "in 2004")
        >>> result = arbitrate(graph, lambda a, b, context: (min(a, b), 0.9))
        >>> result.validated, result.suppressed, result.calls
        (['in 2003', 'by two engineers'], ['in 2004'], 2)
    """
    steps = arbitration_rounds(
        graph,
        policy=policy,
        step_size=step_size,
        accept=accept,
        budget=budget,
        rounds=rounds,
        gate=gate,
        schedule=schedule,
        prior=prior,
    )
    answers: Any = None  # starts a generator
    while True:
        try:
            asks = steps.send(answers)
        except StopIteration as stop:
            result: Arbitration = stop.value
            return result
        answers = list(map(partial(_ask, decide), asks))


def eliminate(
    graph: EvidenceGraph,
    decide: Decide,
    *,
    gate: float = 0.5,
    map: Callable[..., Iterable[Answer]] = map,
) -> Arbitration:
    """Run the ablation *no soft arbitration* (Table 3): one round, and every loser is removed.

    The paper calls it a single step with hard elimination and prints no procedure. *Ours*: every
    contradiction is asked once, in the order of its edge; who loses one decision with confidence
    >= gate is suppressed, whatever else it wins. Credibilities are those after one update each.

    Args:
        graph: Claims and relations; not changed.
        decide: The arbiter, as for `arbitrate`.
        gate: Smallest confidence that counts, in [0, 1].
        map: As for `arbitrate`.

    Raises:
        InputError: As for `arbitrate`.
    """
    every = max(1, len(graph.contradictions))
    once = arbitrate(graph, decide, policy="paper", rounds=1, budget=every, gate=gate, map=map)
    return without_losers(once, graph)


def without_losers(once: Arbitration, graph: EvidenceGraph) -> Arbitration:
    """The outcome when whoever lost a decision is suppressed, whatever its credibility."""
    lost = {d.b if d.winner == d.a else d.a for d in once.history if d.applied}
    kept = once.credibility.keys() - lost
    return sorted_out(once.credibility, kept, graph.contradictions, once.history, once.rounds)


def _ask(decide: Decide, ask: Ask) -> Answer:
    return decide(*ask)
