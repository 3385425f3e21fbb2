"""dspy's own optimizers, MIPROv2 and GEPA, under our budget, cache and seed.

Both propose instructions by requests of their own; these pass our door like any other, since the
adapter around the whole compilation is the `Channel`. Both run one example after the other: threads
of `dspy.Evaluate` would lose the budget, the cache and the order.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, ClassVar

import dspy
from dspy.teleprompt import GEPA, MIPROv2
from dspy.teleprompt.gepa import InstructionProposer
from dspy.utils.callback import BaseCallback

from ..errors import BudgetExceeded
from ..programs import Program
from ..runtime.exchange import channel
from .bootstrap import DEMONSTRATIONS, Bootstrap
from .runs import Run

CANDIDATES = 4  # ours: sets of demonstrations, and instructions per predictor
TRIALS = 10  # ours: combinations of them that are scored
ROUNDS = 12  # ours: instructions that GEPA rewrites, one predictor a round
MINIBATCH = 3  # dspy's default: training examples that a rewritten instruction is tried on
LONGEST_INSTRUCTION = 1500  # characters, ours: about 470 tokens of a 4,096 window


class Mipro:
    """Optimizer ``mipro``: MIPROv2 over demonstrations and proposed instructions.

    Args:
        candidates: Sets of demonstrations, and instructions per predictor, that are tried.
        trials: Combinations that are scored on the validation set.
        demonstrations: Per predictor, at most.
    """

    name: ClassVar[str] = "mipro"

    def __init__(
        self,
        candidates: int = CANDIDATES,
        trials: int = TRIALS,
        demonstrations: int = DEMONSTRATIONS,
    ) -> None:
        self.candidates, self.trials, self.demonstrations = candidates, trials, demonstrations

    def settings(self) -> dict[str, Any]:
        """See `Optimizer.settings`."""
        return {
            "candidates": self.candidates,
            "trials": self.trials,
            "demonstrations": self.demonstrations,
        }

    def estimate(self, run: Run) -> int:
        """What `Bootstrap` takes, the proposals, and a validation pass per trial."""
        proposals = self.candidates * len(run.student.predictors())
        trials = (self.trials + 1) * run.bound(run.valset)
        # Each set of demonstrations asks the teacher the same again, which the cache answers.
        return Bootstrap(self.demonstrations).estimate(run) + proposals + trials

    def compile(self, run: Run) -> Program:
        """See `Optimizer.compile`."""
        best = _Best(run.student)
        search = _FittedMIPRO(run, self)
        try:
            with _quiet(), dspy.context(callbacks=[*dspy.settings.callbacks, best]):
                found: Program = search.compile(
                    run.student,
                    trainset=list(run.trainset),
                    valset=list(run.valset),
                    num_trials=self.trials,
                    minibatch=False,
                    # The source of a generator and whole documents would fill a small window.
                    program_aware_proposer=False,
                    data_aware_proposer=False,
                )
        except Exception:
            if not run.meter.exhausted:
                raise
            return best.program.deepcopy()
        return found


class _FittedMIPRO(MIPROv2):  # type: ignore[misc,unused-ignore]
    """MIPROv2 that gets its demonstrations from `Bootstrap`: fitted, and for rare branches too."""

    def __init__(self, run: Run, options: Mipro) -> None:
        super().__init__(
            metric=_search_metric(run, stop=True),
            prompt_model=run.teacher_lm,
            task_model=run.lm,
            max_bootstrapped_demos=options.demonstrations,
            max_labeled_demos=0,
            auto=None,
            num_candidates=options.candidates,
            num_threads=1,
            max_errors=1,
            seed=run.seed,
            track_stats=False,
        )
        self.run, self.options = run, options

    def _bootstrap_fewshot_examples(self, *_: Any, **__: Any) -> dict[int, list[list[Any]]]:
        bootstrap = Bootstrap(self.options.demonstrations)
        sets = [
            bootstrap.collect(self.run, self.run.seed + n)
            for n in range(self.options.candidates - 1)
        ]
        return {
            i: [[], *([d.as_example() for d in found[name]] for found in sets)]
            for i, (name, _) in enumerate(self.run.student.named_predictors())
        }


class Gepa:
    """Optimizer ``gepa``: instructions rewritten from feedback, one predictor a round.

    Args:
        rounds: How many instructions are rewritten.
    """

    name: ClassVar[str] = "gepa"

    def __init__(self, rounds: int = ROUNDS) -> None:
        self.rounds = rounds

    def settings(self) -> dict[str, Any]:
        """See `Optimizer.settings`."""
        return {"rounds": self.rounds}

    def estimate(self, run: Run) -> int:
        """Runs of the program that GEPA may start, each at its dearest, and the proposals."""
        dearest = max(run.bound([example]) for example in (*run.trainset, *run.valset))
        # It ends a round that it has begun, and asks twice where an instruction is too long.
        runs = self._runs(run) + 2 * MINIBATCH + len(run.valset)
        return runs * dearest + 2 * (runs // MINIBATCH)

    def compile(self, run: Run) -> Program:
        """See `Optimizer.compile`."""
        search = GEPA(
            metric=_search_metric(run, stop=False),
            max_metric_calls=self._runs(run),
            reflection_minibatch_size=MINIBATCH,
            reflection_lm=run.teacher_lm,
            instruction_proposer=InstructionProposer(
                max_chars=LONGEST_INSTRUCTION, adapter=channel()
            ),
            component_selector=_LeastRewritten(),
            use_merge=False,
            num_threads=1,
            seed=run.seed,
            gepa_kwargs={"stop_callbacks": [lambda _: run.meter.exhausted]},
        )
        with _quiet():
            found: Program = search.compile(
                run.student, trainset=list(run.trainset), valset=list(run.valset)
            )
        return found

    def _runs(self, run: Run) -> int:
        return len(run.valset) + self.rounds * (2 * MINIBATCH + len(run.valset))


class _LeastRewritten:
    """Of the predictors that took part in the runs at hand, the one least often rewritten."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()

    def __call__(
        self,
        state: Any,
        trajectories: Sequence[Mapping[str, Any]],
        subsample_scores: Sequence[float],
        candidate_idx: int,
        candidate: Mapping[str, str],
    ) -> list[str]:
        asked = {step[0].signature.instructions for t in trajectories for step in t["trace"]}
        present = [name for name, text in candidate.items() if text in asked] or list(candidate)
        chosen = min(present, key=lambda name: self.times[name])
        self.times[chosen] += 1
        return [chosen]


