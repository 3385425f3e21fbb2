"""A program as a folder of JSON and YAML: written here, read back and checked in `restoring`.

    program.json      DSPy state: demonstrations and instructions; plain `dspy` loads it too
    rules.yaml        the rule base, for programs that have one; made to be edited
    thresholds.json   what is tuned, each with the conditions it holds under
    card.json         which program on which backbone, how it was compiled, what fits it

The card is written last: a folder without one is not a whole artifact. No LM is saved, so neither a
key nor an endpoint can be in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic

from ..errors import ArtifactError
from ..runtime.backbones import display_name
from .rules import RuleBase

if TYPE_CHECKING:
    from .base import Program

SCHEMA = 1
CARD, STATE, RULES, THRESHOLDS = "card.json", "program.json", "rules.yaml", "thresholds.json"
_PACKAGES = ("referee", "dspy", "litellm", "gepa", "optuna")
_WORDS = frozenset({"description", "title"})  # of a JSON schema: they reach prompts, not values


def save(program: Program, folder: Path) -> None:
    """Write the artifact; see `Program.save_artifact`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD).unlink(missing_ok=True)
        _write_state(program, folder)
        rules = rules_of(program)
        if rules is None:
            (folder / RULES).unlink(missing_ok=True)
        else:
            _write(folder / RULES, rules.to_yaml())
        thresholds = {"encoder": encoder_of(program), **program.dump_thresholds()}
        _write(folder / THRESHOLDS, as_json(thresholds))
        _write(folder / CARD, as_json(_card(program, folder, thresholds)))
    except OSError as error:
        raise ArtifactError(
            f"{folder} cannot be written ({error.strerror}): give a folder that can."
        ) from None


def rules_of(program: Program) -> RuleBase | None:
    """The rule base of a program that has one."""
    rules = getattr(program, "rules", None)
    return rules if isinstance(rules, RuleBase) else None


def encoder_of(program: Program) -> str:
    """The encoder that thresholds belong to, without the folder it lies in; empty without one."""
    name = program.encoder_name
    return Path(name).name if os.path.isabs(name) or Path(name).exists() else name


def as_json(data: Any) -> str:
    """JSON as people read it."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def signatures_of(program: Program) -> dict[str, dict[str, str]]:
    """For each predictor the signature that the code gives it, as two digests.

    Demonstrations fit ``fields``: names, direction and types. ``wording`` is what a model reads:
    instructions and descriptions.
    """
    given = {**program.dump_settings(), **program.dump_thresholds()}
    fresh = type(program).from_settings(given)
    return {
        name: {
            "signature": predictor.signature.__name__,
            "fields": _digest_of(_fields(predictor.signature)),
            "wording": _digest_of(_wording(predictor.signature)),
        }
        for name, predictor in fresh.named_predictors()
    }


def _write_state(program: Program, folder: Path) -> None:
    bare = program.on(None).deepcopy()
    for predictor in bare.predictors():
        predictor.lm, predictor.traces, predictor.train = None, [], []
    bare.save(folder / f"new-{STATE}")
    (folder / f"new-{STATE}").replace(folder / STATE)


def _write(path: Path, text: str) -> None:
    new = path.with_name(f"new-{path.name}")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _card(program: Program, folder: Path, thresholds: Mapping[str, Any]) -> dict[str, Any]:
    bound = "" if program.backbone is None else display_name(program.backbone)
    compiled = dict(program.card)
    return {
        "schema": SCHEMA,
        "program": program.name,
        "backbone": compiled.pop("backbone", bound),
        "settings": program.dump_settings(),
        "parts": [name for name in program.parts if getattr(program, name, None)],
        "thresholds": thresholds,
        "signatures": signatures_of(program),
        "compiled": compiled,
        "files": {
            name: digest((folder / name).read_bytes())
            for name in (STATE, RULES, THRESHOLDS)
            if (folder / name).exists()
        },
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _fields(signature: Any) -> list[Any]:
    return [
        [
            name,
            "input" if name in signature.input_fields else "output",
            _without_words(pydantic.TypeAdapter(field.annotation).json_schema()),
        ]
        for name, field in signature.fields.items()
    ]


def _wording(signature: Any) -> list[Any]:
    described = [
        [name, (field.json_schema_extra or {}).get("desc", "")]
        for name, field in signature.fields.items()
    ]
    schemas = [pydantic.TypeAdapter(f.annotation).json_schema() for f in signature.fields.values()]
    return [signature.instructions, described, schemas]


def _without_words(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {k: _without_words(v) for k, v in schema.items() if k not in _WORDS}
    return [_without_words(item) for item in schema] if isinstance(schema, list) else schema


def _digest_of(data: Any) -> str:
    return digest(json.dumps(data, sort_keys=True, ensure_ascii=False).encode())[:16]
