"""Which answers are the same answer, decided without a language model.

Only what is safe is merged: two spellings left apart cost one comparison by the language model,
two different answers merged hide a conflict. Every rule is symmetric. The rules are not transitive
("Smith" equals "John Smith" and "Mary Smith"), so a cluster holds only answers that all equal each
other, and an answer that equals two that differ is vague: it stands apart and joins neither side,
whatever the order.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .dates import Date, fold_digits, parse_date
from .quantities import Quantity, QuantitySpan, find_quantities, same_quantity


def _words(text: str) -> frozenset[str]:
    """A set of words; "_" stands for a space within one."""
    return frozenset(word.replace("_", " ") for word in text.split())


_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ـ": ""}
)
# Marks of Latin, Greek and Cyrillic letters and Arabic vowel signs; others carry meaning.
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670]")
_APOSTROPHES = re.compile(r"(?<=\w)['’‘`ʼ](?=\w)")
_ACRONYM = re.compile(r"\b(?:[^\W\d_]\.\s?){1,7}(?:(?<=\.)[^\W\d_]\b\.?)?")
# Written without spaces: a character is a token.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
)
_TOKEN = re.compile(
    rf"[{_UNSPACED}]|\d+(?:[.,]\d+)*[^\W\d_{_UNSPACED}]*|[^\W_{_UNSPACED}]+(?:\+\+|#)?"
    r"|[$€£¥%°+&]|(?<!\w)[-−](?=\d)"
)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the"})
NEGATIONS = _words(
    "not no never none neither nor without cannot cant dont doesnt didnt isnt wasnt arent"
    " werent wont wouldnt hasnt havent hadnt couldnt nobody nothing"
    " 不 没 沒 非 未 无 無 لا ليس لم لن"
    " غير"
)
_YES = frozenset(
    {
        "yes",
        "yeah",
        "yep",
        "true",
        "correct",
        "affirmative",
        "yes it is",
        "yes it was",
        "yes he did",
    }
    | {"yes she did", "yes they did", "it is true", "that is correct", "yes it does", "yes it did"}
    | {"是", "是 的", "对", "نعم"}
)
_NO = frozenset(
    {
        "no",
        "nope",
        "false",
        "incorrect",
        "no it is not",
        "no it isnt",
        "no it was not",
        "no it wasnt",
    }
    | {
        "no he did not",
        "no she did not",
        "no they did not",
        "it is false",
        "not true",
        "no it does not",
    }
    | {"no it did not", "no he didnt", "no she didnt", "no it doesnt", "no it didnt"}
    | {"否", "不 是", "不 对", "لا"}
)
_ALIASES = {
    alias: names.split("|")[0]
    for names in (
        "united states|us|usa|united states of america|u s|u s a|america|美国|الولايات المتحدة",
        "united kingdom|uk|great britain|britain"
        "|united kingdom of great britain and northern ireland|英国",
        "united nations|un|uno|联合国",
        "european union|eu|欧盟",
        "soviet union|ussr|union of soviet socialist republics|苏联",
        "united arab emirates|uae|emirates",
        "china|peoples republic of china|prc|中国|中华人民共和国",
        "taiwan|republic of china|roc",
        "south korea|republic of korea|rok",
        "north korea|democratic peoples republic of korea|dprk",
        "germany|federal republic of germany|德国",
        "russia|russian federation|俄罗斯",
        "netherlands|holland",
        "czech republic|czechia",
        "ivory coast|cote divoire",
        "myanmar|burma",
        "turkey|turkiye",
        "democratic republic of congo|drc|dr congo|democratic republic of the congo",
        "new york city|nyc|city of new york",
        "los angeles|la",
        "washington dc|washington d c|district of columbia",
        "world health organization|who|world health organisation",
        "international business machines|ibm",
        "british broadcasting corporation|bbc",
        "association football|soccer",
        "television|tv",
        "motion picture|movie|film",
        "mount everest|everest",
        "st|saint",
    )
    for alias in names.split("|")
}
_SPELLINGS: dict[str, list[str]] = {}
for _alias, _name in _ALIASES.items():
    _SPELLINGS.setdefault(_name, []).append(_alias)
# Aliases that are also words of a language.
_ALSO_WORDS = frozenset({"us", "un", "who", "la"})
_TITLES = _words("dr mr mrs ms miss president sir dame prof professor rev")
_CORPORATE = _words(
    "inc incorporated ltd limited corp corporation co company llc plc gmbh ag sa nv jr"
)
_PLACE_PREFIX = re.compile(
    r"(?:(?P<town>city|town|village)|state|country|republic|kingdom|commonwealth) of (?=.)"
)
_COUNTRIES = _words(
    "united_states united_kingdom england scotland wales northern_ireland ireland france"
    " germany italy spain portugal netherlands belgium luxembourg switzerland austria denmark"
    " norway sweden finland iceland poland czech_republic slovakia hungary romania bulgaria"
    " greece turkey russia ukraine belarus serbia croatia slovenia bosnia albania canada"
    " mexico brazil argentina chile peru colombia venezuela cuba jamaica china taiwan japan"
    " south_korea north_korea india pakistan bangladesh sri_lanka nepal thailand vietnam"
    " malaysia singapore indonesia philippines australia new_zealand egypt israel lebanon"
    " syria iraq iran saudi_arabia jordan qatar united_arab_emirates morocco algeria tunisia"
    " libya nigeria ghana kenya ethiopia tanzania uganda south_africa zimbabwe congo korea"
    " sudan guinea samoa georgia armenia"
)
_STATES = _words(
    "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia"
    " hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland"
    " massachusetts michigan minnesota mississippi missouri montana nebraska nevada"
    " new_hampshire new_jersey new_mexico new_york north_carolina north_dakota ohio oklahoma"
    " oregon pennsylvania rhode_island south_carolina south_dakota tennessee texas utah"
    " vermont virginia washington west_virginia wisconsin wyoming washington_dc dc ontario"
    " quebec british_columbia alberta manitoba saskatchewan nova_scotia new_south_wales"
    " victoria queensland bavaria saxony catalonia england scotland wales northern_ireland tx"
    " ca ny fl pa oh nj ma wa va nc il mi"
)
# Before a name they make another name of it: "New York", "Red Sox", "Vice President".
_MODIFIERS = _words(
    "new north south east west northern southern eastern western central upper lower great"
    " greater little big old young san santa saint fort mount lake port los las el la le les"
    " real royal inter atletico republic democratic papua equatorial british american french"
    " spanish german english dutch black white red green blue yellow golden silver grand saudi"
    " sri costa cape long high deep vice deputy former ex assistant co anti pre post non half"
    " step super ultra mini micro mega first second third last next lord king queen prince"
    " princess pope general university college school bank house hotel battle treaty city"
    " river bay mercedes hewlett miss baby lady team club fc sporting dynamo air radio tv mid"
    " de van von der den del al bin ibn abu mc mac"
)
# These alone name no one, whatever stands before them.
_GENERIC = _words(
    "city beach bay river island islands county university school college company awards"
    " award club party church street road avenue park lake mountain mountains hill hills"
    " valley bridge tower hotel museum library hospital airport station theatre theater"
    " stadium league cup team band group records music films film pictures studios series"
    " season game games world war times post news journal press magazine bank act day prize"
    " medal states kingdom republic union nations ocean sea desert forest house palace castle"
    " cathedral i ii iii iv v vi vii viii ix x jr sr xi xii"
    " rock jazz metal pop punk blues soul folk rap guitar piano drums violin football hockey tennis"
    " rugby boxing engineer manager player actor actress teacher writer singer lawyer doctor nurse"
    " officer director producer artist democrat republican socialist liberal conservative orthodox"
    " catholic protestant christian muslim car cat dog bear tea coffee language"
)
_HARMLESS = _words(
    "professional famous notable well known renowned prominent acclaimed celebrated popular"
)
_NATIONALITIES = _words(
    "american british english scottish welsh irish canadian australian french german italian"
    " spanish portuguese dutch belgian swiss austrian danish norwegian swedish finnish polish"
    " czech hungarian russian ukrainian greek turkish chinese japanese korean indian mexican"
    " brazilian argentine egyptian israeli nigerian"
)
_OCCUPATION = re.compile(r"(?:er|or|ist|ian|man|woman|ress|poet|architect|scientist)$")
_FUNCTION = frozenset(
    [
        "of",
        "the",
        "and",
        "for",
        "in",
        "on",
        "at",
        "to",
        "by",
        "de",
        "la",
        "du",
        "von",
        "van",
        "der",
        "da",
        "di",
    ]
)
_NO_PERSON = _MODIFIERS | _GENERIC | _FUNCTION | _NATIONALITIES | _COUNTRIES | _STATES
_LIST = re.compile(r"\s*(?:[,;、،，]|/(?!\d)|\band\b|&|\bو\b|和|与)\s*(?:and\s+)?", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s*[(\[]([^()\[\]]{1,60})[)\]]\s*$")
_CORE = re.compile(
    r"(?:the (?:correct |final |short )?answer(?: to the question)? (?:is|was)[: ]\s*"
    r"|(?:it|he|she|they|this|that)(?: (?:is|was|are|were|has been|have been)|['’]s|['’]re)\s"
    r"(?:(?:currently|now|also) )?(?:(?:located|based|headquartered|situated|found|held|born|called"
    r"|named|known as|written by|directed by|produced by|made by|built by|founded by|owned by)\s)?"
    r"(?:(?:in|at|on|by|from)\s)?"
    r"|(?:\S+\s){1,12}?(?:is|was|are|were) (?:(?:currently|now) )?(?:located|based|headquartered"
    r"|situated|held|born|called|named|written by|directed by|produced by|founded by)\s"
    r"(?:(?:in|at|on|by)\s)?"
    r"|(?:in|at|on|by|from)\s)",
    re.IGNORECASE,
)
VETO = _words(
    "formerly former previously once longer used planned plans proposed will might may or if"
)
# Longer texts are compared by equality only.
_LONGEST = 300


@dataclass(frozen=True)
class _Form:
    """One answer, taken apart once."""

    text: str
    date: Date | None
    spans: tuple[QuantitySpan, ...]
    key: str
    folded: str

    @cached_property
    def tokens(self) -> list[str]:
        return self.folded.split()

    @cached_property
    def negated(self) -> bool:
        return any(token in NEGATIONS for token in self.tokens)

    @property
    def quantities(self) -> list[Quantity]:
        return [span.quantity for span in self.spans]

    @cached_property
    def wording(self) -> str:
        """The text without its quantities."""
        parts, at = [], 0
        for span in self.spans:
            parts += [self.text[at : span.start], " "]
            at = span.end
        return re.sub(
            r"[~≈]|\b(?:about|around|approximately|nearly|almost|roughly|a total of)\b",
            " ",
            "".join([*parts, self.text[at:]]),
        )

    @cached_property
    def name(self) -> str:
        """Without titles, corporate endings and "city of"; aliases resolved."""
        plain = _ALIASES.get(self.folded, self.folded)
        prefix = _PLACE_PREFIX.match(plain)
        if prefix and (prefix["town"] or _is_place(plain[prefix.end() :])):
            plain = plain[prefix.end() :]
        tokens = plain.split()
        while len(tokens) > 1 and tokens[0] in _TITLES:
            tokens = tokens[1:]
        while len(tokens) > 1 and tokens[-1] in _CORPORATE:
            tokens = tokens[:-1]
        tokens = ["saint" if token == "st" else token for token in tokens]
        plain = " ".join(tokens)
        return _ALIASES.get(plain, plain)


def answer_tokens(text: str) -> list[str]:
    """Split a text into comparable tokens.

    Args:
        text: Any text.

    Returns:
        Tokens after NFKC, case folding and folding of digits and accents, without punctuation and
        articles; "U.S." gives `us`, "1,791" gives `1791`, an ideograph is a token.
    """
    return _folded(_key(text)).split()


def answer_forms(text: str) -> list[str]:
    """Give the spellings under which a text may state an answer, as tokens joined by spaces.

    Args:
        text: A short answer.

    Returns:
        The answer itself, what a sentence around it says, it without titles and corporate endings,
        and its aliases of the built-in table; without repetitions, the most literal first. Short
        acronyms that are words as well ("US", "WHO") are in capitals: look for them in the text
        as it is written.
    """
    form = _form(text)
    heads = [form, *_cores(form)]
    names = [head.name for head in heads]
    aliases = [alias for name in names for alias in _SPELLINGS.get(name, ())]
    forms = [*(head.folded for head in heads), *names, *aliases]
    return list(dict.fromkeys(f.upper() if f in _ALSO_WORDS else f for f in forms if f))


def same_answer(a: str, b: str) -> bool:
    """Tell whether two short answers to one question are surely the same.

    In this order: equal but for case, punctuation, articles and accents; equal dates (of one
    precision); yes and no; the same list in another order; numbers must agree, and units; aliases,
    acronyms, initials, titles and corporate endings; safe containment ("Austin, Texas"); a
    sentence around the other answer.

    Args:
        a: One answer.
        b: The other.

    Returns:
        True when they are the same; False when they differ or it cannot be told. Reflexive and
        symmetric, not transitive.

    Example:
        >>> same_answer("Austin", "It is located in Austin."), same_answer("York", "New York")
        (True, False)
    """
    if a == b:
        return True
    one, other = _form(a), _form(b)
    if one.key == other.key or one.folded == other.folded:
        return True
    if not one.folded or not other.folded or max(len(a), len(b)) > _LONGEST:
        return False
    if _differ_as_dates(one, other):
        return _same_core(one, other)
    return (
        (one.date is not None and one.date == other.date)
        or _same(one, other)
        or _same_core(one, other)
    )


def cluster_answers(answers: Sequence[str]) -> list[list[int]]:
    """Partition answers into clusters of the same answer.

    Every two members of a cluster are the same by `same_answer`, up to case and punctuation. An
    answer that equals two answers which differ from each other ("Smith" beside "John Smith" and
    "Mary Smith") is vague: crediting one of them would depend on the order, so it forms a cluster
    of its own (with equally vague ones that it equals).

    Args:
        answers: The answers; empty ones are equal to each other.

    Returns:
        Indices into `answers`: clusters by first appearance, members in order. The partition does
        not depend on the order of the answers.
    """
    classes: dict[str, list[int]] = {}
    for index, answer in enumerate(answers):
        classes.setdefault(_form(answer).key, []).append(index)
    members = list(classes.values())
    equal = _neighbours([sorted({answers[i] for i in indices}) for indices in members])
    groups = _cliques(range(len(members)), equal)
    return sorted(sorted(i for node in group for i in members[node]) for group in groups)


def is_refinement(general: str, specific: str) -> bool:
    """Tell whether one answer says the same as another, only more precisely.

    Args:
        general: The less precise answer, such as `1990`, "guitar" or "Germany".
        specific: The more precise one, such as `4 March 1990`, "electric guitar" or "Munich,
            Germany".

    Returns:
        True for a date within the other and for words added to the other that neither negate it,
        count, list nor make another name of it. World knowledge is not consulted: "Germany" and
        "Munich" gives False.
    """
    one, other = _form(general), _form(specific)
    if one.key == other.key or one.negated != other.negated:
        return False
    if one.date or other.date:
        return _is_part_of(one.date, other.date)
    if not _numbers_agree(one, other):
        return False
    if _contained(one, other) or _place_within(one, other):
        return True
    same_length = len(_items(general)) == len(_items(specific))
    return same_length and _narrowed(one.tokens, other.tokens)


def _is_part_of(whole: Date | None, part: Date | None) -> bool:
    return bool(whole and part and whole != part and whole.contains(part))


def _narrowed(general: list[str], specific: list[str]) -> bool:
    """An "electric guitar" is a guitar, a "vice president" no president, "New York" no York."""
    extra = specific[: -len(general)]
    return (
        bool(general and extra)
        and specific[-len(general) :] == general
        and not any(t in _MODIFIERS or t in NEGATIONS or t in _FUNCTION or t in VETO for t in extra)
    )


def _place_within(general: _Form, specific: _Form) -> bool:
    """As in "Germany" and "Munich, Germany"."""
    head, comma, tail = specific.text.rpartition(",")
    return (
        bool(comma and head.strip())
        and _form(tail).name == general.name
        and _is_place(general.name)
    )


def _is_place(name: str) -> bool:
    return name in _COUNTRIES or name in _STATES


def _key(text: str) -> str:
    """Equal but for case, punctuation and articles."""
    plain = fold_digits(unicodedata.normalize("NFKC", text))
    plain = (
        _ACRONYM.sub(lambda m: m[0].replace(".", "").replace(" ", "") + " ", plain)
        if "." in plain
        else plain
    )
    plain = _THOUSANDS.sub("", _APOSTROPHES.sub("", _POSSESSIVE.sub("", plain)))
    plain = unicodedata.normalize("NFKC", plain.casefold().replace("&", " and "))
    tokens = _TOKEN.findall(plain)
    # A last "a" is a name: "Vitamin A".
    kept = [
        t for i, t in enumerate(tokens) if t not in _ARTICLES or (t == "a" and i == len(tokens) - 1)
    ]
    return " ".join(kept or tokens) or plain.strip()


def _folded(key: str) -> str:
    if key.isascii():
        return key
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", key)).translate(_LETTERS)
    return unicodedata.normalize("NFKC", bare)


def _written_date(text: str) -> Date | None:
    """The date, unless only its year could be read: `03/04/1990` is not the same as `1990`."""
    date = parse_date(text)
    if date and date.precision == "year" and len(re.findall(r"\d+", text)) > 1:
        return None
    return date


@lru_cache(maxsize=4096)
def _form(text: str) -> _Form:
    key = _key(text)
    short = len(text) <= _LONGEST
    return _Form(
        text=text,
        date=_written_date(text),
        spans=tuple(find_quantities(text)) if short else (),
        key=key,
        folded=_folded(key),
    )


def _same(one: _Form, other: _Form) -> bool:
    """All rules but the one for sentences, numbers first."""
    if one.folded in _YES | _NO or other.folded in _YES | _NO:
        return any(one.folded in side and other.folded in side for side in (_YES, _NO))
    if one.negated != other.negated:
        return False
    if _same_list(one, other):
        return True
    if not _numbers_agree(one, other):
        return False
    # Equal quantities may be spelled apart ("7 kilometers", "7 kilometres").
    if one.spans and _same_wording(one, other):
        return True
    return one.spans == other.spans and _same_name(one, other)


def _same_wording(one: _Form, other: _Form) -> bool:
    first, second = _form(one.wording), _form(other.wording)
    return first.key == second.key or (
        bool(first.folded and second.folded) and _same_name(first, second)
    )


def _same_name(one: _Form, other: _Form) -> bool:
    rules: tuple[Callable[[_Form, _Form], bool], ...] = (_acronym, _contained)
    if one.name == other.name or _same_person(one, other):
        return True
    return any(rule(one, other) or rule(other, one) for rule in rules)


def _numbers_agree(one: _Form, other: _Form) -> bool:
    mine, its = one.quantities, other.quantities
    if len(mine) != len(its) or not all(map(same_quantity, mine, its)):
        return False
    if mine:
        return True
    digits = [[t for t in form.tokens if any(c.isdigit() for c in t)] for form in (one, other)]
    return digits[0] == digits[1]


def _same_list(one: _Form, other: _Form) -> bool:
    mine, its = _items(one.text), _items(other.text)
    if len(mine) < 2 or len(mine) != len(its):
        return False
    return sorted(map(_item_key, mine)) == sorted(map(_item_key, its))


def _items(text: str) -> list[str]:
    return [item for item in _LIST.split(_THOUSANDS.sub("", text)) if item.strip()]


def _item_key(item: str) -> str:
    return _form(item).name


def _acronym(short: _Form, long: _Form) -> bool:
    """The capitals of "NASA" begin the words; two letters are too few to be sure."""
    letters = short.text.strip().replace(".", "").replace(" ", "")
    if not (3 <= len(letters) <= 7 and letters.isalpha() and letters.isupper()):
        return False
    words = [word for word in long.tokens if word not in _FUNCTION]
    return len(words) == len(letters) and "".join(word[0] for word in words) == letters.lower()


def _same_person(one: _Form, other: _Form) -> bool:
    """Given names against initials or left out: "J. R. R. Tolkien", "John F. Kennedy"."""
    mine, its = _given_and_family(one), _given_and_family(other)
    if len(mine) < 2 or len(its) < 2 or mine[-1] != its[-1]:
        return False
    short, long = sorted((mine[:-1], its[:-1]), key=lambda given: (len(given), given))
    if not _same_given(short[0], long[0]):
        return False
    # "George W." is neither "George H. W." nor surely another than "George".
    return len(short) == 1 or (len(short) == len(long) and all(map(_same_given, short, long)))


def _given_and_family(form: _Form) -> list[str]:
    """Tokens of what looks like a person's name, or nothing. "JRR" becomes three initials."""
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", form.text.replace(".", " "))
    words = [w for w in words if w.lower() not in _TITLES | _CORPORATE]
    if not 2 <= len(words) <= 5 or not all(w[0].isupper() for w in words) or "," in form.text:
        return []
    tokens = [_folded(_key(w)) for w in words]
    if not _NO_PERSON.isdisjoint(tokens):
        return []
    if words[0].isupper() and 2 <= len(words[0]) <= 3 and not words[-1].isupper():
        tokens[:1] = list(tokens[0])
    return tokens


