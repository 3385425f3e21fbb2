"""Signatures of the judges: what a text states, what a document says, which facts it holds."""

from __future__ import annotations

from typing import Any, Literal

import dspy
import pydantic

from .lists import GoodItems

Label = Literal["supported", "contradicted", "insufficient"]


class Numbered(pydantic.BaseModel):
    """One item to judge, with the number that the reply names it by."""

    number: int
    text: str


class NumberedPair(pydantic.BaseModel):
    """One claim with its own evidence."""

    number: int
    evidence: str
    claim: str


class FactVerdict(pydantic.BaseModel):
    """Whether one fact is stated."""

    number: int
    stated: bool


class ClaimVerdict(pydantic.BaseModel):
    """What the evidence says about one claim."""

    number: int
    label: Label

    @pydantic.field_validator("label", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return value.strip(" .\"'*").lower() if isinstance(value, str) else value


class FactVerdicts(GoodItems[FactVerdict]):
    """Verdicts that could be read."""


class ClaimVerdicts(GoodItems[ClaimVerdict]):
    """Verdicts that could be read."""


class Facts(pydantic.RootModel[list[str]]):
    """Facts that could be read."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _keep_good(cls, value: Any) -> Any:
        entries = value if isinstance(value, list) else []
        return [entry.strip() for entry in entries if isinstance(entry, str) and entry.strip()]


class FindFacts(dspy.Signature):
    """Say for each fact whether the text states it, in whatever words.

    A fact with another name, number, date or a negation is not stated. Use no other knowledge.
    """

    text: str = dspy.InputField()
    facts: list[Numbered] = dspy.InputField()
    verdicts: FactVerdicts = dspy.OutputField(desc="one for each fact")


class CheckClaims(dspy.Signature):
    """Say for each claim what the document says about it.

    supported: the document states it, or it follows from the document. contradicted: both cannot be
    true, as with another name, number or date for the same thing. insufficient: the document does
    not settle it. Use no other knowledge.
    """

    document: str = dspy.InputField()
    claims: list[Numbered] = dspy.InputField()
    verdicts: ClaimVerdicts = dspy.OutputField(desc="one for each claim")


class JudgeRelations(dspy.Signature):
    """Say for each pair what its evidence says about its claim.

    supported: the evidence states it, or it follows. contradicted: both cannot be true.
    insufficient: the evidence does not settle it. Judge each pair alone. Use no other knowledge.
    """

    pairs: list[NumberedPair] = dspy.InputField()
    verdicts: ClaimVerdicts = dspy.OutputField(desc="one for each pair")


class ListFacts(dspy.Signature):
    """List every fact that the passage states, each as one short sentence that stands alone.

    One fact a sentence. Put names in place of pronouns. Leave out advice, opinions and questions,
    and what only the question says.
    """

    question: str = dspy.InputField(desc="what the passage answers")
    passage: str = dspy.InputField()
    facts: Facts = dspy.OutputField()
