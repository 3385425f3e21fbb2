"""MACR: explicit resolution of conflicts between contexts and the model's memory (MACR §3)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import dspy

from ..errors import InputError
from ..runtime.records import Answer, Document, Verdict
from ..runtime.retrieval import as_retriever
from ..signatures import AnswerFromDocument, ComposeAnswer
from .analyzer import Analyzer, make_sides
from .assessed import AssessedProgram
from .assessment import Assessment, Gate, Knowledge
from .base import READING_TOKENS, Case
from .conclusion import Findings, conclude, stages
from .feedback import Queue
from .hops import first_hop
from .icl import layout
from .outcomes import failure_notes, without_answer
from .reading import SHORT_ANSWER, read_answer, read_answers, readings, stating
from .reasoner import Reasoner
from .replay import remembered
from .rules import RuleBase, starter_rules
from .steps import Call, Steps, Wave
from .vote import count_votes, ranked_clusters

COMPOSED_CONFIDENCE = 0.5  # ours: one model put the hops together; tuning may calibrate it

Ablation = Literal["", "no assessment"]


class MACR(AssessedProgram):
    """Settles conflicts by assessment, Analyzer and Reasoner; the default preset.

    Differences from the paper, each an option: memory is sampled only when contexts disagree; equal
    answers are found in code; code decides what it can before a model is asked; the answer is one
    that a source states, or composed from cited documents. `PaperMACR` follows the paper.

    Args:
        gate: When the model's memory is trusted; never, until it is compiled.
        retriever: A source of outside knowledge: callable, list of documents, or an object with a
            search method. Without one (and without a ``retriever`` role) there is no external C0.
        rules: The rule base; a starter base when None.
        subject: The caller's line of disambiguation (I_subject) instead of a predicted one.
        ablation: ``no assessment`` leaves the gate out and always takes C_int (Table III).
        ask_model: Whether the Analyzer asks the model about pairs that code cannot relate. None:
            unless the model is an embedded one, whose judgments of this kind are guesses.
        fallback: Whether the model applies rules in words, and judges what no rule settles
            (provisionally). None: as ``ask_model``.
        queue: File that takes conflicts no rule covers, for `InduceRules`; none when None.
        lms: Language models of single roles.
        reading_tokens: Bound on the document text in one prompt.
    """

    name: ClassVar[str] = "macr"
    roles: ClassVar[tuple[str, ...]] = ("reader", "sampler", "analyzer", "reasoner", "retriever")
    parts: ClassVar[tuple[str, ...]] = ("lms", "retriever", "queue")
    variants: ClassVar[Mapping[str, str]] = {"no-assessment": "no assessment"}

    def __init__(
        self,
        *,
        gate: Gate | None = None,
        retriever: Any = None,
        rules: RuleBase | None = None,
        subject: str = "",
        ablation: Ablation = "",
        ask_model: bool | None = None,
        fallback: bool | None = None,
        queue: str | Path | None = None,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        if ablation not in ("", "no assessment"):
            raise InputError(f"There is no ablation {ablation!r}: choose 'no assessment'.")
        self.ablation = ablation
        self.read = dspy.Predict(AnswerFromDocument, **SHORT_ANSWER)
        self.compose = dspy.Predict(ComposeAnswer, **SHORT_ANSWER)
        self.assessment = Assessment(
            gate or Gate(),
            retriever=as_retriever(retriever) if retriever is not None else None,
            subject=subject,
            always_internal=ablation == "no assessment",
        )
        self.analyzer = Analyzer(ask_model=ask_model)
        self.reasoner = Reasoner(rules if rules is not None else starter_rules(), fallback=fallback)
        self.queue = Queue(queue) if queue is not None else None

    @property
    def rules(self) -> RuleBase:
        """The rule base."""
        return self.reasoner.rules

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {
            **super().dump_settings(),
            "ablation": self.ablation,
            "ask_model": self.analyzer.ask_model,
            "fallback": self.reasoner.fallback,
        }

    def exercises(self) -> list[Self]:
        """Memory as the basic context, and no operator that would decide before the model."""
        other = copy.copy(self)
        other.assessment = self.assessment.from_memory()
        other.reasoner = copy.copy(self.reasoner)
        other.reasoner.rules = RuleBase(rule for rule in self.rules.rules if not rule.operator)
        return [other]

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Only the answers; or assessment too, and composition or Analyzer, rules and fallback."""
        n = len(documents)
        return n, n + self.assessment.request_bound() + 3

    def requests_of_rules(self, documents: Sequence[Document]) -> int:
        """Rules in words and the fallback."""
        return 2

    def steps(self, case: Case) -> Steps[Verdict]:
        """Answers; where they disagree: assessment, conflicts, judgments, conclusion."""
        opening = yield from remembered("answers", self._opening(case))
        if isinstance(opening, Verdict):
            return opening
        knowledge = yield from self.assessment.steps(case, consults="retriever" in self.lms)
        key = ("conclusion", knowledge, self.rules)
        return (yield from remembered(key, self._settled(case, opening, knowledge)))

    def _opening(self, case: Case) -> Steps[Verdict | tuple[Answer, ...]]:
        """What the contexts answer, or the verdict where that needs neither memory nor judge."""
        replies = yield Wave("answers", readings(case, self.read))
        answers = read_answers(case, replies)
        clusters = ranked_clusters(answers, case.documents)
        if len(clusters) == 1:
            return count_votes(answers, case.documents)
        silent = [a for a in answers if a.status == "no answer"]
        if not clusters and not silent:
            return _abstained(answers, Knowledge("not needed"), len(case.documents))
        if not clusters and len(silent) > 1:
            composed = yield from self._composed(case, answers)
            if composed is not None:
                return composed
        return answers

    def _settled(
        self, case: Case, answers: tuple[Answer, ...], knowledge: Knowledge
    ) -> Steps[Verdict]:
        """Conflicts of the answers and A_init, judgments, conclusion."""
        sides = make_sides(case.question, answers, case.documents, knowledge)
        if not sides:
            return _abstained(answers, knowledge, len(case.documents))
        pairs = yield from self.analyzer.steps(case, sides)
        contradictions = [p for p in pairs if p.relation.contradiction]
        judgments = yield from self.reasoner.steps(case, sides, contradictions)
        self._remember(case, sides, contradictions, judgments)
        return conclude(
            Findings(
                sides, pairs, judgments, answers, knowledge, self.rules, case.question, case.date
            )
        )

    def _composed(self, case: Case, answers: tuple[Answer, ...]) -> Steps[Verdict | None]:
        """No context answers alone: an answer across contexts, when each hop stands in one.

        The last hop is a sentence that holds the answer, the first one of another document that
        names what the question names; a link between the two is a name that both hold.
        """
        inputs = {"documents": layout(case), "question": case.question}
        (reply,) = yield Wave("composition", [Call(self.compose, inputs, role="reader")])
        answer = read_answer(reply, None, case.question)
        stated = stating(answer, case)
        hop = first_hop(case.question, stated, case.documents)
        if answer.status != "answered" or hop is None:
            return None
        ids = ", ".join(dict.fromkeys((hop.id, stated[0].document_id or "")))
        return Verdict(
            answer=answer.text,
            explanation=f"No document that was read answers alone; together {ids} give "
            f"“{answer.text}”.",
            confidence=COMPOSED_CONFIDENCE,
            answers=(*answers, answer),
            notes=failure_notes(answers),
        )


def _abstained(answers: tuple[Answer, ...], knowledge: Knowledge, n: int) -> Verdict:
    verdict = without_answer(answers, f"{n} documents were read one by one.")
    return verdict.model_copy(
        update={
            "uncertainty": knowledge.uncertainty,
            "branch": knowledge.branch,
            "stages": stages(knowledge),
        }
    )
