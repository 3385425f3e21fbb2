"""The folder of a run: finished rows as lines that survive whatever ends the run."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from referee.errors import InputError

FORMAT = "referee.run/1"
FINAL = frozenset({"ok", "abstained", "input_error"})  # any other row is asked again


def file_of(name: str) -> str:
    """The file of a program's records; a colon, which not every system takes, becomes a +."""
    return f"{name.replace(':', '+')}.jsonl"


class Journal:
    """A JSONL file of records with an ``id`` and a ``status``; the newest record of an id counts.

    Each record is one line, written by one call of the system at the end of the file. A process
    that is killed therefore leaves whole lines, at worst a torn last one, which is cut off when the
    file is opened again. Which id stands where is kept on disk too, so memory does not grow.

    Args:
        path: The file; made when missing.

    Raises:
        InputError: The file cannot be opened, or a line of it is no record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # An empty name is a private database on disk that vanishes with its connection.
        self._places = sqlite3.connect("", isolation_level=None)
        self._places.execute("CREATE TABLE place (id TEXT PRIMARY KEY, start INT, status TEXT)")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f"{path} cannot be opened ({error.strerror}).") from None
        try:
            self._end = self._recover()
        except BaseException:
            self.close()
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record.

        Raises:
            InputError: The disk is full or broken; the records before stay whole.
        """
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        try:
            if os.write(self._file, line) < len(line):
                raise OSError("the disk is full")
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise InputError(
                f"{self.path} cannot be written ({error.strerror or error}): make room and run "
                "again; the finished rows are kept."
            ) from None
        self._note(record, self._end)
        self._end += len(line)

    def final(self, row_id: str) -> bool:
        """Whether a row is finished and will not be asked again."""
        return self._find("status", row_id) in FINAL

    def finished(self) -> int:
        """Number of rows that will not be asked again."""
        return sum(n for status, n in self.statuses().items() if status in FINAL)

    def statuses(self) -> Counter[str]:
        """Rows by the status of their newest record."""
        return Counter(
            dict(self._places.execute("SELECT status, count(*) FROM place GROUP BY status"))
        )

    def get(self, row_id: str) -> dict[str, Any] | None:
        """The newest record of a row, or None."""
        start = self._find("start", row_id)
        return None if start is None else self._read(start)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The newest record of each id, in the order of writing."""
        for (start,) in self._places.execute("SELECT start FROM place ORDER BY start"):
            yield self._read(start)

    def __len__(self) -> int:
        """Number of ids."""
        return int(self._places.execute("SELECT count(*) FROM place").fetchone()[0])

    def tidy(self) -> None:
        """Leave one line an id: drop, at one stroke, records that a newer one has replaced."""
        with self.path.open("rb") as file:
            lines = sum(1 for _ in file)
        if lines == len(self):
            return
        spare = self.path.with_suffix(".tmp")
        try:
            with spare.open("w", encoding="utf-8") as file:
                for record in self:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(spare, self.path)
        except OSError:
            spare.unlink(missing_ok=True)  # no room for a second copy: the long file is as right

    def close(self) -> None:
        """Put everything on the disk and release the file."""
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)
        self._places.close()

    def _recover(self) -> int:
        """Learn what the file holds and cut a torn last line; returns the length that is left."""
        end = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                self._note(_record(line, self.path, number), end)
                end += len(line)
        os.ftruncate(self._file, end)
        return end

    def _note(self, record: Mapping[str, Any], start: int) -> None:
        place = (record["id"], start, record["status"])
        self._places.execute("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", place)

    def _find(self, column: str, row_id: str) -> Any:
        query = f"SELECT {column} FROM place WHERE id = ?"
        found = self._places.execute(query, (row_id,)).fetchone()
        return None if found is None else found[0]

    def _read(self, start: int) -> dict[str, Any]:
        with os.fdopen(os.dup(self._file), "rb", closefd=True) as file:
            file.seek(start)
            found: dict[str, Any] = json.loads(file.readline())
        return found


def _record(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
        result = found.get("result")
        whole = result is None or {"answer", "text"} & result.keys()
        if isinstance(found["id"], str) and isinstance(found["status"], str) and whole:
            return dict(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise InputError(
        f"{path}, line {number} is no record of a run: delete the line, or give another --out."
    )


class Run:
    """A folder that one process at a time writes, and that knows what was asked.

    Args:
        folder: Made when missing.
        asked: What shapes the records, JSON-ready; no keys, no addresses.
        unasked: Settings that the folder decides, when it knows them: their values for a new one.

    Attributes:
        asked: All settings, as they were when the folder was made.

    Raises:
        InputError: Another process uses the folder, or it holds a run with other settings.
    """

    def __init__(
        self, folder: str | Path, asked: Mapping[str, Any], unasked: Mapping[str, Any]
    ) -> None:
        self.folder = Path(folder)
        self._lock = FileLock(self.folder / "run.lock", timeout=0)
        self._journals: dict[str, Journal] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise InputError(
                f"{self.folder} is in use by another referee: wait for it, or give another --out."
            ) from None
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be used ({error.strerror}): give another --out."
            ) from None
        try:
            self.asked = self._agreed(asked, unasked)
        except BaseException:
            self._lock.release()
            raise

    def journal(self, name: str) -> Journal:
        """The journal ``NAME.jsonl`` of this folder."""
        if name not in self._journals:
            self._journals[name] = Journal(self.folder / file_of(name))
        return self._journals[name]

    def close(self) -> None:
        """Release files and folder."""
        for journal in self._journals.values():
            journal.close()
        self._lock.release()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _agreed(self, asked: Mapping[str, Any], unasked: Mapping[str, Any]) -> dict[str, Any]:
        path = self.folder / "run.json"
        if not path.exists():
            settings = {"format": FORMAT, **asked, **unasked}
            write_whole(path, json.dumps(settings, indent=2, ensure_ascii=False))
            return settings
        before = _settings(path)
        for name, value in json.loads(json.dumps(asked)).items():
            if before.get(name) != value:
                raise InputError(
                    f"{self.folder} holds a run with {name} {_shown(before.get(name))}, and this "
                    f"one asks for {_shown(value)}: give the same, or another --out."
                )
        return {**unasked, **before}


def _settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] == FORMAT:
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{path} is not a run of this version: give another --out.")


def write_whole(path: Path, text: str) -> None:
    """Write a file at one stroke: a full disk leaves no half of it."""
    spare = path.with_suffix(".tmp")
    spare.write_text(text, encoding="utf-8")
    os.replace(spare, path)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class Seen:
    """Which id stood in which line; kept on disk, so memory does not grow with their number."""

    def __init__(self) -> None:
        self._lines = sqlite3.connect("", isolation_level=None)
        self._lines.execute("CREATE TABLE line (id TEXT PRIMARY KEY, number INT) WITHOUT ROWID")

    def first(self, row_id: str, number: int) -> int:
        """The line in which an id stood first: ``number`` itself when it is new."""
        self._lines.execute("INSERT OR IGNORE INTO line VALUES (?, ?)", (row_id, number))
        query = "SELECT number FROM line WHERE id = ?"
        return int(self._lines.execute(query, (row_id,)).fetchone()[0])

    def close(self) -> None:
        """Delete what was kept."""
        self._lines.close()
