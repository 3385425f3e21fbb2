"""Rules that settle conflicts, and the versioned base that a program carries (MACR §3.5).

Complete. A rule is the paper's triplet of type, condition and resolution, and what the validation
split said about it. A rule without numbers was never measured: the starter rules are such.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from dspy.predict.parameter import Parameter
from pydantic import Field

from ..errors import ArtifactError, InputError
from ..runtime.records import Record
from .conflicts import ConflictType
from .operators import OPERATORS
from .rule_files import as_layout, as_records, read_layout, unknown_operator
from .rule_lint import lint

__all__ = ["Interval", "Revision", "Rule", "RuleBase", "lint", "starter_rules"]

Provenance = Literal["starter", "induced", "feedback", "user"]
_NUMBER = re.compile(r"\d{1,9}")


class Interval(NamedTuple):
    """An interval of a share, both ends in [0, 1]."""

    low: float
    high: float


class Rule(Record):
    """One rule: a type, a condition and a resolution, and how it was found.

    Attributes:
        id: Unique in its base, such as "R1".
        type: The type of conflict that it is for, or "any".
        condition: When it applies, in words.
        resolution: Which statement to believe then, in words.
        operator: Name of the operator that applies it in code (`operators.OPERATORS`), or empty.
        coverage: Share of the validation examples in which it fires (MACR Eq. 9).
        support: Share of those that it answers correctly.
        fired: Validation examples in which it fired.
        correct: Those that it answered correctly.
        interval: 95 % interval of the support.
        gain: Support minus the share that is right without any rule.
        provenance: Who wrote it.
        provisional: From feedback (§3.5.2 (4)) and not verified yet.
    """

    id: str = Field(min_length=1)
    type: ConflictType | Literal["any"] = "any"
    condition: str = ""
    resolution: str = ""
    operator: str = ""
    coverage: float | None = Field(default=None, ge=0, le=1)
    support: float | None = Field(default=None, ge=0, le=1)
    fired: int = Field(default=0, ge=0)
    correct: int = Field(default=0, ge=0)
    interval: Interval | None = None
    gain: float | None = Field(default=None, ge=-1, le=1)
    provenance: Provenance = "user"
    provisional: bool = False


class Revision(Record):
    """One change of a rule base: which version it made, when, why, and what came and went.

    Attributes:
        data: Hash of the data that the rules were measured on, or empty.
    """

    version: int
    date: str
    reason: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    data: str = ""


class RuleBase(Parameter):
    """The rules of a program: found by `named_parameters`, saved with it, kept by optimizers.

    Attributes:
        rules: The rules, in the order in which they were given; ids are unique.
        version: Counts up with every `updated`.
        history: What changed, oldest first.
        authoritative: Source names or hosts that the user trusts.

    Raises:
        InputError: Two rules have one id, or a rule names an operator that does not exist.

    Example:
        >>> [rule.operator for rule in starter_rules().matching("granularity")][:3]
        ['authoritative_source', 'external_context', 'most_specific']
    """

    SCHEMA = 1

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        version: int = 1,
        history: Iterable[Revision] = (),
        authoritative: Iterable[str] = (),
    ) -> None:
        self.rules = _checked(rules)
        self.version = version
        self.history = list(history)
        self.authoritative = list(authoritative)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleBase) and self.dump_state() == other.dump_state()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"RuleBase({len(self.rules)} rules, version {self.version})"

    def reset(self) -> None:
        """Keep the rules: `Module.reset_copy` calls this on every parameter."""

    def matching(self, type: str) -> list[Rule]:
        """Rules for a type of conflict, the best supported first.

        Args:
            type: A conflict type; rules for "any" match every type.

        Returns:
            Rules by support, then coverage (both descending, unmeasured last), then id, in which
            numbers count as numbers: R2 comes before R10.
        """
        return sorted((r for r in self.rules if r.type in (type, "any")), key=_precedence)

    def updated(self, rules: Iterable[Rule], reason: str, date: str, data: str = "") -> RuleBase:
        """A new version with other rules; this one stays as it is.

        Args:
            rules: All rules of the new version.
            reason: Why, one sentence.
            date: When, ISO 8601.
            data: Hash of the data that the rules were measured on.

        Returns:
            The new version. A rule that changed under its id counts as removed and added.

        Raises:
            InputError: As for the constructor.
        """
        new = _checked(rules)
        revision = Revision(
            version=self.version + 1,
            date=date,
            reason=reason,
            added=tuple(rule.id for rule in new if rule not in self.rules),
            removed=tuple(rule.id for rule in self.rules if rule not in new),
            data=data,
        )
        return RuleBase(
            new,
            version=self.version + 1,
            history=[*self.history, revision],
            authoritative=self.authoritative,
        )

    def to_yaml(self) -> str:
        """The base as a file that people can read and edit."""
        return as_layout(self.dump_state())

    @classmethod
    def from_yaml(cls, text: str) -> RuleBase:
        """Read what `to_yaml` writes, or a file written by hand; fields may be left out.

        Args:
            text: YAML; plain data only.

        Returns:
            The base.

        Raises:
            InputError: The text is no such file; the message names the rule and the field.
        """
        data = read_layout(text)
        rules = as_records(Rule, "Rule", data.pop("rules"))
        history = as_records(Revision, "Revision", data.pop("history"))
        return cls(rules, history=history, **data)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The base as JSON-ready data."""
        return {
            "schema": self.SCHEMA,
            "version": self.version,
            "authoritative": list(self.authoritative),
            "rules": [rule.model_dump(mode="json") for rule in self.rules],
            "history": [revision.model_dump(mode="json") for revision in self.history],
        }

    def load_state(self, state: Mapping[str, Any]) -> RuleBase:
        """Take over a saved state; on failure this base stays as it is.

        Args:
            state: What `dump_state` gave.

        Returns:
            This base.

        Raises:
            ArtifactError: The state was written by another version, or is damaged.
        """
        if state.get("schema") != self.SCHEMA:
            raise ArtifactError(
                f"The rule base has schema {state.get('schema')!r} and this version reads "
                f"{self.SCHEMA}: save it again with the version that wrote it."
            )
        try:
            rules = _checked(Rule.model_validate(item) for item in state["rules"])
            history = [Revision.model_validate(item) for item in state["history"]]
            version, trusted = int(state["version"]), [str(s) for s in state["authoritative"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"The saved rule base is damaged: {error}") from error
        self.rules, self.history = rules, history
        self.version, self.authoritative = version, trusted
        return self


def starter_rules() -> RuleBase:
    """The bundled rules, a new base on every call.

    They were never measured, so they carry no numbers and their ids give the order of precedence:
    R1 first (design §9; *ours*). A measured rule comes before them.
    """
    return copy.deepcopy(_bundled())


@cache
def _bundled() -> RuleBase:
    """Read once: reading YAML takes longer than all else that building a program does."""
    text = files("referee.programs").joinpath("starter_rules.yaml").read_text(encoding="utf-8")
    return RuleBase.from_yaml(text)


def _precedence(rule: Rule) -> tuple[object, ...]:
    shares = (rule.support, rule.coverage)
    numbers = [part for share in shares for part in (share is None, -(share or 0.0))]
    return (*numbers, _NUMBER.sub(lambda m: m[0].zfill(9), rule.id))


def _checked(rules: Iterable[Rule]) -> list[Rule]:
    kept, seen = list(rules), set()
    for rule in kept:
        if rule.id in seen:
            raise InputError(f"Rule {rule.id} stands twice: give every rule an id of its own.")
        seen.add(rule.id)
        if rule.operator and rule.operator not in OPERATORS:
            raise InputError(unknown_operator(rule.id, rule.operator, list(OPERATORS)))
    return kept
