"""Judges of a whole response: its atomic facts, and the measures of ArbGraph's Tables 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from ...errors import InputError
from ...runtime.chunks import sentences
from ...runtime.documents import as_documents
from ...runtime.meter import Budget
from ...signatures.judges import ListFacts
from ..label_diagnostics import label_diagnostics
from ..long_form import fact_recall, information_density
from ..tokens import count_tokens
from .asking import bare, batches
from .base import PER_REQUEST, Ask, Judge, Rounds, as_per_request, as_text, as_texts, together
from .items import EntailmentJudge, FactJudge


class FactLister(Judge):
    """Splits a text into atomic facts: ``lister(text=...)``.

    Args:
        per_request: Sentences in one request, at least 1.

    Raises:
        InputError: ``per_request`` is no whole number of at least 1.
    """

    def __init__(self, *, per_request: int = PER_REQUEST) -> None:
        super().__init__()
        self.per_request = as_per_request(per_request)
        self.list_facts = dspy.Predict(
            ListFacts, temperature=0.0, max_tokens=100 + 100 * per_request
        )

    def forward(
        self, text: str, question: str = "", budget: Budget | None = None
    ) -> dspy.Prediction:
        """List the facts.

        Args:
            text: Any text; a blank one has no facts.
            question: What it answers, for pronouns and short sentences.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``facts`` (tuple[str, ...], in order, equal ones once), ``unread``
            (passages that the model failed to split: their facts are missing), ``notes`` and
            ``usage``. It took at most ceil(sentences / per_request) requests.

        Raises:
            InputError: The text or question is no text.
        """
        return self.run(self.rounds(text, question), budget)

    async def aforward(
        self, text: str, question: str = "", budget: Budget | None = None
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        return await self.arun(self.rounds(text, question), budget)

    def rounds(self, text: str, question: str = "") -> Rounds[dict[str, Any]]:
        """The core: one round, then the fields of the Prediction."""
        text, question = as_text("text", text), as_text("question", question)
        groups = batches(sentences(text), self.per_request)
        passages = dict.fromkeys(text[group[0].start : group[-1].end] for group in groups)
        asks = [Ask(self.list_facts, {"question": question, "passage": p}) for p in passages]
        replies = (yield asks) if asks else []
        listed = [fact for r in replies if not isinstance(r, Exception) for fact in r.facts.root]
        once: dict[str, str] = {}
        for fact in listed:
            once.setdefault(bare(fact), fact)
        return {
            "facts": tuple(once.values()),
            "unread": sum(isinstance(r, Exception) for r in replies),
        }


class RecallJudge(Judge):
    """Fact recall and information density alone: ``judge(response=..., facts=[...])``.

    What `ResponseJudge` finds of these two, without its requests about documents.

    Args:
        lister: Splits the response into facts.
        finder: Says which gold facts the response states.
    """

    def __init__(
        self, *, lister: FactLister | None = None, finder: FactJudge | None = None
    ) -> None:
        super().__init__()
        self.lister = lister or FactLister()
        self.finder = finder or FactJudge()

    def forward(
        self,
        response: str,
        facts: Sequence[str],
        question: str = "",
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """Measure one response.

        Args:
            response: What is measured; a blank one states no fact.
            facts: The gold facts.
            question: What was asked.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``measures`` (``fact_recall`` over the facts that were judged, None
            without any; ``information_density``, None when a passage of the response is unread),
            ``claims``, ``stated`` (one flag a fact, None unscored), ``unread``, ``notes`` and
            ``usage``. One round of requests.

        Raises:
            InputError: An argument is wrong.
        """
        return self.run(self.rounds(response, facts, question), budget)

    async def aforward(
        self,
        response: str,
        facts: Sequence[str],
        question: str = "",
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        return await self.arun(self.rounds(response, facts, question), budget)

    def rounds(
        self, response: str, facts: Sequence[str], question: str = ""
    ) -> Rounds[dict[str, Any]]:
        """The core: one round, then the fields of the Prediction."""
        listed, found = yield from together(
            self.lister.rounds(response, question), self.finder.rounds(response, facts)
        )
        claims, unread, stated = listed["facts"], listed["unread"], found["stated"]
        measures = {
            "fact_recall": fact_recall([s for s in stated if s is not None]),
            "information_density": _density(claims, unread, response),
        }
        return {"measures": measures, "stated": stated, "claims": claims, "unread": unread}


class ResponseJudge(Judge):
    """Measures a long response: ``judge(response=..., facts=[...], documents=[...])``.

    Args:
        lister: Splits the response (and, without given facts, the gold answer) into facts.
        finder: Says which gold facts the response states.
        checker: Says what each document, and the gold answer, says about each claim.
    """

    def __init__(
        self,
        *,
        lister: FactLister | None = None,
        finder: FactJudge | None = None,
        checker: EntailmentJudge | None = None,
    ) -> None:
        super().__init__()
        self.lister = lister or FactLister()
        self.finder = finder or FactJudge()
        self.checker = checker or EntailmentJudge()

    def forward(
        self,
        response: str,
        documents: Any = (),
        *,
        question: str = "",
        answer: str = "",
        facts: Sequence[str] | None = None,
        claims: Sequence[str] | None = None,
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """Measure one response.

        Args:
            response: What is measured; a blank one makes no claim and states no fact.
            documents: What the response was to rest on, see `runtime.documents.as_documents`.
            question: What was asked.
            answer: The gold answer; the facts together when blank.
            facts: Its atomic facts; listed by the model when None.
            claims: The atomic claims of the response; listed by the model when None.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``measures`` (those of `label_diagnostics`, and
            ``information_density`` by `count_tokens`, None when a passage of the response is
            unread), ``claims``, ``facts``, ``stated`` (one flag a fact), ``by_gold`` (one label a
            claim), ``by_documents`` and ``facts_by_documents`` (rows of one label a document),
            ``unscored`` (claims and facts left out for want of a label), ``unread`` (passages
            without facts), ``notes`` and ``usage``. Two rounds of requests, one when facts and
            claims are given.

        Raises:
            InputError: There is neither a gold answer nor a gold fact, or an argument is wrong.
        """
        core = self.rounds(response, documents, question, answer, facts, claims)
        return self.run(core, budget)

    async def aforward(
        self,
        response: str,
        documents: Any = (),
        *,
        question: str = "",
        answer: str = "",
        facts: Sequence[str] | None = None,
        claims: Sequence[str] | None = None,
        budget: Budget | None = None,
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        core = self.rounds(response, documents, question, answer, facts, claims)
        return await self.arun(core, budget)

    def rounds(
        self,
        response: str,
        documents: Any,
        question: str,
        answer: str,
        facts: Sequence[str] | None,
        claims: Sequence[str] | None,
    ) -> Rounds[dict[str, Any]]:
        """The core: list what is not given, judge everything, measure."""
        if not facts and not as_text("answer", answer).strip():
            raise InputError("there is no gold answer: pass facts or answer.")
        texts = [d.text for d in as_documents(documents)] if documents else []
        split = yield from together(
            self._listed(response, question, claims), self._listed(answer, question, facts)
        )
        (own, unread), (gold, gold_unread) = split
        judged = yield from together(
            self.finder.rounds(response, gold),
            self.checker.rounds([answer if answer.strip() else "\n".join(gold)], own),
            self.checker.rounds(texts, [*own, *gold]),
        )
        stated, by_gold, by_documents = judged
        labels: dict[str, Any] = {
            "by_gold": tuple(row[0] for row in by_gold["relations"]),
            "stated": stated["stated"],
            "by_documents": by_documents["relations"][: len(own)],
            "facts_by_documents": by_documents["relations"][len(own) :],
        }
        diagnosis = label_diagnostics(*labels.values())
        density = _density(own, unread, response)
        return {
            "measures": {**diagnosis.measures, "information_density": density},
            "claims": tuple(own),
            "facts": tuple(gold),
            **labels,
            "unscored": diagnosis.unscored,
            "unread": unread + gold_unread,
        }

    def _listed(
        self, text: str, question: str, given: Sequence[str] | None
    ) -> Rounds[tuple[Sequence[str], int]]:
        if given is not None:
            return as_texts("facts and claims", given), 0
        listed = yield from self.lister.rounds(text, question)
        return listed["facts"], listed["unread"]


def _density(claims: Sequence[str], unread: int, response: str) -> float | None:
    """Claims per 1,000 tokens; unknown while some of the response is unread."""
    return None if unread else information_density(len(claims), count_tokens(response))
