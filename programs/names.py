"""Names as texts with capital letters write them.

Complete. Without capital letters nothing is found, so nothing is decided.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .clusters import answer_tokens
from .wording import LONGEST, word_set

_WORD = re.compile(r"[^\W_](?:[^\W_]|['’&])*(?:[.-](?=[^\W_])(?:[^\W_]|['’&])+){0,8}")
_QUOTED = re.compile(r"[“\"«]([^“”\"«»\n]{2,80})[”\"»]")
_LINKS = word_set("of the de la du del von van der di and for")
_OPENERS = word_set(
    "who what where when which how whose whom why is are was were do does did has have had"
    " can could will would should in on at of for from by to the a an name list give tell as"
    " after before since during under with and i it he she they this that these those its his"
    " her their"
)
_POSSESSIVE = re.compile(r"['’]s?$")
_QUALIFIES = re.compile(r",\s|\s\(|\s(?:in|of)\s")
_BRACKET = re.compile(r"\s\(([^()\n]{1,40})\)")


@dataclass(frozen=True)
class Name:
    """A name as written, with its folded tokens and what stands right behind it."""

    text: str
    tokens: tuple[str, ...]
    qualifier: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether it has more than one word, so that another name can share a part of it."""
        return len(self.tokens) > 1


@lru_cache(maxsize=1024)
def names(text: str) -> tuple[Name, ...]:
    """Names in a text: runs of capitalised words and years beside them, and quoted titles.

    Args:
        text: A question or a snippet; the first `LONGEST` characters are read.

    Returns:
        Names in order, each with the name or bracket that qualifies it ("Springfield, Illinois").
    """
    text = text[:LONGEST]
    runs = list(_runs(text))
    found = [
        Name(text[start:end], fold_name(text[start:end]), _qualifier(text, end, runs[at + 1 :]))
        for at, (start, end) in enumerate(runs)
    ]
    found += [Name(m[1], fold_name(m[1])) for m in _QUOTED.finditer(text)]
    return tuple(name for name in found if name.tokens)


def holds(text: str, tokens: tuple[str, ...]) -> bool:
    """Whether the tokens of a name stand in a text side by side."""
    return f" {' '.join(tokens)} " in _line(text)


@lru_cache(maxsize=64)
def _line(text: str) -> str:
    return f" {' '.join(answer_tokens(text))} "


def fold_name(text: str) -> tuple[str, ...]:
    """The tokens of a name, without case, accents and possessive."""
    return tuple(answer_tokens(text))


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of runs of capitalised words, with links inside and a year before or behind."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        joined = not run or text[run[-1].end() : word.start()].strip(" .") == ""
        if run and not joined:
            yield from _closed(run)
            run = []
        if _is_part(word[0], bool(run)):
            run.append(word)
        elif run:
            yield from _closed(run)
            run = []
    yield from _closed(run)


def _is_part(word: str, inside: bool) -> bool:
    if word.isdigit():
        return len(word) == 4
    if inside and word in _LINKS:
        return True
    return word[0].isupper() and (inside or word.lower() not in _OPENERS)


def _closed(run: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    while run and run[-1][0] in _LINKS:
        run = run[:-1]
    if run and any(not word[0].isdigit() for word in run):
        yield run[0].start(), run[-1].start() + len(_POSSESSIVE.sub("", run[-1][0]))


def _qualifier(text: str, end: int, later: list[tuple[int, int]]) -> tuple[str, ...]:
    bracket = _BRACKET.match(text, end)
    if bracket:
        return () if any(c.isdigit() for c in bracket[1]) else fold_name(bracket[1])
    if later and _QUALIFIES.fullmatch(text[end : later[0][0]]):
        return fold_name(text[later[0][0] : later[0][1]])
    return ()
