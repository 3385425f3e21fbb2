"""The parts of an experiment: which rows are asked of whom, and what divides them into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from referee.asking import chosen_rows
from referee.data import Dataset, Row, load
from referee.data.cards import Card
from referee.data.labelled import BUNDLED_CASES, labelled
from referee.errors import InputError
from referee.experiment_arms import arms_of
from referee.experiments import Arm, Experiment


@dataclass(frozen=True)
class Part:
    """Rows that are asked together, in a folder of their own.

    Attributes:
        name: Of the folder, and of the column.
        dataset: The rows.
        arms: Who is asked.
        group: What divides the rows into columns; empty: one column for all.
        contexts: Contexts of each row, where that is what varies.
    """

    name: str
    dataset: Dataset
    arms: Sequence[Arm]
    group: Callable[[Row], str] | None = None
    contexts: int | None = None


def parts_of(
    chosen: Experiment, data: Sequence[str], *, limit: int | None, seed: int, split: str
) -> list[Part]:
    """All parts, checked before anything is asked.

    Args:
        chosen: The experiment.
        data: Data sets; those of the experiment when there are none.
        limit: At most so many rows of each.
        seed: Which rows, and the order of documents and contexts.
        split: One of `asking.SPLITS`.

    Raises:
        InputError: The data do not have what the experiment needs, or two sets have one name.
    """
    sources = tuple(data) or chosen.data
    if chosen.needs == "labels":
        parts = _components(chosen, sources, limit, seed)
    else:
        drawn = [_drawn(chosen, source, limit, seed, split) for source in sources]
        parts = [part for dataset in drawn for part in _parts(chosen, dataset, seed)]
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(f"Two --data are named {twice}: rename one, so that each has its folder.")
    return parts


def _drawn(chosen: Experiment, source: str, limit: int | None, seed: int, split: str) -> Dataset:
    """Rows that have what the experiment needs."""
    most = max(chosen.contexts, default=None)

    def fits(row: Row) -> bool:
        usable = bool(row.answers if chosen.needs == "answers" else row.facts)
        return usable and (most is None or row.with_contexts(most, seed) is not None)

    every = load(source, seed=seed)
    if not any(map(fits, every.rows)):
        more = f", one correct and {most - 1} conflicting contexts" if most else ""
        raise InputError(
            f"{source} has no row with {chosen.needs}{more}, which {chosen.name} needs: "
            "give other --data."
        )
    rows = chosen_rows(every, limit=limit, seed=seed, part=split, only=fits).rows
    return replace(every, rows=tuple(rows))


def _parts(chosen: Experiment, drawn: Dataset, seed: int) -> list[Part]:
    """One part, or one for each number of contexts, of the same questions."""
    arms = arms_of(chosen)
    if not chosen.contexts:
        return [Part(drawn.name, drawn, arms, _domain if chosen.columns == "domain" else None)]
    reduced = {n: replace(drawn, rows=_reduced(drawn.rows, n, seed)) for n in chosen.contexts}
    return [Part(f"{drawn.name}-{n}", rows, arms, contexts=n) for n, rows in reduced.items()]


def _reduced(rows: Iterable[Row], number: int, seed: int) -> tuple[Row, ...]:
    """The rows with so many contexts; those with fewer than the most have too."""
    reduced = (row.with_contexts(number, seed) for row in rows)
    return tuple(row.shuffled(seed) for row in reduced if row is not None)


def _components(
    chosen: Experiment, sources: Sequence[str], limit: int | None, seed: int
) -> list[Part]:
    """Cases for the verifier and for the arbiter; the bundled ones for what no source gives."""
    given = [labelled(source, limit=limit, seed=seed) for source in sources]
    missing = [kind for kind in BUNDLED_CASES if all(kind != each.kind for each in given)]
    probed = {"relations": "verifier", "arbitration": "arbiter"}
    return [
        Part(
            each.name,
            Dataset(each.name, each.rows, Card(each.name)),
            [arm for arm in chosen.arms if arm.program.startswith(probed[each.kind])],
            _label if each.kind == "relations" else None,
        )
        for each in [*given, *(labelled(kind, limit=limit, seed=seed) for kind in missing)]
    ]


def _domain(row: Row) -> str:
    return row.domain


def _label(row: Row) -> str:
    return row.conflict_type
