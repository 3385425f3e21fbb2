"""Baseline MCTS-RAG: tree search over thoughts and searches (ArbGraph §4.1.3)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import dspy

from ...errors import InputError
from ...runtime.failures import failure
from ...runtime.records import Document, Report
from ...signatures import AnswerFromNotes, NextStep, ProposeSteps, RateNotes
from ..base import Case
from ..composition import LONGEST_ANSWER
from ..steps import Call, Reply, Steps, Wave
from .long_reports import broken, finished, may_ask, whole_number
from .notes import Library, Notes, SearchingProgram
from .tree_search import ROOT, Tree, back_up, best, close, expand, select


class MCTSRAG(SearchingProgram):
    """Searches a tree of thoughts and queries, and answers from its best notes (Hu et al. 2025).

    As in the paper: nodes are states of reasoning, actions are reasoning, retrieval and answering,
    UCT chooses what to expand, the number of rollouts and the depth are bounded. Differs: three
    actions instead of six (``think``, ``search``, ``answer``), since decompositions of a short
    question bring a long answer little; a state is valued by the model (ArbGraph: to "evaluate
    state values") instead of by playing it out to an answer and voting, which long texts do not
    allow; each value is backed up once, and a finished branch is not visited again, as its value
    would be the same at temperature 0. The search itself is `tree_search`, pure functions; only
    expansion and value are asked.

    Requests per question: 2 to ``rollouts`` · (1 + ``width``) + 1.

    Args:
        rollouts: Expansions at most.
        depth: Steps from the question at most.
        width: Children of a node at most.
        exploration: c of UCT, at least 0.
        seed: Draws between equal bounds.
        retriever, lms, reading_tokens: As in `SearchingProgram`.

    Raises:
        InputError: An option is out of range.
    """

    name: ClassVar[str] = "mcts-rag"
    roles: ClassVar[tuple[str, ...]] = ("reasoner", "judge", "writer")

    def __init__(
        self,
        *,
        rollouts: int = 4,
        depth: int = 3,
        width: int = 3,
        exploration: float = 1.4,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.rollouts = whole_number("rollouts", rollouts, 1)
        self.depth = whole_number("depth", depth, 1)
        self.width = whole_number("width", width, 1)
        if not isinstance(exploration, int | float) or not 0 <= exploration < float("inf"):
            raise InputError(f"exploration is {exploration!r}: give a number of at least 0.")
        self.exploration = exploration
        self.seed = whole_number("seed", seed, 0)
        self.propose = dspy.Predict(ProposeSteps, temperature=0.0, max_tokens=250)
        self.rate = dspy.Predict(RateNotes, temperature=0.0, max_tokens=20)
        self.answer = dspy.Predict(AnswerFromNotes, temperature=0.0, max_tokens=LONGEST_ANSWER)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        own = ("rollouts", "depth", "width", "exploration", "seed")
        return {**super().dump_settings(), **{name: getattr(self, name) for name in own}}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """One expansion that cannot be read; or all of them full; and the answer."""
        return 2, self.rollouts * (1 + self.width) + 1

    def steps(self, case: Case) -> Steps[Report]:
        """The search, then the answer from the best notes."""
        search = yield from self._searched(case)
        chosen = best(search.tree, search.values)
        notes = search.notes[chosen]
        inputs = {"notes": notes.text, "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="writer")])
        stages = search.stages(chosen)
        if isinstance(reply, Exception):
            return broken(reply, stages=stages)
        how = f"States searched: {stages['states']}; passages of the best: {stages['passages']}."
        return finished(reply.answer, how, stages)

    def _searched(self, case: Case) -> Steps[_Search]:
        """Rollouts until their number, the tree, the budget or the model is at its end."""
        library, rng = Library(case, self.retriever), random.Random(self.seed)
        search = _Search([(yield from library.opening())])
        while search.counts["rollouts"] < self.rollouts:
            at = select(search.tree, self.exploration, rng)
            if at is None:
                break
            if not may_ask(case, 1 + self.width):  # an expansion without its values is wasted
                case.meter.spent(
                    f"The search ended after {search.counts['rollouts']} rollouts: the budget."
                )
                break
            search.counts["rollouts"] += 1
            (reply,) = yield Wave("expansion", [self._expansion(case, search.notes[at])])
            if isinstance(reply, Exception) and not isinstance(reply, dspy.AdapterParseError):
                case.meter.note(f"The search ended early: {failure(reply)[1]}")
                break
            yield from self._grown(case, library, search, at, reply)
        return search

    def _grown(
        self, case: Case, library: Library, search: _Search, at: int, reply: Reply
    ) -> Steps[None]:
        """Add the children that a reply proposes, with their values, asked in one wave."""
        unreadable = isinstance(reply, Exception)
        proposed = [] if unreadable else _usable(reply.steps.root)[: self.width]
        search.counts["unreadable"] += not proposed
        if not may_ask(case, len(proposed)):
            case.meter.spent("The last states of the search were not valued: the budget.")
            proposed = []
        if not proposed:
            search.tree = close(search.tree, at)
            return
        notes = yield from self._taken(case, library, search.notes[at], proposed)
        first = len(search.tree)
        ends = [s.action == "answer" or search.tree[at].depth + 1 == self.depth for s in proposed]
        search.tree = expand(search.tree, at, ends)
        search.notes.extend(notes)
        replies = yield Wave("value", [self._valuation(case, each) for each in notes])
        errors = [r for r in replies if isinstance(r, Exception)]
        if errors:
            why = failure(errors[0])[1]
            case.meter.note(f"{len(errors)} of {len(replies)} states were not valued: {why}")
        for n, rated in enumerate(replies, start=first):
            search.value(n, rated)

    def _expansion(self, case: Case, notes: Notes) -> Call:
        inputs = {"question": case.question, "notes": notes.text, "count": self.width}
        return Call(self.propose, inputs, role="reasoner")

    def _valuation(self, case: Case, notes: Notes) -> Call:
        return Call(self.rate, {"question": case.question, "notes": notes.text}, role="judge")

    def _taken(
        self, case: Case, library: Library, notes: Notes, steps: Sequence[NextStep]
    ) -> Steps[list[Notes]]:
        """The notes after each step; their searches together."""
        queries = [s.text for s in steps if s.action == "search"]
        found = iter((yield from library.steps(queries)))
        after = []
        for step in steps:
            if step.action == "search":
                after.append(notes.with_search(step.text, next(found), case.reading_tokens))
            elif step.action == "think":
                after.append(notes.with_line("Thought", step.text))
            else:
                after.append(notes)
        return after


@dataclass
class _Search:
    """A search so far; lists are by the numbers of the tree's nodes.

    Attributes:
        notes: What each state has noted.
        values: What each state was rated itself, or None.
        tree: The tree.
        counts: Of rollouts, and of those among them whose reply held no step.
    """

    notes: list[Notes]
    values: list[float | None] = field(default_factory=lambda: [None])
    tree: Tree = ROOT
    counts: Counter[str] = field(default_factory=lambda: Counter(rollouts=0, unreadable=0))

    def value(self, at: int, reply: Reply) -> None:
        """Back up a rating; a state that has none is closed, never valued 0."""
        if isinstance(reply, Exception):
            self.values.append(None)
            self.tree = close(self.tree, at)
            return
        self.values.append(reply.value.root)
        self.tree = back_up(self.tree, at, reply.value.root)

    def stages(self, chosen: int) -> dict[str, Any]:
        """Counts for the report."""
        own = {"states": len(self.tree), "passages": len(self.notes[chosen].passages)}
        return {**self.counts, **own, "value": self.values[chosen]}


def _usable(steps: Sequence[NextStep]) -> list[NextStep]:
    """Different steps; a thought or a query needs words."""
    kept = {
        (s.action, " ".join(s.text.lower().split()) if s.action != "answer" else ""): s
        for s in reversed(steps)
        if s.text.strip() or s.action == "answer"
    }
    return list(kept.values())[::-1]
