"""What an English question asks for: a list, one value, a time, the past, a plan.

Complete. Every rule is for English; `is_english` tells when to leave a question alone.
"""

import re

from .dates import DateSpan, find_dates
from .wording import LONGEST, word_set

_ENGLISH = word_set(
    "who what where when which how whose whom why the does did are were has have name list"
    " tell give"
)
_FOREIGN = word_set(
    "el los las del que quien donde cual cuando der die das ist wer wo wann welche le les est"
    " qui quel quelle il della dello che chi dove het een wie waar welke os uma qual quem onde"
    " och ar vem en por para mit und im"
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
    r"|(?<!latest )(?<!newest )(?:film|movie|album|song|novel|painting|poem|episode)"
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
_ONE_VALUE = re.compile(
    r"\b(?:capital|headquarter(?:s|ed)|ceo|chief executive|president|prime minister|chancellor"
    r"|mayor|king|queen|monarch|chair(?:man|woman|person)?|governor|birthplace|born|died|buried"
    r"|tallest|largest|highest|longest|oldest|biggest|smallest|population|head of state"
    r"|current(?:ly)?|date of birth|who is the|who (?:owns|leads|runs|heads|coaches|manages)"
    r"|latest|where is (?:\w+ ){1,6}(?:located|based))\b",
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
    rf"\b(?:which|what) (?:of the |(?!is |was |does )\w+ ){{0,2}}(?:{_PLURALS})\b"
    rf"|\bwho (?:are|were) (?:the |some )?(?!parents\b)"
    r"|\b(?:name|list|give)(?: me)? (?:all|some|the|any)(?: of)?(?: the)? (?:\w+ )?"
    rf"(?:{_PLURALS})\b"
    rf"|\bwhat are (?:the |some )?(?:\w+ ){{0,2}}(?:{_PLURALS})\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\b(?:both|two|three|four|five|six|seven|eight|nine|ten|only|finalists?|parents|sole|exactly"
    r"|total|how many|how much|most|\w{2,20}est|capital|headquarters)\b|\d",
    re.IGNORECASE,
)
_ASKS_LEVEL = re.compile(
    r"\b(?:which|what|in which|in what) (?:city|town|village|country|nation|state|province|region"
    r"|county|continent|district|street|year|month|day|date|decade|century)\b",
    re.IGNORECASE,
)


def is_english(question: str) -> bool:
    """Whether the rules of this module may read a question; keyword queries count as English."""
    letters = [c for c in question[:LONGEST] if c.isalpha()]
    if not letters or sum(c.isascii() for c in letters) < 0.8 * len(letters):
        return False
    words = set(re.findall(r"[^\W\d_]+", question[:LONGEST].lower()))
    foreign = len(words & _FOREIGN)
    return len(words & _ENGLISH) > foreign or not foreign


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


def asks_for_level(question: str) -> bool:
    """Whether a question names the level of precision it wants: "which city", "what year"."""
    return bool(_ASKS_LEVEL.search(question))


def asks_about_plans(question: str) -> bool:
    """Whether a question asks for the future, for a plan or for a case that is not real."""
    return bool(_ASKS_PLAN.search(question))


def asks_about_past(question: str) -> bool:
    """Whether a question asks for a past state or for an event, which no later date changes."""
    return bool(_ASKS_PAST.search(question))


def asked_times(question: str) -> list[DateSpan]:
    """The dates that a question names."""
    return find_dates(question[:LONGEST])
