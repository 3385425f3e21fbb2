"""Every DSPy signature and its typed outputs: the docstrings are the prompts."""

from .answers import AnswerFromDocument, AnswerFromDocuments, AnswerFromMemory

__all__ = ["AnswerFromDocument", "AnswerFromDocuments", "AnswerFromMemory"]
