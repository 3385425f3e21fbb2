"""Where published data sets are read from: the hub, addresses of raw files, or local copies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from .cards import Card
from .rows import Row

RAW_SUFFIXES = (".json", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Source:
    """How to read one published data set.

    Attributes:
        card: What it is.
        convert: One raw row of the published schema as a row, or InputError. Besides its own fields
            a raw row has ``number``, its position, and ``file``, the name of the raw file or "".
        revision: Pinned revision or commit.
        hub: Id on the hub, or empty.
        split: Split on the hub.
        files: Addresses of the raw files with ``{revision}`` in them, where there is no hub id.
    """

    card: Card
    convert: Callable[[Mapping[str, Any]], Row]
    revision: str
    hub: str = ""
    split: str = "test"
    files: tuple[str, ...] = ()


class _Numbered(Sequence[Mapping[str, Any]]):
    """Rows of a hub data set with their number, read one at a time."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return {**self._rows[index], "number": index, "file": ""}


def fetch(source: Source, revision: str | None = None) -> Sequence[Mapping[str, Any]]:
    """Raw rows as published, through ``datasets`` and its cache.

    Raises:
        InputError: The hub cannot be reached, or has no such data set or revision.
    """
    import datasets  # slow to import, and only needed here

    at = revision or source.revision
    try:
        if source.hub:
            return _Numbered(datasets.load_dataset(source.hub, split=source.split, revision=at))
        urls = [address.format(revision=at) for address in source.files]
        paths = datasets.DownloadManager().download(urls)
        return [
            raw
            for url, path in zip(urls, paths, strict=True)
            for raw in _raw_file(Path(path), url.rsplit("/", 1)[-1])
        ]
    except (OSError, datasets.exceptions.DatasetsError) as error:
        origin = source.hub or source.files[0].format(revision=at)
        raise InputError(
            f"{source.card.name} cannot be fetched from {origin} at revision {at} "
            f"({type(error).__name__}): check the network and the revision, or give a local copy "
            f"as {source.card.name}:PATH."
        ) from None


def read_raw(path: str | Path) -> list[Mapping[str, Any]]:
    """Raw rows of a local copy: one published file, or a folder of them.

    Raises:
        InputError: There is no such file, or it cannot be read.
    """
    path = Path(path).expanduser()  # a shell leaves the ~ of NAME:~/file alone
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix in RAW_SUFFIXES)
    else:
        found = [path]
    rows = [raw for file in found for raw in _raw_file(file, file.name)]
    if not rows:
        raise InputError(f"{path} holds no rows: give a {', '.join(RAW_SUFFIXES)} file or folder.")
    return rows


def _raw_file(path: Path, name: str) -> Iterator[Mapping[str, Any]]:
    try:
        rows = _parquet(path) if name.endswith(".parquet") else _json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): give a published raw file.") from None
    for number, raw in enumerate(rows):
        if not isinstance(raw, Mapping):
            raise InputError(
                f"{path}, row {number + 1} is not an object: give a published raw file."
            )
        yield {**raw, "number": number, "file": name}


def _parquet(path: Path) -> list[Any]:
    from pyarrow import parquet

    return list(parquet.read_table(path).to_pylist())


def _json(text: str) -> list[Any]:
    """A list, a RAGChecker file, or one object a line, whatever the file is called."""
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    if isinstance(whole, Mapping):
        whole = whole["results"] if isinstance(whole.get("results"), list) else [whole]
    return list(whole)


def field(raw: Mapping[str, Any], name: str, kind: type = str) -> Any:
    """A field of a published schema; a missing or wrong one is the file's fault, and named."""
    value = raw.get(name)
    if not isinstance(value, kind):
        where = f"{raw.get('file') or 'the data set'}, row {raw.get('number', 0) + 1}"
        raise InputError(
            f"{where}, field '{name}' is {value!r}: the published schema has a {kind.__name__}."
        )
    return value


def texts(*values: Any) -> tuple[str, ...]:
    """All texts among the values and in lists of them, in order, each once, none empty."""
    flat: list[str] = []
    for value in values:
        if isinstance(value, str):
            flat += [value.strip()] if value.strip() else []
        elif isinstance(value, Sequence):
            flat += texts(*value)
    return tuple(dict.fromkeys(flat))
