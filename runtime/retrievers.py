"""Passages, what a retriever is, and the retriever over the caller's own documents."""

import re
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .chunks import chunk
from .embedder import Encoder, Shared, default_encoder

_ENCODE_BATCH = 256
_NOT_IN_WORDS = re.compile(r"[^\w+#]+|_")  # "C++" and "C#" keep their names
_ACCENT = re.compile("[\u0300-\u036f]")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_FUNCTION_WORDS = """
a an and are as at be by did do does for from had has have he her his how i in is it its many me
much my of on or our she than that the their them they this to us was we were what when where which
who whom whose why will with you your"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text and where it comes from; what is not known is "".

    Attributes:
        text: The passage, never blank.
        title: Title of its document.
        source: Publisher or collection.
        url: Address of its document.
        date: Date of its document, as the source writes it (ISO 8601 where we write it).
        score: Relevance to the query, comparable within one retriever only: a cosine in [-1, 1]
            or a share of matched words in [0, 1]; None when the retriever gives none.
    """

    text: str
    title: str = ""
    source: str = ""
    url: str = ""
    date: str = ""
    score: float | None = None


class Retriever(Protocol):
    """Any callable that finds passages for a query."""

    def __call__(self, query: str, k: int, /) -> list[Passage]:
        """Return at most k passages, the most relevant first."""
        ...


class CorpusRetriever(Shared):
    """The chunks of a corpus nearest to the query: argmax of the cosine (MACR §3.4, Eq. 7).

    The matrix of chunk vectors is built on the first query, once, and kept in memory as float32
    (1.5 MB per thousand chunks with 384 dimensions). Safe to call from several threads; copies
    share it.

    Example:
        >>> retrieve = CorpusRetriever(["Bern is a city.", {"text": "Oslo is north.", "url": "u"}])
        >>> retrieve("Where is Oslo?", 1)[0].url  # doctest: +SKIP
        'u'
    """

    def __init__(
        self,
        documents: Sequence[Any],
        *,
        encoder: Encoder | None = None,
        chunk_chars: int = 1200,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Split the documents; nothing is encoded yet.

        Args:
            documents: Texts, mappings with `text`, or objects with `.text`, mixed; `title`,
                `source`, `url` and `date` are kept.
            encoder: None is the encoder of the process, `default_encoder()`.
            chunk_chars: Upper bound of a chunk, in code points.
            progress: Called with (chunks encoded, all chunks) while the matrix is built.

        Raises:
            InputError: There is no document, or one has no text.
        """
        if isinstance(documents, str) or not documents:
            raise InputError(f"The corpus is {documents!r:.60}; give a list of documents.")
        self._passages = [
            passage
            for number, document in enumerate(documents)
            for passage in passages_of(read_document(document, number), chunk_chars)
        ]
        self._encoder = encoder
        self._progress = progress
        self._matrix: NDArray[np.float32] | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of chunks."""
        return len(self._passages)

    def __call__(self, query: str, k: int = 1) -> list[Passage]:
        """Return the k chunks of highest cosine, equal ones in the order of the corpus."""
        check_k(k)
        if not query.strip() or not self._passages:
            return []
        encoder = default_encoder() if self._encoder is None else self._encoder
        scores = self._vectors(encoder) @ encoder.encode([query])[0]
        return best(self._passages, scores, k)

    def _vectors(self, encoder: Encoder) -> NDArray[np.float32]:
        """The matrix float32[chunks, d], built once."""
        with self._lock:
            if self._matrix is None:
                self._matrix = self._encode(encoder)
            return self._matrix

    def _encode(self, encoder: Encoder) -> NDArray[np.float32]:
        """Encode all chunks batch by batch, so that progress can be told."""
        total, parts = len(self._passages), []
        for start in range(0, total, _ENCODE_BATCH):
            batch = self._passages[start : start + _ENCODE_BATCH]
            parts.append(encoder.encode([passage.text for passage in batch]))
            if self._progress is not None:
                self._progress(start + len(batch), total)
        return np.concatenate(parts).astype(np.float32, copy=False)


def check_k(k: int) -> None:
    """Refuse a number of passages that makes no sense."""
    if k < 1:
        raise InputError(f"k is {k}; ask for at least 1 passage.")


def read_document(document: Any, number: int = 0) -> Passage:
    """Read a document of any accepted shape.

    Args:
        document: A text, a mapping with `text`, or an object with `.text`.
        number: Its position, for the message.

    Raises:
        InputError: It has no text.
    """
    if isinstance(document, str):
        return Passage(document)
    text = field_of(document, "text")
    if not isinstance(text, str):
        raise InputError(
            f"Document {number} is {type(document).__name__} without a text; "
            "give a str, a mapping with 'text', or an object with .text."
        )
    return passage_from(document, text)


def field_of(item: Any, name: str) -> Any:
    """A field of a mapping or an attribute of an object; None when it has none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def passage_from(item: Any, text: str, score: float | None = None) -> Passage:
    """A passage with title, source, url and date of the item itself, or else of its metadata."""
    metadata = field_of(item, "metadata")
    known: dict[str, str] = {}
    for name in ("title", "source", "url", "date"):
        value = field_of(item, name)
        if value is None and isinstance(metadata, Mapping):
            value = metadata.get(name)
        known[name] = "" if value is None or callable(value) else str(value)
    return Passage(text, score=score, **known)


def passages_of(document: Passage, chunk_chars: int) -> list[Passage]:
    """The chunks of a document as passages that keep its origin."""
    return [
        Passage(span.text, document.title, document.source, document.url, document.date)
        for span in chunk(document.text, max_chars=chunk_chars)
    ]


def best(passages: Sequence[Passage], scores: NDArray[np.float32], k: int) -> list[Passage]:
    """The k passages of highest score, with it; ties in the order given."""
    # Rounded: equal rows may differ in the last bits, by their place in the matrix product.
    order = np.argsort(-np.round(scores, 6), kind="stable")[:k]
    return [
        Passage(p.text, p.title, p.source, p.url, p.date, float(scores[i]))
        for i, p in ((int(i), passages[int(i)]) for i in order)
    ]


def relevance(query: str, texts: Sequence[str], encoder: Encoder | None) -> NDArray[np.float32]:
    """Relevance of each text to the query.

    Args:
        query: The question.
        texts: n texts.
        encoder: None compares words instead of vectors.

    Returns:
        float32[n]: cosines in [-1, 1], or the share in [0, 1] of the query's content words that a
        text holds.
    """
    if encoder is not None:
        return np.asarray(encoder.encode(texts) @ encoder.encode([query])[0], dtype=np.float32)
    asked = set(words(query)) - FUNCTION_WORDS or set(words(query))
    held = (len(asked.intersection(words(text))) for text in texts)
    return np.fromiter((n / max(1, len(asked)) for n in held), np.float32, len(texts))


def words(text: str) -> list[str]:
    """Words of a text in a form that survives case, accents, width and punctuation.

    Scripts without spaces give one item per character, so that a sequence of items can be
    searched in any language.
    """
    folded = text.casefold()
    if not folded.isascii():
        bare = _ACCENT.sub("", unicodedata.normalize("NFKD", folded))
        folded = unicodedata.normalize("NFKC", bare).casefold()
        # Vowel signs are no \\w, but parts of a word: so only here by category.
        return _TOKEN.findall("".join(map(_space_for_punctuation, folded)))
    return _NOT_IN_WORDS.sub(" ", folded).split()


def _space_for_punctuation(character: str) -> str:
    """A space for anything that is no letter, mark or digit."""
    keep = character in "+#" or unicodedata.category(character)[0] in "LMN"
    return character if keep else " "
