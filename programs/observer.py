"""The Observer: proposes rules from conflicts whose right answer is known (MACR §3.5.1)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import dspy

from ..errors import InputError
from ..runtime.exchange import channel
from ..runtime.failures import failure
from ..runtime.meter import metered, nested_meter
from ..runtime.records import Usage
from ..signatures import ProposeRules, SolvedConflict
from .analyzer import SNIPPET_CHARS
from .conflicts import ConflictType
from .feedback import Observed
from .rules import Rule
from .steps import Call, Clock, Driver, Steps, Wave

PASSES = 3  # ours: the paper scans D_demo, and does not say how often
MOST = 3  # rules that one request may bring, as its prompt says
SHOWN = 6  # ours: conflicts in one request; about 1,500 tokens


@dataclass(frozen=True)
class Proposals:
    """What the Observer proposed.

    Attributes:
        rules: Rules as proposed, in order of pass and type; nothing about them is checked yet.
        requests: How many requests were made or replayed.
        failures: One sentence per request that failed; the others count all the same.
        usage: What it cost.
    """

    rules: tuple[Rule, ...]
    requests: int
    failures: tuple[str, ...]
    usage: Usage


class Observer(dspy.Module):
    """Reads conflicts of one type at a time, in several passes, and writes rules for them.

    A pass asks once per type of conflict, about a sample that its seed draws; which side stands
    first is drawn too, so that no rule can be about the order. All requests are one wave.

    Args:
        passes: Passes over the conflicts, at least 1.
        shown: Conflicts in one request, at least 1.
        seed: Of samples and order; also the seeds that the model gets.

    Raises:
        InputError: A number is too small.
    """

    def __init__(self, *, passes: int = PASSES, shown: int = SHOWN, seed: int = 0) -> None:
        super().__init__()
        for name, value in (("passes", passes), ("shown", shown)):
            if value < 1:
                raise InputError(f"{name} is {value!r}: give 1 or more.")
        self.passes, self.shown, self.seed = passes, shown, seed
        self.propose = dspy.Predict(ProposeRules, temperature=0.7, max_tokens=700)

    def forward(self, conflicts: Sequence[Observed]) -> dspy.Prediction:
        """Propose rules.

        Args:
            conflicts: What was observed; an empty list asks nothing.

        Returns:
            A Prediction with ``proposals`` (`Proposals`).
        """
        meter = nested_meter()
        with metered(meter), dspy.context(adapter=channel()):
            asked, replies = Driver({}, Clock()).run(self._steps(conflicts))
        rules = [
            _as_rule(said, type)
            for (type, _), reply in zip(asked, replies, strict=True)
            if not isinstance(reply, Exception)
            for said in reply.rules.root[:MOST]
        ]
        failures = tuple(failure(r)[1] for r in replies if isinstance(r, Exception))
        numbered = tuple(
            rule.model_copy(update={"id": f"P{n}"}) for n, rule in enumerate(rules, start=1)
        )
        return dspy.Prediction(proposals=Proposals(numbered, len(asked), failures, meter.usage()))

    def bounds(self) -> tuple[int, int]:
        """Requests, and proposed rules, at most."""
        requests = self.passes * len(get_args(ConflictType))
        return requests, MOST * requests

    def _steps(
        self, conflicts: Sequence[Observed]
    ) -> Steps[tuple[list[tuple[ConflictType, Call]], list[Any]]]:
        asked = [
            (type, self._call(type, of_type, number))
            for number in range(self.passes)
            for type in get_args(ConflictType)
            if (of_type := [c for c in conflicts if c.type == type])
        ]
        replies = yield Wave("observer", [call for _, call in asked])
        return asked, replies

    def _call(self, type: ConflictType, conflicts: Sequence[Observed], number: int) -> Call:
        drawing = random.Random(f"{self.seed}:{number}:{type}")
        drawn = drawing.sample(list(conflicts), min(self.shown, len(conflicts)))
        shown = [_solved(conflict, swap=drawing.random() < 0.5) for conflict in drawn]
        seed = self.seed * 1000 + number
        config = {"seed": seed, "rollout_id": seed}
        return Call(self.propose, {"type": type, "conflicts": shown}, config)


def _solved(conflict: Observed, *, swap: bool) -> SolvedConflict:
    one, other = (1, 0) if swap else (0, 1)
    sides = {one: "first", other: "second"}
    right: Any = "unknown" if conflict.right is None else sides[conflict.right]
    return SolvedConflict(
        question=conflict.question,
        first=conflict.answers[one],
        first_text=_dated(conflict, one),
        first_sources=conflict.sources[one],
        second=conflict.answers[other],
        second_text=_dated(conflict, other),
        second_sources=conflict.sources[other],
        right=right,
    )


def _dated(conflict: Observed, side: int) -> str:
    text, date = conflict.snippets[side][:SNIPPET_CHARS], conflict.dates[side]
    return f"({date}) {text}" if date and text else text


def _as_rule(said: Any, type: ConflictType) -> Rule:
    """A proposal as a rule: for the type that was shown, or for any."""
    return Rule(
        id="P",
        type="any" if said.type == "any" else type,
        condition=" ".join(said.condition.split()),
        resolution=" ".join(said.resolution.split()),
        operator="" if said.operator == "none" else said.operator,
        provenance="induced",
    )
