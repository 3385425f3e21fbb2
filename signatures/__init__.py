"""Every DSPy signature and its typed outputs: the docstrings are the prompts."""

from .answers import AnswerFromDocument, AnswerFromDocuments, AnswerFromMemory
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
from .observer import ProposedRule, ProposeRules, SolvedConflict

__all__ = [
    "AnswerFromDocument",
    "AnswerFromDocuments",
    "AnswerFromKnowledge",
    "AnswerFromMemory",
    "AnswerPair",
    "ApplyRules",
    "CompareAnswers",
    "ComposeAnswer",
    "ConsultKnowledge",
    "DescribeSubject",
    "ExtractConflict",
    "JudgeFromKnowledge",
    "JudgeRelevance",
    "OpenConflict",
    "ProposeRules",
    "ProposedRule",
    "RecallKnowledge",
    "RelateAnswers",
    "ResolveStepByStep",
    "SampleAnswer",
    "SolvedConflict",
    "SynthesizeAnswer",
]
