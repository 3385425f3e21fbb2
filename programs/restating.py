"""Answers that restate the question: only what they add is the answer.

Small models answer "The artist of the album is X" where X was asked for. The words of the question
and the function words around them are taken off both ends, so that equal answers look equal.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*\.?", re.UNICODE)
_SHARED = 2  # ours: content words that an answer must share with the question to restate it
_LEAST_WORDS = 4  # ours: shorter answers are left as they are
_FUNCTION_WORDS = """
a an and are as at be been by did do does for from had has have he her him his i in is it its of on
or she that the their there these they this those to was were which who with
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
_STEM = 4  # ours: "produced" restates "produce", "directed" restates "director"


def without_restatement(question: str, answer: str) -> str:
    """The part of an answer that the question does not say already.

    Args:
        question: What was asked.
        answer: A short answer, perhaps a whole sentence.

    Returns:
        A contiguous part of ``answer``, or all of it when it does not restate the question or adds
        nothing to it.

    Example:
        >>> without_restatement("Who directed the film Wolf?", "The director of Wolf is Ann Berg")
        'Ann Berg'
    """
    words = list(_WORD.finditer(answer))
    asked = [_folded(w.group()) for w in _WORD.finditer(question)]
    known = [_restates(_folded(w.group()), asked) for w in words]
    shared = sum(k == "content" for k in known)
    if len(words) < _LEAST_WORDS or shared < _SHARED:
        return answer
    first = next((i for i, k in enumerate(known) if not k), None)
    if first is None:
        return answer
    last = next(i for i in range(len(words) - 1, -1, -1) if not known[i])
    if any(known[i] == "content" for i in range(first, last + 1)):
        return answer  # question words inside: what is left would be no phrase
    start = _with_article(words, first, answer)
    return answer[start : words[last].end()].rstrip(" .,;:")


def _folded(word: str) -> str:
    return word.casefold().strip(".'’-")


def _restates(word: str, asked: list[str]) -> str:
    """``content`` for a word of the question, ``function`` for a function word, else empty."""
    if word in _FUNCTION:
        return "function"
    if word.isdigit():
        return "content" if word in asked else ""
    same = any(word == a or _same_stem(word, a) for a in asked if a not in _FUNCTION)
    return "content" if same else ""


def _same_stem(one: str, other: str) -> bool:
    if min(len(one), len(other)) <= _STEM or not (one.isalpha() and other.isalpha()):
        return False
    length = min(len(one), len(other)) - 2
    return one[: max(_STEM, length)] == other[: max(_STEM, length)]


def _with_article(words: list[re.Match[str]], first: int, answer: str) -> int:
    """Start of the phrase; a capitalised "The" right before a name belongs to it."""
    if first and words[first - 1].group() == "The" and first > 1:
        return words[first - 1].start()
    quote = answer[words[first].start() - 1 : words[first].start()]
    return words[first].start() - (quote in ("“", '"', "(", "$", "€", "£"))
