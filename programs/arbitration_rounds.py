"""The rounds of ArbGraph's arbitration (Algorithm 1 and Eq. 3-5), as a generator.

It yields the questions of a round and is sent the answers, so it calls nothing and waits for
nothing. `arbitrate` drives it with a function and says what the policies do; a program that awaits
its answers drives it itself.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import nsmallest
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

from ..errors import InputError
from .evidence_graph import Contradiction, EvidenceGraph, in_unit

Policy = Literal["settle", "paper"]
Schedule = Literal["intensity", "hard-first", "easy-first"]
Answer = tuple[str | None, float]

PAPER_ROUNDS = 2  # T, released code
_LOGITS = -700.0, 36.0  # beyond them p is 0 or 1 in double precision


class Ask(NamedTuple):
    """One question for the arbiter.

    Attributes:
        a: The claim to show first.
        b: The claim to show second.
        context: Their support neighbours (E_ctx of section 3.4) without the two: those of the
            edge's first claim, then those of its second, each once. The same in both orders.
    """

    a: str
    b: str
    context: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the arbiter said about a pair, and what it changed.

    Attributes:
        round: The round, from 1.
        a: First claim of the contradiction, as it stands in the graph.
        b: Second claim.
        order: The two as they were shown.
        winner: The id that was named, or None.
        confidence: The arbiter's confidence, in [0, 1].
        applied: Whether the gate was open. A winner of the pair with enough confidence that was
            not applied contradicts what the arbiter said in the other order.
        credibility: Of `a` and `b`, after this decision.
    """

    round: int
    a: str
    b: str
    order: tuple[str, str]
    winner: str | None
    confidence: float
    applied: bool
    credibility: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Arbitration:
    """The outcome.

    Attributes:
        credibility: p of every claim in (0, 1), by id in order of the graph.
        validated: Claims with p >= accept (Eq. 5), in order.
        suppressed: All others, in order.
        unresolved: Contradictions whose two ends are both validated, in order.
        history: Every decision, in the order in which they were taken.
        rounds: Rounds in which something was asked.
    """

    credibility: dict[str, float]
    validated: list[str]
    suppressed: list[str]
    unresolved: list[tuple[str, str]]
    history: list[Decision]
    rounds: int

    @property
    def calls(self) -> int:
        """How often the arbiter was asked."""
        return len(self.history)


def arbitration_rounds(
    graph: EvidenceGraph,
    *,
    policy: Policy = "settle",
    step_size: float = 0.8,
    accept: float = 0.3,
    budget: int = 3,
    rounds: int | None = None,
    gate: float = 0.5,
    schedule: Schedule = "intensity",
    prior: float = 0.5,
) -> Generator[list[Ask], Sequence[Answer], Arbitration]:
    """Return the algorithm of `arbitrate` as a generator, for callers that decide in their own way.

    It yields the questions of a round, one or more, expects to be sent one `(winner, confidence)`
    for each in their order, and returns the `Arbitration`. Arguments as for `arbitrate`.

    Raises:
        InputError: An argument is out of range; while running, an answer is.
    """
    if policy not in ("settle", "paper"):
        raise InputError(f"policy is {policy!r}: choose 'settle' or 'paper'.")
    if schedule not in ("intensity", "hard-first", "easy-first"):
        raise InputError(
            f"schedule is {schedule!r}: choose 'intensity', 'hard-first' or 'easy-first'."
        )
    if not isinstance(step_size, Real) or not 0 < step_size < math.inf:
        raise InputError(f"step_size is {step_size!r}: pass a finite number above 0.")
    if not isinstance(prior, Real) or not 0 < prior < 1:
        raise InputError(f"prior is {prior!r}: pass a number between 0 and 1, neither of them.")
    limit = most_rounds(policy, len(graph.contradictions), _positive("budget", budget))
    run = _Run(
        settle=policy == "settle",
        accept=in_unit("accept", accept),
        budget=budget,
        gate=in_unit("gate", gate),
        schedule=schedule,
        credibility=_Credibility(graph, float(prior), float(step_size)),
        pairs=[_Pair(edge, _context(graph, edge)) for edge in graph.contradictions],
    )
    return run.rounds(limit if rounds is None else _positive("rounds", rounds))


class _Credibility:
    """Eq. 3 on whole numbers: logit = logit(prior) + step_size * (wins - defeats).

    Without accumulated rounding, equal records have equal credibility in whatever order they came.
    """

    def __init__(self, graph: EvidenceGraph, prior: float, step_size: float) -> None:
        self.record = dict.fromkeys(graph.claims, 0)
        self._step_size = step_size
        self._start = math.log(prior) - math.log1p(-prior)
        self._known = {0: prior}

    def __getitem__(self, id: str) -> float:
        record = self.record[id]
        if record not in self._known:
            logit = self._start + self._step_size * record
            low, high = _LOGITS
            self._known[record] = 1 / (1 + math.exp(-min(max(logit, low), high)))
        return self._known[record]

    def update(self, winner: str, loser: str) -> None:
        self.record[winner] += 1
        self.record[loser] -= 1


