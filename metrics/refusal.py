"""Replies that are no answer, and answers without the dress that models put around them."""

import re
import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SOURCE = (
    r"(?:documents?|texts?|contexts?|passages?|articles?|sources?|snippets?|excerpts?|paragraphs?"
    r"|sentences?|information|content|report|page)"
)
_THE_SOURCE = rf"(?:the|this|that|these|any|either|your)(?: [a-z]+){{0,2}} {_SOURCE}"
_ADVERB = r"(?:(?:explicitly|directly|specifically|clearly|currently|actually|yet|even) )?"
_SAY = (
    r"(?:mention|say|specify|state|provide|contain|give|include|answer|indicate|discuss|address"
    r"|tell|name|reveal|have|list|identify|explain|clarify|describe|disclose|offer|refer|supply)"
)
_SAID = r"(?:mentioned|specified|stated|disclosed|provided|indicated|answered|addressed)"
_FOUND = r"(?:given|found|available|listed|known|clear|named|identified|discussed|contained)"
_BE = r"(?:is|are|was|were|has been|have been)"
_NOT = r"(?:n't|nt| not| never)"
_ASKED = (
    r"(?:the|this|that|who|what|when|where|which|whether|if|why|how (?:many|much|long|old|far))"
)
_OPENING = re.compile(
    r"(?:(?:i am|i'm) (?:very |so )?sorry|sorry|unfortunately|i apologi[sz]e|well|hmm)[,.:;!]? "
    r"(?:but )?"
    rf"|(?:based on|according to|from|in) {_THE_SOURCE}(?: (?:provided|given|above))?,? "
)
# Each is matched at the start of the normalised text. All repetitions are bounded.
_REFUSALS = [
    re.compile(pattern)
    for pattern in (
        # A bare mark, perhaps with a remark behind it.
        r"(?:no answer|none|unknown|n/a|n\.a\.?|idk|null|unanswerable|unclear|unspecified"
        r"|undetermined|undisclosed|not sure|no idea)(?: ?$| ?[.;(\[]| - | – | — |: )",
        r"no answer(?:,| (?:is|was|found|can|could|available|in|from|based|provided|given|possible"
        r"|exists))",
        rf"(?:unknown|unclear|undetermined)(?: (?:from|based on|in|according to) {_THE_SOURCE})",
        # "not mentioned", "not given in the text"
        rf"not {_ADVERB}(?:{_SAID}|{_FOUND}|applicable)"
        rf"(?: ?$|[.,;:(] ?| (?:in|by|from|within|here|anywhere)\b)",
        r"(?:not enough|insufficient|no sufficient) (?:information|context|data|evidence|details)",
        r"no (?:specific |further |relevant )?(?:information|mention|details?|data|indication"
        r"|evidence|reference|response)(?: ?$|[.,;:]| (?:is|was|are|were|about|on|regarding|of|in"
        r"|available|provided|given|found|to)\b)",
        # "I don't know", not "I Don't Know How to Love Him"
        rf"i (?:really |honestly )?(?:do{_NOT}|don't|dont) (?:really )?know"
        rf"(?: ?$|[.,;:!]| {_ASKED}\b| (?:based|from|about)\b)",
        rf"i (?:do{_NOT}|don't|dont) have (?:enough |any |that |the |sufficient |access )",
        r"i (?:cannot|can't|cant|can not|could not|couldn't|am unable to|am not able to"
        r"|'m unable to|was unable to) (?:\w+ )?(?:answer|determine|find|tell|say|provide"
        r"|identify|know|give|confirm|help|assist)\b",
        r"i(?: am|'m) (?:not sure|unsure|unable|uncertain|not certain)\b",
        # "The document does not say"
        rf"(?:{_THE_SOURCE}|the {_SOURCE})(?: (?:provided|given|above|itself))?"
        rf" (?:do|does|did){_NOT} {_ADVERB}{_SAY}\b",
        rf"(?:it|they) (?:do|does|did){_NOT} {_ADVERB}(?:mention|say|specify|state|indicate)\b",
        rf"{_THE_SOURCE}(?: (?:provided|given|above))? (?:has|have|gives?|provides?|contains?"
        r"|makes?|includes?) no\b",
        r"(?:there is|there's|there are|there was) no (?:\w+ )?(?:mention|information|answer"
        r"|indication|reference|data|evidence|details?)\b",
        # "The director's name is not mentioned in the text"
        rf"(?:[^ ]+ ){{1,25}}?{_BE}{_NOT} {_ADVERB}{_SAID}"
        r"(?: ?$|[.,;] ?| (?:in|by|within|here|anywhere)\b)",
        rf"(?:[^ ]+ ){{1,25}}?{_BE}{_NOT} {_ADVERB}{_FOUND}(?: ?$| (?:in|by|from|within)"
        rf" {_THE_SOURCE})",
        r"(?:[^ ]+ ){1,25}?(?:is|are|remains?|was) (?:currently |still )?(?:unknown|unclear"
        r"|unspecified|undisclosed)"
        r"(?: ?$|[.,;] ?| (?:in|from|based on|who|what|when|where|which|whether)\b)",
        r"(?:[^ ]+ ){0,25}?(?:cannot|can't|can not|could not|couldn't) be (?:determined|answered"
        r"|found|inferred|established|known|ascertained|identified)\b",
        r"(?:it is |it's )?(?:not possible|impossible) to (?:answer|determine|tell|say|know|find)"
        r"\b",
        # Chinese
        r"(?:不知道|我不知道|不清楚|未知|未提及|没有提及|没有提到|未提到|未说明|无答案|没有答案|不详|无|无法得知)$",
        r"(?:根据[^,，]{0,30}[,，] ?)?(?:我|这个问题|该问题|问题)?(?:无法|不能)"
        r"(?:回答|确定|判断|得知|提供)",
        r"(?:根据[^,，]{0,30}[,，] ?)?(?:该|此|这篇|本|所给|提供的|给定的)?"
        r"(?:文档|文章|文本|文中|文件|资料|上下文|段落|材料|原文)(?:中|里|内)?(?:并)?(?:未|没有|没)(?:明确)?(?:提及|提到|说明|提供|回答|给出|指出|包含|涉及)",
        r"(?:未|没有)(?:明确)?(?:提及|提到|提供|说明)(?:相关|该|此|具体|任何)",
        # Arabic (marks removed by NFKD)
        r"(?:لا اعرف|لا ادري|لا اعلم|غير معروف[ةه]?|غير مذكور[ةه]?|غير محدد[ةه]?|لا توجد اجابة"
        r"|لا يوجد جواب|مجهول|لم يذكر|لم تذكر)(?: ?$|[.،؛,])",
        r"(?:لا يمكن|لا استطيع|لا يمكنني) (?:تحديد|الاجابة|معرفة)",
        r"(?:لا يذكر|لم يذكر|لا يحدد|لا توجد معلومات|لا تتوفر معلومات)",
        r"(?:لا|لم) [^ ]{1,12} (?:النص|المستند|الوثيقة|السياق|المقال)",
    )
]
_LABEL = re.compile(
    r"[*_]{0,2}(?:(?:the )?(?:final |short |correct )?(?:answer|response)(?: is)?|a|答案|回答"
    r"|الإجابة|الجواب|الاجابة)[*_]{0,2} ?[:：][*_]{0,2} ?"
    r"|the (?:final |short |correct )?answer is (?!not\b|no\b|un|n/a)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*•‣·–>]|#{1,6}|\(?1[.)])\s+")
