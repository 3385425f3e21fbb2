"""Demonstrations from runs that went well: fitted to the prompt's window, and chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.adapters.utils import serialize_for_json

from ..runtime.passages import estimate_tokens, fit

ROOM = 900  # tokens, ours: all demonstrations of one predictor, beside 2,500 of documents in 4,096
SHORT = 300  # tokens, ours: a demonstration whose documents are longer has them cut to this

_EMPTY: tuple[Any, ...] = ("", None, [], {})  # False and 0 are answers


@dataclass(frozen=True)
class Demonstration:
    """One call of a predictor in a run that went well.

    Attributes:
        example: Number of the training example it comes from.
        values: Inputs and outputs of the signature, as plain JSON data.
        outputs: The outputs alone, as JSON text.
        tokens: Estimated length in a prompt.
    """

    example: int
    values: Mapping[str, Any]
    outputs: str
    tokens: int

    def as_example(self) -> dspy.Example:
        """As dspy keeps demonstrations."""
        return dspy.Example(augmented=True, **self.values)


def demonstration(
    number: int, signature: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> Demonstration | None:
    """A demonstration short enough for a prompt; None when it shows nothing or cutting spoils it.

    Args:
        number: Number of the training example.
        signature: The predictor's signature.
        inputs: What the predictor was given.
        outputs: What it gave.
    """
    given = _plain({n: inputs[n] for n in signature.input_fields if n in inputs})
    said = _plain({n: outputs[n] for n in signature.output_fields if n in outputs})
    if len(given) + len(said) < len(signature.fields) or all(v in _EMPTY for v in said.values()):
        return None
    cut = _fitted(given, said)
    if _lost(given, cut, said):
        return None
    values = {**cut, **said}
    return Demonstration(number, values, _text(said), estimate_tokens(_text(values)))


def choose(found: Sequence[Demonstration], count: int, room: int = ROOM) -> list[Demonstration]:
    """Demonstrations for one predictor: of different examples, of different outputs first.

    Args:
        found: In order of preference.
        count: How many at most.
        room: Bound on their length together, in estimated tokens.

    Returns:
        At most ``count``, in the order given.
    """
    one_each = list({d.example: d for d in reversed(found)}.values())[::-1]
    first_of = {d.outputs: d for d in reversed(one_each)}
    preferred = sorted(one_each, key=lambda d: first_of[d.outputs] is not d)
    chosen: list[Demonstration] = []
    for candidate in preferred:
        if len(chosen) < count and sum(d.tokens for d in chosen) + candidate.tokens <= room:
            chosen.append(candidate)
    return [d for d in one_each if d in chosen]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(serialize_for_json(dict(values)), default=str))
    return plain


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _fitted(given: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Inputs with their longest text cut to what shares most with the rest.

    Where the rest is long too, as a rationale is, a third of `SHORT` is left of that text, but only
    if nothing else would let it into a prompt.
    """
    whole = estimate_tokens(_text({**given, **said}))
    texts = {n: v for n, v in given.items() if isinstance(v, str)}
    if whole <= SHORT or not texts:
        return given
    longest = max(texts, key=lambda n: len(texts[n]))
    room = estimate_tokens(texts[longest]) + SHORT - whole
    if room < SHORT // 3:
        if whole <= ROOM:
            return given
        room = SHORT // 3
    rest = " ".join([*(v for n, v in texts.items() if n != longest), _text(said)])
    return {**given, longest: fit(texts[longest], rest, room).text}


def _lost(given: Mapping[str, Any], cut: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Whether an output stood in the inputs and stands in what is left of them no more."""
    before, after = _text(given), _text(cut)
    return any(isinstance(v, str) and v in before and v not in after for v in said.values())
