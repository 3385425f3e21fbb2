"""ROUGE-L of short answers (MACR, section 4.1)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

from ..errors import InputError
from .checks import as_answers
from .tokens import unicode_tokens

RougeTokenizer = Literal["rouge", "unicode"]


def rouge_l(
    prediction: str, answers: str | Sequence[str], tokenizer: RougeTokenizer = "rouge"
) -> float:
    """Return the ROUGE-L F-measure without stemming, the best over the answers.

    Args:
        prediction: The predicted text.
        answers: The gold answer and its aliases; a lone string is one answer.
        tokenizer: ``rouge``: the reference's ``[a-z0-9]+``, which leaves nothing of other
            scripts and scores them 0, even against themselves. ``unicode``: words of any
            script, see `unicode_tokens`.

    Returns:
        A number in [0, 1]; 0 when a side has no token.

    Raises:
        ValueError: `answers` is empty, a text is not a string, or `tokenizer` is unknown.
    """
    measure = f_measure(tokenizer)
    return max(measure(answer, prediction) for answer in as_answers(answers))


def f_measure(tokenizer: RougeTokenizer) -> Callable[[str, str], float]:
    """Return the symmetric function (text, text) -> ROUGE-L F-measure in [0, 1]."""
    if tokenizer not in ("rouge", "unicode"):
        raise InputError(f"tokenizer is {tokenizer!r}: choose 'rouge' or 'unicode'.")
    scorer = _scorer(tokenizer)

    def measure(target: str, prediction: str) -> float:
        for text in (target, prediction):
            if not isinstance(text, str):
                raise InputError(f"an answer is {text!r}: pass strings.")
        return float(scorer.score(target, prediction)["rougeL"].fmeasure)

    return measure


class _UnicodeTokenizer:
    def tokenize(self, text: str) -> list[str]:
        return unicode_tokens(text)


@lru_cache(maxsize=2)
def _scorer(tokenizer: RougeTokenizer) -> Any:
    # Imported here: rouge_score loads nltk and scipy, one to two seconds.
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import DefaultTokenizer

    words = _UnicodeTokenizer() if tokenizer == "unicode" else DefaultTokenizer(use_stemmer=False)
    return RougeScorer(["rougeL"], tokenizer=words)
