"""Threshold tuning with Optuna: every trial runs the program, every request is made once."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dspy
import filelock
from dspy.teleprompt import Teleprompter

from ..errors import BackboneError, BudgetExceeded, InputError
from ..metrics import Interval, bootstrap_interval, paired_bootstrap
from ..programs import Program
from ..programs.feedback import queue_paused
from ..programs.tunables import Tunable
from ..runtime.backbones import display_name
from ..runtime.cache import ReplyCache, caching, current_cache
from ..runtime.exchange import channel
from ..runtime.meter import Budget, Meter, nested_meter
from .examples import data_digest
from .rehearsal import Pass, Rehearsal
from .scoring import Measure, Metric, as_metric
from .study import Study, Trial, comparable, usable, working
from .tuning import Tuning, front, on, rank
from .variants import RULES, RuleTable, Variants

TRIALS = 200


class TuneThresholds(Teleprompter):  # type: ignore[misc,unused-ignore]
    """Searches a program's thresholds on labelled examples, with Optuna's seeded TPE.

    Trial 0 is the unchanged program. Every trial runs the real program over all examples; a
    request is made once, so tau, k, eta, tau_accept and rounds cost the branches that they open,
    and rule thresholds what rules in words are asked anew. Killed and started again with the same
    ``folder``, it goes on without paying twice.

    Args:
        metric: ``em``, ``fact_recall``, or a function such as a DSPy metric; see
            `scoring.as_metric`.
        parameters: Names of what is searched (`programs.tunables`); None: all that the program
            offers, rule thresholds too when there is a ``matrix``.
        trials: How many trials the study is to hold, trial 0 included.
        pareto: Whether few requests are a second objective.
        matrix: Measured rules, from which ``min_coverage`` and ``min_support`` choose.
        storage: Where Optuna keeps the trials: ``sqlite:///FILE``, ``journal:FILE``, or the URL of
            a database server, for workers on several machines. None: ``folder``/study.db.
        folder: Keeps replies and, without ``storage``, the trials; nothing is kept when None.
        budget: Bounds on what a run may cost; the best so far is returned at its end.
        seed: Of the search: the same seed finds the same values, with one worker.

    Example:
        >>> tuned = TuneThresholds(trials=50).compile(program, valset=val)  # doctest: +SKIP
    """

    def __init__(
        self,
        metric: str | Measure | Metric = "em",
        *,
        parameters: Sequence[str] | None = None,
        trials: int = TRIALS,
        pareto: bool = False,
        matrix: RuleTable | None = None,
        storage: str | None = None,
        folder: str | Path | None = None,
        budget: Budget | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.metric, self.parameters, self.trials = as_metric(metric), parameters, trials
        self.pareto, self.matrix, self.storage = pareto, matrix, storage
        self.folder, self.budget, self.seed = folder, budget, seed

    def compile(
        self,
        student: Any,
        *,
        trainset: Sequence[dspy.Example] | None = None,
        teacher: Any = None,
        valset: Sequence[dspy.Example] | None = None,
    ) -> Any:
        """A copy of a program with the best values; `tune` gives the numbers too.

        Args:
            student: The program; it stays as it is.
            trainset: Taken when there is no ``valset``.
            teacher: Not used; optimizers of dspy have it.
            valset: Labelled examples.

        Raises:
            InputError: A setting or an example is wrong, or the program offers nothing to tune.
        """
        return self.tune(student, valset or trainset or ()).program

    def tune(
        self,
        program: Program,
        valset: Sequence[dspy.Example],
        tell: Callable[[str], None] = lambda line: None,
    ) -> Tuning:
        """Search, and report.

        Args:
            program: The program; it stays as it is.
            valset: Labelled examples with the inputs ``question``, ``documents``, perhaps ``date``.
            tell: Takes a sentence about each trial that ended.

        Raises:
            InputError: A setting or an example is wrong, the program offers nothing to tune, or the
                folder or storage cannot be used.
            BackboneError: The requests of too many rows failed, or no reply could be read.
            BudgetExceeded: The budget was spent before the first pass was over.
        """
        searched = self._searched(program)
        self.metric.check(valset)
        meter = nested_meter(self.budget)
        rehearsal = Rehearsal(valset, self.metric.score, meter)
        variants = Variants(program, self.matrix)
        with ExitStack() as present, self._staged(), usable(self._storage()):
            # Others wait for the replies of the first pass. Who is alone buries running trials: so
            # nobody may come, and begin one, between the look around and the burial.
            with self._one_at_a_time():
                alone = self._present(present)
                study = Study(searched, pareto=self.pareto, seed=self.seed, storage=self._storage())
                study.describe(self._of(program, valset, searched))
                if alone and self.storage is None:
                    study.bury()
                default = rehearsal.run(program, "first pass")
                _require_scores(default)
                if not any(t.number == 0 for t in study.trials()):
                    study.add_default(default)
            search = _Search(study, rehearsal, variants, default, tell)
            complete = search.until(self.trials)
            return self._found(program, study, default, variants, meter, complete)

    def _searched(self, program: Program) -> dict[str, Tunable]:
        offered = program.tunables() | (RULES if self.matrix is not None else {})
        names = list(offered) if self.parameters is None else list(self.parameters)
        for name in names:
            if name in RULES and self.matrix is None:
                raise InputError(f"{name} needs measured rules: give a rule matrix.")
            if name not in offered:
                known = ", ".join(offered) or "nothing"
                raise InputError(
                    f"{program.name} has no parameter {name!r} to tune: it offers {known}."
                )
        if not names:
            raise InputError(f"{program.name} offers nothing to tune: choose macr or arbgraph.")
        if self.trials < 1:
            raise InputError(f"trials is {self.trials}: give 1 or more.")
        return {name: offered[name] for name in names}

    def _storage(self) -> str | None:
        if self.storage is not None or self.folder is None:
            return self.storage
        return f"sqlite:///{(Path(self.folder) / 'study.db').resolve().as_posix()}"

    @contextmanager
    def _staged(self) -> Iterator[None]:
        """One reply cache for everything; no queue and no trace grows."""
        with ExitStack() as stack:
            if self.folder is not None:
                _made(Path(self.folder))
            if current_cache() is None:
                place = self.folder or stack.enter_context(TemporaryDirectory())
                cache = ReplyCache(Path(place) / "replies")
                stack.callback(cache.close)
                stack.enter_context(caching(cache))
            stack.enter_context(queue_paused())
            stack.enter_context(dspy.context(trace=None, adapter=channel()))
            yield

    def _present(self, stack: ExitStack) -> bool:
        """Be a worker of the folder until the stack ends; whether it is the only one."""
        return self.folder is None or stack.enter_context(working(Path(self.folder)))

    def _one_at_a_time(self) -> Any:
        if self.folder is None:
            return ExitStack()
        return filelock.FileLock(Path(self.folder) / "first-pass.lock")

    def _of(
        self, program: Program, valset: Sequence[Any], searched: Mapping[str, Tunable]
    ) -> dict[str, Any]:
        """What a study may be continued with: all that changes its scores."""
        lm = dspy.settings.lm
        return {
            "program": program.label,
            "state": _digest(program.dump_state()),
            "settings": _digest([program.dump_settings(), program.encoder_name]),
            "backbone": display_name(lm) if lm is not None else "",
            "roles": {role: display_name(other) for role, other in program.lms.items()},
            "data": data_digest(valset),
            "rules": "" if self.matrix is None else _digest(_rules_of(self.matrix)),
            "parameters": {name: list(dataclasses.astuple(t)) for name, t in searched.items()},
            "metric": self.metric.name,
            "pareto": self.pareto,
            "seed": self.seed,
        }

    def _found(
        self,
        program: Program,
        study: Study,
        default: Pass,
        variants: Variants,
        meter: Meter,
        complete: bool,
    ) -> Tuning:
        trials = study.trials()
        best = min(trials, key=partial(rank, pareto=self.pareto))
        base = trials[0]
        scored = [n for n, score in enumerate(base.scores) if score is not None]
        ours, theirs = on(scored, best, base), on(scored, base, base)
        interval, gain = bootstrap_interval(ours), paired_bootstrap(ours, theirs)
        tuned = program if best.number == base.number else variants.of(best.values)
        return Tuning(
            program=self._with_card(tuned, best, base, interval, len(scored)),
            best=best,
            default=base,
            trials=tuple(trials),
            front=tuple(front(trials)) if self.pareto else (),
            interval=interval,
            gain=gain,
            rows=len(scored),
            unscored=len(base.scores) - len(scored),
            importances=study.importances(),
            usage=meter.usage(),
            first_pass=default.new_requests,
            complete=complete,
            study=study.optuna,
        )

    def _with_card(
        self, program: Program, best: Trial, default: Trial, interval: Interval, rows: int
    ) -> Program:
        """A copy whose card tells how it was tuned."""
        found = copy.copy(program)
        lm = dspy.settings.lm
        backbone = program.card.get("backbone") or (display_name(lm) if lm is not None else "")
        tuned = {
            "metric": self.metric.name,
            "seed": self.seed,
            "trials": self.trials,
            "values": dict(best.values),
            "default": default.score,
            "best": best.score,
            "interval": list(interval),
            "n": rows,
        }
        found.card = {**program.card, "backbone": backbone, "tuned": tuned}
        return found


@dataclass
class _Search:
    """Trials, one after the other, until there are enough or the budget is spent."""

    study: Study
    rehearsal: Rehearsal
    variants: Variants
    default: Pass
    tell: Callable[[str], None]

    def until(self, trials: int) -> bool:
        """Whether all trials could be run."""
        while len(self.study.trials()) < trials:
            trial, values = self.study.ask()
            try:
                found = self.rehearsal.run(self.variants.of(values), "trial")
            except BudgetExceeded:
                self.study.give_up(trial)
                return False
            except BaseException:
                self.study.give_up(trial)
                raise
            self.study.tell(trial, found, self.default)
            score = comparable(found.scores, self.default.scores)
            shown = ", ".join(f"{name} {value:g}" for name, value in values.items())
            self.tell(
                f"Trial {trial.number}: {score:.4f} ({shown}); {found.new_requests} new requests."
            )
        return True


def _require_scores(default: Pass) -> None:
    if all(score is None for score in default.scores):
        raise BackboneError(
            "No validation example could be scored: no reply of the model, or of the judge, could "
            "be read; try another one."
        )


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be used ({error.strerror}): give another one.") from None


def _rules_of(matrix: RuleTable) -> list[Any]:
    return [rule.model_dump(mode="json") for rule in matrix.select(0.0, 0.0)]


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
