"""Rule induction: the Observer proposes, the validation split decides (MACR §3.5.2, phase 1)."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import dspy
from dspy.teleprompt import Teleprompter

from ..errors import InputError
from ..programs import Program
from ..programs.artifact import rules_of
from ..programs.feedback import Observed, queue_paused
from ..programs.observer import PASSES, SHOWN, Observer, Proposals
from ..programs.rule_lint import shadowed
from ..programs.rules import Rule, RuleBase
from ..runtime.cache import ReplyCache, caching, current_cache
from ..runtime.records import Usage
from .examples import data_digest
from .rule_candidates import Candidates, candidates
from .rule_matrix import Measurement, Ruled, RuleMatrix, Run, measure, run_all, total
from .rules import verify_rules
from .scoring import PASSING, Measure, Metric, as_metric, as_right

MIN_COVERAGE, MIN_SUPPORT = 0.05, 0.6  # paper, §4.1
DEMONSTRATIONS = 1 / 3  # paper, §4.1: demonstrations and validation stand 1 to 2

Own = Literal["verify", "keep", "drop"]


@dataclass(frozen=True)
class Induction:
    """What an induction found.

    Attributes:
        rules: The new rule base; the old one when nothing changed.
        matrix: Candidates by examples. `RuleMatrix.select` applies other thresholds to it.
        min_coverage, min_support: The thresholds of ``rules``.
        observed: Conflicts that the Observer could learn from.
        unclear: Conflicts left out because both sides or neither state a right answer.
        proposed: Rules that the Observer wrote.
        rejected: Those that were turned away, by reason.
        merged: Those that repeat another candidate.
        usage: What everything cost.
        problems: One sentence per failure; what failed was not measured.
    """

    rules: RuleBase
    matrix: RuleMatrix
    min_coverage: float
    min_support: float
    observed: int
    unclear: int
    proposed: int
    rejected: Mapping[str, int]
    merged: int
    usage: Usage
    problems: tuple[str, ...]

    def table(self) -> list[dict[str, Any]]:
        """One entry per candidate: the rule with its numbers, and whether it is in the base.

        A rule that reaches the thresholds and is not in it would never decide: another one with
        the same operator always comes first.
        """
        kept = {rule.id for rule in self.rules.rules}
        return [
            {**entry, "kept": entry["id"] in kept}
            for entry in self.matrix.table(self.min_coverage, self.min_support)
        ]

    @property
    def record(self) -> dict[str, Any]:
        """All of it but the matrix, as JSON-ready data."""
        plain = ("observed", "unclear", "proposed", "merged")
        return {
            "version": self.rules.version,
            "thresholds": {"coverage": self.min_coverage, "support": self.min_support},
            "examples": len(self.matrix.examples),
            "rules": self.table(),
            **{name: getattr(self, name) for name in plain},
            "rejected": dict(self.rejected),
            "problems": list(self.problems),
            "usage": self.usage.model_dump(),
        }


class InduceRules(Teleprompter):  # type: ignore[misc,unused-ignore]
    """Learns the rule base of a program from labelled examples.

    The conflicts that the program meets in the demonstrations go to the Observer, which proposes
    rules in several seeded passes. Each candidate is then verified alone on the validation split,
    and those that reach both thresholds make the new base. Nothing is asked twice: with ``folder``,
    or a reply cache around the call, a run that was killed goes on where it was.

    Args:
        metric: What a right answer is; see `scoring.as_metric`.
        passing: Score from which an answer counts as right.
        passes, shown: Of the Observer.
        min_coverage, min_support: The paper's delta_cov and delta_sup, inclusive.
        own: The program's present rules: ``verify`` them like the candidates, ``keep`` them as they
            are, or ``drop`` them.
        observer: The LM that proposes; None for the one around the call.
        folder: Where replies and matrix are kept; nothing is kept when None.
        seed: Of samples, splits and the Observer.

    Example:
        >>> compiled = InduceRules(metric="em").compile(program, trainset=demos, valset=val)
        ... # doctest: +SKIP
    """

    def __init__(
        self,
        metric: str | Measure | Metric = "em",
        *,
        passing: float = PASSING,
        passes: int = PASSES,
        shown: int = SHOWN,
        min_coverage: float = MIN_COVERAGE,
        min_support: float = MIN_SUPPORT,
        own: Own = "verify",
        observer: dspy.BaseLM | None = None,
        folder: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.metric, self.passing = metric, passing
        self.passes, self.shown, self.seed = passes, shown, seed
        self.min_coverage, self.min_support, self.own = min_coverage, min_support, own
        self.observer, self.folder = observer, folder

    def compile(
        self,
        student: Any,
        *,
        trainset: Sequence[dspy.Example],
        teacher: Any = None,
        valset: Sequence[dspy.Example] | None = None,
    ) -> Any:
        """A copy of a program with the induced rules.

        Args:
            student: A program with a rule base; it stays as it is.
            trainset: Demonstrations (D_demo).
            teacher: Not used; optimizers of dspy have it.
            valset: D_val; None takes two thirds of ``trainset``, drawn by the seed.

        Returns:
            The copy. `induce` gives the numbers too.

        Raises:
            InputError: The program has no rules, there is no example, or a setting is wrong.
        """
        if valset is None:
            trainset, valset = self._split(trainset)
        return student.with_rules(self.induce(student, trainset, valset).rules)

    def induce(
        self,
        program: Ruled,
        trainset: Sequence[dspy.Example],
        valset: Sequence[dspy.Example],
        conflicts: Sequence[Observed] = (),
    ) -> Induction:
        """Propose, verify and keep rules.

        Args:
            program: A program with a rule base; it stays as it is.
            trainset: Demonstrations; the program runs over them to find conflicts. May be empty.
            valset: D_val.
            conflicts: Conflicts that are known already, such as those of a feedback queue.

        Returns:
            The new rule base, and everything that led to it.

        Raises:
            InputError: There is no example, or a setting is wrong.
            BackboneError: No validation example could be answered.
        """
        self._check(valset)
        right = as_right(self.metric, self.passing)
        with self._staged():
            runs = run_all([(program, x) for x in trainset], _unscored, "demonstrations")
            met = [c for x, run in zip(trainset, runs, strict=True) for c in observe(x, run)]
            known = [*(c for c in met if c.right is not None), *conflicts]
            proposals = self._proposals(known)
            found = self._candidates(program.rules, proposals.rules, known, bool(trainset))
            own = program.rules.rules if self.own == "verify" else ()
            measured = measure(program, [*own, *found.rules], valset, right)
        digest = data_digest(trainset, conflicts, valset)[:16]
        result = Induction(
            rules=self._updated(program.rules, measured.matrix, digest),
            matrix=measured.matrix,
            min_coverage=self.min_coverage,
            min_support=self.min_support,
            observed=len(known),
            unclear=len(met) + len(conflicts) - len(known),
            proposed=len(proposals.rules),
            rejected=found.rejected,
            merged=found.merged,
            usage=total([*(r.usage for r in runs), proposals.usage, measured.usage]),
            problems=_problems(runs, proposals, measured),
        )
        if self.folder is not None:
            result.matrix.save(Path(self.folder) / "matrix.json")
        return result

    def estimate(
        self,
        program: Program,
        trainset: Sequence[dspy.Example],
        valset: Sequence[dspy.Example],
    ) -> int:
        """Requests of `induce` at most, retries apart.

        A pass over both sets, the Observer, and for each rule alone what other rules can change.
        """
        metric = as_metric(self.metric)
        asked, proposed = Observer(passes=self.passes, shown=self.shown).bounds()
        own = rules_of(program) if self.own == "verify" else None
        probes = proposed + (len(own.rules) if own else 0)
        runs = sum(program.requests(x.documents)[1] for x in (*trainset, *valset))
        alone = sum(program.requests_of_rules(x.documents) + metric.requests(x) for x in valset)
        return runs + asked + (1 + probes) * alone

    def _check(self, valset: Sequence[dspy.Example]) -> None:
        if not valset:
            raise InputError("There is no validation example: give some with known answers.")
        if self.own not in get_args(Own):
            raise InputError(f"own is {self.own!r}: choose {', '.join(get_args(Own))}.")
        verify_rules([], [], self.min_coverage, self.min_support)

    def _split(self, examples: Sequence[dspy.Example]) -> tuple[list[Any], list[Any]]:
        drawn = list(examples)
        random.Random(self.seed).shuffle(drawn)
        size = round(len(drawn) * DEMONSTRATIONS)
        return drawn[:size], drawn[size:]

    @contextmanager
    def _staged(self) -> Iterator[None]:
        """One reply cache for everything; no queue and no trace grows meanwhile."""
        with ExitStack() as stack:
            if current_cache() is None:
                place = self.folder or stack.enter_context(TemporaryDirectory())
                cache = ReplyCache(Path(place) / "replies")
                stack.callback(cache.close)
                stack.enter_context(caching(cache))
            stack.enter_context(queue_paused())
            stack.enter_context(dspy.context(trace=None))
            yield

    def _proposals(self, conflicts: Sequence[Observed]) -> Proposals:
        observer = Observer(passes=self.passes, shown=self.shown, seed=self.seed)
        with dspy.context(lm=self.observer or dspy.settings.lm):
            found: Proposals = observer(conflicts=conflicts).proposals
        return found

    def _candidates(
        self, base: RuleBase, proposed: Sequence[Rule], shown: Sequence[Observed], demos: bool
    ) -> Candidates:
        written_by = "induced" if demos else "feedback"
        changed = [id for change in base.history for id in (*change.added, *change.removed)]
        return candidates(
            [rule.model_copy(update={"provenance": written_by}) for rule in proposed],
            shown,
            standing=() if self.own == "drop" else base.rules,
            taken=[*(rule.id for rule in base.rules), *changed],
        )

    def _updated(self, base: RuleBase, matrix: RuleMatrix, digest: str) -> RuleBase:
        """The next version, without rules that never decide; the same one if nothing changed.

        A present rule whose runs all failed stays: that is no verdict on it.
        """
        chosen = matrix.select(self.min_coverage, self.min_support)
        unknown = matrix.unmeasured() if self.own == "verify" else ()
        stay = [r for r in base.rules if self.own == "keep" or r.id in unknown]
        idle = [rule.id for rule in shadowed(RuleBase([*stay, *chosen]))]
        rules = [*stay, *(rule for rule in chosen if rule.id not in idle)]
        if rules == base.rules:
            return base
        reason = (
            f"{len(chosen)} of {len(matrix.rules)} candidates reach coverage {self.min_coverage} "
            f"and support {self.min_support} on {len(matrix.examples)} examples."
        )
        return base.updated(rules, reason, datetime.date.today().isoformat(), digest)


def observe(example: dspy.Example, run: Run) -> list[Observed]:
    """The conflicts that a program met in a labelled example, as the Observer sees them.

    Args:
        example: Its ``answers``, or else its ``facts``, tell which side is right.
        run: What the program said.
    """
    fields = ("type", "answers", "snippets", "dates", "sources")
    return [
        Observed(question=example.question, **{k: conflict[k] for k in fields}).taught(
            example.get("answers") or (), example.get("facts") or ()
        )
        for conflict in run.conflicts
    ]


def _unscored(example: dspy.Example, prediction: dspy.Prediction) -> None:
    """Demonstrations need no score: their labels tell which side of a conflict is right."""


def _problems(runs: Sequence[Run], proposals: Proposals, measured: Measurement) -> tuple[str, ...]:
    demos = [run.problem for run in runs if run.problem]
    failed = [f"The Observer: {sentence}" for sentence in proposals.failures]
    return tuple(dict.fromkeys([*demos, *failed, *measured.problems]))
