"""How two sides relate, where code can tell: compatible in some shape, or a conflict of some type.

Complete. Precision comes before recall: a false "compatible" hides a conflict, and a false conflict
is the usual fault of detectors, so what is not sure is None and a language model is asked.

Two answers conflict when both cannot be right *as answers to this question*. So a more precise
answer is a `refinement` unless the question asks for one level of it ("which city": then the type
is `granularity`), and two subjects of one name are `namesake` unless the question names one of
them (then `semantic`). All tests are symmetric.
"""

from __future__ import annotations

from collections.abc import Callable

from ..metrics.refusal import is_no_answer
from .clusters import answer_tokens, same_answer
from .conflict_types import changed_state, conflict, excluding_values, single_quantity
from .conflicts import Relation, Shape, Side
from .dates import parse_date
from .operators import more_specific
from .quantities import same_quantity
from .questions import (
    asks_about_plans,
    asks_for_level,
    asks_for_one,
    asks_for_time,
    is_english,
    questions_list,
)
from .scopes import other_identifiers, other_scopes
from .standing import statements
from .subjects import named_side, other_subjects
from .wording import (
    LONGEST,
    LONGEST_ANSWER,
    content,
    find,
    is_conditional,
    is_list_between,
    is_plan,
    says_only,
    word_set,
)

__all__ = ["asks_for_time", "questions_list", "relate"]

Found = Relation | None
_ALIKE = 0.8  # ours: share of content words that two retellings have in common
_NEGATIVE = word_set("no not never none neither nobody nothing cannot without")
_AUXILIARY = word_set("it he she they there that is was are were does did do has have had any")


def relate(question: str, a: Side, b: Side) -> Relation | None:
    """Decide how two sides with different answers relate, if code can.

    Args:
        question: What was asked.
        a: One side.
        b: The other.

    Returns:
        A relation; None when code cannot tell. Sides swapped give the same relation.

    Example:
        >>> sides = Side(answer="Dutch"), Side(answer="French")
        >>> relate("Which languages are official?", *sides).shape
        'list'
    """
    if is_no_answer(a.answer) or is_no_answer(b.answer):
        return _compatible("no answer", "one text does not answer the question")
    if not is_english(question) or max(len(a.answer), len(b.answer)) > LONGEST_ANSWER:
        return None
    for test in _TESTS:
        found = test(question, a, b)
        if found:
            return found
    return None


def _compatible(shape: Shape, reason: str) -> Relation:
    return Relation(contradiction=False, shape=shape, reason=reason)


def _notation(question: str, a: Side, b: Side) -> Found:
    """The same value written in another way; only a quantity that is the whole answer counts."""
    one, other = single_quantity(a.answer), single_quantity(b.answer)
    if one and other and same_quantity(one, other):
        return _compatible("notation", "the same quantity in other notation")
    if same_answer(a.answer, b.answer):
        dated = parse_date(a.answer) or one
        shape: Shape = "notation" if dated else "retold"
        return _compatible(shape, "the same answer in other words")
    return None


def _agreeing_negations(question: str, a: Side, b: Side) -> Found:
    """Both negate ("No", "It is not"), and nothing else tells them apart."""
    one, other = answer_tokens(a.answer), answer_tokens(b.answer)
    if not (_NEGATIVE & set(one) and _NEGATIVE & set(other)):
        return None
    rest = [{t for t in tokens if t not in _NEGATIVE} - _AUXILIARY for tokens in (one, other)]
    if rest[0] == rest[1] or (
        not (rest[0] and rest[1]) and (rest[0] | rest[1]) <= content(question)
    ):
        return _compatible("agreeing negations", "both say that it is not so")
    return None


def _refinement(question: str, a: Side, b: Side) -> Found:
    if more_specific(a, b) is None:
        return None
    if asks_for_level(question):
        return conflict("granularity", "one answer is more precise, and one level was asked")
    return _compatible("refinement", "one answer is more precise than the other")


