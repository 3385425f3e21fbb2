"""The signature of the Observer: from solved conflicts to rules (MACR §3.5)."""

from __future__ import annotations

from typing import Any, Literal, get_args

import dspy
import pydantic

from .lists import GoodItems

Check = Literal[
    "none",
    "authoritative_source",
    "external_context",
    "entity_match",
    "most_specific",
    "statement_over_plan",
    "latest_date",
    "most_independent_sources",
    "trusted_memory",
]
"""The operators that code can apply, by name."""


class SolvedConflict(pydantic.BaseModel):
    """Two answers to one question, with their texts, and which one was right."""

    question: str
    first: str
    first_text: str
    first_sources: int
    second: str
    second_text: str
    second_sources: int
    right: Literal["first", "second", "unknown"]


class ProposedRule(pydantic.BaseModel):
    """One rule as a model writes it."""

    type: Literal["temporal", "misinformation", "semantic", "granularity", "other", "any"] = "other"
    condition: str = ""
    resolution: str = ""
    operator: Check = "none"

    @pydantic.field_validator("operator", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        """An operator that does not exist leaves a rule in words."""
        return value if value in get_args(Check) else "none"


class ProposedRules(GoodItems[ProposedRule]):
    """Rules that could be read."""


class ProposeRules(dspy.Signature):
    """Write at most three general rules that tell which of two conflicting statements to believe.

    Learn them from the solved conflicts. A rule must hold for other questions: it mentions no name,
    number or date of these conflicts, and never which statement stands first. The condition says
    what the two texts show, the resolution which statement to believe then; one short sentence
    each. Operator: the check that decides the rule, or none when only a reader can tell.
    """

    type: str = dspy.InputField(desc="of all these conflicts")
    conflicts: list[SolvedConflict] = dspy.InputField()
    rules: ProposedRules = dspy.OutputField()
