"""The layout of `rules.yaml`: plain data in, plain data out, with a header for its readers.

Complete.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from ..errors import InputError
from ..runtime.records import Record

_R = TypeVar("_R", bound=Record)

HEADER = """\
# The rules by which referee settles conflicts between sources. Edit freely; then check the file
# with `referee rules`.
#
# authoritative: source names ("Federal Register") or hosts ("nasa.gov", subdomains included) that
#   you trust. What a document says of its own authority never counts.
# rules: for each rule
#   id          unique; among rules without support, the order of precedence (R2 before R10)
#   type        temporal, misinformation, semantic, granularity, other, or any
#   condition   when the rule applies, in words
#   resolution  which statement to believe then, in words
#   operator    applied in code where the texts allow it; leave out to let the language model apply
#               the words: authoritative_source, external_context, entity_match, most_specific,
#               statement_over_plan, latest_date, most_independent_sources, trusted_memory
#   coverage, support, fired, correct, interval, gain
#               measured on a validation split: leave out in a rule written by hand
#   provenance  starter, induced, feedback or user
#   provisional true while a rule from feedback is not verified
# version, history: kept by referee.
"""
_TOP = ("version", "authoritative", "rules", "history")
_OPENS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSES = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_DEEPEST = 20  # ours
_LONGEST = 2_000_000  # ours: characters of a file that is still read


class _Dumper(yaml.SafeDumper):
    """Block style, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_layout(state: Mapping[str, Any]) -> str:
    """Write a rule base.

    Args:
        state: JSON-ready data with the keys version, authoritative, rules, history.

    Returns:
        YAML with a header that explains the fields; a rule shows only what it has.
    """
    data = {
        **{key: state[key] for key in _TOP},
        "history": [{k: v for k, v in change.items() if v} for change in state["history"]],
        "rules": [{k: v for k, v in rule.items() if _is_set(v)} for rule in state["rules"]],
    }
    body = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=88)
    return f"{HEADER}\n{body}"


def save_layout(text: str, path: str | Path) -> Path | None:
    """Write a rules file whole or not at all; what stood there is kept beside it.

    Args:
        text: What `as_layout` gave.
        path: Where to; ``rules.yaml`` of version 2 is kept as ``rules.v2.yaml``.

    Returns:
        Where the old file is kept; None when there was none, or it held the same.

    Raises:
        InputError: The place cannot be written, or what stands there is no rules file.
    """
    path, kept = Path(path), None
    try:
        if path.exists() and (old := path.read_text(encoding="utf-8")) != text:
            kept = _free(path, read_layout(old)["version"], old)
            kept.write_text(old, encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be written ({error}): give another file.") from None
    return kept


def _free(path: Path, version: int, text: str) -> Path:
    """A name for an old version; one that was edited by hand overwrites no other."""
    numbers = ("", *(f"-{n}" for n in range(2, 1000)))
    names = (path.with_name(f"{path.stem}.v{version}{n}{path.suffix}") for n in numbers)
    return next(p for p in names if not p.exists() or p.read_text(encoding="utf-8") == text)


def read_layout(text: str) -> dict[str, Any]:
    """Read the frame of a rules file.

    Args:
        text: YAML; plain data only, no tags that build objects, no aliases.

    Returns:
        A dict with version (int), authoritative (list of str), rules and history (lists of
        mappings).

    Raises:
        InputError: It is no YAML, or the frame is another one.
    """
    data = _loaded(text)
    for key in data:
        if key not in _TOP:
            raise InputError(f"The rules file has a field {key!r}: its fields are {_listed(_TOP)}.")
    version = data.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"Field 'version' of the rules file is {version!r}: give a whole number.")
    return {
        "version": version,
        "authoritative": _texts(data.get("authoritative")),
        "rules": _mappings("rules", data.get("rules")),
        "history": _mappings("history", data.get("history")),
    }


def as_records(record: type[_R], noun: str, items: Sequence[Mapping[str, Any]]) -> list[_R]:
    """Build records from entries of a file.

    Args:
        record: Their class.
        noun: What an entry is called in a message.
        items: The entries.

    Returns:
        One record per entry.

    Raises:
        InputError: An entry is wrong; the message names it and its field.
    """
    made = []
    for at, item in enumerate(items, start=1):
        try:
            made.append(record.model_validate(item))
        except ValidationError as error:
            name = f"{noun} {item.get('id') or f'number {at}'}"
            raise InputError(f"{name}, {_fault(error, record)}.") from error
    return made


def unknown_operator(rule: str, operator: str, known: Sequence[str]) -> str:
    """The message for an operator that does not exist, with the nearest that does."""
    near = difflib.get_close_matches(operator[:100], known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"the operators are {_listed(known)}."
    return f"Rule {rule}, field 'operator': {operator!r} is unknown; {hint}"


def _fault(error: ValidationError, record: type[Record]) -> str:
    first = error.errors(include_url=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return f"field {field!r} is unknown; the fields are {_listed(list(record.model_fields))}"
    if first["type"] == "missing":
        return f"field {field!r} is missing"
    shown = repr(first["input"])[:80]
    message = first["msg"]
    return f"field {field!r} is {shown}: {message[:1].lower()}{message[1:]}"


def _is_set(value: Any) -> bool:
    """A measured share or gain of 0.0 is set; a count of 0 and False are what a reader assumes."""
    return value is not None and value != "" and not (isinstance(value, int) and value == 0)


def _loaded(text: str) -> dict[str, Any]:
    if len(text) > _LONGEST:
        raise InputError(f"The rules file has {len(text):,} characters: {_LONGEST:,} are read.")
    try:
        _refuse_expansion(text)
        data = yaml.safe_load(text)
    except InputError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"The rules file is no valid YAML: {why}") from error
    if not isinstance(data, dict) or "rules" not in data:
        raise InputError("The rules file has no field 'rules': give it a list of rules.")
    return data


def _refuse_expansion(text: str) -> None:
    """Aliases and deep nesting make a small text large or slow; a rules file needs neither."""
    depth = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise InputError("The rules file uses a YAML alias (*): write the value out.")
        depth += isinstance(token, _OPENS) - isinstance(token, _CLOSES)
        if depth > _DEEPEST:
            raise InputError(f"The rules file is nested more than {_DEEPEST} deep: flatten it.")


def _texts(value: Any) -> list[str]:
    items = [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InputError(
            f"Field 'authoritative' of the rules file is {value!r}: give a list of texts."
        )
    return items


def _mappings(field: str, value: Any) -> list[dict[str, Any]]:
    items = [] if value is None else value
    if not isinstance(items, list):
        raise InputError(f"Field {field!r} of the rules file is no list: begin each entry with -.")
    for at, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not all(isinstance(key, str) for key in item):
            raise InputError(f"Entry {at} of {field!r} is {item!r}: give it fields such as id.")
    # An emptied field ("operator:") is a field left out; dates may be written without quotes.
    return [{k: _plain(k, v) for k, v in item.items() if v is not None} for item in items]


def _plain(key: str, value: Any) -> Any:
    if key == "date" and hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value) if key == "id" and type(value) is int else value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
