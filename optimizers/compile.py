"""Compile a program for a backbone: rules, then demonstrations or instructions.

Thresholds come last, since they belong to the prompts they were chosen on: what tunes them takes
the `CompileResult.program` and the validation set.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import dspy

from ..data import Row
from ..errors import BackboneError, InputError
from ..programs import Program
from ..programs.artifact import rules_of
from ..programs.feedback import queue_paused
from ..runtime.backbones import display_name
from ..runtime.cache import ReplyCache, caching, current_cache
from ..runtime.exchange import channel
from ..runtime.meter import Budget, metered, nested_meter
from ..runtime.records import Usage
from .bootstrap import Bootstrap
from .examples import as_examples, data_digest
from .induce import InduceRules, Induction
from .rationales import Rationales
from .runs import Optimizer, Run, Score, as_score, scores, silent, untouched
from .scoring import Measure, Metric, as_metric
from .searches import Gepa, Mipro

OPTIMIZERS: dict[str, type[Optimizer]] = {o.name: o for o in (Bootstrap, Mipro, Gepa, Rationales)}
"""Optimizers by the name that the command line takes."""

Examples = Iterable[Row | dspy.Example]


@dataclass(frozen=True)
class CompileResult:
    """What came of a compilation.

    Attributes:
        program: The compiled program, or the given one where that scored better.
        before, after: Scores of the given and of the compiled program on the validation set; None
            when nothing could be scored. Only a test set tells what to expect.
        improved: Whether ``program`` is the compiled one.
        induction: The rules that were proposed and measured; None when none were looked for, or
            the budget or a failing backbone ended it before all were.
        without_demonstrations: Predictors that got neither demonstrations nor an instruction,
            because no successful run reached them.
        estimate: Upper bound on the requests, told before the first one.
        usage: What was spent.
        complete: False when the budget ended it early.
    """

    program: Program
    before: Score | None
    after: Score | None
    improved: bool
    induction: Induction | None
    without_demonstrations: tuple[str, ...]
    estimate: int
    usage: Usage
    complete: bool


def compile_program(
    program: Program,
    trainset: Examples,
    valset: Examples,
    *,
    metric: str | Measure | Metric = "em",
    judge: dspy.BaseLM | None = None,
    optimizer: str | Optimizer | None = None,
    rules: bool | InduceRules = True,
    lm: dspy.BaseLM | None = None,
    teacher_lm: dspy.BaseLM | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    replies: str | Path | None = None,
    tell: Callable[[str], None] = silent,
) -> CompileResult:
    """Give a program rules, and every predictor demonstrations or instructions, for one backbone.

    Args:
        program: The program; it is not changed.
        trainset: Rows or dspy examples to learn from: question, documents, and the labels that the
            metric needs.
        valset: Others, to choose by.
        metric: ``em``, ``fact_recall``, or a function of example and prediction that gives a
            number in [0, 1].
        judge: Another language model that judges which facts a text states, for ``fact_recall``;
            None: those count whose words stand in it.
        optimizer: ``bootstrap``, ``mipro``, ``gepa``, ``rationales``, or one with settings of its
            own; None for the program's (``Program.optimizer``).
        rules: Whether the program's rule base, if it has one, gets rules that are learnt on
            ``trainset`` and verified on ``valset``; the present rules stay. With settings of its
            own: an `InduceRules`, whose metric, observer and seed are those given here.
        lm: The backbone; None for the program's own, else the one dspy is configured with.
        teacher_lm: Another backbone to demonstrate and propose; None for ``lm``.
        budget: Hard bounds on all requests together; at the end of it the best so far is returned.
        seed: Fixes every choice: equal seeds and replies give equal programs.
        replies: Folder that keeps every reply, so that a run which was ended in any way, started
            again, pays for none twice. None for the cache around this call, else a temporary one.
        tell: Takes the estimate before the first request, then how far it is.

    Returns:
        The compiled program with its scores.

    Raises:
        InputError: An example, the metric or the optimizer is wrong, or there is no backbone.
    """
    measured = as_metric(metric, judge)
    run = _run(program, trainset, valset, measured, lm, teacher_lm, budget, seed, tell)
    search, induce = _optimizer(optimizer or program.optimizer), _inducer(rules, run)
    estimate = search.estimate(run) + 2 * run.bound(run.valset)
    if induce is not None:
        estimate += induce.estimate(run.student, run.trainset, run.valset)
    tell(_forecast(estimate, budget))
    if _was_tuned(run.student):
        tell("The program's thresholds were chosen on other prompts: tune them again afterwards.")
    with _stage(run, replies):
        induction = None if induce is None else _induced(induce, run)
        ruled = run.student if induction is None else run.student.with_rules(induction.rules)
        found = search.compile(replace(run, student=ruled))
        before, after = scores(run, run.student, found)
    improved = not _worse(before, after)
    result = CompileResult(
        program=found if improved else run.student,
        before=as_score(before),
        after=as_score(after),
        improved=improved,
        induction=induction,
        without_demonstrations=untouched(run.student, found),
        estimate=estimate,
        usage=run.meter.usage(),
        complete=not run.meter.exhausted,
    )
    result.program.card = _card(run, search, result)
    return result


def _run(
    program: Program,
    trainset: Examples,
    valset: Examples,
    metric: Metric,
    lm: dspy.BaseLM | None,
    teacher_lm: dspy.BaseLM | None,
    budget: Budget | None,
    seed: int,
    tell: Callable[[str], None],
) -> Run:
    if not isinstance(program, Program):
        raise InputError(f"program is a {type(program).__name__}: give a Program.")
    backbone = lm or program.backbone or dspy.settings.lm
    if backbone is None:
        raise InputError("There is no backbone to compile for: give lm=...")
    examples, held_out = as_examples(trainset, "trainset"), as_examples(valset, "valset")
    metric.check((*examples, *held_out))
    return Run(
        student=program.on(None).deepcopy(),
        trainset=examples,
        valset=held_out,
        metric=metric,
        lm=backbone,
        teacher_lm=teacher_lm or backbone,
        seed=seed,
        meter=nested_meter(budget),
        tell=tell,
    )


def _optimizer(optimizer: str | Optimizer) -> Optimizer:
    if not isinstance(optimizer, str):
        return optimizer
    if optimizer not in OPTIMIZERS:
        raise InputError(
            f"There is no optimizer {optimizer!r}: choose one of {', '.join(OPTIMIZERS)}."
        )
    return OPTIMIZERS[optimizer]()


def _inducer(rules: bool | InduceRules, run: Run) -> InduceRules | None:
    """What looks for rules, with the metric, the observer and the seed of this compilation."""
    if rules is False:
        return None
    if rules_of(run.student) is None:
        if rules is True:
            return None
        raise InputError(f"{run.student.name} has no rule base: leave rules out.")
    induce = copy.copy(InduceRules(own="keep") if rules is True else rules)
    induce.metric, induce.observer, induce.seed = run.metric, run.teacher_lm, run.seed
    return induce


def _induced(induce: InduceRules, run: Run) -> Induction | None:
    """The induction; None when it was not measured to the end: half a table is no verdict."""
    student: Any = run.student  # it has a rule base
    found, why = None, ""
    try:
        found = induce.induce(student, run.trainset, run.valset)
    except BackboneError as error:
        why = str(error)
    if run.meter.exhausted:
        why = "the budget ended before all candidates were measured"
    if found is None or why:
        run.tell(f"rules stay as they are: {why}")
        return None
    kept = sum(entry["kept"] for entry in found.table())
    run.tell(f"rules: {kept} of {len(found.matrix.rules)} candidates kept")
    return found


def _forecast(estimate: int, budget: Budget | None) -> str:
    bound = f"At most {estimate:,} requests, retries apart"
    if budget is None or budget.requests is None:
        return f"{bound}."
    if budget.requests >= estimate:
        return f"{bound}; the budget of {budget.requests:,} suffices."
    return f"{bound}; the budget ends it after {budget.requests:,} with the best so far."


def _was_tuned(program: Program) -> bool:
    values = program.dump_thresholds().values()
    return any(isinstance(v, Mapping) and bool(v.get("threshold")) for v in values)


@contextmanager
def _stage(run: Run, replies: str | Path | None) -> Iterator[None]:
    """Everything inside goes through one door: cached, counted, on the backbone."""
    with (
        queue_paused(),
        _cache(replies) as cache,
        caching(cache),
        metered(run.meter),
        dspy.context(lm=run.lm, adapter=channel(), trace=[]),
    ):
        yield


@contextmanager
def _cache(replies: str | Path | None) -> Iterator[ReplyCache]:
    current = current_cache()
    if replies is None and current is not None:
        yield current
        return
    with tempfile.TemporaryDirectory(prefix="referee-") as folder:
        cache = ReplyCache(replies or folder)
        try:
            yield cache
        finally:
            cache.close()


def _worse(before: list[float | None], after: list[float | None]) -> bool:
    """Whether the compiled program did worse, on the examples where both could be scored."""
    pairs = [(b, a) for b, a in zip(before, after, strict=True) if b is not None and a is not None]
    return sum(a for _, a in pairs) < sum(b for b, _ in pairs)


def _card(run: Run, search: Optimizer, result: CompileResult) -> dict[str, Any]:
    return {
        "backbone": display_name(run.lm),
        "teacher": display_name(run.teacher_lm),
        "optimizer": {"name": search.name, **search.settings()},
        "metric": run.metric.name,
        "seed": run.seed,
        "rules": None if result.induction is None else result.induction.record,
        "data": {
            "train": {"n": len(run.trainset), "sha256": data_digest(run.trainset)},
            "validation": {"n": len(run.valset), "sha256": data_digest(run.valset)},
        },
        "scores": {
            "split": "validation",
            "before": _as_data(result.before),
            "after": _as_data(result.after),
        },
        "improved": result.improved,
        "without_demonstrations": list(result.without_demonstrations),
        "usage": result.usage.model_dump(),
        "complete": result.complete,
    }


def _as_data(score: Score | None) -> dict[str, Any] | None:
    if score is None:
        return None
    return {**asdict(score), "interval": list(score.interval)}
