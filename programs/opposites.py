"""Words that mean the same, exclude each other, or change how far a claim goes.

Complete. English only; used to keep claims apart, so a missing word costs a comparison by a
language model, never a hidden contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .clusters import VETO
from .wording import word_set

# A line is a scale: groups between "/" exclude each other, words of a group mean the same.
_SCALES = """
rose rise risen climbed climb increased increase grew grow grown gained gain up
 soared surged expanded
 / fell fall fallen dropped drop decreased decrease declined
 decline shrank shrunk down plunged reduced
more greater higher larger bigger / less fewer lower smaller
most highest largest biggest greatest maximum / least lowest smallest minimum
older oldest elder / younger youngest
longer longest / shorter shortest
faster fastest / slower slowest
better best / worse worst
early earlier earliest / late later latest
before prior / after following
above over exceeds exceeded / below under beneath
joined join joins entered / left leave leaves quit
won win wins / lost lose loses
beat beats defeated defeats / succumbed
bought buys purchased acquired / sold sells
opened opens open reopened / closed closes shut
began begin begins started starts commenced
 / ended ends stopped stops finished ceased
accepted accepts approved approves / rejected rejects refused refuses declined vetoed
supported supports backs backed favours favors / opposed opposes
allowed allows permits permitted legal lawful
 / banned bans forbids forbidden prohibited illegal unlawful
born birth birthplace / died dies dead death
married / divorced unmarried single
alive living / dead deceased
true correct right / false incorrect wrong
guilty convicted / innocent acquitted
passed passes / failed fails
succeeded / failed
safe harmless / dangerous unsafe harmful
caused causes / prevented prevents cures cured
effective / ineffective
positive / negative
public / private
same identical / different
first / last
left / right
male man men boy he him his / female woman women girl she her
father / mother / son / daughter / brother / sister / uncle / aunt
husband / wife
hot warm warmer hotter / cold cool colder cooler
rich richer / poor poorer
north northern / south southern / east eastern / west western
spring / summer / autumn / winter
morning / afternoon / evening / night
red / blue / green / yellow / black / white / orange / purple / brown / grey gray / pink
full / empty
present attended / absent
import imports imported / export exports exported
lent lends / borrowed borrows
hired hires appointed / fired dismissed sacked
profit / loss
urban / rural
winner / loser
ally allies / enemy enemies
common / rare
strong stronger / weak weaker
easy easier / difficult hard harder
"""
# A line is one meaning.
_SYNONYMS = """
founded established created founding foundation incorporated
located situated lies based sits
headquarters headquartered hq
died death passed
born birth birthplace
tall height high
long length
wide width
weighs weight
costs cost price priced
written wrote author authored
directed director
built constructed
began started commenced
ended finished
bought purchased acquired
company firm corporation
film movie
roughly approximately about around nearly almost
employs employees employed
country nation
released published
invented inventor
discovered discoverer
"""
_EMPTY = word_set(
    "of in on at to for from by with and or is are was were be been being as it its this that"
    " these those which who whom there has have had does do did s also located approximately"
    " about around roughly total amounted into than then so but up out however percent"
)
QUANTIFIERS = {
    word: words.split()[0]
    for words in (
        "all every each always entire everyone everything whole",
        "most majority mostly mainly usually",
        "many numerous often",
        "some several sometimes partly partially",
        "few rarely seldom little",
        "only solely exclusively sole",
        "both",
        "half",
    )
    for word in words.split()
}
MODALS = {
    word: words.split()[0]
    for words in (
        "may might could possibly perhaps",
        "will shall",
        "can",
        "must",
        "should",
        "would",
    )
    for word in words.split()
}
# Alone on one side, each makes another claim of it.
LIMITS = VETO | word_set(
    "likely probably unlikely alleged allegedly reportedly rumoured rumored claimed claims denied"
    " denies said says believed thought suspected fake false failed fails refused refuses stopped"
    " attempted tried acting interim honorary almost nearly hardly barely upcoming future division"
    " subsidiary branch department unofficial unofficially disputed hypothetical wants wanted"
    " lacks lacked unable impossible myth hoax debunked"
)
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "anti", "a", "mis", "de")


def content_words(tokens: Iterable[str]) -> list[str]:
    """The words that carry meaning, each by its meaning or its stem.

    Args:
        tokens: Folded tokens (`clusters.answer_tokens`).

    Returns:
        One word per token that is no function word, in order.
    """
    return [meaning(token) for token in tokens if token not in _EMPTY]


@lru_cache(maxsize=20_000)
def meaning(word: str) -> str:
    """The word that stands for all words of one meaning; else the stem."""
    return _MEANINGS.get(word) or _MEANINGS.get(stem(word)) or stem(word)


def stem(word: str) -> str:
    """A word without its endings: "opened" and "opening" are one."""
    for ending in ("ies", "ing", "ed", "es", "s", "ly", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=50_000)
def opposed(one: str, other: str) -> bool:
    """Whether two words exclude each other: "rose" and "fell", "legal" and "illegal".

    Args:
        one: A folded word or its `meaning`.
        other: Another.

    Returns:
        True when they do; symmetric.
    """
    mine, its = _PLACES.get(one, {}), _PLACES.get(other, {})
    if any(scale in its and its[scale] != group for scale, group in mine.items()):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) > 3 and any(long == prefix + short for prefix in _PREFIXES)


def _meanings() -> dict[str, str]:
    known: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        first, *others = line.split()
        for word in (first, *others):
            known.setdefault(word, stem(first))
            known.setdefault(stem(word), stem(first))
    return known


def _places() -> dict[str, dict[int, int]]:
    """Every word with its group on every scale, also by its meaning and stem."""
    places: dict[str, dict[int, int]] = {}
    for scale, line in enumerate(_SCALES.strip().replace("\n ", " ").splitlines()):
        for group, words in enumerate(line.split(" / ")):
            for word in words.split():
                for form in (word, meaning(word)):
                    places.setdefault(form, {})[scale] = group
    return places


_MEANINGS = _meanings()
_PLACES = _places()


def same_meaning(one: str, other: str) -> bool:
    """Whether two words (as `meaning` gives them) stand in one group of some scale."""
    mine, its = _PLACES.get(one, {}), _PLACES.get(other, {})
    shared = [scale for scale in mine if scale in its]
    return one == other or (bool(shared) and all(mine[s] == its[s] for s in shared))
