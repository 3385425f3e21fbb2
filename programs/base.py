"""What every program is: a dspy.Module that answers a question from documents with an `Outcome`."""

from __future__ import annotations

import copy
import datetime
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import dspy

from ..errors import InputError
from ..runtime.backbones import display_name
from ..runtime.documents import as_documents, as_question
from ..runtime.exchange import channel
from ..runtime.meter import Budget, Meter, metered, nested_meter
from ..runtime.passages import fit
from ..runtime.records import Document, Outcome, Status
from .rules import RuleBase
from .steps import Clock, Driver, Steps
from .tunables import Tunable, Values, chosen

READING_TOKENS = 2500  # ours: leaves room for instructions and demonstrations in a 4,096 window


@dataclass(frozen=True)
class Case:
    """One question with its documents, checked.

    Attributes:
        question: Non-empty text.
        documents: With unique ids; some may be empty.
        date: The as-of date (MACR's I_time), ISO 8601.
        reading_tokens: Bound on the document text in one prompt, in estimated tokens.
        meter: Where notes for the reader go.
        lms: Language models of single roles.
    """

    question: str
    documents: Sequence[Document]
    date: str
    reading_tokens: int
    meter: Meter
    lms: Mapping[str, dspy.BaseLM] = field(default_factory=dict)

    def passage(self, document: Document, share: int = 1) -> str:
        """A document's text as it fits into one prompt beside ``share - 1`` others."""
        passage = fit(document.text, self.question, self.reading_tokens // share)
        if passage.cut:
            self.meter.note(
                f"{document.id} is long ({len(document.text):,} characters): the model read the "
                f"{len(passage.text):,} that share most with the question."
            )
        return passage.text


class Program(dspy.Module):
    """Base of the programs: checks input, sets the stage, keeps what a reader must know.

    Args:
        lms: Language models of single roles (see ``roles``); every other call uses the LM of the
            surrounding `dspy.context`.
        reading_tokens: Bound on the document text in one prompt, in estimated tokens.

    Attributes:
        backbone: The LM that this program is bound to (see `on`), before the one of the context.
        card: How it was compiled, JSON-ready: optimizer, metric, seed, data, scores. Empty until
            it is; goes into the card of the artifact.

    Raises:
        InputError: ``lms`` names a role that the program does not have.
    """

    name: ClassVar[str]
    needs_documents: ClassVar[bool] = True
    long_answers: ClassVar[bool] = False  # whether it returns a `Report` instead of a `Verdict`
    variants: ClassVar[Mapping[str, str]] = {}
    """Values of the constructor argument ``ablation`` by the name that follows a colon."""
    optimizer: ClassVar[str] = "bootstrap"  # what compiles it unless another is named
    roles: ClassVar[tuple[str, ...]] = ("reader",)
    parts: ClassVar[tuple[str, ...]] = ("lms",)
    """Constructor arguments that no file can hold: whoever loads the program gives them again."""

    def __init__(
        self,
        *,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__()
        self.lms = dict(lms or {})
        for role in self.lms:
            if role not in self.roles:
                raise InputError(
                    f"{self.name} has no role {role!r}: its roles are {', '.join(self.roles)}."
                )
        self.reading_tokens = reading_tokens
        self.backbone: dspy.BaseLM | None = None
        self.card: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """Its name, and after a colon its variant; what records and tables show."""
        ablation = getattr(self, "ablation", "")
        variant = next((v for v, value in self.variants.items() if value == ablation), "")
        return f"{self.name}:{variant}" if variant else self.name

    def with_rules(self, rules: RuleBase) -> Self:
        """A copy that settles conflicts by other rules; this program stays as it is.

        Raises:
            InputError: The program has no rule base.
        """
        ruled: Self = self.deepcopy()
        bases = [p for _, p in ruled.named_parameters() if isinstance(p, RuleBase)]
        if not bases:
            raise InputError(f"{self.name} has no rules: choose a program with a rule base.")
        for base in bases:
            base.load_state(rules.dump_state())
        return ruled

    def tunables(self) -> dict[str, Tunable]:
        """What may be tuned, by the names of `tunables`; nothing unless a program says so."""
        return {}

    def with_values(self, values: Values) -> Self:
        """A copy with other values of `tunables`, which shares everything else.

        Raises:
            InputError: The program offers no such value, or it is out of range.
        """
        chosen(self.tunables(), values, self.name)
        return self

    def steps(self, case: Case) -> Steps[Any]:
        """The algorithm: yields waves of calls, returns a `Verdict` or `Report` (`steps.py`)."""
        raise NotImplementedError(f"{type(self).__name__} defines no steps.")

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Fewest and most requests that one question with these documents takes, retries apart.

        The most is a bound that holds whatever the model says.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no bound on its requests.")

    def requests_of_rules(self, documents: Sequence[Document]) -> int:
        """Of the most `requests`, those that other rules may change; 0 without a rule base."""
        return 0

    def dump_settings(self) -> dict[str, Any]:
        """What the constructor was given, JSON-ready, without parts, rules and thresholds."""
        return {"reading_tokens": self.reading_tokens}

    def dump_thresholds(self) -> dict[str, Any]:
        """What is tuned, as JSON-ready data.

        A threshold that holds only under conditions (an equation, a number of samples) is a
        mapping with the key ``threshold`` beside those conditions: loading refuses other ones.
        """
        return {}

    @property
    def encoder_name(self) -> str:
        """Name of the encoder that thresholds on cosines belong to; empty without one."""
        return ""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], **parts: Any) -> Self:
        """The program that `dump_settings` and `dump_thresholds`, merged, describe.

        Args:
            settings: As those methods give them.
            parts: What a file cannot hold (see ``parts``), and ``rules``.
        """
        return cls(**settings, **parts)

    def exercises(self) -> list[Self]:
        """This program with settings that lead through branches it rarely takes.

        They share its predictors; whoever collects demonstrations runs them for the predictors
        that ordinary runs did not reach.
        """
        return []

    def on(self, lm: dspy.BaseLM | None) -> Self:
        """This program bound to a backbone (None: to none); predictors and rules are shared."""
        bound = copy.copy(self)
        bound.backbone = lm
        return bound

    def save_artifact(self, path: str | Path) -> None:
        """Save the program as a folder of JSON and YAML; `referee.load` reads it.

        Args:
            path: The folder; made when missing, an artifact in it is replaced.

        Raises:
            ArtifactError: The folder cannot be written.
        """
        from .artifact import save

        save(self, Path(path))

    def forward(
        self,
        question: str,
        documents: Any = (),
        date: str | datetime.date | None = None,
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """Answer one question.

        Args:
            question: What is asked.
            documents: See `runtime.documents.as_documents`.
            date: As-of date, ISO 8601; today when None.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``answer`` (str) and ``verdict`` (`Verdict`) or ``report`` (`Report`).

        Raises:
            InputError: The question, a document or the date is wrong.
        """
        with self._staged(question, documents, date, budget) as (case, driver):
            outcome = driver.run(self.steps(case))
            return self._prediction(case, driver.clock, outcome)

    async def aforward(
        self,
        question: str,
        documents: Any = (),
        date: str | datetime.date | None = None,
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines; the same steps give the same verdict."""
        with self._staged(question, documents, date, budget) as (case, driver):
            outcome = await driver.arun(self.steps(case))
            return self._prediction(case, driver.clock, outcome)

    @contextmanager
    def _staged(
        self, question: Any, documents: Any, date: Any, budget: Budget | None
    ) -> Iterator[tuple[Case, Driver]]:
        checked = as_documents(documents) if self.needs_documents or documents else []
        meter = nested_meter(budget)
        case = Case(
            as_question(question), checked, as_of(date), self.reading_tokens, meter, self.lms
        )
        clock = Clock()
        bound = {} if self.backbone is None else {"lm": self.backbone}
        with metered(meter), dspy.context(adapter=channel(), **bound):
            yield case, Driver(self.lms, clock)

    def _prediction(self, case: Case, clock: Clock, outcome: Outcome) -> dspy.Prediction:
        lm = dspy.settings.lm
        total = time.perf_counter() - clock.started
        complete = outcome.model_copy(
            update={
                "question": case.question,
                "program": self.label,
                "backbone": display_name(lm) if lm is not None else "",
                "date": case.date,
                "documents": tuple(case.documents),
                "usage": case.meter.usage(),
                "status": _status(outcome, case.meter),
                "timings": {k: round(v, 4) for k, v in {**clock.seconds, "total": total}.items()},
                "notes": (*outcome.notes, *case.meter.notes),
            }
        )
        return dspy.Prediction(**complete.fields())


def _status(outcome: Outcome, meter: Meter) -> Status:
    """The outcome's own status, unless a request was refused for want of budget."""
    return "budget" if meter.exhausted and not outcome.status.endswith("error") else outcome.status


def as_of(date: Any) -> str:
    """The as-of date in ISO 8601; today when None.

    Raises:
        InputError: It is no date.
    """
    if date is None:
        return datetime.date.today().isoformat()
    try:
        if isinstance(date, datetime.date):
            return date.isoformat()[:10]
        return datetime.date.fromisoformat(date).isoformat()
    except (TypeError, ValueError):
        raise InputError(f"date is {date!r}: give an ISO date such as 2026-01-31.") from None
