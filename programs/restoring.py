"""A saved program read back: what would be wrong is refused, what may be is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dspy.predict.parameter import Parameter
from dspy.primitives.module import Module

from ..errors import ArtifactError, InputError, RefereeError
from .artifact import (
    CARD,
    RULES,
    SCHEMA,
    STATE,
    THRESHOLDS,
    digest,
    encoder_of,
    signatures_of,
)
from .base import Program
from .rules import RuleBase

_FREE = frozenset({"threshold", "inclusive"})  # of a threshold; all else it holds under
_KEYS = frozenset(
    {
        *("program", "backbone", "settings", "parts", "thresholds", "signatures", "compiled"),
        *("files", "versions"),
    }
)

_TABLES = ("settings", "thresholds", "signatures", "compiled", "files", "versions")


@dataclass(frozen=True)
class Saved:
    """What a folder holds.

    Attributes:
        folder: Where it lies.
        card: `card.json`.
        state: `program.json`, DSPy's state.
        thresholds: `thresholds.json`.
        rules: `rules.yaml`, or None.
        edited: Files that were changed by hand since they were saved.
    """

    folder: Path
    card: Mapping[str, Any]
    state: Mapping[str, Any]
    thresholds: Mapping[str, Any]
    rules: RuleBase | None
    edited: tuple[str, ...]


def read(folder: Path) -> Saved:
    """Read an artifact and check that its files belong together.

    Raises:
        ArtifactError: It is none, was written by another version, or a file of it is damaged.
    """
    card = _read_card(folder)
    held = [name for name in (STATE, RULES, THRESHOLDS) if name != RULES or name in card["files"]]
    changed = [n for n in held if _digest(folder / n) != card["files"].get(n)]
    if STATE in changed:
        raise ArtifactError(
            f"{folder / STATE} is not the file that {CARD} describes: it was edited, or saving was "
            "interrupted. Save or compile the program again."
        )
    thresholds = _read_json(folder / THRESHOLDS)
    _check_conditions(thresholds, card["thresholds"], folder)
    try:
        text = (folder / RULES).read_text(encoding="utf-8") if RULES in held else None
        rules = None if text is None else RuleBase.from_yaml(text)
    except (InputError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{folder / RULES} cannot be used: {error}") from None
    return Saved(folder, card, _read_json(folder / STATE), thresholds, rules, tuple(changed))


def restore(
    saved: Saved, programs: Mapping[str, type[Program]], parts: Mapping[str, Any]
) -> tuple[Program, list[str]]:
    """Build the program from code, load its state, and compare.

    Args:
        saved: What `read` gave.
        programs: Program classes by name.
        parts: Constructor arguments that no file holds (retriever, LMs of roles).

    Returns:
        The program, and sentences on what may be wrong.

    Raises:
        ArtifactError: The state does not fit the code, the encoder or the parts.
    """
    program = _build(saved, programs, parts)
    warnings = _compare_signatures(saved, program)
    state = dict(saved.state)
    for name, parameter in program.named_parameters():
        if isinstance(parameter, Parameter) and not isinstance(parameter, Module):
            # Rules and thresholds have files of their own, which people may edit.
            state[name] = parameter.dump_state()
    try:
        program.load_state(state)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"{saved.folder / STATE} does not fit the program {program.name} ({error!r}): "
            "compile it again."
        ) from None
    program.card = {**saved.card["compiled"], "backbone": saved.card["backbone"]}
    return program, [*warnings, *_doubts(saved, program)]


def backbone_warning(card: Mapping[str, Any], model: str) -> str:
    """A sentence when a program runs on another backbone than it was compiled for, else empty."""
    own = card.get("backbone", "")
    if not own or not model or own == model:
        return ""
    return (
        f"The program was compiled for {own} and runs on {model}: its demonstrations carry over, "
        "its thresholds may not. Compile it again with `referee compile DIR --lm MODEL`."
    )


def _read_card(folder: Path) -> dict[str, Any]:
    if not (folder / CARD).is_file() and (inner := folder / "program" / CARD).is_file():
        raise ArtifactError(f"{folder} is the folder of a tuning: its program is {inner.parent}.")
    if not (folder / CARD).is_file():
        raise ArtifactError(
            f"{folder} holds no compiled program ({CARD} is missing): give a folder that "
            "`referee compile` or save_artifact wrote to the end."
        )
    card = _read_json(folder / CARD)
    if card.get("schema") != SCHEMA:
        raise ArtifactError(
            f"{folder} has schema {card.get('schema')!r} and this version reads {SCHEMA}: compile "
            "it again, or load it with the version that wrote it."
        )
    missing = sorted(_KEYS - card.keys())
    if missing or not all(isinstance(card[k], Mapping) for k in _TABLES):
        raise ArtifactError(
            f"{folder / CARD} is damaged (it lacks {', '.join(missing) or 'a table'}): compile the "
            "program again."
        )
    return card


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{path} cannot be read ({error}): compile it again.") from None
    if not isinstance(found, dict):
        raise ArtifactError(f"{path} holds no table: compile the program again.")
    return found


def _digest(path: Path) -> str:
    try:
        return digest(path.read_bytes())
    except OSError as error:
        raise ArtifactError(
            f"{path} cannot be read ({error.strerror}): compile the program again."
        ) from None


def _check_conditions(found: Mapping[str, Any], saved: Mapping[str, Any], folder: Path) -> None:
    """A threshold may be edited, what it holds under may not."""
    for name, value in saved.items():
        entry = found.get(name)
        if not isinstance(value, Mapping):
            continue
        if not isinstance(entry, Mapping):
            raise ArtifactError(f"{folder / THRESHOLDS} lacks {name!r}: compile it again.")
        for key in (value.keys() | entry.keys()) - _FREE:
            if entry.get(key) != value.get(key):
                raise ArtifactError(
                    f"The {name} threshold was chosen with {key} = {value.get(key)!r} and "
                    f"{folder / THRESHOLDS} says {entry.get(key)!r}: put the old value back, or "
                    "tune again."
                )


def _build(
    saved: Saved, programs: Mapping[str, type[Program]], parts: Mapping[str, Any]
) -> Program:
    name = saved.card["program"]
    if name not in programs:
        raise ArtifactError(
            f"{saved.folder} holds the program {name!r}, which this version does not have: it has "
            f"{', '.join(programs)}."
        )
    kind = programs[name]
    alien = sorted(parts.keys() - set(kind.parts))
    if alien:
        raise ArtifactError(
            f"{', '.join(alien)} cannot be given to a saved {name}: it takes "
            f"{', '.join(kind.parts)}, and the rest stands in its files."
        )
    rules = {} if saved.rules is None else {"rules": saved.rules}
    tuned = {k: v for k, v in saved.thresholds.items() if k != "encoder"}
    try:
        program = kind.from_settings({**saved.card["settings"], **tuned}, **rules, **parts)
    except (KeyError, TypeError, RefereeError) as error:
        raise ArtifactError(
            f"{saved.folder} has settings that {name} does not take ({error}): compile it again."
        ) from None
    _check_encoder(saved, program)
    return program


def _check_encoder(saved: Saved, program: Program) -> None:
    own, now = saved.thresholds.get("encoder", ""), encoder_of(program)
    if own != now or own != saved.card["thresholds"].get("encoder"):
        raise ArtifactError(
            f"The thresholds of {saved.folder} belong to the encoder {own or 'none'!r} and the "
            f"program uses {now or 'none'!r}: use that encoder, or tune with this one."
        )


def _compare_signatures(saved: Saved, program: Program) -> list[str]:
    before, now = saved.card["signatures"], signatures_of(program)
    if before.keys() != now.keys():
        names = ", ".join(sorted(before.keys() ^ now.keys()))
        raise ArtifactError(
            f"{saved.folder} and the program {program.name} differ in their predictors ({names}): "
            "compile it again with this version."
        )
    changed = [name for name in now if before[name].get("fields") != now[name]["fields"]]
    if changed:
        raise ArtifactError(
            f"The fields of {', '.join(changed)} are not those that {saved.folder} was compiled "
            "for, so its demonstrations do not fit: compile it again with this version."
        )
    reworded = [name for name in now if before[name].get("wording") != now[name]["wording"]]
    if not reworded:
        return []
    return [
        f"The prompts of {', '.join(reworded)} were reworded since: the saved wording is used. "
        "Compile again to use the new one."
    ]


def _doubts(saved: Saved, program: Program) -> list[str]:
    doubts = [
        f"{name} was edited since it was saved: the scores of the card are those without the edit."
        for name in saved.edited
    ]
    doubts += [
        f"It was saved with a {name}, which no file holds: give load(..., {name}=...) one."
        for name in saved.card["parts"]
        if not getattr(program, name, None)
    ]
    wrote, reads = saved.card["versions"].get("dspy", ""), version("dspy")
    if _minor(wrote) != _minor(reads):
        doubts.append(
            f"It was saved with dspy {wrote or 'unknown'} and this is dspy {reads}, which may read "
            "its state otherwise: compile it again."
        )
    return doubts


def _minor(text: str) -> list[str]:
    return text.split(".")[:2]
