"""The experiments of both papers, as plain declarations: what is compared, on what, how shown.

`experiment_run` asks and scores, `experiment_tables` and `figures` show. A new experiment is one
more entry of `EXPERIMENTS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from referee.errors import InputError

Columns = Literal["data", "contexts", "domain", "kind"]
Plot = Literal["points", "lines", "sweep"]


@dataclass(frozen=True)
class Arm:
    """One line of a table: a program, or a variant of it.

    Attributes:
        program: ``macr``, or ``macr:cot`` for an ablation.
        name: In tables and file names; of the program when empty.
        settings: Fields of `ArbSettings` that differ from the default, cosines by their own name.
        values: Where it stands on the axes of a sweep.
    """

    program: str
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name in tables and files, which may not hold a colon."""
        return self.name or self.program.replace(":", "-")


@dataclass(frozen=True)
class Sweep:
    """One setting of ArbGraph on a scale; all others stay at their defaults.

    Attributes:
        axis: Short name, in the names of arms.
        setting: Field of `ArbSettings` or of `Thresholds`.
        label: Of the axis in the figure, with what is counted.
        values: The values; the default is among them in any case.
        offsets: Instead of values: steps from the cosine that is calibrated for the encoder in use.
    """

    axis: str
    setting: str
    label: str
    values: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes:
        name: As the command line takes it.
        paper: Where it stands in the paper.
        what: What it compares, in one sentence.
        arms: The lines. Arms that the paper does not have are in ``ours`` too.
        measures: What is measured, of `MEASURES`.
        columns: What the columns are: data sets, numbers of contexts, the domains of the rows, or
            kinds (labels of labelled cases).
        plot: How the figure shows it.
        data: Data sets when none is named.
        needs: What a row must have to be asked.
        judged: Whether nothing but fact recall can be measured without a judge, so one is required.
        contexts: Each row is reduced to these numbers of contexts, exactly one of them right.
        sweeps: Settings that are varied one at a time, each an axis of the figure.
        ours: Names of programs that the paper does not compare.
        main: Arms that the experiment is about: the others are compared with these.
    """

    name: str
    paper: str
    what: str
    arms: tuple[Arm, ...]
    measures: tuple[str, ...]
    columns: Columns = "data"
    plot: Plot = "points"
    data: tuple[str, ...] = ("conflicts",)
    needs: Literal["answers", "facts", "labels"] = "answers"
    judged: bool = False
    contexts: tuple[int, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    ours: frozenset[str] = frozenset()
    main: tuple[str, ...] = ("macr", "arbgraph")


@dataclass(frozen=True)
class MeasureText:
    """How a measure is written: name, unit, and whether less is better."""

    name: str
    unit: str
    lower_is_better: bool = False

    @property
    def title(self) -> str:
        """Name, unit and direction."""
        return (
            f"{self.name} ({self.unit}; {'lower' if self.lower_is_better else 'higher'} is better)"
        )


MEASURES: Mapping[str, MeasureText] = {
    "em": MeasureText("Exact match", "share of rows"),
    "rouge_l": MeasureText("ROUGE-L", "F, 0 to 1"),
    "accuracy": MeasureText("Accuracy", "share of cases"),
    "fact_recall": MeasureText("Fact recall", "share of gold facts"),
    "information_density": MeasureText("Information density", "facts per 1,000 tokens"),
    "context_utilization": MeasureText("Evidence utilization", "share of facts in documents"),
    "relevant_noise": MeasureText("Relevant noise", "share of claims", lower_is_better=True),
    "irrelevant_noise": MeasureText("Irrelevant noise", "share of claims", lower_is_better=True),
    "hallucination": MeasureText("Hallucination", "share of claims", lower_is_better=True),
    "self_knowledge": MeasureText("Self-knowledge", "share of claims", lower_is_better=True),
    "faithfulness": MeasureText("Faithfulness", "share of claims"),
}


def _arms(*programs: str) -> tuple[Arm, ...]:
    return tuple(map(Arm, programs))


_SHORT = ("em", "rouge_l")
_LONG = ("fact_recall", "information_density")
_WRITERS = _arms("rag", "react", "cot", "critic", "fire", "mcts-rag", "arbgraph")

_ALL = (
    Experiment(
        "macr-table-1",
        "MACR, Table I",
        "MACR beside baselines for short answers, on each data set.",
        _arms(
            *("direct", "icl", "instructrag", "truthfulrag", "ckplug-answer"),
            *("vote", "madam", "astute", "macr-paper", "macr"),
        ),
        _SHORT,
        ours=frozenset({"vote", "madam", "astute", "macr"}),
    ),
    Experiment(
        "macr-table-2",
        "MACR, Table II and Figure 3",
        "The same questions with 2, 3 and 4 contexts, exactly one right (N = 3, 4, 5 with C0).",
        _arms("icl", "instructrag", "truthfulrag", "macr-paper", "macr"),
        _SHORT,
        columns="contexts",
        plot="lines",
        contexts=(2, 3, 4),
        ours=frozenset({"macr"}),
    ),
    Experiment(
        "macr-table-3",
        "MACR, Table III",
        "MACR, without assessment and retrieval, and with chain of thought instead of agents.",
        _arms(
            *("macr-paper", "macr-paper:no-assessment", "macr-paper:cot"),
            *("macr", "macr:no-assessment"),
        ),
        _SHORT,
        ours=frozenset({"macr", "macr:no-assessment"}),
        main=("macr-paper", "macr"),
    ),
    Experiment(
        "arbgraph-table-1",
        "ArbGraph, Table 1",
        "ArbGraph beside baselines for long answers, by domain.",
        _WRITERS,
        _LONG,
        columns="domain",
        data=("long",),
        needs="facts",
    ),
    Experiment(
        "arbgraph-table-2",
        "ArbGraph, Table 2",
        "What the long answers rest on: recall, density, noise, hallucination, faithfulness.",
        _WRITERS,
        (
            *_LONG,
            *("context_utilization", "relevant_noise", "irrelevant_noise"),
            *("hallucination", "self_knowledge", "faithfulness"),
        ),
        data=("long",),
        needs="facts",
        judged=True,
    ),
    Experiment(
        "arbgraph-table-3",
        "ArbGraph, Table 3",
        "ArbGraph with one part left out at a time, by domain.",
        _arms(
            *("arbgraph", "arbgraph:no-graph", "arbgraph:no-soft", "arbgraph:no-screening"),
            *("arbgraph:no-rejection", "arbgraph:no-gating"),
        ),
        _LONG,
        columns="domain",
        data=("long",),
        needs="facts",
    ),
    Experiment(
        "arbgraph-figure-2",
        "ArbGraph, Figure 2",
        "How much each setting of the graph matters, one at a time.",
        _arms("arbgraph"),
        _LONG,
        plot="sweep",
        data=("long",),
        needs="facts",
        sweeps=(
            Sweep(
                "tau_q",
                "query",
                "τq (cosine of a claim with the question)",
                offsets=(-0.2, -0.1, 0.1, 0.2),
            ),
            Sweep("M", "supports", "M (support edges kept)", values=(0, 30, 60, 90)),
            Sweep("k", "pairs_per_round", "k (contradictions a round)", values=(1, 2, 3, 5, 8)),
            Sweep(
                "tau_sim",
                "similarity",
                "τsim (cosine of a candidate pair)",
                offsets=(-0.2, -0.1, 0.1, 0.2),
            ),
        ),
    ),
    Experiment(
        "arbgraph-figure-3",
        "ArbGraph, Figure 3",
        "The order in which contradictions are arbitrated.",
        tuple(
            Arm("arbgraph", schedule, {"schedule": schedule})
            for schedule in ("hard-first", "easy-first", "intensity")
        ),
        _LONG,
        main=("intensity",),
        data=("long",),
        needs="facts",
    ),
    Experiment(
        "arbgraph-table-4",
        "ArbGraph, Table 4",
        "How often the relation verifier and the arbiter are right on labelled cases.",
        _arms("verifier", "verifier:model", "arbiter", "arbiter:model"),
        ("accuracy",),
        columns="kind",
        data=("relations", "arbitration"),
        needs="labels",
        ours=frozenset({"verifier:model", "arbiter:model"}),
        main=("verifier", "arbiter"),
    ),
)
EXPERIMENTS: Mapping[str, Experiment] = {e.name: e for e in _ALL}


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        InputError: There is none.
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(EXPERIMENTS)}."
    raise InputError(f"There is no experiment {name!r}: {meant}")