_RULERS = "`~-=*_#> \t"
_FENCED = frozenset({"", "text", "txt", "json", "markdown", "md"})
_REMARK = re.compile(
    r"\s*[(\[](?:note|according|based|as (?:stated|mentioned|of the|per)|per|source|from|see|i |"
    r"assuming|stated|mentioned|this|the (?:document|text|context|passage|answer)|document|context"
    r"|passage|not |inferred|implied|approximate|explanation|confidence|doc)[^()\[\]]{0,300}[)\]]$",
    re.IGNORECASE,
)
_PAIRS = (
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
    ("『", "』"),
    ("“", "“"),
)
_ABBREVIATIONS = _words(
    "inc ltd co corp bros jr sr st dr mr mrs ms etc esq vs mt ft ave blvd rd gov gen sen rep"
    " llc prof dept univ assn vol"
)
_SHORT_PHRASE = 10
_LAYERS = 20
# A reply that refuses says so at once.
_HEAD = 600


def is_no_answer(text: str) -> bool:
    """Tell whether a reply declines to answer.

    "No" is an answer; "None" alone is not. A name that holds such words ("Unknown Pleasures") is
    an answer.

    Args:
        text: A reply, in English, Chinese or Arabic; quotes, stops and markdown are ignored.

    Returns:
        True when it is empty, "unknown", "not mentioned", "I don't know" and the like.

    Example:
        >>> is_no_answer("The document does not say."), is_no_answer("Nobody")
        (True, False)
    """
    plain = _plain(text)
    plain = _OPENING.sub("", plain, count=1) if _OPENING.match(plain) else plain
    return not plain or any(pattern.match(plain) for pattern in _REFUSALS)


