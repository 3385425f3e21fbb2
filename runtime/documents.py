"""Documents as callers give them, and as files hold them, to checked `Document` records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from .records import Document

HOW = "give a list of texts, mappings with a 'text' key, or Document objects"


def as_documents(items: Any) -> list[Document]:
    """Check a caller's documents and give each an id.

    Args:
        items: A list of str, mapping (``text`` and optionally ``id, title, source, url, date,
            metadata``) or `Document`, mixed.

    Returns:
        The documents in the order given. Ids are unique: ``d1``, ``d2``, ... where none was given.

    Raises:
        InputError: There is no document, one has the wrong type or fields, all are empty, or an
            id is used twice.
    """
    if isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__"):
        raise InputError(f"documents is a {type(items).__name__}: {HOW}.")
    documents = [_document(item, n) for n, item in enumerate(items, start=1)]
    if not documents:
        raise InputError(f"There are no documents: {HOW}.")
    if not any(d.text.strip() for d in documents):
        raise InputError(f"All {len(documents)} documents are empty: give at least one text.")
    return _with_unique_ids(documents)


def as_question(question: Any) -> str:
    """The question without surrounding space.

    Raises:
        InputError: It is not a str, or holds nothing but space.
    """
    if not isinstance(question, str):
        raise InputError(f"question is a {type(question).__name__}, give a str.")
    if not question.strip():
        raise InputError("The question is empty: ask something.")
    return _encodable(question.strip(), "The question")


def read_file(path: str | Path) -> Document:
    """One text file as one document; its name is its id and source.

    Raises:
        InputError: The file cannot be read, or is not UTF-8 text.
    """
    path = Path(path)
    return Document(text=_read_text(path), id=path.name, source=path.name)


def read_jsonl(path: str | Path) -> list[Document]:
    """One document a line: a JSON string, or an object with the fields of `Document`.

    Raises:
        InputError: Names the row and the field that is wrong.
    """
    path = Path(path)
    documents = []
    for number, row in _rows(path):
        try:
            documents.append(_document(row, number))
        except InputError as error:
            raise InputError(f"{path}, row {number}: {error}") from None
    if not documents:
        raise InputError(f"{path} holds no document: write one JSON object with a 'text' a line.")
    return documents


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    # Only "\n" ends a row: str.splitlines would also cut at U+2028 inside a JSON string.
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, row {number} is not JSON ({error}): write one object with 'text' a line."
            ) from None


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a text file.") from None
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is a binary file: give UTF-8 text.")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text (byte {error.start}): convert it, then give it again."
        ) from None


def _document(item: Any, number: int) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(text=_encodable(item, f"Document {number}"))
    if not isinstance(item, Mapping):
        raise InputError(f"Document {number} is a {type(item).__name__}: {HOW}.")
    if "text" not in item:
        keys = ", ".join(map(repr, item)) or "none"
        raise InputError(f"Document {number} has no field 'text' (its fields: {keys}): {HOW}.")
    try:
        document = Document.model_validate(dict(item))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InputError(f"Document {number}, field '{field}': {_reason(first)}.") from None
    _check_text(document, number)
    return document


def _check_text(document: Document, number: int) -> None:
    for name in ("text", "id", "title", "source", "url", "date"):
        _encodable(getattr(document, name), f"Document {number}, field '{name}'")
    try:
        metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
        _encodable(metadata, f"Document {number}, field 'metadata'")
        document.model_dump_json()
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Document {number}, field 'metadata' is no JSON ({type(error).__name__}): give plain "
            "values, not nested deeper than a few levels."
        ) from None


def _reason(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        known = "text, id, title, source, url, date, metadata"
        return f"unknown field; the fields are {known} (put others under metadata)"
    shown = repr(error.get("input"))
    return f"{error['msg'].lower()}, got {shown[:60]}"


def _encodable(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} is not valid Unicode (lone surrogate at {error.start}): repair it with "
            "text.encode('utf-8', 'replace').decode()."
        ) from None
    return text


def _with_unique_ids(documents: Sequence[Document]) -> list[Document]:
    taken: dict[str, str] = {}
    for document in documents:
        if document.id and taken.setdefault(document.id, document.text) != document.text:
            raise InputError(
                f"Two different documents have the id {document.id!r}: give each its own."
            )
    result: list[Document] = []
    used: set[str] = set()
    for n, document in enumerate(documents, start=1):
        wanted = document.id or f"d{n}"
        name, again = wanted, 1
        while name in used or (name != document.id and name in taken):
            again += 1
            name = f"{wanted}.{again}"
        used.add(name)
        result.append(document.model_copy(update={"id": name}))
    return result
