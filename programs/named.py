"""Programs by name, ablations among them: ``macr``, ``macr:cot``, ``arbgraph:no-graph``."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from . import PROGRAMS
from .base import Program

# The default preset has no chain of thought: Table III's is that of the paper's preset.
_ALIASES = {"macr:cot": "macr-paper:cot"}


def named(text: str, **parts: Any) -> Program:
    """A new program.

    Args:
        text: ``NAME``, or ``NAME:VARIANT`` for one with a part left out.
        parts: Constructor arguments.

    Raises:
        InputError: There is no program or variant of that name, or an argument is wrong.
    """
    kind, variant = class_of(text), _ALIASES.get(text, text).partition(":")[2]
    if variant:
        parts["ablation"] = kind.variants[variant]
    return kind(**parts)


def class_of(text: str) -> type[Program]:
    """The class of a program by its name, whatever the variant.

    Raises:
        InputError: There is no program or variant of that name.
    """
    name, colon, variant = _ALIASES.get(text, text).partition(":")
    if name not in PROGRAMS:
        raise InputError(f"There is no program {name!r}: choose one of {', '.join(PROGRAMS)}.")
    kind = PROGRAMS[name]
    if colon and variant not in kind.variants:
        known = [f"{name}:{each}" for each in kind.variants]
        known += [alias for alias in _ALIASES if alias.startswith(f"{name}:")]
        how = f"choose {name}, {', '.join(known)}" if known else f"it has none, name {name} alone"
        raise InputError(f"{name} has no variant {variant!r}: {how}.")
    return kind