class _Best(BaseCallback):  # type: ignore[misc,unused-ignore]
    """Keeps the best program that `dspy.Evaluate` has scored to the end."""

    def __init__(self, program: Program) -> None:
        self.program, self.score = program, -1.0
        self._running: dict[str, Program] = {}

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """See `BaseCallback`."""
        self._running[call_id] = inputs["program"]

    def on_evaluate_end(
        self, call_id: str, outputs: Any, exception: Exception | None = None
    ) -> None:
        """See `BaseCallback`."""
        program = self._running.pop(call_id)
        if exception is None and outputs is not None and outputs.score > self.score:
            self.program, self.score = program, outputs.score


def _search_metric(run: Run, *, stop: bool) -> Any:
    """The metric as dspy's optimizers call it.

    A failed request scores 0 in the search, which knows no missing scores; the scores that are
    reported leave it out.
    """

    def metric(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        if stop and run.meter.exhausted:
            raise BudgetExceeded("The budget is spent.")
        score = run.metric.score(gold, pred) or 0.0
        run.tell(f"{run.meter.usage().requests} requests so far")
        if pred_name is None:
            return score
        return dspy.Prediction(score=score, feedback=run.metric.feedback(gold, pred))

    return metric


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what dspy prints off stdout, which is for results."""
    with redirect_stdout(io.StringIO()):
        yield
