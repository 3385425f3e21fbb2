"""Data sets and bundled samples."""

from .examples import Example, example, examples
from .rows import Row, conflicted, read_rows, sample

__all__ = ["Example", "Row", "conflicted", "example", "examples", "read_rows", "sample"]