def _identifier(question: str, a: Side, b: Side) -> Found:
    reason = other_identifiers(question, a, b)
    return _compatible("identifier", reason) if reason else None


def _list(question: str, a: Side, b: Side) -> Found:
    """Several right answers: the question asks for several, or one text lists both."""
    if any(says_only(text) for side in (a, b) for _, text in statements(side)):
        return None
    if questions_list(question) and _share_no_rest(a.answer, b.answer):
        return _compatible("list", "the question asks for several, and both are given")
    if asks_for_one(question):
        return None
    for _, text in [*statements(a), *statements(b)]:
        related = content(text) & content(question)
        if len(related) > 1 and is_list_between(text, a.answer, b.answer):
            return _compatible("list", "one text lists both answers")
    return None


def _share_no_rest(one: str, other: str) -> bool:
    """Items that differ, or a list and a part of it; "A and B" beside "A and C" may clash."""
    mine, its = _items(one), _items(other)
    if not mine or not its:
        return False
    return (len(mine) == len(its) == 1 and mine != its) or mine < its or its < mine


def _items(answer: str) -> set[str]:
    parts = answer[:LONGEST].replace(" and ", ",").replace(" & ", ",").replace(";", ",").split(",")
    return {" ".join(answer_tokens(part)) for part in parts} - {""}


def _plan(question: str, a: Side, b: Side) -> Found:
    """A plan or condition on one side only, and the question is about neither."""
    if asks_about_plans(question):
        return None
    for shape, test in (("conditional", is_conditional), ("plan", is_plan)):
        said = [_all_say(test, side) for side in (a, b)]
        firm = [_none_says(side) for side in (a, b)]
        if said[0] != said[1] and (firm[1] if said[0] else firm[0]):
            which = a.answer if said[0] else b.answer
            reason = f"“{which}” is only a {'plan' if shape == 'plan' else 'condition'}"
            return _compatible("plan" if shape == "plan" else "conditional", reason)
    return None


def _all_say(test: Callable[[str, str], bool], side: Side) -> bool:
    texts = [text for _, text in statements(side) if text]
    return bool(texts) and all(test(text, side.answer) for text in texts)


def _none_says(side: Side) -> bool:
    texts = [text for _, text in statements(side) if text]
    held = [find(text, side.answer) >= 0 for text in texts]
    hedged = [is_plan(t, side.answer) or is_conditional(t, side.answer) for t in texts]
    return any(held) and not any(hedged)


def _subject(question: str, a: Side, b: Side) -> Found:
    """Two subjects of one name: a conflict only when the question says which is meant."""
    if asks_for_time(question):  # the births that would tell them apart may be what is asked
        return None
    named = named_side(question, (a, b))
    if named:
        return conflict("semantic", named[1])
    reason = other_subjects(question, a, b)
    return _compatible("namesake", reason) if reason else None


def _scope(question: str, a: Side, b: Side) -> Found:
    reason = other_scopes(question, a, b)
    return _compatible("scope", reason) if reason else None


def _retold(question: str, a: Side, b: Side) -> Found:
    """Two texts that say the same and both hold both answers."""
    for _, one in statements(a):
        for _, other in statements(b):
            both = [find(text, side.answer) >= 0 for text in (one, other) for side in (a, b)]
            mine, its = content(one), content(other)
            if not all(both) or len(mine & its) < _ALIKE * len(mine | its):
                continue
            if all(word.isalpha() and word not in _NEGATIVE for word in mine ^ its):
                return _compatible("retold", "both texts say the same and hold both answers")
    return None


_TESTS: tuple[Callable[[str, Side, Side], Found], ...] = (
    _notation,
    _agreeing_negations,
    _refinement,
    _identifier,
    _subject,
    _plan,
    _scope,
    _retold,
    _list,
    changed_state,
    excluding_values,
)
