"""What an English question asks for, and how an English text holds an answer.

Complete. Every rule is for English; `is_english` tells when to leave a text alone. Patterns have
no nested repetition and texts are cut to `LONGEST` characters around the answer.
"""

import re
from functools import lru_cache

from .clusters import answer_tokens
from .dates import DateSpan, find_dates

LONGEST = 2_000  # ours: a snippet is a sentence or two; more is read around the answer only
_ENGLISH = frozenset(
    "who what where when which how whose whom why the does did are were has have name list tell"
    " give".split()
)
_FOREIGN = frozenset(
    "el los las del que quien donde cual cuando der die das ist wer wo wann welche le les est qui"
    " quel quelle il della dello che chi dove het een wie waar welke os uma qual quem onde och ar"
    " vem en por para mit und im".split()
)
_ASKS_PLAN = re.compile(
    r"\b(?:will|plan(?:s|ned)?|expected|forecast|going to|propos(?:es|ed|al)|intend(?:s|ed)?|next"
    r"|upcoming|future|scheduled|if|would|rumou?r(?:s|ed)?)\b",
    re.IGNORECASE,
)
_ASKS_PAST = re.compile(
    r"\b(?:first(?! (?:lady|name|minister|language))|original(?:ly)?|initial(?:ly)?|earliest"
    r"|former(?:ly)?|previous(?:ly)?|before|prior to|used to|historical(?:ly)?|at the time|ago"
    r"|inaugural|until|predecessor|preceded|last (?:year|century)|\d{3}0s|did|had|won|born|died"
    r"|birth|birthplace|found(?:ed|ers?)|established|invent(?:ed|or)|discover(?:ed|er)|wrote"
    r"|written|author|composed|composer|created|directed by|painted|built"
    r"|when (?:was|were)|what (?:year|date) (?:was|were)|(?:which|what) year (?:was|were))\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"^\W*(?:when|since when|until when)\b|\b(?:what|which|in what|in which|on what|on which) "
    r"(?:exact )?(?:year|date|day|month|decade|century|time)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|tall|high|long|old|far|large|big|deep|heavy|wide|fast)\b"
    r"|\bwhat (?:is|was|are|were) the (?:\w+ )?(?:population|height|length|area|depth|weight|price"
    r"|number|size|speed|elevation|revenue|age|rate|fee|limit)\b",
    re.IGNORECASE,
)
# Relations that have one value at a time.
_ONE_VALUE = re.compile(
    r"\b(?:capital|headquarter(?:s|ed)|ceo|chief executive|president|prime minister|chancellor"
    r"|mayor|king|queen|monarch|chair(?:man|woman|person)?|governor|birthplace|born|died|buried"
    r"|tallest|largest|highest|longest|oldest|biggest|smallest|population|head of state"
    r"|current(?:ly)?|date of birth)\b",
    re.IGNORECASE,
)
_PLURALS = (
    r"languages|countries|cities|states|people|persons|members|founders|authors|actors|songs|albums"
    r"|films|movies|books|products|services|awards|prizes|teams|players|children|sons|daughters"
    r"|siblings|brothers|sisters|parties|features|platforms|formats|companies|colou?rs|types|kinds"
    r"|ingredients|symptoms|causes|reasons|sports|instruments|genres|universities|schools|rivers"
    r"|islands|writers|artists|works|novels|programs|games|models|sponsors|partners|investors|uses"
    r"|examples|names|occupations|professions|roles|positions|clubs|bands|regions|industries"
    r"|operating systems|subsidiaries|brands|species|owners|directors|producers|characters"
)
_ASKS_LIST = re.compile(
    rf"\b(?:which|what) (?:of the |are the |were the |(?!is |was |does )\w+ ){{0,2}}(?:{_PLURALS})\b"
    rf"|\bwho (?:are|were) (?:the |some )?(?!parents\b)"
    rf"|\b(?:name|list|give)(?: me)? (?:all|some|the|any)(?: of)?(?: the)? (?:\w+ )?(?:{_PLURALS})\b"
    rf"|\bwhat are (?:the |some )?(?:\w+ ){{0,2}}(?:{_PLURALS})\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\b(?:both|two|three|four|five|six|seven|eight|nine|ten|only|finalists?|parents|sole|exactly"
    r"|total|how many|how much|most|\w{2,20}est|capital|headquarters)\b|\d",
    re.IGNORECASE,
)
# Lower case only: "Will" is a name and "May" a month.
_PLAN = re.compile(
    r"\b(?:will|shall|plans? to|planned to|planned for|planning to|plans? for|intends? to"
    r"|intended to|proposes? to|proposed|proposal|expects? to|expected to|forecast|forecasts"
    r"|projected to|scheduled to|scheduled for|slated|set to|due to (?:be|open|move|start|become)"
    r"|going to|aims? to|hopes? to|is considering|are considering|could|may|might|rumou?r|rumou?rs"
    r"|rumou?red|reportedly|allegedly|speculation|anticipated|predicts?|predicted|unconfirmed)\b"
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
_EMPTY = frozenset(
    "of in on at to for from by with and or is are was were be been as it its this that these those"
    " what which who whom whose when where why how do does did has have had many much there he she"
    " his her their they not name s city located".split()
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


def is_english(question: str) -> bool:
    """Whether the rules of this module may read a question; keyword queries count as English."""
    letters = [c for c in question[:LONGEST] if c.isalpha()]
    if not letters or sum(c.isascii() for c in letters) < 0.8 * len(letters):
        return False
    words = set(re.findall(r"[^\W\d_]+", question[:LONGEST].lower()))
    foreign = len(words & _FOREIGN)
    return len(words & _ENGLISH) > foreign or not foreign


def content(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, folded."""
    return frozenset(token for token in answer_tokens(text[:LONGEST]) if token not in _EMPTY)


def questions_list(question: str) -> bool:
    """Whether several answers can be right together: "Which languages ...", "Who are the ..."."""
    return bool(_ASKS_LIST.search(question)) and not _CLOSED.search(question)


def asks_for_time(question: str) -> bool:
    """Whether a question asks for a date, a year or another time."""
    return bool(_ASKS_TIME.search(question))


def asks_for_number(question: str) -> bool:
    """Whether a question asks for a quantity."""
    return bool(_ASKS_NUMBER.search(question))


def asks_for_one(question: str) -> bool:
    """Whether a question surely has one right answer at a time."""
    if questions_list(question):
        return False
    asked = (asks_for_time, asks_for_number)
    return any(f(question) for f in asked) or bool(_ONE_VALUE.search(question))


def asks_about_plans(question: str) -> bool:
    """Whether a question asks for the future, for a plan or for a case that is not real."""
    return bool(_ASKS_PLAN.search(question))


def asks_about_past(question: str) -> bool:
    """Whether a question asks for a past state or for an event, which no later date changes."""
    return bool(_ASKS_PAST.search(question))


def asked_times(question: str) -> list[DateSpan]:
    """The dates that a question names."""
    return find_dates(question[:LONGEST])


def is_plan(text: str, answer: str) -> bool:
    """Whether a text gives an answer as a plan, forecast or rumour only."""
    return bool(_PLAN.search(clause(text, answer))) and not _DONE.search(sentence(text, answer))


def is_conditional(text: str, answer: str) -> bool:
    """Whether a text gives an answer for a case that it does not say is real."""
    held = sentence(text, answer)
    return bool(_IF.search(clause(text, answer)) or _IF_FIRST.match(held))
