"""Exact match of a short answer (MACR, section 4.1, metric EM)."""

from collections.abc import Sequence

from .checks import as_answers
from .normalize import NormalizeStyle, normalize_answer


def exact_match(
    prediction: str, answers: str | Sequence[str], style: NormalizeStyle = "squad"
) -> float:
    """Tell whether the prediction equals one of the accepted answers in normal form.

    Args:
        prediction: The predicted short answer.
        answers: The gold answer and its aliases; a lone string is one answer.
        style: The normal form, see `normalize_answer`. ``strict`` compares the raw strings.
            ``faithful_rag`` accepts a prediction that occurs inside a gold answer, as that
            benchmark does (an empty prediction never does).

    Returns:
        1.0 or 0.0, the best over the answers.

    Raises:
        ValueError: `answers` is empty, or `style` is unknown.
    """
    predicted = normalize_answer(prediction, style)
    accepted = [normalize_answer(answer, style) for answer in as_answers(answers)]
    if style == "faithful_rag" and predicted:
        return float(any(predicted in answer for answer in accepted))
    return float(predicted in accepted)
