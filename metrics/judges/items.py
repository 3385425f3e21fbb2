"""The judges of facts and claims: is it stated, and does a document entail it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from ...runtime.meter import Budget, current_meter
from ...runtime.passages import fit
from ...signatures.judges import CheckClaims, FindFacts, Numbered
from .asking import certain, label_items, settings
from .base import PER_REQUEST, Ask, Judge, Rounds, as_per_request, as_text, as_texts, together

READING_TOKENS = 2500  # ours, as for programs: leaves room for the items in a 4,096 window


class FactJudge(Judge):
    """Says which facts a text states: ``judge(text=..., facts=[...])``.

    Args:
        per_request: Facts in one request, at least 1.
        swap: Ask a second time with the facts of a request in reverse order; a fact whose verdict
            depends on it is unscored. A fact alone in its request has no order and is asked once.
        reading_tokens: Bound on the text in one prompt, in estimated tokens.

    Raises:
        InputError: ``per_request`` is no whole number of at least 1.
    """

    def __init__(
        self,
        *,
        per_request: int = PER_REQUEST,
        swap: bool = False,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__()
        self.per_request, self.swap, self.reading_tokens = (
            as_per_request(per_request),
            swap,
            reading_tokens,
        )
        self.find = dspy.Predict(FindFacts, **settings(per_request))

    def forward(
        self, text: str, facts: Sequence[str], budget: Budget | None = None
    ) -> dspy.Prediction:
        """Judge the facts.

        Args:
            text: An answer or a document; blank states nothing.
            facts: What it may state, n >= 0 texts.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``stated`` (tuple[bool | None], one for each fact, None where the
            judge failed), ``unscored`` (their number), ``notes`` and ``usage``. It took at most
            ceil(n / per_request) requests, twice that with ``swap``.

        Raises:
            InputError: The text or a fact is no text, or a fact is blank.
        """
        return self.run(self.rounds(text, facts), budget)

    async def aforward(
        self, text: str, facts: Sequence[str], budget: Budget | None = None
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        return await self.arun(self.rounds(text, facts), budget)

    def rounds(self, text: str, facts: Sequence[str]) -> Rounds[dict[str, Any]]:
        """The core: one round, then the fields of the Prediction."""
        text, facts = as_text("text", text), as_texts("facts", facts)
        known = certain(text, facts, stated=True, blank=False)
        unclear = [f for f in dict.fromkeys(facts) if f not in known]

        def ask(items: Sequence[str]) -> Ask:
            passage = _reading(text, items, self.reading_tokens)
            return Ask(self.find, {"text": passage, "facts": _numbered(items)})

        found = yield from label_items(unclear, self.per_request, self.swap, ask, "stated")
        labels = known | found
        stated = tuple(labels.get(f) for f in facts)
        return {"stated": stated, "unscored": stated.count(None)}


class EntailmentJudge(Judge):
    """Says what each document says about each claim: ``judge(documents=[...], claims=[...])``.

    Contradicted is kept apart from insufficient: a document that is silent is no counter-evidence.

    Args:
        per_request: Claims in one request, at least 1; each request is about one document.
        swap: As in `FactJudge`.
        reading_tokens: Bound on a document in one prompt, in estimated tokens: of a longer one the
            judge reads the parts that share most words with the claims, and that is noted.

    Raises:
        InputError: ``per_request`` is no whole number of at least 1.
    """

    def __init__(
        self,
        *,
        per_request: int = PER_REQUEST,
        swap: bool = False,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__()
        self.per_request, self.swap, self.reading_tokens = (
            as_per_request(per_request),
            swap,
            reading_tokens,
        )
        self.check = dspy.Predict(CheckClaims, **settings(per_request))

    def forward(
        self, documents: Sequence[str], claims: Sequence[str], budget: Budget | None = None
    ) -> dspy.Prediction:
        """Judge every claim by every document.

        Args:
            documents: D >= 0 texts; a blank one is insufficient for every claim.
            claims: R >= 0 texts.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``relations`` (R rows of D labels: ``supported``, ``contradicted``,
            ``insufficient``, or None where the judge failed), ``unscored`` (how many are None),
            ``notes`` and ``usage``. It took at most D * ceil(R / per_request) requests, twice that
            with ``swap``.

        Raises:
            InputError: A document or claim is no text, or a claim is blank.
        """
        return self.run(self.rounds(documents, claims), budget)

    async def aforward(
        self, documents: Sequence[str], claims: Sequence[str], budget: Budget | None = None
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        return await self.arun(self.rounds(documents, claims), budget)

    def rounds(self, documents: Sequence[str], claims: Sequence[str]) -> Rounds[dict[str, Any]]:
        """The core: one round, then the fields of the Prediction."""
        claims = as_texts("claims", claims)
        columns = yield from together(*[self._column(d, claims) for d in documents])
        rows = tuple(tuple(column.get(claim) for column in columns) for claim in claims)
        return {"relations": rows, "unscored": sum(row.count(None) for row in rows)}

    def _column(self, document: str, claims: Sequence[str]) -> Rounds[Mapping[str, Any]]:
        document = as_text("documents", document)
        known = certain(document, claims, stated="supported", blank="insufficient")
        unclear = [c for c in dict.fromkeys(claims) if c not in known]

        def ask(items: Sequence[str]) -> Ask:
            passage = _reading(document, items, self.reading_tokens)
            return Ask(self.check, {"document": passage, "claims": _numbered(items)})

        found = yield from label_items(unclear, self.per_request, self.swap, ask, "label")
        return known | found


def _numbered(items: Sequence[str]) -> list[Numbered]:
    return [Numbered(number=n, text=item) for n, item in enumerate(items, start=1)]


def _reading(text: str, items: Sequence[str], max_tokens: int) -> str:
    passage = fit(text, " ".join(items), max_tokens)
    if passage.cut:
        current_meter().note(
            f"A text is long ({len(text):,} characters): the judge read the parts that share most "
            "words with what it was asked."
        )
    return passage.text
