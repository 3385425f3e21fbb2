"""Normal forms of short answers."""

import re
import string
import unicodedata
from collections.abc import Callable
from typing import Literal

from ..errors import InputError

NormalizeStyle = Literal["squad", "strict", "dspy", "faithful_rag"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPACE_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety"


def normalize_answer(text: str, style: NormalizeStyle = "squad") -> str:
    """Return the normal form in which two spellings of one short answer are equal.

    Args:
        text: The answer.
        style: ``squad`` (Context-DPO, CK-PLUG, InstructRAG, MADAM-RAG): lower, drop ASCII
            punctuation without a space, drop a/an/the as whole words, fold spaces.
            ``dspy``: the same after Unicode NFD. ``strict`` (MQuAKE): unchanged.
            ``faithful_rag``: punctuation becomes a space, whole numbers below 100 become words.

    Returns:
        The normal form, possibly empty ("The The" gives "").

    Raises:
        ValueError: `text` is not a string, or `style` is unknown.
    """
    if not isinstance(text, str):
        raise InputError(f"the answer is {text!r}: pass a string.")
    if style not in _STYLES:
        raise InputError(f"style is {style!r}: choose one of {', '.join(_STYLES)}.")
    return _STYLES[style](text)


def _squad(text: str) -> str:
    bare = text.lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _dspy(text: str) -> str:
    return _squad(unicodedata.normalize("NFD", text))


def _faithful_rag(text: str) -> str:
    bare = text.lower().translate(_SPACE_PUNCTUATION)
    return " ".join(_spelled(word) for word in _ARTICLES.sub(" ", bare).split())


def _spelled(word: str) -> str:
    if not word.isdecimal() or len(word) > 2:
        return word
    tens, unit = divmod(int(word), 10)
    if tens < 2:
        return _UNITS.split()[int(word)]
    spelled = _TENS.split()[tens]
    return f"{spelled} {_UNITS.split()[unit]}" if unit else spelled


_STYLES: dict[str, Callable[[str], str]] = {
    "squad": _squad,
    "strict": str,
    "dspy": _dspy,
    "faithful_rag": _faithful_rag,
}
