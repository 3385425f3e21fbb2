"""Which rule fires where and is right there: measured once, each rule alone (MACR Eq. 9).

Everything that a threshold decides is decided on this table, so another threshold asks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import dspy
from pydantic import ValidationError, model_validator

from ..errors import ArtifactError, BackboneError, InputError, RefereeError
from ..programs.reasoner import NOT_APPLIED
from ..programs.rules import Interval, Rule, RuleBase
from ..programs.steps import Progress, listener
from ..runtime.fan_out import fan_out
from ..runtime.meter import metered, nested_meter
from ..runtime.records import Record, Usage
from .examples import inputs_digest
from .rules import RuleCheck, verify_rules

PROBE = "R1"  # the id of a rule while it is alone: requests do not depend on its number
TOGETHER = 16  # ours: programs that run at once; the backbone's own limit bounds the requests
Right = Callable[[dspy.Example, dspy.Prediction], bool | None]


class Ruled(Protocol):
    """A program with a rule base. Its prediction holds a ``verdict`` or a ``report``.

    That record has a ``status`` and ``conflicts``, each a mapping with ``type`` and ``rule`` (the
    id of the rule that settled it, or empty).
    """

    @property
    def rules(self) -> RuleBase:
        """The rule base."""

    def with_rules(self, rules: RuleBase) -> Self:
        """A copy with other rules."""

    def __call__(self, **inputs: Any) -> dspy.Prediction:
        """Answer one question."""


class RuleMatrix(Record):
    """Rules by examples; None where a run failed and nothing was measured.

    Attributes:
        rules: The candidates, in order.
        examples: A digest of each example's inputs, in order.
        fired: [rules][examples], the rule settled a conflict of the example.
        correct: [rules][examples], the answer with this rule alone is right.
        baseline: [examples], the answer without any rule is right.
    """

    rules: tuple[Rule, ...]
    examples: tuple[str, ...]
    fired: tuple[tuple[bool | None, ...], ...]
    correct: tuple[tuple[bool | None, ...], ...]
    baseline: tuple[bool | None, ...]

    @model_validator(mode="after")
    def _of_one_shape(self) -> Self:
        rows = [*self.fired, *self.correct, self.baseline]
        if len(self.fired) != len(self.rules) or len(self.correct) != len(self.rules):
            raise ValueError("fired and correct need one row per rule")
        if any(len(row) != len(self.examples) for row in rows):
            raise ValueError("every row needs one cell per example")
        return self

    def checks(self, min_coverage: float, min_support: float) -> list[RuleCheck | None]:
        """What the split says about each rule; None for one that only failed where it could fire.

        Args:
            min_coverage: delta_cov, in [0, 1].
            min_support: delta_sup, in [0, 1].

        Raises:
            InputError: A threshold is outside [0, 1].
        """
        return [
            self._check(fired, correct, min_coverage, min_support)
            for fired, correct in zip(self.fired, self.correct, strict=True)
        ]

    def _check(
        self, fired: Sequence[Any], correct: Sequence[Any], *minima: float
    ) -> RuleCheck | None:
        cells = list(zip(fired, correct, self.baseline, strict=True))
        known = [cell for cell in cells if None not in cell]
        failed = any(fires is None and without is not None for fires, _, without in cells)
        if not known or (failed and not any(fires for fires, _, _ in known)):
            return None
        fires, right, without = zip(*known, strict=True)
        return verify_rules([fires], [right], *minima, baseline=without)[0]

    def measured(self) -> list[Rule]:
        """Every candidate with its numbers, kept or not."""
        return [_with_numbers(r, c) for r, c in zip(self.rules, self.checks(0, 0), strict=True)]

    def select(self, min_coverage: float, min_support: float) -> list[Rule]:
        """The rules that reach both thresholds (inclusive), with their numbers; asks nothing.

        Args:
            min_coverage: delta_cov, in [0, 1].
            min_support: delta_sup, in [0, 1].
        """
        checks = self.checks(min_coverage, min_support)
        return [
            rule
            for rule, check in zip(self.measured(), checks, strict=True)
            if check is not None and check.kept
        ]

    def unmeasured(self) -> list[str]:
        """Ids of the rules of which nothing is known, because their runs failed."""
        checks = self.checks(0, 0)
        return [rule.id for rule, check in zip(self.rules, checks, strict=True) if check is None]

    def table(self, min_coverage: float, min_support: float) -> list[dict[str, Any]]:
        """One JSON-ready entry per candidate: the rule with its numbers, and whether it is kept.

        Args:
            min_coverage: delta_cov, in [0, 1].
            min_support: delta_sup, in [0, 1].
        """
        kept = {rule.id for rule in self.select(min_coverage, min_support)}
        return [{**r.model_dump(mode="json"), "kept": r.id in kept} for r in self.measured()]

    def save(self, path: str | Path) -> None:
        """Write it as JSON; the folder is made when missing."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> RuleMatrix:
        """Read what `save` wrote.

        Raises:
            InputError: The file cannot be read.
            ArtifactError: It holds no matrix.
        """
        try:
            return cls.model_validate_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({error}): give a rule matrix.") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]["msg"]
            raise ArtifactError(f"{path} is no rule matrix ({first}): measure again.") from None


@dataclass(frozen=True)
class Run:
    """What one run of a program on one example said.

    Attributes:
        conflicts: The conflicts of its record.
        right: Whether the answer is right; None when the run failed or cannot be scored.
        usage: What it cost.
        problem: Why nothing was measured, or empty.
    """

    conflicts: tuple[Mapping[str, Any], ...] = ()
    right: bool | None = None
    usage: Usage = field(default_factory=Usage)
    problem: str = ""

    def meets(self, rule: Rule) -> bool:
        """Whether a conflict has the rule's type."""
        return any(rule.type in ("any", conflict["type"]) for conflict in self.conflicts)

    def fired(self) -> bool | None:
        """Whether the rule that was alone settled a conflict."""
        if self.problem:
            return None
        return any(conflict["rule"] == PROBE for conflict in self.conflicts)


