"""Baseline MADAM-RAG: one agent per document, an aggregator, a debate (Wang et al., 2025).

Same as in the paper ("Retrieval-Augmented Generation with Conflicting Evidence"): each agent
answers from its own document with an explanation; an aggregator sums up and may keep several
answers, since a question can be ambiguous; agents answer again when they have seen its summary, in
3 rounds at most; the debate ends as soon as no agent changes its answer.

What differs: whether an answer changed is decided in code (equal answers in other words are the
same); an agent whose request failed has no part in the summary, and keeps its last answer in later
rounds; without any answer nothing is put together; the verdict shows the aggregator's first answer,
the others are alternatives.

Requests per question: from n (no document answers) to 3 (n + 1) for n documents with text; 2 n + 1
when nobody changes an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ...metrics.refusal import clean_answer, is_no_answer
from ...runtime.failures import failure
from ...runtime.passages import fit, numbered
from ...runtime.records import Answer, Document, Verdict
from ...signatures.baselines_short import AggregateAnswers, AnswerAsAgent, ReviseAsAgent
from ..base import Case, Program
from ..clusters import same_answer
from ..outcomes import failure_notes, without_answer
from ..steps import Call, Reply, Steps, Wave
from .replies import alternatives, read_typed, with_text

ROUNDS = 3  # the paper's


@dataclass(frozen=True)
class Agent:
    """What one agent answers from its document, and why."""

    document: Document
    answer: Answer
    why: str = ""


@dataclass(frozen=True)
class Summary:
    """What the aggregator makes of the answers: the right ones, best first, and why."""

    answers: tuple[str, ...] = ()
    why: str = ""
    failed: Answer | None = None


class Madam(Program):
    """Agents debate, an aggregator decides."""

    name: ClassVar[str] = "madam"
    roles: ClassVar[tuple[str, ...]] = ("reader", "aggregator")

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.read = dspy.Predict(AnswerAsAgent, temperature=0.0, max_tokens=150)
        self.aggregate = dspy.Predict(AggregateAnswers, temperature=0.0, max_tokens=250)
        self.revise = dspy.Predict(ReviseAsAgent, temperature=0.0, max_tokens=150)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """The answers; or three rounds of answers and summary."""
        n = len(with_text(documents))
        return n, ROUNDS * (n + 1)

    def steps(self, case: Case) -> Steps[Verdict]:
        """Answers and summary, at most three times, until no answer changes."""
        agents = yield from self._first(case)
        if not any(a.answer.status == "answered" for a in agents):
            answers = [*(a.answer for a in agents), *_empty(case)]
            return without_answer(answers, f"{len(agents)} agents read a document each.")
        summary, rounds = (yield from self._summary(case, agents)), 1
        while summary.failed is None and rounds < ROUNDS:
            revised = yield from self._revised(case, agents, summary)
            if not changed(agents, revised):
                break
            agents, rounds = revised, rounds + 1
            newer = yield from self._summary(case, agents)
            if newer.failed is not None:
                case.meter.note(f"The last summary could not be had: {newer.failed.error}")
                break
            summary = newer
        return _verdict(case, agents, summary, rounds)

    def _first(self, case: Case) -> Steps[list[Agent]]:
        documents = with_text(case.documents)
        inputs = [{"document": case.passage(d), "question": case.question} for d in documents]
        replies = yield Wave("answers", [Call(self.read, i, role="reader") for i in inputs])
        return [_agent(case, d, r) for d, r in zip(documents, replies, strict=True)]

    def _revised(self, case: Case, agents: Sequence[Agent], summary: Summary) -> Steps[list[Agent]]:
        """What the agents answer when they know the summary; a failed one keeps its answer."""
        seen = f"{'; '.join(summary.answers) or 'no answer'}. {summary.why}".strip()
        calls = [
            Call(
                self.revise,
                {
                    "document": case.passage(a.document),
                    "question": case.question,
                    "your_answer": a.answer.text or "no answer",
                    "summary_of_all": fit(seen, case.question, case.reading_tokens // 8).text,
                },
                role="reader",
            )
            for a in agents
        ]
        replies = yield Wave("debate", calls)
        again = [_agent(case, a.document, r) for a, r in zip(agents, replies, strict=True)]
        for agent in again:
            if agent.answer.error:
                case.meter.note(f"{agent.document.id} kept its answer: {agent.answer.error}")
        pairs = zip(agents, again, strict=True)
        return [old if new.answer.error else new for old, new in pairs]

    def _summary(self, case: Case, agents: Sequence[Agent]) -> Steps[Summary]:
        inputs = {"responses": _responses(case, agents), "question": case.question}
        (reply,) = yield Wave("summary", [Call(self.aggregate, inputs, role="aggregator")])
        if isinstance(reply, Exception):
            status, sentence = failure(reply)
            return Summary(failed=Answer(status=status, error=sentence))
        texts = map(clean_answer, reply.answers.root)
        return Summary(tuple(t for t in texts if not is_no_answer(t)), reply.explanation)


def changed(before: Sequence[Agent], after: Sequence[Agent]) -> bool:
    """Whether an agent answers otherwise than before."""
    pairs = [(a.answer.text, b.answer.text) for a, b in zip(before, after, strict=True)]
    return any(bool(a) != bool(b) or (a and not same_answer(a, b)) for a, b in pairs)


def _agent(case: Case, document: Document, reply: Reply) -> Agent:
    answer = read_typed(reply, document, case.question)
    return Agent(document, answer, "" if isinstance(reply, Exception) else reply.explanation)


def _responses(case: Case, agents: Sequence[Agent]) -> str:
    """What the agents that could answer said, each as it fits."""
    said = [a for a in agents if not a.answer.error]
    share = case.reading_tokens // len(said)
    lines = (f"{a.answer.text or 'no answer'} ({a.why})" for a in said)
    return "\n".join(numbered(fit(line, case.question, share).text for line in lines))


def _empty(case: Case) -> list[Answer]:
    empty = [d for d in case.documents if not d.text.strip()]
    return [Answer(document_id=d.id, status="empty document") for d in empty]


def _verdict(case: Case, agents: Sequence[Agent], summary: Summary, rounds: int) -> Verdict:
    own = tuple(a.answer for a in agents)
    answers = (*own, *_empty(case))
    if summary.failed is not None:
        return without_answer([summary.failed], "The answers could not be put together.")
    how = f"{len(agents)} agents read a document each; {rounds} of {ROUNDS} rounds of debate."
    if not summary.answers:
        return without_answer(
            [*answers, Answer(status="no answer")], f"{how} The aggregator finds no right answer."
        )
    best, *others = summary.answers
    return Verdict(
        answer=best,
        explanation=f"{how} {summary.why}".strip(),
        alternatives=alternatives(best, [*others, *(a.text for a in own)], own),
        answers=answers,
        notes=failure_notes(answers),
        stages={"rounds": rounds, "right": list(summary.answers)},
    )
