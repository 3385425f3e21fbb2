"""Which documents are independent sources: near-copies of one text count once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ..runtime.records import Document
from .dates import fold_digits


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


Side = Literal["start", "end", "inside"]

_SHINGLE = 5
_CONTAINMENT = 0.8
# A passage longer than this at the edge of a text, or inside the longer one, is an addition; a
# shorter one may stand for something else in the other text.
_LONGEST_CHANGE = 12
_TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
    r"|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?|\w"
)
_NEGATIONS = frozenset(["not", "no", "never", "none", "neither", "nor", "without", "cannot"])
_NUMBER_WORDS = _words(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty"
    " sixty seventy eighty ninety hundred thousand million billion first second third"
)
# Capitalised at the start of a sentence, yet no names.
_OPENERS = _words(
    "the a an this that these those it its he his she her they their we our you your there"
    " here in on at by for from with to as if when while after before since until although"
    " because but and or so yet however moreover meanwhile later then both some many most what"
    " who where how"
)


@dataclass(frozen=True)
class _Text:
    """A text as tokens, as written and folded, with its shingles and where each begins."""

    words: list[str]
    folded: list[str]
    size: int
    places: dict[int, list[int]]
    distinct: frozenset[int]


def independent_groups(documents: Sequence[Document]) -> list[list[int]]:
    """Group documents that repeat each other, so that each group counts as one source.

    Meant for the documents behind one answer. Two are one source when they have the same id or the
    same address, or near-identical text: at least 0.8 of the five-token shingles of the shorter
    stand in the longer, and where the common text differs it agrees in numbers, dates, names and
    negation. Who published it does not matter then (an agency report is printed by many);
    dissimilar texts are independent even when one publisher, or nobody known, wrote both. In
    scripts without capitals every word may be a name, so any difference inside the common text
    counts.

    Args:
        documents: The documents of one answer cluster.

    Returns:
        Indices into `documents`, a partition: groups by first appearance, members in order. Copies
        of copies are one group.

    Example:
        >>> story = "The plant opened in May and employs about 300 people."
        >>> independent_groups([Document(text=story), Document(text=story), Document(text="No.")])
        [[0, 1], [2]]
    """
    leader = list(range(len(documents)))
    first: dict[tuple[str, str], int] = {}
    for index, document in enumerate(documents):
        for mark in _marks(document):
            _join(leader, first.setdefault(mark, index), index)
    numbers: dict[tuple[str, ...], int] = {}
    texts = [_prepared(document.text, numbers) for document in documents]
    for j, text in enumerate(texts):
        for i, earlier in enumerate(texts[:j]):
            if _root(leader, i) != _root(leader, j) and _near_copies(earlier, text):
                _join(leader, i, j)
    groups: dict[int, list[int]] = {}
    for index in range(len(documents)):
        groups.setdefault(_root(leader, index), []).append(index)
    return sorted(groups.values())


def _root(leader: list[int], index: int) -> int:
    while leader[index] != index:
        leader[index] = leader[leader[index]]
        index = leader[index]
    return index


def _join(leader: list[int], one: int, other: int) -> None:
    low, high = sorted((_root(leader, one), _root(leader, other)))
    leader[high] = low


def _marks(document: Document) -> Iterator[tuple[str, str]]:
    """What alone makes two documents one: id, address, or the very same words."""
    if document.id:
        yield "id", document.id
    if document.url.strip():
        yield "url", _address(document.url)
    words = " ".join(document.text.split())
    if words:
        yield "text", words


def _address(url: str) -> str:
    """An address without scheme, `www.`, tracking, fragment and trailing slash."""
    plain = url.strip()
    try:
        parts = urlsplit(plain if "://" in plain else f"//{plain}")
    except ValueError:  # not an address: compare it as it is
        return plain.lower()
    host = parts.netloc.lower().removeprefix("www.")
    kept = [field for field in parts.query.split("&") if field and not field.startswith("utm_")]
    return f"{host}{parts.path.rstrip('/')}?{'&'.join(kept)}"


def _prepared(text: str, numbers: dict[tuple[str, ...], int]) -> _Text:
    """Take a text apart; `numbers` names the shingles of all texts."""
    words = _TOKEN.findall(fold_digits(text).replace("’", "'"))
    folded = [word.casefold() for word in words]
    size = max(1, min(_SHINGLE, len(folded)))
    places: dict[int, list[int]] = {}
    for at in range(len(folded) - size + 1):
        shingle = numbers.setdefault(tuple(folded[at : at + size]), len(numbers))
        places.setdefault(shingle, []).append(at)
    return _Text(words, folded, size, places, frozenset(places))


def _near_copies(one: _Text, other: _Text) -> bool:
    short, long = sorted((one, other), key=lambda text: len(text.distinct))
    common = short.distinct & long.distinct
    if not common or len(common) < _CONTAINMENT * len(short.distinct):
        return False
    mine, its = _changes(short, common), _changes(long, common)
    sides: set[Side] = {_side(short, r) for r in mine} & {_side(long, r) for r in its}
    return _facts(short, mine, sides, None) == _facts(long, its, sides, _LONGEST_CHANGE)


def _changes(text: _Text, common: frozenset[int]) -> list[range]:
    """Runs of tokens that the other text does not have."""
    missing = {at for shingle in text.distinct - common for at in text.places[shingle]}
    last, size = len(text.words) - 1, text.size
    lone = sorted(
        at
        for at in {at + offset for at in missing for offset in range(size)}
        if missing.issuperset(range(max(0, at - size + 1), min(at, last - size + 1) + 1))
    )
    return list(_runs(lone))


def _side(text: _Text, run: range) -> Side:
    if run.start == 0:
        return "start"
    return "end" if run.stop == len(text.words) else "inside"


def _runs(numbers: list[int]) -> Iterator[range]:
    """Ascending numbers as ranges without gaps."""
    start = 0
    for index, number in enumerate(numbers, start=1):
        if index == len(numbers) or numbers[index] != number + 1:
            yield range(numbers[start], number + 1)
            start = index


def _facts(text: _Text, runs: list[range], sides: set[Side], longest: int | None) -> set[str]:
    """What the changes of a text state; `sides` are those where both texts have a change."""
    facts: set[str] = set()
    for run in runs:
        side = _side(text, run)
        limit = longest if side == "inside" else _LONGEST_CHANGE
        if limit is not None and len(run) > limit:
            continue
        # Alone at its edge it stands for nothing else: "Read more.", "Copy:".
        states = _is_fact if side == "inside" or side in sides else _is_negation
        facts.update(text.folded[at] for at in run if states(text.words[at]))
    return facts


def _is_negation(word: str) -> bool:
    low = word.lower()
    return low in _NEGATIONS or low.endswith("n't")


def _is_fact(word: str) -> bool:
    """A number, a negation, a name; in a script without capitals any word."""
    low = word.lower()
    if word[0].isdigit() or low in _NUMBER_WORDS or _is_negation(word):
        return True
    if low == word.upper():
        return True
    return word[0].isupper() and low not in _OPENERS