@dataclass(frozen=True)
class Measurement:
    """The matrix, and what it took.

    Attributes:
        matrix: The table.
        usage: What all runs cost together.
        problems: One sentence per failure, each once.
    """

    matrix: RuleMatrix
    usage: Usage
    problems: tuple[str, ...]


def measure(
    program: Ruled, rules: Sequence[Rule], examples: Sequence[dspy.Example], right: Right
) -> Measurement:
    """Run the program without rules, then with each rule alone where it can fire at all.

    With a reply cache around it only rules in words ask anything beyond the first run, and a
    conflict that is left to the fallback where others are settled.

    Args:
        program: The program; it stays as it is.
        rules: The candidates.
        examples: D_val.
        right: Whether a prediction is right; None when that cannot be told.

    Raises:
        BackboneError: No example could be answered.
        InputError: The metric says nothing about any example.
    """
    bare = program.with_rules(_alone(program, ()))
    without = run_all([(bare, x) for x in examples], right, "without rules")
    _require_some(without)
    probes = [program.with_rules(_alone(program, (rule,))) for rule in rules]
    cells = [
        (r, x)
        for r, rule in enumerate(rules)
        for x, run in enumerate(without)
        if not run.problem and run.meets(rule)
    ]
    runs = run_all([(probes[r], examples[x]) for r, x in cells], right, "each rule alone")
    found = dict(zip(cells, runs, strict=True))
    rows = [[found.get((r, x)) for x in range(len(examples))] for r in range(len(rules))]
    matrix = RuleMatrix(
        rules=tuple(rules),
        examples=tuple(inputs_digest(x)[:16] for x in examples),
        fired=tuple(tuple(map(_fired, row, without)) for row in rows),
        correct=tuple(tuple(map(_correct, row, without)) for row in rows),
        baseline=tuple(run.right for run in without),
    )
    every = [*without, *runs]
    problems = tuple(dict.fromkeys(run.problem for run in every if run.problem))
    return Measurement(matrix, total(run.usage for run in every), problems)


def run_all(pairs: Sequence[tuple[Ruled, dspy.Example]], right: Right, stage: str) -> list[Run]:
    """Run programs on examples, some at once; the listener hears of the stage, not of each run."""
    told, runs = listener.get(), list[Run]()
    token = listener.set(None)
    try:
        for start in range(0, len(pairs), TOGETHER):
            some = pairs[start : start + TOGETHER]
            done: list[Any] = fan_out([partial(_run, program, x, right) for program, x in some])
            runs += done
            if told:
                told(Progress(stage, len(runs), len(pairs)))
    finally:
        listener.reset(token)
    return runs


def total(usages: Iterable[Usage]) -> Usage:
    """What several runs cost together; a quantity unknown in one is unknown."""
    every = list(usages)
    tokens, cost = [u.tokens for u in every], [u.cost for u in every]
    return Usage(
        requests=sum(u.requests for u in every),
        cached=sum(u.cached for u in every),
        tokens=None if None in tokens else sum(t or 0 for t in tokens),
        cost=None if None in cost else sum(c or 0.0 for c in cost),
        repaired=sum(u.repaired for u in every),
    )


def _alone(program: Ruled, rules: Sequence[Rule]) -> RuleBase:
    """A base of one rule, or none, under the user's list of trusted sources."""
    probe = [rule.model_copy(update={"id": PROBE, "provisional": False}) for rule in rules]
    return RuleBase(probe, authoritative=program.rules.authoritative)


def _run(program: Ruled, example: dspy.Example, right: Right) -> Run:
    """One run and its score; what a judge costs counts too, and a judge that fails is no score."""
    usage, scoring = Usage(), nested_meter()
    try:
        prediction = program(**example.inputs())
        record = prediction.get("verdict") or prediction.report
        usage, problem = record.usage, _problem(record)
        with metered(scoring):
            found = None if problem else right(example, prediction)
    except RefereeError as error:
        return Run(usage=total([usage, scoring.usage()]), problem=str(error))
    return Run(tuple(record.conflicts), found, total([usage, scoring.usage()]), problem)


def _problem(record: Any) -> str:
    """Why a run measured nothing: it failed, or its rules were not applied."""
    if record.status not in ("ok", "abstained"):
        return str(getattr(record, "explanation", "") or f"A run ended with {record.status}.")
    return next((note for note in record.notes if note.startswith(NOT_APPLIED)), "")


def _require_some(runs: Sequence[Run]) -> None:
    """Without one measured example no rule may be dropped for what it never had a chance at."""
    if any(run.right is not None for run in runs):
        return
    problem = next((run.problem for run in runs if run.problem), "")
    if problem:
        raise BackboneError(f"No validation example could be answered: {problem}")
    raise InputError(
        "The metric says nothing about any validation example: give right answers (or facts)."
    )


def _fired(run: Run | None, without: Run) -> bool | None:
    if run is None:
        return None if without.problem else False
    return run.fired()


def _correct(run: Run | None, without: Run) -> bool | None:
    return (run or without).right


def _with_numbers(rule: Rule, check: RuleCheck | None) -> Rule:
    if check is None:
        return rule
    return rule.model_copy(
        update={
            "coverage": check.coverage,
            "support": check.support if check.fired else None,
            "fired": check.fired,
            "correct": check.correct,
            "interval": Interval(*check.support_interval) if check.fired else None,
            "gain": check.gain,
            "provisional": False,
        }
    )
