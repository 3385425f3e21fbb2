"""Words of any script."""

import re
import unicodedata

from ..errors import InputError

# Scripts written without spaces between words: each character is a token.
_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # iteration marks, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_DENSITY_TOKEN = re.compile(r"\w+|[^\w\s]")


def unicode_tokens(text: str) -> list[str]:
    """Split a text into lower-case words of letters, marks and digits, in any script.

    Compatibility forms are folded (full-width digits, composed and decomposed accents agree).
    Chinese, Japanese, Thai, Lao, Khmer and Burmese give one token per character.

    Args:
        text: Any text.

    Returns:
        The tokens in order; punctuation and symbols are dropped.

    Raises:
        ValueError: `text` is not a string.
    """
    if not isinstance(text, str):
        raise InputError(f"text is {text!r}: pass a string.")
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (c if _in_word(c) else " " for c in unicodedata.normalize("NFKC", folded))
    return _TOKEN.findall("".join(kept))


def count_tokens(text: str) -> int:
    r"""Count words and single punctuation marks, the regex ``\w+|[^\w\s]``.

    Args:
        text: Any text.

    Returns:
        The count, 0 for a blank text. It is the default denominator of `information_density`.
    """
    return len(_DENSITY_TOKEN.findall(text))


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")
