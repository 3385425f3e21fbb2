"""Occurrence of a gold answer inside a longer prediction."""

import re
from collections.abc import Sequence
from typing import Literal

from ..errors import InputError
from .checks import as_answers
from .normalize import normalize_answer
from .tokens import unicode_tokens

ContainmentStyle = Literal["words", "presence", "context_dpo", "ck_plug_mquake"]

_STYLES = ("words", "presence", "context_dpo", "ck_plug_mquake")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|cannot|nobody|nothing|nowhere|neither|nor|without|hardly)\b"
)


def containment(
    prediction: str,
    answers: str | Sequence[str],
    style: ContainmentStyle = "words",
    *,
    rivals: Sequence[str] = (),
) -> float:
    """Tell whether a normalised gold answer occurs in the normalised prediction.

    Args:
        prediction: The predicted text.
        answers: The gold answer and its aliases; a lone string is one answer.
        style: ``words``: on word boundaries, so "Business" does not contain "US".
            ``presence`` (InstructRAG, CK-PLUG on ConFiQA): anywhere, so it does.
            ``context_dpo``: presence, and neither a rival nor a negation word occurs in the
            normalised prediction. ``ck_plug_mquake``: presence, and no lower-case negation
            word occurs in the raw prediction.
        rivals: Answers that rule a hit out (the original answer, in Context-DPO); only the
            style ``context_dpo`` reads them.

    Returns:
        1.0 or 0.0, the best over the answers. A gold answer whose normal form is empty is
        found in an empty prediction only.

    Raises:
        ValueError: `answers` is empty, `style` is unknown, or `rivals` is given to another style.
    """
    if style not in _STYLES:
        raise InputError(f"style is {style!r}: choose one of {', '.join(_STYLES)}.")
    if rivals and style != "context_dpo":
        raise InputError(f"style {style!r} does not read rivals: use 'context_dpo' or drop them.")
    if _ruled_out(prediction, style, rivals):
        return 0.0
    occurs = _on_words if style == "words" else _anywhere
    text = normalize_answer(prediction)
    return float(any(occurs(normalize_answer(a), text) for a in as_answers(answers)))


def _ruled_out(prediction: str, style: ContainmentStyle, rivals: Sequence[str]) -> bool:
    if style == "ck_plug_mquake":
        return _NEGATION.search(prediction) is not None
    if style != "context_dpo":
        return False
    text = normalize_answer(prediction)
    named = any(_anywhere(normalize_answer(rival), text) for rival in rivals)
    return named or _NEGATION.search(text) is not None


def _anywhere(answer: str, text: str) -> bool:
    return answer in text if answer else not text


def _on_words(answer: str, text: str) -> bool:
    wanted = " ".join(unicode_tokens(answer))
    if not wanted:
        return answer == text
    return f" {wanted} " in f" {' '.join(unicode_tokens(text))} "
