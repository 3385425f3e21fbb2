"""The sentence of a text that holds an answer, found in code and therefore always verbatim."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..runtime.chunks import Span, sentences
from ..runtime.records import Evidence
from .clusters import answer_forms, answer_tokens
from .dates import find_dates, fold_digits, parse_date
from .quantities import parse_quantities, states_quantity


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POLARITY = frozenset({"yes", "no", "true", "false", "none", "是", "否", "نعم", "لا"})
_EMPTY = _words(
    "of in on at to for from by with and or is are was were be been as it its this that these"
    " those what which who whom whose when where why how did do does has have had many much"
    " there he she his her their they not name s"
)
# More text than this around a number is a statement, not a quantity.
_LONGEST_QUANTITY = 40


@dataclass(frozen=True, slots=True)
class _Sentence:
    span: Span
    tokens: tuple[str, ...]
    line: str

    def holds(self, form: str) -> bool:
        """Whether the tokens of an answer stand in it side by side; capitals as written."""
        if form.isupper() and form.isascii():
            return re.search(rf"\b{'[. ]{0,2}'.join(form)}\b", self.span.text) is not None
        return f" {form} " in self.line


def find_evidence(answer: str, question: str, text: str) -> Evidence | None:
    """Find the sentence that holds an answer.

    Tried in this order, and the first that succeeds decides: the answer word for word (case,
    punctuation, accents and common aliases aside); an equal date or quantity in other notation;
    all its content words in one sentence; the answer across two adjacent sentences. Of several
    sentences the one with the most content words of the question wins, rare words in the text
    counting more; the earliest on ties.

    Args:
        answer: A short answer. "Yes" and "no" are stated by no words, so they have no evidence.
        question: What was asked; may be empty.
        text: The text of one source.

    Returns:
        A verbatim span with offsets (`text[start:end]`), or None when the text does not hold it.

    Example:
        >>> find_evidence("Austin", "Where is Tesla?", "It grew. Tesla is in Austin.").text
        'Tesla is in Austin.'
    """
    wanted = answer_tokens(answer)
    if not any(any(c.isalnum() for c in t) for t in wanted) or " ".join(wanted) in _POLARITY:
        return None
    parts = [_sentence(span) for span in sentences(text)]
    weigh = _weights(question, parts)
    for holders in (_word_for_word, _in_other_notation, _all_words):
        found = holders(answer, parts)
        if found:
            best = max(found, key=lambda part: (weigh(part.tokens), -part.span.start))
            return _evidence(text, best.span, best.span)
    return _across(answer, parts, weigh, text)


def is_grounded(answer: str, text: str) -> bool:
    """Tell whether a text holds an answer in the sense of `find_evidence`."""
    return find_evidence(answer, "", text) is not None


def _sentence(span: Span) -> _Sentence:
    tokens = tuple(answer_tokens(span.text))
    return _Sentence(span, tokens, f" {' '.join(tokens)} ")


def _evidence(text: str, first: Span, last: Span) -> Evidence:
    return Evidence(text=text[first.start : last.end], start=first.start, end=last.end)


def _weights(question: str, parts: Sequence[_Sentence]) -> Callable[[Sequence[str]], float]:
    """How much of the question a sentence repeats, rare words counting more."""
    asked = {token for token in answer_tokens(question) if token not in _EMPTY}
    seen = Counter(token for part in parts for token in asked.intersection(part.tokens))
    weight = {token: math.log(1 + len(parts) / seen[token]) for token in sorted(seen)}
    return lambda tokens: math.fsum(weight[t] for t in weight.keys() & set(tokens))


def _word_for_word(answer: str, parts: Sequence[_Sentence]) -> list[_Sentence]:
    for form in answer_forms(answer):
        found = [part for part in parts if part.holds(form)]
        if found:
            return found
    return []


def _in_other_notation(answer: str, parts: Sequence[_Sentence]) -> list[_Sentence]:
    date = parse_date(answer)
    if date and date.precision != "year":
        year = str(date.year)
        dated = [part for part in parts if year in fold_digits(part.span.text)]
        return [p for p in dated if any(span.date == date for span in find_dates(p.span.text))]
    wanted = parse_quantities(answer) if len(answer) <= _LONGEST_QUANTITY else []
    words = [t for t in answer_tokens(answer) if t not in _EMPTY and t.isalpha()]
    if len(wanted) != 1 or len(words) > 3:
        return []
    return [part for part in parts if states_quantity(part.span.text, wanted[0])]


def _content(answer: str) -> set[str]:
    """The words that a sentence must hold; a single one is a matter for the other rules."""
    return {token for token in answer_tokens(answer) if token not in _EMPTY}


def _all_words(answer: str, parts: Sequence[_Sentence]) -> list[_Sentence]:
    words = _content(answer)
    if len(words) < 2:
        return []
    return [part for part in parts if words.issubset(part.tokens)]


def _across(
    answer: str,
    parts: Sequence[_Sentence],
    weigh: Callable[[Sequence[str]], float],
    text: str,
) -> Evidence | None:
    words, form = _content(answer), " ".join(answer_tokens(answer))
    found = [
        (weigh(first.tokens + second.tokens), -first.span.start, first.span, second.span)
        for first, second in pairwise(parts)
        if f" {form} " in first.line + second.line[1:]
        or (len(words) > 1 and words.issubset({*first.tokens, *second.tokens}))
    ]
    if not found:
        return None
    _, _, first_span, last_span = max(found, key=lambda item: item[:2])
    return _evidence(text, first_span, last_span)
