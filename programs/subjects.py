"""Which text is about the subject of the question, and which about another of the same name.

Complete. Decided by names in full, by what qualifies them, by births and by kinds of things; what
code does not know it leaves open.
"""

import re
from collections.abc import Iterator

from .clusters import answer_tokens
from .conflicts import Side
from .names import Name, fold_name, holds, names
from .standing import statements
from .wording import LONGEST, word_set

_PARTICLES = frozenset({"of", "the", "and", "de", "la", "for", "in"})
_WHOLE = 20_000  # ours: of a document, to see whether it ever names the thing asked about
_HEAD = 400  # ours: of a document, to see what its subject is
_BORN = re.compile(
    r"\W{1,3}(?:[^()\n]{0,40}?\b)?(?:born|b\.)\D{0,30}?(\d{4})|\s?\((\d{4})\s?[–—-]", re.IGNORECASE
)
_IS = re.compile(r"(?:\s?\([^()\n]{0,80}\))?,?\s(?:(?:is|was|are|were)\s)?(?:an?|the|one of the)\s")
_BRACKET = re.compile(r"\s\(([^()\n]{1,40})\)")
_NUMERAL = re.compile(r"\d+|[ivx]+")
_LONGER = re.compile(r"\s([^\W\d_a-z]\w*)")
_CORPORATE = word_set("inc incorporated ltd limited corp corporation co company llc plc ag sa")
_TITLES = word_set(
    "general sir dr president king queen saint st lord lady mr mrs ms professor captain colonel"
    " admiral major pope prince princess judge senator bishop"
)
_KINDS = {
    noun: kind
    for kind, nouns in {
        "settlement": "city town village municipality commune suburb hamlet capital",
        "region": "state province county district",
        "country": "country nation",
        "river": "river",
        "lake": "lake",
        "mountain": "mountain volcano",
        "film": "film movie",
        "series": "sitcom miniseries",
        "album": "album",
        "song": "song",
        "book": "novel book",
        "band": "band",
        "company": "company corporation manufacturer retailer conglomerate",
        "person": "actor actress singer politician footballer player writer author poet scientist"
        " musician lawyer painter composer king queen president physicist director statistician"
        " economist businessman businesswoman athlete journalist historian architect philosopher",
        "ship": "ship frigate destroyer",
        "planet": "planet",
        "element": "element metal",
        "deity": "god goddess",
        "animal": "mammal bird fish snake reptile insect",
        "plant": "plant shrub herb",
        "newspaper": "newspaper magazine",
        "university": "university",
        "game": "videogame",
    }.items()
    for noun in nouns.split()
}


def named_side(question: str, sides: tuple[Side, Side]) -> tuple[int, str] | None:
    """Find the side whose text names what was asked, where the other's names a namesake.

    Args:
        question: What was asked.
        sides: The two sides.

    Returns:
        Its index, and a clause that names both; None when that cannot be told.
    """
    for winner in (0, 1):
        mine, its = sides[winner], sides[1 - winner]
        for name in names(question):
            rival = _rival(name, mine, its)
            if rival:
                return winner, f"“{name.text}” was asked about, the other text is about “{rival}”"
    return _of_asked_kind(question, sides)


def other_subjects(question: str, a: Side, b: Side) -> str:
    """Why the texts of two sides are about two subjects of one name; empty when that is not sure.

    Args:
        question: What was asked.
        a: One side.
        b: The other.

    Returns:
        A clause such as "born in 1950 and in 1972", or "".
    """
    for name in names(question):
        for what in (_birth, kind_of, _remark):
            mine, its = what(name, a), what(name, b)
            if mine and its and mine != its:
                lead = "born in " if what is _birth else ""
                return f"one {name.text} is {lead}{mine}, the other {its}"
    return ""


def mentions(question: str, side: Side) -> bool:
    """Whether the documents of a side name something that the question names.

    "Tesla Motors Club" does not name Tesla; "Tesla, Inc." does.
    """
    whole = _whole(side)
    return any(_stands_alone(name, whole) for name in names(question))


def about_another(question: str, side: Side) -> bool:
    """Whether the sentence of a side's answer begins with a subject that was not asked about.

    "Embraer, the maker of jets, keeps its headquarters in X" says nothing of Boeing's, even in a
    document that also names Boeing.
    """
    near = _near(side).lstrip().removeprefix("The ")
    first = next(iter(names(near)), None)
    if not names(question) or first is None or not near.startswith(first.text):
        return False
    # "Embraer, a rival of Boeing, keeps ..." names Boeing beside its subject only.
    said = near[len(first.text) :]
    said = said[said.find(",", 1) :] if said.startswith(",") else said
    if any(_stands_alone(name, said) for name in names(question)):
        return False
    # "University of Tarn" and "College of Lomma" share no more than a particle.
    shared = {t for name in names(question) for t in name.tokens} & set(first.tokens)
    return not shared - _PARTICLES and first.text.casefold() not in side.answer.casefold()


