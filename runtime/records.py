"""The records that programs take and give: plain, typed, JSON in and out (design §6)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Status = Literal["ok", "abstained", "parse_error", "provider_error", "budget"]
Branch = Literal["internal", "external", "none", "not needed"]
RECORD_FORMAT = "referee.verdict/1"


class Record(BaseModel):
    """Base of all records: immutable, unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(Record):
    """One source: its text and what is known about where it comes from.

    Attributes:
        text: The text, as found. May be empty: then nothing is asked about it, and that is said.
        id: Unique within one question; ``d1``, ``d2``, ... by position when not given.
        title: Title, or empty.
        source: Publisher or origin (used to count independent sources), or empty.
        url: Address, or empty.
        date: Publication date as given (ISO 8601 preferred), or empty.
        metadata: Anything else; never shown to a model.
    """

    text: str
    id: str = ""
    title: str = ""
    source: str = ""
    url: str = ""
    date: str = ""
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    @field_validator("date", mode="before")
    @classmethod
    def _date_as_text(cls, value: Any) -> Any:
        if isinstance(value, datetime.date):
            return value.isoformat()
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("id", mode="before")
    @classmethod
    def _id_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("id", "title", "source", "url", "date", mode="before")
    @classmethod
    def _missing_as_empty(cls, value: Any) -> Any:
        return "" if value is None else value


class Evidence(Record):
    """A verbatim span of a document: ``text == document.text[start:end]``."""

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Answer(Record):
    """What one context (or the model's own memory) answers.

    Attributes:
        text: The answer as given; empty when there is none.
        document_id: Id of the document, or None for the model's own knowledge.
        status: ``answered``; ``no answer`` (the context does not say); ``empty document`` (nothing
            was asked); ``parse_error``, ``provider_error`` or ``budget`` (the request did not end
            in an answer).
        evidence: The sentence of the document that holds the answer, or None when none does.
        date: Date that the evidence itself states, or the document's, or empty.
        error: One sentence when the request failed.
    """

    text: str = ""
    document_id: str | None = None
    status: Literal[
        "answered", "no answer", "empty document", "parse_error", "provider_error", "budget"
    ] = "answered"
    evidence: Evidence | None = None
    date: str = ""
    error: str = ""


class Alternative(Record):
    """Another answer that sources state, for the same or for another entity of that name."""

    answer: str
    entity: str = ""
    document_ids: tuple[str, ...] = ()


class Usage(Record):
    """What a run cost.

    Attributes:
        requests: Requests that reached the backbone.
        cached: Requests answered by the cache or by an equal request in flight; they cost nothing.
        tokens: Input and output tokens as reported, or None when the backbone reports none.
        cost: US dollars, or None when the price of a request is not known.
        repaired: Replies that had to be repaired before they could be read.
    """

    requests: int = 0
    cached: int = 0
    tokens: int | None = None
    cost: float | None = None
    repaired: int = 0


class Verdict(Record):
    """The answer to one question, with the reasons (MACR Eq. 11).

    Attributes:
        answer: The short answer; empty when abstained or failed.
        explanation: One paragraph: who says what, and why this answer.
        abstained: True when no source supports an answer.
        confidence: In [0, 1]: the share of independent sources behind the answer among those that
            answered (calibrated only by tuning); None when nothing could be counted.
        alternatives: Other answers that sources state.
        conflicts: Conflicts found (MACR Eq. 10), with judgment and rule.
        judgments: Local judgments, one a conflict.
        rules_used: Ids of the rules that decided.
        answers: One per context, and the model's own.
        uncertainty: Normalised semantic entropy in [0, 1] (high: unsure), or None when not sampled.
        branch: Where the basic context came from.
        status: ``ok``, ``abstained``, ``parse_error``, ``provider_error`` or ``budget``.
        usage: What it cost.
        timings: Seconds per stage, and ``total``.
        question, program, backbone, date: What was asked, of whom, as of when (ISO 8601).
        documents: The documents that were given, in order.
        stages: What happened on the way: subject line, samples, basic context, relations.
        notes: Everything a reader should know that is not an answer: documents cut to fit, failed
            requests, options that the backbone refused.
    """

    answer: str = ""
    explanation: str = ""
    abstained: bool = False
    confidence: float | None = Field(default=None, ge=0, le=1)
    alternatives: tuple[Alternative, ...] = ()
    conflicts: tuple[Mapping[str, Any], ...] = ()
    judgments: tuple[Mapping[str, Any], ...] = ()
    rules_used: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    uncertainty: float | None = Field(default=None, ge=0, le=1)
    branch: Branch = "not needed"
    status: Status = "ok"
    usage: Usage = Usage()
    timings: Mapping[str, float] = Field(default_factory=dict)
    question: str = ""
    program: str = ""
    backbone: str = ""
    date: str = ""
    documents: tuple[Document, ...] = ()
    stages: Mapping[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """All of it as JSON-ready data; ``record`` in it names the format."""
        return {"record": RECORD_FORMAT, **self.model_dump(mode="json")}
