"""Run an experiment: `evaluate` on each of its parts, and the cells of its table."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dspy

from referee.data import Row
from referee.data.longfact import DOMAINS
from referee.errors import InputError
from referee.evaluation import Evaluation, evaluate
from referee.experiment_arms import built
from referee.experiment_parts import Part, parts_of
from referee.experiments import Arm, Experiment, experiment
from referee.metrics import containment, fact_recall, wilson_interval
from referee.runner import Progress
from referee.runtime import Budget
from referee.runtime.meter import metered, nested_meter
from referee.scoring import Scorer, Scores, judged, score
from referee.store import write_whole
from referee.tables import Measure, summarize

ALL = "all"
_FORMAT = "referee.experiment/1"


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        arm: The line.
        column: The column.
        measure: What was measured.
        found: Mean, interval, n.
        data: The data set.
        contexts: Contexts of each row, where that is what varies.
    """

    arm: str
    column: str
    measure: str
    found: Measure
    data: str
    contexts: int | None = None


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes:
        experiment: What was compared.
        arms: The lines, in order.
        columns: The columns, in order.
        cells: All that could be measured.
        evaluations: Records, counts, costs and paired differences, by part.
        notes: What a reader must know besides.
    """

    experiment: Experiment
    arms: Sequence[Arm]
    columns: Sequence[str]
    cells: Sequence[Cell]
    evaluations: Mapping[str, Evaluation]
    notes: Sequence[str] = ()


def run_experiment(
    name: str,
    *,
    out: str | Path,
    data: Sequence[str] = (),
    lm: str | dspy.BaseLM | None = None,
    lms: Mapping[str, dspy.BaseLM] | None = None,
    judge: dspy.BaseLM | None = None,
    limit: int | None = None,
    seed: int = 0,
    split: str = "all",
    external: str = "none",
    concurrency: int = 16,
    budget: Budget | None = None,
    date: str | datetime.date | None = None,
    progress: Callable[[Progress], None] | None = None,
    before: Callable[[str], None] | None = None,
) -> Result:
    """Run one experiment, or the rest of it when ``out`` holds its beginning.

    Args:
        name: One of `EXPERIMENTS`.
        out: Folder; each part has a folder of records in it, as `evaluate` writes them.
        data: Data sets; those of the experiment when there are none.
        lm: As in `resolve`.
        lms: Language models of roles, for the programs that have them.
        judge: Judges long answers. Without one a fact counts where its words stand in the text.
        limit: At most so many rows of each data set.
        seed: Which rows, and the order of documents and contexts.
        split: As in `evaluate`.
        external: As in `evaluate`; a pool holds the contexts of the rows that are asked.
        concurrency: As in `evaluate`.
        budget: Bounds on the whole experiment.
        date: As in `evaluate`.
        progress: As in `evaluate`.
        before: As in `evaluate`.

    Returns:
        The result; `experiment_tables` and `figures` write it down.

    Raises:
        InputError: There is no such experiment, the data do not have what it needs, a judge is
            missing, or the folder cannot be used.
        BackboneError: The language model is down.
    """
    chosen = experiment(name)
    if chosen.judged and judge is None:
        raise InputError(f"{name} needs a judge for its measures: give --judge MODEL.")
    if chosen.needs == "labels" and (split, external) != ("all", "none"):
        raise InputError(f"{name} asks labelled cases: give it no --split and no --external.")
    parts = parts_of(chosen, data, limit=limit, seed=seed, split=split)
    _check_roles(parts, lms or {})
    folder = _claimed(Path(out), chosen.name)
    found: dict[str, Evaluation] = {}
    with metered(nested_meter(budget)):
        for part in parts:
            programs = {arm.label: built(arm, lms or {}) for arm in part.arms}
            found[part.name] = evaluate(
                programs,
                part.dataset,
                lm=lm,
                seed=seed,
                concurrency=concurrency,
                external=external,
                date=date,
                out=folder / part.name,
                scorer=_scorer(chosen, judge),
                progress=progress,
                before=before,
            )
    return _result(chosen, parts, found, judge)


def _check_roles(parts: Sequence[Part], lms: Mapping[str, dspy.BaseLM]) -> None:
    """Find a role that nobody has before anything is asked."""
    roles = {role for part in parts for arm in part.arms for role in built(arm, {}).roles}
    for role in lms:
        if role not in roles:
            known = ", ".join(sorted(roles))
            raise InputError(f"No program of this experiment has a role {role!r}: choose {known}.")


def _claimed(folder: Path, name: str) -> Path:
    """The folder, which belongs to this experiment from now on."""
    path, asked = folder / "experiment.json", {"format": _FORMAT, "experiment": name}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_whole(path, json.dumps(asked) + "\n")
        before = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be used ({error.strerror}): give another --out."
        ) from None
    except ValueError:
        raise InputError(f"{path} cannot be read: give another --out.") from None
    if before != asked:
        raise InputError(f"{folder} does not hold {name}, but {before}: give another --out.")
    return folder


def _scorer(chosen: Experiment, judge: dspy.BaseLM | None) -> Scorer:
    """Scores of the experiment's measures alone: the others would be compared in vain."""
    grounding = not set(chosen.measures) <= {"fact_recall", "information_density"}
    base = judged(judge, grounding) if judge is not None else _by_words

    def scorer(row: Row, record: Mapping[str, Any]) -> Scores:
        found = base(row, record)
        return {name: found.get("em" if name == "accuracy" else name) for name in chosen.measures}

    return scorer


