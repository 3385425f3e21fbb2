"""What a run asks: its programs, its rows, and the settings that identify it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import dspy

import referee
from referee.api import as_program
from referee.data import Dataset, Row, load, sample, split
from referee.data.cards import rows_hash
from referee.errors import InputError
from referee.programs import Program
from referee.programs.named import class_of
from referee.runtime.backbones import display_name
from referee.store import Run

Programs: TypeAlias = str | Program | Sequence[str | Program] | Mapping[str, str | Program]
SPLITS = ("all", "demonstration", "validation", "test")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_CHARACTERS = 4  # of English text in a token
_PROMPT = 600  # characters of instructions and answer, in the median of our prompts


@dataclass(frozen=True)
class Chosen:
    """The rows of a run, and all rows of the data, from which a pool may be made."""

    name: str
    rows: Sequence[Row]
    pool: Sequence[Row]


def chosen_rows(
    data: Any,
    *,
    limit: int | None = None,
    seed: int = 0,
    part: str = "all",
    only: Callable[[Row], bool] | None = None,
    pool: bool = False,
) -> Chosen:
    """The rows of a run.

    Args:
        data: A name or path for `data.load`, a `Dataset`, or rows.
        limit: At most so many.
        seed: Draws rows and shuffles documents.
        part: One of `SPLITS`.
        only: Only rows that it accepts.
        pool: Whether all rows are needed too.

    Raises:
        InputError: The data or an option is wrong, or no row can be scored.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: give a number of rows above 0, or None for all.")
    if part not in SPLITS:
        raise InputError(f"There is no split {part!r}: choose {', '.join(SPLITS)}.")

    def keep(row: Row) -> bool:
        return bool(row.answers or row.facts) and (only is None or only(row))

    named = isinstance(data, str | Path)
    if named and part == "all" and not pool:
        dataset = load(str(data), limit=limit, seed=seed, keep=keep)
        return _some(Chosen(dataset.name, dataset.rows, ()))
    dataset = load(str(data), seed=seed) if named else data
    name, every = (dataset.name, dataset.rows) if isinstance(dataset, Dataset) else _own(dataset)
    if part != "all":
        # Divided before it is filtered, so that the parts are those that compiling has seen.
        rows = [row for row in getattr(split(every, seed), part) if keep(row)][:limit]
    elif named:
        rows = list(load(str(data), limit=limit, seed=seed, keep=keep).rows)
    elif isinstance(dataset, Dataset):
        rows = list(islice(filter(keep, every), limit))
    else:
        rows = sample(filter(keep, every), limit, seed)
    return _some(Chosen(name, rows, every))


def _some(chosen: Chosen) -> Chosen:
    if not chosen.rows:
        raise InputError(f"{chosen.name} has no row with answers or facts that was asked for.")
    return chosen


def _own(data: Any) -> tuple[str, list[Row]]:
    rows = list(data)
    if not all(isinstance(row, Row) for row in rows):
        raise InputError("data is neither a name, a path, a Dataset nor a list of Rows.")
    twice = [row_id for row_id, n in Counter(r.id for r in rows).items() if n > 1]
    if twice:
        raise InputError(f"Rows have the same id ({', '.join(twice[:5])}): give each its own.")
    return "rows", rows


def named_programs(programs: Programs) -> dict[str, Program]:
    """Programs by the name that table and files show."""
    if isinstance(programs, Mapping):
        found = {name: _program(each) for name, each in programs.items()}
    else:
        listed = programs.split(",") if isinstance(programs, str) else programs
        several = [listed] if isinstance(listed, Program) else list(listed)
        given = [p.strip() if isinstance(p, str) else p for p in several]
        built = [_program(p) for p in given]
        found = {
            text if isinstance(text, str) else each.label: each
            for text, each in zip(given, built, strict=True)
        }
        if len(found) < len(built):
            raise InputError("Two programs have the same name: give a mapping from names to them.")
    wrong = next((name for name in found if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        raise InputError(f"A program is named {wrong!r}: use letters, digits and . _ : - only.")
    if not found:
        raise InputError("There is no program to evaluate: name at least one.")
    return found


def _program(program: str | Program) -> Program:
    cls = class_of(program) if isinstance(program, str) else program
    return as_program(program, long_answers=getattr(cls, "long_answers", False))


def settings_of(
    programs: Mapping[str, Program],
    chosen: Chosen,
    seed: int,
    lm: dspy.BaseLM,
    external: str,
) -> dict[str, Any]:
    """What shapes the records; resuming with another value of any of these is refused."""
    return {
        "programs": list(programs),
        "program_states": {name: state_of(p) for name, p in programs.items()},
        "data": chosen.name,
        "rows": len(chosen.rows),
        "seed": seed,
        "data_sha256": rows_hash(chosen.rows),
        "lm": display_name(lm),
        "roles": {
            name: {role: display_name(other) for role, other in p.lms.items()}
            for name, p in programs.items()
            if p.lms
        },
        "external": external,
        "version": referee.__version__,
    }


def state_of(program: Program) -> str:
    """Digest of what a program has learnt, its prompts and its settings, without LMs."""
    state = {
        name: {k: v for k, v in parameter.dump_state().items() if k not in ("lm", "traces")}
        for name, parameter in program.named_parameters()
    }
    settings = [program.dump_settings(), program.encoder_name]
    text = json.dumps([state, *settings], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan(programs: Mapping[str, Program], rows: Sequence[Row], run: Run) -> str:
    """One sentence on what is going to be asked, before anything is."""
    parts = [f"{len(rows):,} row{'s' * (len(rows) != 1)}"]
    for name, program in programs.items():
        journal = run.journal(name)
        left = [row for row in rows if not journal.final(row.id)]
        parts.append(f"{name} {_estimate(program, left)}")
        if len(left) < len(rows):
            parts[-1] += f" ({len(rows) - len(left):,} rows are finished already)"
    return "; ".join(parts) + "."


def _estimate(program: Program, rows: Sequence[Row]) -> str:
    bounds = [program.requests(row.documents) for row in rows]
    low, high = (sum(bound[side] for bound in bounds) for side in (0, 1))
    # A document is read once by each program that reads; the rest of a prompt is short.
    read = sum(len(d.text) for r in rows for d in r.documents) if program.needs_documents else 0
    tokens = [(read + n * _PROMPT) // _CHARACTERS for n in (low, high)]
    if low == high:
        return f"{low:,} requests, about {tokens[0]:,} tokens"
    return f"{low:,} to {high:,} requests, about {tokens[0]:,} to {tokens[1]:,} tokens"
