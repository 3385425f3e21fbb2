"""Signatures of MACR: assessment, Analyzer, Reasoner, synthesis (MACR §3.3-3.5)."""

from __future__ import annotations

from typing import Literal

import dspy
import pydantic

from .lists import GoodItems


class DescribeSubject(dspy.Signature):
    """Say in one short line what the question is about: name its main subject and what it is.

    Do not answer the question.
    """

    question: str = dspy.InputField()
    subject: str = dspy.OutputField()


class SampleAnswer(dspy.Signature):
    """Answer the question from your own knowledge, in as few words as possible.

    Your training data may not reflect recent events. If you do not know, reply: unknown
    """

    today: str = dspy.InputField()
    subject: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class RecallKnowledge(dspy.Signature):
    """Write down what you know that bears on the question, before anyone answers it.

    State facts with their dates. Leave a part empty when you know nothing for it.
    """

    today: str = dspy.InputField()
    subject: str = dspy.InputField()
    question: str = dspy.InputField()
    key_attributes: str = dspy.OutputField(desc="of the subject: what it is, where, since when")
    background: str = dspy.OutputField(desc="of its field")
    details: str = dspy.OutputField(desc="that bear on the question")
    knowledge_cutoff: str = dspy.OutputField(desc="month and year where your knowledge ends")


class ConsultKnowledge(dspy.Signature):
    """Write a short passage of facts that answers the question, with dates where they matter.

    If you do not know, reply: unknown
    """

    today: str = dspy.InputField()
    question: str = dspy.InputField()
    passage: str = dspy.OutputField()


class AnswerFromKnowledge(dspy.Signature):
    """Answer the question strictly from the notes, in as few words as possible.

    If the notes do not answer the question, reply: no answer
    """

    notes: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class JudgeRelevance(dspy.Signature):
    """Say for each answer whether it is a real answer to the question, right or wrong.

    A refusal, a remark or an answer to something else is not.
    """

    question: str = dspy.InputField()
    answers: list[str] = dspy.InputField()
    real: list[bool] = dspy.OutputField(desc="one for each answer, in order")


Kind = Literal[
    "contradiction",
    "list",
    "refinement",
    "scope",
    "namesake",
    "plan",
    "conditional",
    "retold",
    "notation",
    "identifier",
    "agreeing negations",
    "no answer",
]


class AnswerPair(pydantic.BaseModel):
    """Two answers to the question, each with the text that states it."""

    pair: int
    first: str
    first_text: str
    second: str
    second_text: str


class PairRelation(pydantic.BaseModel):
    """How the answers of one pair relate."""

    pair: int
    relation: Kind
    type: Literal["temporal", "misinformation", "semantic", "granularity", "other"] = "other"


class PairRelations(GoodItems[PairRelation]):
    """Relations that could be read."""


class RelateAnswers(dspy.Signature):
    """Say for each pair whether both answers to the question can be true.

    contradiction: they cannot both be true; a newer version that replaces an older one is one too.
    list: the question has several answers. refinement: one is more precise. scope: another region,
    part or period. namesake: another thing of that name. plan: a plan and what came of it.
    conditional: one holds only if. notation: other units. no answer: one text does not answer.
    Type of a contradiction: temporal when time explains it, semantic when the name is ambiguous,
    granularity when one is coarser, misinformation when one is plainly false.
    """

    question: str = dspy.InputField()
    pairs: list[AnswerPair] = dspy.InputField()
    relations: PairRelations = dspy.OutputField(desc="one for each pair")


class OpenConflict(pydantic.BaseModel):
    """One conflict, and the rules that may settle it."""

    conflict: int
    first: str
    first_text: str
    second: str
    second_text: str
    rules: list[str] = []


class RuleJudgment(pydantic.BaseModel):
    """Which side of one conflict is credible."""

    conflict: int
    rule: str = ""
    winner: Literal["first", "second", "undecided"] = "undecided"


class RuleJudgments(GoodItems[RuleJudgment]):
    """Judgments that could be read."""


class ApplyRules(dspy.Signature):
    """Settle each conflict with the first of its rules whose condition is met.

    Name that rule. If no condition is met, the winner is undecided. Do not use other knowledge.
    """

    question: str = dspy.InputField()
    today: str = dspy.InputField()
    conflicts: list[OpenConflict] = dspy.InputField()
    judgments: RuleJudgments = dspy.OutputField(desc="one for each conflict")


class JudgeFromKnowledge(dspy.Signature):
    """Say for each conflict which side is true, from what you know.

    If you do not know, the winner is undecided.
    """

    question: str = dspy.InputField()
    today: str = dspy.InputField()
    conflicts: list[OpenConflict] = dspy.InputField()
    judgments: RuleJudgments = dspy.OutputField(desc="one for each conflict")


class ComposeAnswer(dspy.Signature):
    """Answer the question by combining facts of several documents, in as few words as possible.

    Each step must be stated in a document. If one is missing, reply: no answer
    """

    documents: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class CompareAnswers(dspy.Signature):
    """Say whether two answers to the question contradict each other: both cannot be true."""

    question: str = dspy.InputField()
    first: str = dspy.InputField()
    second: str = dspy.InputField()
    contradict: bool = dspy.OutputField()


class ExtractConflict(dspy.Signature):
    """Copy from each context the sentence that makes its answer conflict with the other's.

    Type: temporal when time explains it, semantic when the name is ambiguous, granularity when one
    is coarser, misinformation when one is plainly false, else other.
    """

    first_context: str = dspy.InputField()
    second_context: str = dspy.InputField()
    question: str = dspy.InputField()
    first_answer: str = dspy.InputField()
    second_answer: str = dspy.InputField()
    first_snippet: str = dspy.OutputField(desc="copied from the first context")
    second_snippet: str = dspy.OutputField(desc="copied from the second context")
    type: Literal["temporal", "misinformation", "semantic", "granularity", "other"] = (
        dspy.OutputField()
    )


class SynthesizeAnswer(dspy.Signature):
    """Answer the question in as few words as possible, following the judgments on its conflicts.

    Then explain in two sentences which source is credible and why.
    """

    contexts: str = dspy.InputField()
    question: str = dspy.InputField()
    today: str = dspy.InputField()
    judgments: list[str] = dspy.InputField()
    answer: str = dspy.OutputField()
    explanation: str = dspy.OutputField()


class ResolveStepByStep(dspy.Signature):
    """Find where the context conflicts with the basic context, decide which is right, and answer.

    Think step by step, in three sentences at most. The answer is as short as possible.
    """

    basic_context: str = dspy.InputField()
    context: str = dspy.InputField()
    question: str = dspy.InputField()
    today: str = dspy.InputField()
    answer_so_far: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    answer: str = dspy.OutputField()