def _by_words(row: Row, record: Mapping[str, Any]) -> Scores:
    """Scores without a judge: a fact counts where its words stand in the text."""
    found, text = score(row, record), record["result"].get("text")
    if text is None or not row.facts:
        return found
    return {**found, "fact_recall": fact_recall([containment(text, [f]) == 1 for f in row.facts])}


def _result(
    chosen: Experiment,
    parts: Sequence[Part],
    found: Mapping[str, Evaluation],
    judge: dspy.BaseLM | None,
) -> Result:
    cells = [cell for part in parts for cell in _cells(part, found[part.name], parts)]
    arms = {arm.label: arm for part in parts for arm in part.arms}
    return Result(
        chosen,
        list(arms.values()),
        list(dict.fromkeys(cell.column for cell in cells)),
        cells,
        found,
        _notes(chosen, parts, judge),
    )


def _cells(part: Part, found: Evaluation, parts: Sequence[Part]) -> list[Cell]:
    """What was measured of each arm: in each group of rows, and in all of them."""
    rows = part.dataset.rows
    groups = {row.id: part.group(row) if part.group else "" for row in rows}
    known = [*DOMAINS, *sorted(set(groups.values()) - set(DOMAINS))]
    names = [name for name in known if name and name in groups.values()]
    prefix = f"{part.name}: " if sum(p.group is not None for p in parts) > 1 else ""
    own = part.name
    if part.contexts is not None:
        alone = len({p.dataset.name for p in parts}) == 1
        own = f"{part.contexts} contexts" + ("" if alone else f", {part.dataset.name}")
    cells = []
    for name in [*names, ""]:
        column = f"{prefix}{name}" if name else ALL if names and len(parts) == 1 else own
        number = sum(g == name for g in groups.values()) if name else len(rows)
        for arm, scored in found.scored.items():
            some = [s for s in scored if not name or groups[s.id] == name]
            measures = summarize(arm, some, number).measures
            cells += [
                Cell(arm, column, m, _with_interval(m, value), part.dataset.name, part.contexts)
                for m, value in measures.items()
            ]
    return cells


def _with_interval(measure: str, found: Measure) -> Measure:
    """Wilson's interval for a share of cases: the bootstrap of three right ones is a point."""
    if measure != "accuracy":
        return found
    low, high = wilson_interval(round(found.mean * found.n), found.n)
    return replace(found, low=low, high=high)


def _notes(chosen: Experiment, parts: Sequence[Part], judge: Any) -> list[str]:
    notes = []
    arms = {arm.label: arm for part in parts for arm in part.arms}
    ours = [label for label, arm in arms.items() if arm.program in chosen.ours]
    if ours:
        notes.append(f"Not in the paper: {', '.join(ours)}.")
    if chosen.needs == "facts" and judge is None:
        notes.append(
            "Without --judge a fact counts where its words stand in the text, a lower bound, and "
            "information density is not measured."
        )
    if chosen.columns == "domain" and not any(r.domain for p in parts for r in p.dataset.rows):
        notes.append("No row names a domain (field 'domain'), so only all rows are shown.")
    return notes
