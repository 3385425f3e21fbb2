"""Every DSPy signature and its typed outputs: the docstrings are the prompts."""

from .answers import AnswerFromDocument, AnswerFromDocuments, AnswerFromMemory
from .judges import CheckClaims, FindFacts, ListFacts, RelateClaims
from .macr import (
    AnswerFromKnowledge,
    AnswerPair,
    ApplyRules,
    CompareAnswers,
    ComposeAnswer,
    ConsultKnowledge,
    DescribeSubject,
    ExtractConflict,
    JudgeFromKnowledge,
    JudgeRelevance,
    OpenConflict,
    RecallKnowledge,
    RelateAnswers,
    ResolveStepByStep,
    SampleAnswer,
    SynthesizeAnswer,
)

__all__ = [
    "AnswerFromDocument",
    "AnswerFromDocuments",
    "AnswerFromKnowledge",
    "AnswerFromMemory",
    "AnswerPair",
    "ApplyRules",
    "CheckClaims",
    "CompareAnswers",
    "ComposeAnswer",
    "ConsultKnowledge",
    "DescribeSubject",
    "ExtractConflict",
    "FindFacts",
    "JudgeFromKnowledge",
    "JudgeRelevance",
    "ListFacts",
    "OpenConflict",
    "RecallKnowledge",
    "RelateAnswers",
    "RelateClaims",
    "ResolveStepByStep",
    "SampleAnswer",
    "SynthesizeAnswer",
]
