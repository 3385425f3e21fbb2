"""What a statement is about: the whole or a part, one region or another, which identifier.

Complete. Only explicit words beside the answer count.
"""

import re

from .clusters import answer_tokens
from .conflicts import Side
from .names import names
from .standing import statements
from .wording import clause, find, sentence, word_set

_WHOLE = re.compile(
    r"\b(?:worldwide|globally|nationwide|company-wide|group-wide|overall|in total|consolidated"
    r"|(?:the|whole|entire) group(?: as a whole)?|across the group|metropolitan area|metro area"
    r"|urban area)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:division|subsidiary|business unit|branch|department|segment|city proper|(?:the|its|a)"
    r" (?:\w+ ){0,2}(?:plant|factory|site))\b",
    re.IGNORECASE,
)
_IN = re.compile(r"\b(?:in|for|across|within)\s(?:the\s)?([^\W\d_a-z]\w*(?:\s[^\W\d_a-z]\w*){0,2})")
_REGIONS = word_set(
    "europe|asia|africa|north america|south america|latin america|oceania|australia|england"
    "|scotland|wales|northern ireland|ireland|france|germany|italy|spain|portugal"
    "|netherlands|belgium|switzerland|austria|denmark|norway|sweden|finland|poland|russia"
    "|ukraine|turkey|canada|mexico|brazil|argentina|chile|china|japan|south korea|india"
    "|pakistan|indonesia|united states|us|usa|united kingdom|uk|new zealand|egypt|israel"
    "|nigeria|kenya|south africa|eu|european union|middle east|asia pacific",
    "|",
)
_LABELS = [
    "isbn-10",
    "isbn-13",
    "isbn",
    "issn",
    "e-issn",
    "doi",
    "pmid",
    "pmcid",
    "arxiv",
    "oclc",
    "lccn",
    "iata",
    "icao",
    "ticker",
    "cas",
    "ean",
    "upc",
    "sku",
    "asin",
    "imdb",
    "cusip",
    "isin",
    "sedol",
    "orcid",
]
_LABEL = re.compile(
    r"\b("
    + "|".join(re.escape(label) for label in sorted(_LABELS, key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:_-]{1,39}")
_KINDS_OF_CODE = word_set("code identifier id number ticker symbol isbn issn")


def other_scopes(question: str, a: Side, b: Side) -> str:
    """Why two statements are about different scopes; empty when that is not sure.

    Args:
        question: What was asked.
        a: One side.
        b: The other.

    Returns:
        A clause such as "one is about France, the other about Japan", or "".
    """
    read = [_scopes(side) for side in (a, b)]
    if {_level(words) for words in read} == {"whole", "part"}:
        return "one is about the whole, the other about a part"
    regions = [_regions(side) for side in (a, b)]
    named = {" ".join(name.tokens) for name in names(question)}
    if len(regions[0]) == len(regions[1]) == 1 and not regions[0] & regions[1]:
        pair = sorted(regions[0] | regions[1])
        if not named & set(pair):
            return f"one is about {pair[0].title()}, the other about {pair[1].title()}"
    return ""


def other_identifiers(question: str, a: Side, b: Side) -> str:
    """Why two codes are identifiers of two systems for one thing; empty when that is not sure."""
    labels = [_label(side) for side in (a, b)]
    asked = {hit.lower() for hit in _LABEL.findall(question)}
    if not all(labels) or labels[0] == labels[1] or asked & set(labels):
        return ""
    if not (asked or _KINDS_OF_CODE & set(answer_tokens(question))):
        return ""
    return f"one is the {labels[0].upper()}, the other the {labels[1].upper()}"


def _scopes(side: Side) -> list[str]:
    """The clauses that hold the answer."""
    found = [clause(text, side.answer) for _, text in statements(side)]
    return [text for text in found if text]


def _level(texts: list[str]) -> str:
    whole = [bool(_WHOLE.search(text)) for text in texts]
    part = [bool(_PART.search(text)) for text in texts]
    if texts and all(whole) and not any(part):
        return "whole"
    return "part" if texts and all(part) and not any(whole) else ""


def _regions(side: Side) -> set[str]:
    """Regions that the sentence of the answer is limited to, the answer itself left out."""
    own = " ".join(answer_tokens(side.answer))
    found: set[str] = set()
    for _, text in statements(side):
        for hit in _IN.finditer(sentence(text, side.answer)):
            region = " ".join(answer_tokens(hit[1]))
            if region in _REGIONS and region not in own:
                found.add(region)
    return found


def _label(side: Side) -> str:
    """The label right before a code that is the answer."""
    if not _CODE.fullmatch(side.answer.strip()):
        return ""
    for _, text in statements(side):
        at = find(text, side.answer)
        found = list(_LABEL.finditer(text[max(0, at - 40) : at])) if at >= 0 else []
        if found:
            return found[-1][1].lower()
    return ""