def _same_given(one: str, other: str) -> bool:
    if len(one) == 1 or len(other) == 1:
        return one[0] == other[0]
    return one == other


def _contained(short: _Form, long: _Form) -> bool:
    """What one adds to the other does not change what is meant."""
    return (
        _with_place(short, long)
        or _with_adjective(short, long)
        or _family_name(short, long)
        or _explained(short, long)
    )


def _with_place(short: _Form, long: _Form) -> bool:
    """As in "Austin" and "Austin, Texas"; but "France, Germany" is a list."""
    parts = [
        _form(part.strip()) for part in re.split(r",| in (?=[A-Z])", long.text) if part.strip()
    ]
    if (
        len(parts) < 2
        or parts[0].name != short.name
        or not all(_is_place(p.name) for p in parts[1:])
    ):
        return False
    if short.name in _COUNTRIES and short.name not in _STATES:
        return False
    return short.name not in _STATES or all(part.name in _COUNTRIES for part in parts[1:])


def _with_adjective(short: _Form, long: _Form) -> bool:
    """As in "football player" and "professional football player"."""
    extra = long.tokens[: -len(short.tokens)]
    if not extra or long.tokens[-len(short.tokens) :] != short.tokens or not short.text.islower():
        return False
    person = bool(_OCCUPATION.search(short.tokens[-1])) and short.tokens[0] != "football"
    return all(t in _HARMLESS or (person and t in _NATIONALITIES) for t in extra)


