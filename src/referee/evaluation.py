"""`evaluate`: programs on the rows of a data set, with scores, intervals and paired differences."""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy

from referee.api import as_lm
from referee.asking import Programs, chosen_rows, named_programs, plan, settings_of
from referee.data import Dataset, Row
from referee.errors import BackboneError, InputError
from referee.external import External, without_address
from referee.programs import Program
from referee.programs.base import as_of
from referee.runner import (
    Progress,
    Record,
    Task,
    answer_all,
    bound,
    in_window,
    long_run,
    rows_in_flight,
)
from referee.runtime import Budget, Usage
from referee.runtime.backbones import display_name
from referee.runtime.meter import Meter
from referee.scoring import Scorer, score
from referee.store import Run, file_of
from referee.tables import Comparison, Scored, Summary, by_conflict_type, compare, summarize


class _Scratch:
    """A temporary folder that goes when nobody holds it any more."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="referee-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Evaluation:
    """Records and scores of programs on one data set.

    Attributes:
        data: Name of the data set.
        lm: Name of the language model.
        external: Where outside knowledge came from.
        settings: All that was asked (``run.json``).
        scored: Per program its rows with status, scores and usage, in the order of the data.
        summaries: Per program: counts, scores with interval and lower bound, cost.
        by_conflict_type: The same per program and conflict type.
        comparisons: Paired differences between programs, on rows that both finished.
        folder: Where the records are.
    """

    data: str
    lm: str
    external: str
    settings: Mapping[str, Any]
    scored: Mapping[str, Sequence[Scored]]
    summaries: Sequence[Summary]
    by_conflict_type: Sequence[Summary]
    comparisons: Sequence[Comparison]
    folder: Path
    _kept: _Scratch | None = field(default=None, repr=False)

    def records(self, program: str) -> Iterator[Record]:
        """The whole record of each row, as stored; read one by one.

        Raises:
            InputError: The program was not evaluated.
        """
        if program not in self.scored:
            raise InputError(f"{program!r} was not evaluated: {', '.join(self.scored)} were.")
        with (self.folder / file_of(program)).open(encoding="utf-8") as lines:
            yield from {r["id"]: r for r in map(json.loads, lines)}.values()


def evaluate(
    program: Programs,
    data: str | Dataset | Sequence[Row],
    *,
    lm: str | dspy.BaseLM | None = None,
    limit: int | None = None,
    seed: int = 0,
    split: str = "all",
    concurrency: int = 16,
    budget: Budget | None = None,
    external: str = "none",
    date: str | datetime.date | None = None,
    out: str | Path | None = None,
    only: Callable[[Row], bool] | None = None,
    scorer: Scorer = score,
    progress: Callable[[Progress], None] | None = None,
    before: Callable[[str], None] | None = None,
) -> Evaluation:
    """Ask programs all rows of a data set and score what they answer.

    Args:
        program: A program or its name, a list of them, or a mapping from names for the table.
        data: A data set's name, a path to rows (.jsonl, .csv, .parquet), a `Dataset`, or rows.
            Only rows with right answers or gold facts are asked.
        lm: As in `resolve`.
        limit: At most so many rows, drawn by the seed.
        seed: Which rows, in which order, and the order of each row's documents.
        split: ``all``, or one part of `data.split`: ``demonstration``, ``validation``, ``test``.
        concurrency: Requests in flight at once, per backbone.
        budget: Bounds on the whole run; rows in flight when it is spent end as ``budget``.
        external: Outside knowledge, the same for every program: ``none``, ``field``, ``pool`` or
            ``lm:MODEL[@ADDRESS]`` (see `referee.external`).
        date: As-of date of rows without one; today, or that of the run in ``out``, when None.
        out: Folder for the records. A run that is found there is taken up where it ended: finished
            rows are not asked again, failed ones are. None keeps nothing.
        only: Only rows that it accepts.
        scorer: Scores one row.
        progress: Called after each row.
        before: Called with a sentence on what is going to be asked, and on a program that was
            stopped because all its rows failed at the provider.

    Returns:
        The evaluation.

    Raises:
        InputError: A program, the data, an option or the folder is wrong.
        BackboneError: The language model is down.

    Example:
        >>> referee.evaluate(["direct", "macr"], "conflicts", limit=20)  # doctest: +SKIP
    """
    programs, model = named_programs(program), as_lm(lm)
    chosen = chosen_rows(
        data, limit=limit, seed=seed, part=split, only=only, pool=external == "pool"
    )
    kept = _Scratch() if out is None else None
    folder = Path(kept.folder if kept else str(out))
    asked = settings_of(programs, chosen, seed, model, without_address(external))
    fixed = {} if date is None else {"date": as_of(date)}
    with Run(folder, {**asked, **fixed}, {} if fixed else {"date": as_of(None)}) as run:
        knowledge = External(external, chosen.pool or chosen.rows, run.asked["date"])
        equipped = {name: knowledge.equipped(p) for name, p in programs.items()}
        pinned = [other for p in programs.values() for other in p.lms.values()]
        bound([model, *knowledge.lms, *pinned], concurrency)
        (before or _silent)(plan(equipped, chosen.rows, run))
        with long_run(model, budget) as meter:
            work = _Work(run, knowledge, chosen.rows, meter, concurrency, scorer)
            down: BackboneError | None = None
            for name, each in equipped.items():
                before_it, down = down, work.ask(name, each, progress or _silent)
                # One program may ask what this model cannot do; two in a row: it is down.
                if down and (before_it or len(equipped) == 1):
                    raise down
                if down:
                    (before or _silent)(f"{name}: {down}")
            scored = {name: work.scored(name) for name in equipped}
    return Evaluation(
        data=chosen.name,
        lm=display_name(model),
        external=knowledge.name,
        settings=run.asked,
        scored=scored,
        summaries=[summarize(name, rows, len(chosen.rows)) for name, rows in scored.items()],
        by_conflict_type=by_conflict_type(scored, chosen.rows),
        comparisons=compare(scored),
        folder=folder,
        _kept=kept,
    )


@dataclass(frozen=True)
class _Work:
    """One run's rows, and what answering and scoring them takes."""

    run: Run
    knowledge: External
    rows: Sequence[Row]
    meter: Meter
    concurrency: int
    scorer: Scorer
    known: dict[tuple[str, str], Scored] = field(default_factory=dict)  # by program and row

    def ask(
        self, name: str, program: Program, progress: Callable[[Progress], None]
    ) -> BackboneError | None:
        """Ask all rows that are not finished, and write each record as it comes.

        Returns:
            Why it was stopped before the last row, if it was.
        """
        journal = self.run.journal(name)
        waiting = [row for row in self.rows if not journal.final(row.id)]
        before = len(self.rows) - len(waiting)
        failed, date = 0, self.run.asked["date"]
        by_id = {row.id: row for row in waiting}
        tasks = (
            Task(row.id, row.question, self.knowledge.documents(program, row), row.date or date)
            for row in waiting
        )
        records = answer_all(program, tasks, self.meter, self.concurrency)
        stopped: BackboneError | None = None
        try:
            for done, record in enumerate(records, start=before + 1):
                journal.append(record)
                if self.scorer is score:
                    # It asks nobody: done while other rows wait for the model, it takes no time.
                    self.known[name, record["id"]] = _scored(by_id[record["id"]], record, score)
                failed += record["status"] not in ("ok", "abstained")
                told = Progress(name, done, before, len(self.rows), failed, self.meter.usage())
                progress(told)
        except BackboneError as error:
            stopped = error
        journal.tidy()
        return stopped

    def scored(self, name: str) -> list[Scored]:
        """Scores of the rows that have a record, in the order of the data."""
        journal = self.run.journal(name)
        late = (row for row in self.rows if (name, row.id) not in self.known)
        found = ((row, record) for row in late if (record := journal.get(row.id)))
        width = rows_in_flight(self.concurrency)
        for each in in_window(found, lambda pair: _scored(*pair, self.scorer), width):
            self.known[name, each.id] = each
        return [s for row in self.rows if (s := self.known.get((name, row.id)))]


def _scored(row: Row, record: Record, scorer: Scorer) -> Scored:
    finished = record["status"] in ("ok", "abstained")
    scores = scorer(row, record) if finished else {}
    usage = Usage.model_validate((record["result"] or {}).get("usage") or {})
    return Scored(row.id, record["status"], row.conflict_type, scores, usage, record["seconds"])


def _silent(_: Any) -> None:
    pass
