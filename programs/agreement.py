"""Whether two claims agree in all that must not differ, and which claims are one (ArbGraph, 3.2).

Complete. Merging is where a contradiction could vanish without a trace, so everything unsure keeps
two claims apart: that costs one more verification.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .clusters import NEGATIONS, answer_tokens, same_answer
from .dates import Date, find_dates
from .names import names
from .opposites import LIMITS, MODALS, QUANTIFIERS, content_words, opposed, same_meaning
from .pair_mining import mine_pairs
from .quantities import Quantity, find_quantities, same_quantity
from .wording import is_conditional, is_plan

Reals = NDArray[np.float64]
Kind = Literal[
    "number",
    "date",
    "negation",
    "quantifier",
    "modality",
    "time",
    "name",
    "opposite",
    "roles",
    "wording",
]
_EXTRA = 2  # ours: words that one of two merged claims may have more
_PAIRS_EACH = 20  # ours: candidate pairs per claim, the most similar; bounds time and memory
_NOISE = 1e-6
_SPLIT_NOT = re.compile(r"\sn['’]t\b", re.IGNORECASE)
_BEFORE_NAME = re.compile(r"\b([a-z]+)\s(?:the\s)?$")
_POSSESSIVE = re.compile(r"['’]s?\s")
_BOUND = re.compile(
    r"\b(?:(?P<more>more than|over|at least|above|exceed\w*|no less than|minimum of)"
    r"|(?P<less>less than|fewer than|under|at most|below|up to|no more than|maximum of))\s\W?$",
    re.IGNORECASE,
)
_PARTS = re.compile(r"\s(?:of|for|and|in)\s(?:the\s)?|['’]s?\s")
_LETTER = re.compile(r"\b[A-Z]\b(?!['’]|\.[A-Z])")  # "A beat B": two of them are names
_COPULA = re.compile(
    r"\b(?:(?P<now>is|are)|(?P<past>was|were))(?:\snot)?\s(?:an?|the|in|at|its|his|her)\b"
)
_ROLES = {
    prep: words.split()[0]
    for words in (
        "in at on near within inside",
        "to into towards",
        "of",
        "from",
        "by",
        "with",
        "for",
        "than",
        "before until",
        "after since",
        "against over",
        "under below",
        "between",
    )
    for prep in words.split()
}
_DATE_CUES = {
    "before": "before",
    "until": "until",
    "till": "until",
    "by": "by",
    "after": "after",
    "since": "since",
    "from": "since",
    "starting": "since",
    "effective": "since",
}


@dataclass(frozen=True)
class Difference:
    """What two claims differ in.

    Attributes:
        kind: The kind of thing.
        a: It in the first claim; empty where that one has none.
        b: It in the second.
    """

    kind: Kind
    a: str
    b: str


@dataclass(frozen=True)
class ClaimFacts:
    """A claim taken apart once.

    Attributes:
        numbers: Quantities in order, each with its bound ("more", "less" or empty).
        dates: Dates in order, each with the word that governs it.
        negations: Negating words.
        quantifiers: "all", "some", ..., one word for each kind.
        modality: "plan", "condition", modal verbs, and words that limit the claim.
        time: "now" or "past" of a state, or empty.
        names: Names as written.
        roles: The names folded, each with the preposition before it.
        letters: Single capital letters that stand for names.
        tokens: All tokens.
        words: Content words that are no names, by their meaning.
    """

    numbers: tuple[tuple[Quantity, str], ...]
    dates: tuple[tuple[Date, str], ...]
    negations: tuple[str, ...]
    quantifiers: frozenset[str]
    modality: frozenset[str]
    time: str
    names: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]
    letters: tuple[str, ...]
    tokens: frozenset[str]
    words: tuple[str, ...]


def agrees(a: str, b: str) -> bool:
    """Tell whether two claims agree in everything that must not differ between merged claims.

    Args:
        a: One claim.
        b: Another.

    Returns:
        True when `difference` finds nothing. Reflexive and symmetric, not transitive. It says
        nothing of similarity: two claims are one only when their cosine is high as well.

    Example:
        >>> agrees("Revenue was 1,200 million", "Revenue was 1200 million")
        True
        >>> agrees("Anna beat Berta.", "Berta beat Anna.")
        False
    """
    return difference(a, b) is None


def difference(a: str, b: str) -> Difference | None:
    """Find what two claims differ in: numbers, dates, negation, names, opposites, roles.

    Numbers are compared as quantities ("1,200 million" is "1200 million", 1 km is 1000 m) and in
    the order of the text, dates with the word that governs them, names by their spellings.
    What only one claim states is a difference too. Words may differ by
    known synonyms, by inflexion, and by at most two words that one claim has more.

    Args:
        a: One claim.
        b: Another.

    Returns:
        The first difference in the order of `Difference.kind`; None when there is none.

    Example:
        >>> difference("Sales rose in 2020.", "Sales fell in 2020.").kind
        'opposite'
    """
    return None if a == b else _compared(claim_facts(a), claim_facts(b))


def _compared(a: ClaimFacts, b: ClaimFacts) -> Difference | None:
    if a == b:
        return None
    return _of_values(a, b) or _of_names(a, b) or _of_words(a, b)


def _of_values(a: ClaimFacts, b: ClaimFacts) -> Difference | None:
    """Everything that must be equal as it is."""
    if not _same_numbers(a, b):
        return Difference("number", _numbers(a), _numbers(b))
    if a.dates != b.dates:
        return Difference("date", _dates(a), _dates(b))
    if len(a.negations) != len(b.negations):
        return Difference("negation", " ".join(a.negations), " ".join(b.negations))
    if a.quantifiers != b.quantifiers:
        return _of_sets("quantifier", a.quantifiers, b.quantifiers)
    if a.modality != b.modality:
        return _of_sets("modality", a.modality, b.modality)
    if a.time and b.time and a.time != b.time:
        return Difference("time", a.time, b.time)
    return None


def _of_sets(kind: Kind, a: frozenset[str], b: frozenset[str]) -> Difference:
    return Difference(kind, " ".join(sorted(a - b)), " ".join(sorted(b - a)))


def _same_numbers(a: ClaimFacts, b: ClaimFacts) -> bool:
    return len(a.numbers) == len(b.numbers) and all(
        mine[1] == its[1] and same_quantity(mine[0], its[0])
        for mine, its in zip(a.numbers, b.numbers, strict=True)
    )


def _numbers(facts: ClaimFacts) -> str:
    return ", ".join(
        f"{bound} {q.written:g} {q.notation or q.unit}".strip() for q, bound in facts.numbers
    )


def _dates(facts: ClaimFacts) -> str:
    return ", ".join(f"{cue} {date.iso}".strip() for date, cue in facts.dates)


def _of_names(a: ClaimFacts, b: ClaimFacts) -> Difference | None:
    mine = [name for name in a.names if not has_name(b, name)]
    its = [name for name in b.names if not has_name(a, name)]
    if mine or its:
        return Difference("name", ", ".join(mine), ", ".join(its))
    roles = [_roles(facts, {name for _, name in rival.roles}) for facts, rival in ((a, b), (b, a))]
    if roles[0] != roles[1] or a.letters != b.letters:
        return Difference("roles", _shown(a), _shown(b))
    return None


def has_name(facts: ClaimFacts, name: str) -> bool:
    """Whether a claim names something, in one spelling or another."""
    if set(answer_tokens(name)) <= facts.tokens:
        return True
    return any(same_answer(name, other) for other in facts.names)


def _roles(facts: ClaimFacts, shared: set[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Names without a preposition in order, a passive's agent first; and names with one."""
    given = [(role, name) for role, name in facts.roles if name in shared]
    agents = [name for role, name in given if role == "by"]
    bare = [name for role, name in given if not role]
    return agents + bare, sorted(pair for pair in given if pair[0] not in ("", "by"))