def _family_name(short: _Form, long: _Form) -> bool:
    """As in "Smith" and "John Smith"; but not "York" and "New York"."""
    names = _given_and_family(long)
    word = short.text.strip(" .\"'“”")
    return (
        2 <= len(names) <= 4
        and word[:1].isupper()
        and not re.match(r"[A-Z]{2}", long.text)
        and short.tokens == names[-1:]
        and not word.isupper()
        and all(len(name) > 1 for name in names[-1:])
    )


def _explained(short: _Form, long: _Form) -> bool:
    """As in "Mercury (planet)", "World Health Organization (WHO)"."""
    remark = _PARENTHESIS.search(long.text)
    if not remark or not remark.start():
        return False
    inner, head = _form(remark[1]), _form(long.text[: remark.start()])
    if head.name != short.name or inner.negated or len(inner.tokens) > 4:
        return False
    return _is_place(inner.name) or _acronym(inner, head) or remark[1].islower()


def _same_core(one: _Form, other: _Form) -> bool:
    """A sentence that says the other answer: "It is located in Austin."."""
    return any(
        _same_as_core(core, plain)
        for sentence, plain in ((one, other), (other, one))
        for core in _cores(sentence)
    )


def _same_as_core(core: _Form, plain: _Form) -> bool:
    if core.negated != plain.negated or not core.folded:
        return False
    if core.key == plain.key or core.folded == plain.folded:
        return True
    if _differ_as_dates(core, plain):
        return False
    return (core.date is not None and core.date == plain.date) or _same(core, plain)


