"""Every DSPy signature and its typed outputs: the docstrings are the prompts."""

from .answers import AnswerFromDocument, AnswerFromDocuments, AnswerFromMemory
from .macr import (
    AnswerFromKnowledge,
    AnswerPair,
    ApplyRules,
    ComposeAnswer,
    ConsultKnowledge,
    DescribeSubject,
    JudgeFromKnowledge,
    JudgeRelevance,
    OpenConflict,
    RecallKnowledge,
    RelateAnswers,
    SampleAnswer,
)

__all__ = [
    "AnswerFromDocument",
    "AnswerFromDocuments",
    "AnswerFromKnowledge",
    "AnswerFromMemory",
    "AnswerPair",
    "ApplyRules",
    "ComposeAnswer",
    "ConsultKnowledge",
    "DescribeSubject",
    "JudgeFromKnowledge",
    "JudgeRelevance",
    "OpenConflict",
    "RecallKnowledge",
    "RelateAnswers",
    "SampleAnswer",
]
