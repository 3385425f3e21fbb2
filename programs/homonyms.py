"""Documents about another thing with the abbreviation of the question (ArbGraph, Figure 4)."""

from __future__ import annotations

import re

from ..runtime.records import Document
from .clusters import answer_tokens
from .wording import LONGEST

_SHORT = re.compile(r"\(([A-Z][A-Za-z&.]{1,9})\)")
_WORDS_BEFORE = re.compile(r"[^\W\d_][\w'’-]*")


def abbreviations(text: str) -> dict[str, str]:
    """Abbreviations that a text spells out: "East Asia Summit (EAS)".

    Args:
        text: Any text; its first `LONGEST` characters are read.

    Returns:
        Long forms, folded, by abbreviation in capitals. Only where the initials fit.

    Example:
        >>> abbreviations("How old is the World Health Organization (WHO)?")
        {'WHO': 'world health organization'}
    """
    text = text[:LONGEST]
    found: dict[str, str] = {}
    for match in _SHORT.finditer(text):
        short = match[1].replace(".", "").upper()
        words = [m[0] for m in _WORDS_BEFORE.finditer(text, 0, match.start())]
        long = _spelled_out(short, words)
        if long:
            found.setdefault(short, " ".join(answer_tokens(long)))
    return found


def about_homonym(question: str, document: Document) -> str:
    """The other long form, when a document is about a homonym of what is asked.

    It spells the question's abbreviation out in another way and names nothing that the question
    spells out, so whatever it says is about the other thing.

    Args:
        question: What is asked.
        document: One source.

    Returns:
        The long form that the document gives, or empty.
    """
    asked = abbreviations(question)
    if not asked:
        return ""
    told = abbreviations(f"{document.title}. {document.text}")
    tokens = " ".join(answer_tokens(document.text))
    for short, long in asked.items():
        other = told.get(short, "")
        if other and other != long and long not in tokens:
            return other
    return ""


def _spelled_out(short: str, words: list[str]) -> str:
    """The last words whose capitals give the abbreviation; small words between them count not."""
    taken: list[str] = []
    letters = [c for c in short if c.isalpha()]
    for word in reversed(words[-12:]):
        if not letters:
            break
        if word[0].isupper():
            if word[0] != letters[-1]:
                return ""
            letters.pop()
        elif not taken or len(word) > 4:
            return ""
        taken.append(word)
    return "" if letters else " ".join(reversed(taken))
