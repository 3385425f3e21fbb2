"""Load a saved program: `referee.load`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dspy

from referee.api import as_lm
from referee.errors import ArtifactWarning
from referee.programs import PROGRAMS, Program
from referee.programs.restoring import backbone_warning, read, restore
from referee.runtime.backbones import display_name


def load(path: str | Path, lm: str | dspy.BaseLM | None = None, **parts: Any) -> Program:
    """The program that `Program.save_artifact` or ``referee compile`` saved.

    Args:
        path: The folder.
        lm: The backbone to bind it to, a language model or a model string; None to leave it to
            the surrounding `dspy` configuration.
        parts: What no file can hold: ``retriever``, ``lms`` (language models of roles), ``queue``.

    Returns:
        The program. What may be wrong is warned of as `ArtifactWarning`: another backbone, an
        edited file, a part that is missing, prompts that were reworded since.

    Raises:
        ArtifactError: It would run wrongly: another schema, signature, encoder or k, or a damaged
            file. The message says how to mend it.
        InputError: ``lm`` is no language model.

    Example:
        >>> referee.load("compiled/macr", lm="openai/gpt-4o-mini")  # doctest: +SKIP
    """
    saved = read(Path(path))
    program, doubts = restore(saved, PROGRAMS, parts)
    bound = None if lm is None else as_lm(lm)
    runs_on = bound if bound is not None else dspy.settings.lm
    doubts.append(backbone_warning(saved.card, display_name(runs_on) if runs_on else ""))
    for doubt in filter(None, doubts):
        warnings.warn(doubt, ArtifactWarning, stacklevel=2)
    return program.on(bound)