def _differ_as_dates(one: _Form, other: _Form) -> bool:
    """Two dates, or a date and what is none; "1791" may also be a number."""
    if one.date is None or other.date is None:
        dated = one if one.date else other
        return dated.date is not None and not dated.text.strip().isdigit()
    return one.date != other.date


def _cores(form: _Form) -> Iterator[_Form]:
    match = _CORE.match(form.text.strip())
    rest = form.text.strip()[match.end() :].strip(" .\"'“”") if match else ""
    if rest and form.negated == _form(rest).negated and not VETO & set(form.tokens):
        yield _form(rest)


def _neighbours(spellings: list[list[str]]) -> list[set[int]]:
    """For each class of spellings, the classes that one of its spellings equals."""
    equal: list[set[int]] = [set() for _ in spellings]
    for i, mine in enumerate(spellings):
        for j, its in enumerate(spellings[:i]):
            if any(same_answer(a, b) for a in mine for b in its):
                equal[i].add(j)
                equal[j].add(i)
    return equal


def _cliques(nodes: Sequence[int], equal: list[set[int]]) -> list[list[int]]:
    """Without its vague nodes, every component of a graph is a clique."""
    inside = set(nodes)
    vague = [node for node in nodes if _is_vague(node, inside, equal)]
    if vague and len(vague) == len(nodes):
        return [[node] for node in nodes]
    clear = inside - set(vague)
    groups = {
        min({node} | (equal[node] & clear)): sorted({node} | (equal[node] & clear))
        for node in clear
    }
    return [*groups.values(), *(_cliques(vague, equal) if vague else [])]


def _is_vague(node: int, inside: set[int], equal: list[set[int]]) -> bool:
    """Whether two nodes that it equals differ from each other."""
    near = equal[node] & inside
    return any(near - equal[other] - {other} for other in near)
