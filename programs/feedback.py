"""The feedback queue: conflicts that no rule covers, kept for the Observer (MACR §3.5.2 (4))."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any


class Queue:
    """A JSONL file that lines are appended to.

    Args:
        path: The file; it and its folder are made when missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()

    def add(self, line: str) -> str:
        """Append one line; returns an empty text, or why it could not be kept."""
        try:
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # One write of a whole line: appends of other processes do not mix with it.
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        except OSError as error:
            return f"The conflict could not be queued in {self.path.name} ({error.strerror})."
        return ""

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self._lock = state["path"], threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Queue:
        return self