def kind_of(name: Name, side: Side) -> str:
    """The kind of thing that a side's text says a name is ("film", "person"), or empty."""
    for text, end in _behind(name, side):
        bracket, verb = _BRACKET.match(text, end), _IS.match(text, end)
        said = bracket[1] if bracket else text[verb.end() : verb.end() + 60] if verb else ""
        for word in re.split(r"[^\w'-]+", re.split(r"[,;.(]", said)[0].lower()):
            if word in _KINDS:
                return _KINDS[word]
            if word in {"of", "in", "by", "that", "which", "who", "from", "for"}:
                break
    return ""


def _birth(name: Name, side: Side) -> str:
    for text, end in _behind(name, side):
        born = _BORN.match(text[end : end + 100])
        if born:
            return born[1] or born[2]
    return ""


def _remark(name: Name, side: Side) -> str:
    """What tells a name from its namesakes in brackets ("priest", "Ann Lee album"), or empty."""
    found = set()
    for text, end in _behind(name, side):
        bracket = _BRACKET.match(text, end)
        said = bracket[1] if bracket else ""
        if said and (said.islower() or _last_word(said) in _KINDS):
            found.add(said)
    return found.pop() if len(found) == 1 else ""


def _last_word(text: str) -> str:
    return text.rpartition(" ")[2].lower()


def _behind(name: Name, side: Side) -> Iterator[tuple[str, int]]:
    """Every place behind a name in the snippets and openings of a side's documents."""
    for document, snippet in statements(side):
        for text in (snippet, document.title, document.text[:_HEAD]):
            for hit in re.finditer(re.escape(name.text), text):
                yield text, hit.end()


def _rival(name: Name, mine: Side, its: Side) -> str:
    """What the other side's text names instead of a name that this side's text has in full."""
    if name.qualifier:
        return _other_qualifier(name, mine, its)
    if not name.full or not _names_it(name.tokens, mine) or holds(_whole(its), name.tokens):
        return ""
    given = set(fold_name(mine.answer)) | set(fold_name(its.answer))
    for other in names(_near(its)):
        if _is_rival(name.tokens, other.tokens) and not given & set(other.tokens):
            return other.text
    return ""


def _other_qualifier(name: Name, mine: Side, its: Side) -> str:
    wanted = name.qualifier
    if not (_names_it(name.tokens, mine) and _names_it(wanted, mine)) or holds(_whole(its), wanted):
        return ""
    given = set(fold_name(mine.answer)) | set(fold_name(its.answer))
    for other in names(_near(its)):
        if other.tokens == name.tokens and other.qualifier and not given & set(other.qualifier):
            return f"{other.text}, {' '.join(other.qualifier).title()}"
    return ""


def _is_rival(name: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Another first word ("Mary Smith") that is no abbreviation, or another number ("2016 ...")."""
    if len(name) != len(other) or name == other:
        return False
    pairs = [(a, b) for a, b in zip(name, other, strict=True) if a != b]
    if len(pairs) != 1 or name[0] in _TITLES:
        return False
    mine, its = pairs[0]
    if _NUMERAL.fullmatch(mine) or _NUMERAL.fullmatch(its):
        return bool(_NUMERAL.fullmatch(mine) and _NUMERAL.fullmatch(its))
    return name[-1] == other[-1] and mine[0] != its[0]


def _of_asked_kind(question: str, sides: tuple[Side, Side]) -> tuple[int, str] | None:
    """With "Which planet is Mercury?" one text is about the planet, the other about the element."""
    asked = {_KINDS[word] for word in answer_tokens(question[:LONGEST]) if word in _KINDS}
    for name in names(question):
        kinds = [kind_of(name, side) for side in sides]
        if all(kinds) and kinds[0] != kinds[1] and len(asked & set(kinds)) == 1:
            winner = 0 if kinds[0] in asked else 1
            return winner, f"{name.text} the {kinds[winner]} was asked, not the {kinds[1 - winner]}"
    return None


def _stands_alone(name: Name, whole: str) -> bool:
    found = list(re.finditer(re.escape(name.text), whole))
    longer = [_LONGER.match(whole, hit.end()) for hit in found]
    if any(not more or more[1].lower() in _CORPORATE for more in longer):
        return True
    return not found and holds(whole, name.tokens)


def _names_it(tokens: tuple[str, ...], side: Side) -> bool:
    return holds(_near(side), tokens)


def _near(side: Side) -> str:
    """Snippets and titles."""
    parts = [f"{snippet}\n{document.title}" for document, snippet in statements(side)]
    return "\n".join(parts)[: 2 * LONGEST]


def _whole(side: Side) -> str:
    parts = [f"{document.title}\n{document.text[:_WHOLE]}" for document, _ in statements(side)]
    return "\n".join(parts)[: 4 * _WHOLE]