def clean_answer(text: str) -> str:
    """Take the short answer out of a reply.

    Args:
        text: What the model wrote.

    Returns:
        The first line that holds something, without a label ("Answer:"), bullets, surrounding
        quotation marks or markdown, a remark in brackets behind it, and the full stop of a short
        phrase ("U.S.", "Inc." and "Jr." keep theirs). Empty when nothing is left.

    Example:
        >>> clean_answer('**Answer:** "Austin, Texas". (according to document 2)')
        'Austin, Texas'
    """
    for line in text.splitlines():
        bare = line.strip(_RULERS)
        if not bare or (line.startswith("```") and bare in _FENCED):
            continue
        answer = _undressed(line)
        if answer.strip(_RULERS):
            return answer
    return ""


def _plain(text: str) -> str:
    """Lower case, one kind of apostrophe and space, no marks, no dress at the ends."""
    head = " ".join(text[: 2 * _HEAD].split())[:_HEAD]
    folded = unicodedata.normalize("NFKD", head).casefold().replace("’", "'").replace("‘", "'")
    bare = "".join(char for char in folded if unicodedata.category(char) != "Mn")
    bare = bare.lstrip(" *_`\"'“”‘’«»()[]#>-•")
    label = _LABEL.match(bare)
    bare = bare[label.end() :] if label else bare
    return bare.strip(" \t*_`\"'“”‘«»()[]{}<>.。!,;:،؛#-–—•…")


def _undressed(line: str) -> str:
    """Take layer after layer off, until nothing more comes off."""
    answer = " ".join(line.split())
    for _ in range(_LAYERS):
        before = answer
        for take_off in (_without_lead, _without_pair, _without_remark, _without_stop):
            answer = take_off(answer).strip()
        if answer == before:
            break
    return answer


def _without_lead(answer: str) -> str:
    for lead in (_BULLET, _LABEL):
        found = lead.match(answer)
        if found:
            answer = answer[found.end() :]
    return answer if answer.strip("*_`\"'#>") else ""


def _without_pair(answer: str) -> str:
    for opening, closing in _PAIRS:
        inner = answer[len(opening) : -len(closing)]
        if (
            inner
            and answer.startswith(opening)
            and answer.endswith(closing)
            and opening not in inner
            and closing not in inner
        ):
            return inner
    return answer


def _without_remark(answer: str) -> str:
    found = _REMARK.search(answer, max(0, len(answer) - 400)) if answer[-1:] in ")]" else None
    return answer[: found.start()] if found and found.start() else answer


def _without_stop(answer: str) -> str:
    """Only one stop, only behind a phrase, never the stop of an abbreviation."""
    if not answer.endswith((".", "。")) or answer.endswith(".."):
        return answer
    words = answer[:-1].split()
    if not words or len(words) > _SHORT_PHRASE:
        return answer
    last = words[-1].strip("\"'“”‘’()[]*_")
    abbreviated = (
        last.lower() in _ABBREVIATIONS or "." in last or (len(last) == 1 and last.isupper())
    )
    return answer if abbreviated and answer.endswith(".") else answer[:-1]