@dataclass(slots=True)
class _Pair:
    """A contradiction and what the arbiter said about it so far."""

    edge: Contradiction
    context: tuple[str, ...]
    asked: int = 0
    swapped: bool = False  # the order of the next ask
    clear: str | None = None  # winner of the last clear answer; only settle remembers it
    shut: tuple[int, ...] | None = None  # what a closed gate waits to see changed

    def ask(self) -> Ask:
        a, b, _ = self.edge
        return Ask(b, a, self.context) if self.swapped else Ask(a, b, self.context)

    def watched(self, credibility: _Credibility) -> tuple[int, ...]:
        return tuple(credibility.record[id] for id in (*self.edge[:2], *self.context))


@dataclass(slots=True)
class _Run:
    settle: bool
    accept: float
    budget: int
    gate: float
    schedule: Schedule
    credibility: _Credibility
    pairs: list[_Pair]
    history: list[Decision] = field(default_factory=list)

    def rounds(self, limit: int) -> Generator[list[Ask], Sequence[Answer], Arbitration]:
        number = 0
        while number < limit and (chosen := nsmallest(self.budget, self._open(), key=self._rank)):
            number += 1
            seen = [pair.watched(self.credibility) for pair in chosen]
            answers = yield [pair.ask() for pair in chosen]
            checked = [_checked(answer) for answer in _one_each(answers, len(chosen))]
            for pair, before, answer in zip(chosen, seen, checked, strict=True):
                self._take(number, pair, before, *answer)
        return self._outcome(number)

    def _open(self) -> Iterator[_Pair]:
        for pair in self.pairs:
            a, b, _ = pair.edge
            active = self.credibility[a] > self.accept and self.credibility[b] > self.accept
            if active and (pair.shut is None or pair.shut != pair.watched(self.credibility)):
                yield pair

    def _rank(self, pair: _Pair) -> tuple[int, float]:
        a, b, confidence = pair.edge
        p, q = self.credibility[a], self.credibility[b]
        first = {
            "intensity": -(p + q) / (1 + abs(p - q)),
            "hard-first": confidence,
            "easy-first": -confidence,
        }
        return (pair.asked if self.settle else 0), first[self.schedule]

    def _take(
        self, number: int, pair: _Pair, seen: tuple[int, ...], winner: str | None, confidence: float
    ) -> None:
        a, b, _ = pair.edge
        shown = pair.ask()
        clear = winner in (a, b) and confidence >= self.gate
        applied = clear and pair.clear in (None, winner)
        if applied and winner is not None:
            self.credibility.update(winner, b if winner == a else a)
        pair.asked += 1
        if self.settle:
            if clear or pair.clear is None:
                pair.swapped = not pair.swapped
            pair.shut = None if applied else seen
            pair.clear = winner if clear else pair.clear
        after = self.credibility[a], self.credibility[b]
        order = shown.a, shown.b
        self.history.append(Decision(number, a, b, order, winner, confidence, applied, after))

    def _outcome(self, rounds: int) -> Arbitration:
        credibility = {id: self.credibility[id] for id in self.credibility.record}
        validated = {id for id, p in credibility.items() if p >= self.accept}
        edges = [pair.edge for pair in self.pairs]
        return sorted_out(credibility, validated, edges, self.history, rounds)


def sorted_out(
    credibility: dict[str, float],
    validated: Set[str],
    contradictions: Iterable[Contradiction],
    history: list[Decision],
    rounds: int,
) -> Arbitration:
    """Return the outcome, given which claims stay."""
    return Arbitration(
        credibility=credibility,
        validated=[id for id in credibility if id in validated],
        suppressed=[id for id in credibility if id not in validated],
        unresolved=[(a, b) for a, b, _ in contradictions if {a, b} <= validated],
        history=history,
        rounds=rounds,
    )


def _context(graph: EvidenceGraph, edge: Contradiction) -> tuple[str, ...]:
    """E_ctx, without the two claims: they never support each other."""
    a, b, _ = edge
    return tuple(dict.fromkeys(graph.support_neighbours(a) + graph.support_neighbours(b)))


def most_rounds(policy: Policy, contradictions: int, budget: int) -> int:
    """Rounds at most when the caller sets no number, given the pairs of one round (``budget``)."""
    return PAPER_ROUNDS if policy == "paper" else 2 * math.ceil(contradictions / budget) + 1


def _positive(name: str, value: int) -> int:
    if not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} is {value!r}: pass a whole number of at least 1.")
    return int(value)


def _checked(answer: Any) -> Answer:
    try:
        winner, confidence = answer
    except (TypeError, ValueError) as error:
        raise InputError(
            f"decide returned {answer!r}: return the winner's id or None, and a confidence."
        ) from error
    return winner, in_unit("confidence of a decision", confidence)


def _one_each(answers: Sequence[Answer], asks: int) -> Sequence[Answer]:
    if len(answers) != asks:
        raise InputError(f"map gave {len(answers)} decisions for {asks} pairs: return one each.")
    return answers
