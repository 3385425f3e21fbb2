"""The records that programs take and give: plain, typed, JSON in and out (design §6)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Status = Literal["ok", "abstained", "parse_error", "provider_error", "budget"]
Branch = Literal["internal", "external", "none", "not needed"]


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


class Outcome(Record):
    """What every program returns: what was asked, of whom, how it went and what it cost.

    Attributes:
        abstained: True when no source supports an answer.
        status: ``ok``, ``abstained``, ``parse_error``, ``provider_error`` or ``budget``.
        usage: What it cost.
        timings: Seconds per stage, and ``total``.
        question, program, backbone, date: What was asked, of whom, as of when (ISO 8601).
        documents: The documents that were given, in order.
        stages: What happened on the way.
        notes: Everything a reader should know that is not an answer: documents cut to fit, failed
            requests, options that the backbone refused.
    """

    FORMAT: ClassVar[str]

    abstained: bool = False
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
        data = self.model_dump(mode="json")
        own = {name: data[name] for name in data if name not in Outcome.model_fields}
        return {"record": self.FORMAT, **own, **data}

    def fields(self) -> dict[str, Any]:
        """The fields of a `dspy.Prediction` of it: ``answer``, and the record under its name."""
        raise NotImplementedError(f"{type(self).__name__} defines no fields.")


class Verdict(Outcome):
    """The answer to one question, with the reasons (MACR Eq. 11).

    Attributes:
        answer: The short answer; empty when abstained or failed.
        explanation: One paragraph: who says what, and why this answer.
        confidence: In [0, 1]: the share of independent sources behind the answer among those that
            answered (calibrated only by tuning); None when nothing could be counted.
        alternatives: Other answers that sources state.
        conflicts: Conflicts found (MACR Eq. 10), with judgment and rule.
        judgments: Local judgments, one a conflict.
        rules_used: Ids of the rules that decided.
        answers: One per context, and the model's own.
        uncertainty: Normalised semantic entropy in [0, 1] (high: unsure), or None when not sampled.
        branch: Where the basic context came from.
        stages: Subject line, samples, basic context, relations.
    """

    FORMAT: ClassVar[str] = "referee.verdict/1"

    answer: str = ""
    explanation: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    alternatives: tuple[Alternative, ...] = ()
    conflicts: tuple[Mapping[str, Any], ...] = ()
    judgments: tuple[Mapping[str, Any], ...] = ()
    rules_used: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    uncertainty: float | None = Field(default=None, ge=0, le=1)
    branch: Branch = "not needed"

    def fields(self) -> dict[str, Any]:
        """See `Outcome`."""
        return {"answer": self.answer, "verdict": self}


class Mention(Record):
    """Where a claim stands.

    Attributes:
        document_id: The document.
        evidence: The verbatim span that states it.
        date: The document's date, or empty.
    """

    document_id: str
    evidence: Evidence
    date: str = ""


class Claim(Record):
    """One atomic claim: a canonical node with all places that state it (ArbGraph, 3.2).

    Attributes:
        id: Unique in its report.
        text: One self-contained sentence.
        mentions: Where it stands, in order of the documents.
        sources: Independent documents among them; near-copies count once.
        relevance: Cosine with the question (Eq. 1).
        credibility: p in [0, 1] after arbitration; None for a claim that was filtered out before.
        reason: Why it lost or was left out; empty for a validated claim.
    """

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()
    sources: int = 0
    relevance: float | None = None
    credibility: float | None = Field(default=None, ge=0, le=1)
    reason: str = ""

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that state it, each once, in order."""
        return tuple(dict.fromkeys(m.document_id for m in self.mentions))


class Citation(Record):
    """What one sentence of a report rests on: ``text[start:end]`` is the sentence."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    claim_ids: tuple[str, ...]
    document_ids: tuple[str, ...]


class Report(Outcome):
    """A long answer from arbitrated evidence (ArbGraph).

    Attributes:
        text: The answer: sentences that rest on validated claims; empty when abstained or failed.
        explanation: One or two sentences: how many claims, what was contested, why abstained.
        citations: One for each sentence of the text.
        validated: Claims that survived, in order of the documents.
        suppressed: Claims that lost in arbitration, with the reason.
        filtered: Claims left out before arbitration: off the question.
        graph: The evidence graph (`EvidenceGraph.from_dict` reads it).
        decisions: What the arbiter said, in order (`arbitration.Decision`, with the reason).
        unresolved: Contradictions whose two claims are both validated.
        conflicts: Contradictions that came before the arbiter: type, both claims with what sets
            them apart, and the rule and reason of the decision; ``judgment`` is the id of the
            claim that won, or None.
        stages: Counts of each stage.
    """

    FORMAT: ClassVar[str] = "referee.report/1"

    text: str = ""
    explanation: str = ""
    citations: tuple[Citation, ...] = ()
    validated: tuple[Claim, ...] = ()
    suppressed: tuple[Claim, ...] = ()
    filtered: tuple[Claim, ...] = ()
    graph: Mapping[str, Any] = Field(default_factory=dict)
    decisions: tuple[Mapping[str, Any], ...] = ()
    unresolved: tuple[tuple[str, str], ...] = ()
    conflicts: tuple[Mapping[str, Any], ...] = ()

    @property
    def cited_text(self) -> str:
        """The text with the ids of the documents behind each sentence."""
        return " ".join(
            f"{self.text[c.start : c.end]} [{', '.join(c.document_ids)}]" for c in self.citations
        )

    def fields(self) -> dict[str, Any]:
        """See `Outcome`."""
        return {"answer": self.text, "report": self}
