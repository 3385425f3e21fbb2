"""Data sets and bundled samples."""

from .cards import Card
from .examples import Example, example, examples
from .loading import Dataset, load
from .rows import Row, conflicted, read_rows, sample
from .splits import Split, split

__all__ = [
    "Card",
    "Dataset",
    "Example",
    "Row",
    "Split",
    "conflicted",
    "example",
    "examples",
    "load",
    "read_rows",
    "sample",
    "split",
]