def _shown(facts: ClaimFacts) -> str:
    return ", ".join(f"{role} {name}".strip() for role, name in facts.roles)


def _of_words(a: ClaimFacts, b: ClaimFacts) -> Difference | None:
    mine, its = _only(a.words, b.words), _only(b.words, a.words)
    for word in mine:
        for rival in its:
            if opposed(word, rival):
                return Difference("opposite", word, rival)
    for word in list(mine):
        twin = next((w for w in its if same_meaning(word, w)), None)
        if twin is not None:
            mine.remove(word)
            its.remove(twin)
    extra = mine or its
    if (mine and its) or len(extra) > _EXTRA or any(w.upper() == w for w in extra):
        return Difference("wording", " ".join(mine), " ".join(its))
    passive = [any(role == "by" for role, _ in facts.roles) for facts in (a, b)]
    moved = a.words != b.words and Counter(a.words) == Counter(b.words)
    if moved and passive[0] == passive[1]:
        return Difference("roles", " ".join(a.words), " ".join(b.words))
    return None


def _only(words: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    return sorted((Counter(words) - Counter(others)).elements())


@lru_cache(maxsize=16_384)
def claim_facts(text: str) -> ClaimFacts:
    """Take a claim apart; cached."""
    dates = find_dates(text)
    days = [range(span.start, span.end) for span in dates]
    spans = [s for s in find_quantities(text) if not any(s.start in day for day in days)]
    plain = _SPLIT_NOT.sub(" not", _blanked(text, [*days, *(range(s.start, s.end) for s in spans)]))
    named = _names(plain)
    tokens = answer_tokens(plain)
    in_names = {token for name in named if name[0].isupper() for token in answer_tokens(name)}
    rest = [token for token in tokens if token not in in_names]
    return ClaimFacts(
        numbers=tuple((s.quantity, _bound(text, s.start)) for s in spans),
        dates=tuple((span.date, _DATE_CUES.get(span.cue, "")) for span in dates),
        negations=tuple(t for t in tokens if t in NEGATIONS and t != "nor"),
        quantifiers=frozenset(QUANTIFIERS[t] for t in tokens if t in QUANTIFIERS),
        modality=_modality(text, rest),
        time=_time(text),
        names=tuple(named),
        roles=tuple(_in_roles(plain, named)),
        letters=_letters(plain),
        tokens=frozenset(answer_tokens(text)),
        words=tuple(content_words(t for t in rest if t not in NEGATIONS)),
    )


def _names(text: str) -> list[str]:
    """The names in a text; "Bank of England" gives two."""
    parts = [part for name in names(text) for part in _PARTS.split(name.text)]
    return [part for part in parts if part and not any(c.isdigit() for c in part)]


def _letters(text: str) -> tuple[str, ...]:
    found = _LETTER.findall(text)
    return tuple(found) if len(found) > 1 else ()


def _blanked(text: str, spans: Sequence[range]) -> str:
    for span in spans:
        text = text[: span.start] + " " * len(span) + text[span.stop :]
    return text


def _bound(text: str, start: int) -> str:
    found = _BOUND.search(text, max(0, start - 24), start)
    return found.lastgroup or "" if found else ""


def _modality(text: str, tokens: Sequence[str]) -> frozenset[str]:
    flags = {
        "plan" if is_plan(text, text) else "",
        "condition" if is_conditional(text, text) else "",
    }
    words = {MODALS.get(t, t) for t in tokens if t in MODALS or t in LIMITS}
    return frozenset((flags | words) - {""})


def _time(text: str) -> str:
    found = _COPULA.search(text)
    return found.lastgroup or "" if found else ""


def _in_roles(text: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """Every name with what ties it to the sentence: a preposition, "of" for a possessive, ""."""
    roles, at = [], 0
    for name in given:
        start = max(text.find(name, at), 0)
        at = start + len(name)
        before = _BEFORE_NAME.search(text, max(0, start - 24), start)
        role = _ROLES.get(before[1], "") if before else ""
        owns = _POSSESSIVE.match(text, at)
        roles.append(("of" if owns else role, " ".join(answer_tokens(name))))
    return roles


def merge(claims: Sequence[str], vectors: ArrayLike, threshold: float) -> list[list[int]]:
    """Group claims that say the same into canonical nodes.

    Two claims may be one when their cosine reaches the threshold and they agree; a group grows
    only while every two of its members may (complete linkage, no chains), the most similar pairs
    first. Claims with one wording up to case, spaces and final punctuation are one from the start.
    At most 20 candidate pairs per claim, the most similar, are looked at: with more, near-copies
    may stay apart; none is ever wrongly merged for it.

    Args:
        claims: n claims.
        vectors: float[n, d], a row per claim.
        threshold: Smallest cosine, in [-1, 1]; it belongs to the encoder.

    Returns:
        Indices into `claims`, a partition: groups by first appearance, members in order. Which
        claims are together does not depend on their order.

    Raises:
        InputError: There is not one vector per claim, or the threshold is out of range.
    """
    table = np.asarray(vectors, dtype=np.float64)
    if len(table) != len(claims):
        raise InputError(f"There are {len(claims)} claims and {len(table)} vectors; give one each.")
    wordings: dict[str, list[int]] = {}
    for index, claim in enumerate(claims):
        wordings.setdefault(" ".join(claim.split()).rstrip(" .;"), []).append(index)
    # In alphabetic order, so that ties do not depend on the order of the claims.
    keys = sorted(wordings)
    rows = table[[min(wordings[key], key=lambda i: claims[i]) for key in keys]] if keys else table
    groups = _linked(keys, rows, threshold)
    return sorted(sorted(i for node in group for i in wordings[keys[node]]) for group in groups)


def _linked(texts: Sequence[str], rows: Reals, threshold: float) -> list[list[int]]:
    """Complete linkage over the candidate pairs, most similar first."""
    pairs, _ = mine_pairs(rows, threshold, _PAIRS_EACH * len(texts))
    numbered: dict[ClaimFacts, int] = {}  # many claims have few distinct contents
    kinds = [numbered.setdefault(claim_facts(text), len(numbered)) for text in texts]
    agree = _Agreement(list(numbered))
    home = list(range(len(texts)))
    groups = {node: [node] for node in home}
    refused: set[tuple[int, int, int, int]] = set()  # groups that only grow stay apart as they are
    for one, other in pairs.tolist():
        mine, its = home[one], home[other]
        attempt = (mine, its, len(groups[mine]), len(groups[its]))
        if mine == its or attempt in refused or not agree(kinds[one], kinds[other]):
            continue
        sides = groups[mine], groups[its]
        members = [{kinds[node] for node in side} for side in sides]
        if not (
            _all_near(rows, *sides, threshold)
            and all(agree(i, j) for i in members[0] for j in members[1])
        ):
            refused.add(attempt)
            continue
        for node in groups[its]:
            home[node] = mine
        groups[mine] += groups.pop(its)
    return list(groups.values())


class _Agreement:
    """Whether two contents agree, by their numbers; each pair is compared once."""

    def __init__(self, contents: Sequence[ClaimFacts]) -> None:
        self._contents = contents
        self._known: dict[tuple[int, int], bool] = {}

    def __call__(self, i: int, j: int) -> bool:
        key = (i, j) if i < j else (j, i)
        if key not in self._known:
            one, other = self._contents[i], self._contents[j]
            self._known[key] = i == j or (
                _same_numbers(one, other) and _compared(one, other) is None
            )
        return self._known[key]


def _all_near(rows: Reals, mine: Sequence[int], its: Sequence[int], threshold: float) -> bool:
    """Whether every claim of one group reaches the threshold with every claim of the other."""
    if len(mine) == len(its) == 1:
        return True  # the pair itself
    lengths = np.linalg.norm(rows[mine], axis=1)[:, None] * np.linalg.norm(rows[its], axis=1)
    return bool(((rows[mine] @ rows[its].T) >= (threshold - _NOISE) * lengths).all())
