"""Data sets and bundled samples."""

from .cards import Card
from .examples import Example, example, examples
from .facts import record_facts, with_facts
from .loading import DATASETS, Dataset, load
from .rows import Row, conflicted, read_rows, sample
from .splits import Split, split

__all__ = [
    "DATASETS",
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
    "record_facts",
    "sample",
    "split",
    "with_facts",
]
