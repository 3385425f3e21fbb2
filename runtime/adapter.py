"""Short prompts and lenient reading: how a signature is put to a small model and read back.

dspy's `ChatAdapter` spends some 200 tokens a request on the layout of headers, and small models
get the headers wrong. Here the instructions come first (a stable prefix that a server can keep),
then the varying fields. A signature with one text output is answered in plain text; any other as
one JSON object, constrained by the server where it can be and read leniently where it cannot.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, get_args, get_origin

import dspy
import json_repair
import pydantic
from dspy.adapters.json_adapter import _get_structured_outputs_response_format
from dspy.adapters.utils import (
    apply_output_field_defaults,
    format_field_value,
    parse_value,
    serialize_for_json,
)

from .capabilities import supports_schema
from .meter import current_meter

_THINK = re.compile(r"<think>.*?(</think>|\Z)", re.S)
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.S)
_MARKER = re.compile(r"\[\[ ## \w{1,40} ## \]\]")
_NOTHING = frozenset({"none", "null", "n/a", "na", "unknown", ""})
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


class CompactAdapter(dspy.Adapter):
    """Formats and parses every signature of this package."""

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        """See `dspy.Adapter`."""
        self._constrain(lm, lm_kwargs, signature)
        return super().__call__(lm, lm_kwargs, signature, demos, inputs)

    async def acall(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        """See `dspy.Adapter`."""
        self._constrain(lm, lm_kwargs, signature)
        return await super().acall(lm, lm_kwargs, signature, demos, inputs)

    def format_system_message(self, signature: Any) -> str:
        """Instructions, and for typed outputs the keys of the JSON object."""
        if _plain_field(signature):
            return str(signature.instructions)
        keys = "\n".join(_key_line(name, field) for name, field in signature.output_fields.items())
        return f"{signature.instructions}\n\nReply with one JSON object:\n{keys}"

    def format_user_message_content(
        self,
        signature: Any,
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """Each input under its label, in the order of the signature."""
        parts = [
            f"{_label(name)}: {_shown(str(format_field_value(field, inputs[name])))}"
            for name, field in signature.input_fields.items()
            if name in inputs
        ]
        return "\n\n".join(p for p in (prefix, *parts, suffix) if p)

    def format_assistant_message_content(
        self, signature: Any, outputs: dict[str, Any], missing_field_message: str | None = None
    ) -> str:
        """A demonstration's outputs, in the form that replies take."""
        plain = _plain_field(signature)
        if plain:
            return str(outputs.get(plain, missing_field_message))
        values = {k: outputs.get(k, missing_field_message) for k in signature.output_fields}
        return json.dumps(serialize_for_json(values), ensure_ascii=False)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Read a reply; what had to be mended is counted.

        Raises:
            dspy.AdapterParseError: A field is missing or has no value of its type.
        """
        text = _THINK.sub("", completion).strip()
        plain = _plain_field(signature)
        if plain:
            return {plain: _unwrapped(_FENCE.sub(r"\1", text).strip(), plain)}
        try:
            found = _object(text, signature)
        except (RecursionError, MemoryError) as error:
            raise self._unreadable(signature, completion, "the whole reply", {}) from error
        fields: dict[str, Any] = {}
        for name, field in signature.output_fields.items():
            if name in found:
                try:
                    fields[name] = _coerce(found[name], field.annotation)
                except (ValueError, TypeError, RecursionError, MemoryError) as error:
                    raise self._unreadable(signature, completion, name, fields) from error
        fields = apply_output_field_defaults(signature, fields)
        missing = signature.output_fields.keys() - fields.keys()
        if missing:
            raise self._unreadable(signature, completion, ", ".join(sorted(missing)), fields)
        return fields

    def _constrain(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        behind = getattr(lm, "behind", lm)
        if not _plain_field(signature) and supports_schema(behind):
            lm_kwargs["response_format"] = _schema(signature)

    def _unreadable(
        self, signature: Any, completion: str, field: str, fields: dict[str, Any]
    ) -> dspy.AdapterParseError:
        parsed: Any = fields  # declared as a text, used as a mapping
        return dspy.AdapterParseError(
            adapter_name=type(self).__name__,
            signature=signature,
            lm_response=completion,
            message=f"The reply holds no readable {field}.",
            parsed_result=parsed,
        )


_schemas: dict[Any, type[pydantic.BaseModel]] = {}


def _schema(signature: Any) -> type[pydantic.BaseModel]:
    # Building a model takes milliseconds; its class must stay the same for equal cache keys.
    key = tuple((n, str(f.annotation)) for n, f in signature.output_fields.items())
    if key not in _schemas:
        _schemas[key] = _get_structured_outputs_response_format(signature, False)
    return _schemas[key]


def _plain_field(signature: Any) -> str:
    """The name of the only output, when it is a text; else empty."""
    outputs = list(signature.output_fields.items())
    return outputs[0][0] if len(outputs) == 1 and outputs[0][1].annotation is str else ""


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _shown(value: str) -> str:
    return f"\n{value}" if "\n" in value or len(value) > 200 else value


def _key_line(name: str, field: Any) -> str:
    desc = (field.json_schema_extra or {}).get("desc", "")
    note = "" if desc in ("", f"${{{name}}}") else f" ({desc})"
    return f'"{name}": {_type_name(field.annotation)}{note}'


def _type_name(annotation: Any) -> str:
    """A type as a small model reads it: choices spelled out, models as their JSON keys."""
    if get_origin(annotation) is Literal:
        return " or ".join(json.dumps(a) for a in get_args(annotation))
    if get_origin(annotation) is list:
        return f"[{_type_name(get_args(annotation)[0])}, ...]"
    if isinstance(annotation, type) and issubclass(annotation, pydantic.RootModel):
        return _type_name(annotation.model_fields["root"].annotation)
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        keys = (_model_key(n, f) for n, f in annotation.model_fields.items())
        return "{" + ", ".join(keys) + "}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _model_key(name: str, field: Any) -> str:
    note = f" ({field.description})" if field.description else ""
    return f'"{name}": {_type_name(field.annotation)}{note}'


def _unwrapped(text: str, field: str) -> str:
    """A plain answer that came as JSON or under dspy's headers all the same."""
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(found, dict) and field in found:
            current_meter().repaired()
            return str(found[field] or "").strip()
    if text.startswith("[["):
        current_meter().repaired()
        return _MARKER.sub("", text).strip()
    return text


