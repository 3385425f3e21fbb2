"""How an English text holds an answer: in which clause, as a fact, a plan or a condition.

Complete. Patterns have no nested repetition, and texts are cut to `LONGEST` characters around the
answer.
"""

import re
from functools import lru_cache

from .clusters import answer_tokens
from .dates import find_dates

LONGEST_ANSWER = 300  # ours: longer answers are no short answers, and nothing is decided
LONGEST = 2_000  # ours: a snippet is a sentence or two; more is read around the answer only


def word_set(text: str, separator: str | None = None) -> frozenset[str]:
    """The words of a text, or what stands between separators, as a set."""
    return frozenset(text.split(separator))


# Relations that have one value at a time.
# Lower case only: "Will" is a name and "May" a month.
_PLAN = re.compile(
    r"\b(?:will|shall|plans? to|planned to|planned for|(?:was|were|is|are) planned"
    r"|planning to|plans? for|intends? to"
    r"|intended to|proposes? to|proposed|proposal|expects? to|expected to|forecast|forecasts"
    r"|projected to|scheduled to|scheduled for|slated|set to|due to (?:be|open|move|start|become)"
    r"|going to|aims? to|hopes? to|is considering|are considering|could|may|might|rumou?r|rumou?rs"
    r"|rumou?red|[Rr]eportedly|[Aa]llegedly|speculation|anticipated|predicts?|predicted|unconfirmed)\b"
)
_DONE = re.compile(r"\b(?:has since|have since|as planned|completed|was approved|confirmed)\b")
_IF = re.compile(
    r"\b(?:if|unless|provided that|in case|assuming|were to|only when|on condition)\b", re.I
)
_IF_FIRST = re.compile(r"\W*(?:if|unless|assuming|in case|should)\s", re.IGNORECASE)
_PLACE = r"(?!\s[^\W\d_a-z][\w.]{0,30}(?:\s[^\W\d_a-z][\w.]{0,30})?(?:,|\s[a-z]|\W{0,3}$))"
_BREAK = re.compile(
    rf"[;:!?()\n—]|\.(?=\s|$)|,{_PLACE}"
    r"|\s(?=(?:and|but|when|while|whereas|before|after|then|which|where|although|though)\s)"
)
_STOP = re.compile(r"[!?;\n]|\.(?=\s+[^\W\d_a-z]|\s*$)")
_EMPTY = word_set(
    "of in on at to for from by with and or is are was were be been as it its this that these"
    " those what which who whom whose when where why how do does did has have had many much"
    " there he she his her their they not name s city located"
)


_ONLY = re.compile(
    r"\b(?:only|sole|solely|exclusively|alone|not|never|instead|rather than|no longer|except)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?:,\s[^\W\d_a-z][\w-]{0,30}){0,5},?\s(?:and|&)\s|,\s"
    r"(?:[^\W\d_a-z][\w-]{0,30},\s){0,5}"
)


def window(text: str, answer: str) -> str:
    """The part of a text around an answer, at most `LONGEST` characters."""
    if len(text) <= LONGEST:
        return text
    start = max(0, find(text, answer) - LONGEST // 2)
    return text[start : start + LONGEST]


def find(text: str, answer: str) -> int:
    """Where an answer stands in a text, case aside and as a word of its own; -1 when nowhere."""
    low, wanted = text.lower(), answer.strip().lower()
    at = low.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not low[max(0, at - 1) : at].isalnum() and not low[end : end + 1].isalnum():
            return at
        at = low.find(wanted, end)
    return -1


def clauses(text: str, keep: range = range(0)) -> list[tuple[int, int]]:
    """The clauses of a text as offsets; no cut inside a date or inside `keep`."""
    kept = [keep, *(range(span.start, span.end) for span in find_dates(text))]
    cuts = [m.start() for m in _BREAK.finditer(text) if not any(m.start() in k for k in kept)]
    return list(zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(text)], strict=True))


@lru_cache(maxsize=1024)
def clause(text: str, answer: str) -> str:
    """The clause that holds an answer; empty when none does."""
    start, end = clause_bounds(text, answer)
    return text[start:end]


def clause_bounds(text: str, answer: str) -> tuple[int, int]:
    """Offsets of the clause that holds an answer; an empty range when none does."""
    at = find(text, answer)
    if at < 0:
        return 0, 0
    keep = range(at, at + len(answer.strip()))
    return next((b for b in clauses(text, keep) if b[0] <= at < b[1]), (0, 0))


def sentence(text: str, answer: str) -> str:
    """The sentence that holds an answer; empty when none does."""
    at = find(text, answer)
    if at < 0:
        return ""
    cuts = [m.end() for m in _STOP.finditer(text)]
    start = max((cut for cut in cuts if cut <= at), default=0)
    end = min((cut for cut in cuts if cut >= at + len(answer.strip())), default=len(text))
    return text[start:end]


def content(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, folded."""
    return frozenset(token for token in answer_tokens(text[:LONGEST]) if token not in _EMPTY)


def is_plan(text: str, answer: str) -> bool:
    """Whether a text gives an answer as a plan, forecast or rumour only."""
    return bool(_PLAN.search(clause(text, answer))) and not _DONE.search(sentence(text, answer))


def is_conditional(text: str, answer: str) -> bool:
    """Whether a text gives an answer for a case that it does not say is real."""
    held = sentence(text, answer)
    return bool(_IF.search(clause(text, answer)) or _IF_FIRST.match(held))


def says_only(text: str) -> bool:
    """Whether a text says that there is no other answer, or denies one."""
    return bool(_ONLY.search(text))


def is_list_between(text: str, one: str, other: str) -> bool:
    """Whether a text joins two answers as items of one list: "Dutch, French and German"."""
    first, second = find(text, one), find(text, other)
    if first < 0 or second < 0 or first == second:
        return False
    (start, end) = sorted(((first, len(one.strip())), (second, len(other.strip()))))
    between = text[start[0] + start[1] : end[0]]
    return len(between) <= 120 and bool(_BETWEEN.fullmatch(between))