def _object(text: str, signature: Any) -> dict[str, Any]:
    """The JSON object in a reply, mended where needed, or the one field that the text must be."""
    try:
        found = json.loads(text)
    except ValueError:
        current_meter().repaired()
        start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
        found = json_repair.loads(text[start:]) if start >= 0 else text
    names = list(signature.output_fields)
    if isinstance(found, dict):
        lower = {str(k).lower().replace(" ", "_"): v for k, v in found.items()}
        known = {n: lower[n.lower()] for n in names if n.lower() in lower}
        if known or len(names) > 1:
            return known
    alone = len(names) == 1 and found != ""
    return {names[0]: found} if alone or isinstance(found, list) else {}


def _coerce(value: Any, annotation: Any) -> Any:
    """A value of the asked type from what a small model wrote for it."""
    if annotation is str:
        return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = value.strip() if isinstance(value, str) else value
    args = get_args(annotation)
    if isinstance(text, str) and type(None) in args and text.lower().strip(".'\"") in _NOTHING:
        return None
    if get_origin(annotation) is Literal and isinstance(text, str):
        text = _choice(text, [a for a in args if isinstance(a, str)])
    if annotation in (int, float) and isinstance(text, str) and (m := _NUMBER.search(text)):
        text = m.group(0)
    return parse_value(text, annotation)


def _choice(text: str, options: list[str]) -> str:
    key = re.sub(r"[\s.'\"*`_]+", " ", text).strip().lower()
    exact = [o for o in options if key == o.lower().replace("_", " ")]
    near = [o for o in options if key.startswith(o.lower().replace("_", " "))]
    hits = exact or near
    return hits[0] if len(hits) == 1 else text
