"""MACR as printed: preset `paper`, and the chain-of-thought ablation (MACR §3.5.2, Table III)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import dspy

from ..errors import InputError
from ..metrics.refusal import clean_answer, is_no_answer
from ..runtime.failures import failure
from ..runtime.passages import numbered
from ..runtime.records import Answer, Document, Verdict
from ..runtime.retrieval import as_retriever
from ..signatures import (
    AnswerFromDocument,
    ApplyRules,
    CompareAnswers,
    ExtractConflict,
    JudgeFromKnowledge,
    OpenConflict,
    ResolveStepByStep,
    SynthesizeAnswer,
)
from .analyzer import UNTYPED, Pair, shown
from .assessed import AssessedProgram
from .assessment import Assessment, Gate, Knowledge
from .base import READING_TOKENS, Case
from .conclusion import Findings, conclude
from .conflicts import Judgment, Relation, Side
from .feedback import Queue
from .outcomes import from_single_answer, without_answer
from .quotes import locate
from .reading import SHORT_ANSWER, read_answer, read_answers, readings
from .reasoner import as_rule_text, by_model, winner_index
from .rules import RuleBase, starter_rules
from .steps import Call, Steps, Wave

Variant = Literal["", "no assessment", "chain of thought"]

# paper, §4.1: ROUGE-L is f; the relevance of Eq. 3 then is 0 for every short answer (dead gate).
PAPER_GATE = Gate(relevance="rouge")


class PaperMACR(AssessedProgram):
    """One request for each comparison, snippet pair and conflict, and free synthesis.

    Args:
        gate: As in `MACR`; the paper samples always, and takes ROUGE-L for the relevance.
        retriever, rules, subject, queue, lms, reading_tokens: As in `MACR`.
        ablation: ``no assessment`` (always C_int), or ``chain of thought``: one LM finds the
            conflicts of C0 with each C_i and resolves them one after the other.
    """

    name: ClassVar[str] = "macr-paper"
    roles: ClassVar[tuple[str, ...]] = ("reader", "sampler", "analyzer", "reasoner", "retriever")
    parts: ClassVar[tuple[str, ...]] = ("lms", "retriever", "queue")
    variants: ClassVar[Mapping[str, str]] = {
        "no-assessment": "no assessment",
        "cot": "chain of thought",
    }

    def __init__(
        self,
        *,
        gate: Gate = PAPER_GATE,
        retriever: Any = None,
        rules: RuleBase | None = None,
        subject: str = "",
        ablation: Variant = "",
        queue: Any = None,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        if ablation not in ("", "no assessment", "chain of thought"):
            raise InputError(
                f"There is no ablation {ablation!r}: choose 'no assessment' or 'chain of thought'."
            )
        self.ablation = ablation
        self.rules = rules if rules is not None else starter_rules()
        self.queue = Queue(queue) if queue is not None else None
        self.assessment = Assessment(
            gate,
            retriever=as_retriever(retriever) if retriever is not None else None,
            subject=subject,
            always_internal=ablation == "no assessment",
        )
        self.read = dspy.Predict(AnswerFromDocument, **SHORT_ANSWER)
        self.compare = dspy.Predict(CompareAnswers, temperature=0.0, max_tokens=20)
        self.extract = dspy.Predict(ExtractConflict, temperature=0.0, max_tokens=250)
        self.apply = dspy.Predict(ApplyRules, temperature=0.0, max_tokens=120)
        self.judge = dspy.Predict(JudgeFromKnowledge, temperature=0.0, max_tokens=120)
        self.synthesize = dspy.Predict(SynthesizeAnswer, temperature=0.0, max_tokens=250)
        self.step = dspy.Predict(ResolveStepByStep, temperature=0.0, max_tokens=250)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {**super().dump_settings(), "ablation": self.ablation}

    def exercises(self) -> list[Self]:
        """Memory as the basic context."""
        other = copy.copy(self)
        other.assessment = self.assessment.from_memory()
        return [other]

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Without C0 and conflicts; or with both, each pair compared, quoted, judged twice."""
        n, known = len(documents), self.assessment.request_bound()
        if self.ablation == "chain of thought":
            return n, known + n
        return n, known + n + 4 * _pairs(n) + 1

    def requests_of_rules(self, documents: Sequence[Document]) -> int:
        """For each pair a rule and the fallback, and the synthesis."""
        return 2 * _pairs(len(documents)) + 1

    def steps(self, case: Case) -> Steps[Verdict]:
        """Assessment, answers, comparisons, snippets, rules, synthesis."""
        knowledge = yield from self.assessment.steps(case, consults="retriever" in self.lms)
        if self.ablation == "chain of thought":
            return (yield from self._step_by_step(case, knowledge))
        replies = yield Wave("answers", readings(case, self.read))
        answers = read_answers(case, replies)
        sides = _one_side_each(answers, case.documents, knowledge)
        if not sides:
            return without_answer(answers, f"{len(case.documents)} documents were read.")
        pairs, sides = yield from self._conflicts(case, sides)
        judgments = yield from self._judgments(case, sides, pairs)
        self._remember(case, sides, pairs, judgments)
        found = Findings(
            sides, pairs, judgments, answers, knowledge, self.rules, case.question, case.date
        )
        return (yield from self._synthesis(case, found))

    def _conflicts(self, case: Case, sides: list[Side]) -> Steps[tuple[list[Pair], list[Side]]]:
        """(1) and (2): all pairs of answers, then snippets and type of each contradiction."""
        candidates = list(combinations(range(len(sides)), 2))
        replies = yield Wave(
            "comparison",
            [
                Call(
                    self.compare,
                    {
                        "question": case.question,
                        "first": sides[i].answer,
                        "second": sides[j].answer,
                    },
                    role="analyzer",
                )
                for i, j in candidates
            ],
        )
        _note_failures(case, "comparisons", replies)
        # A comparison that failed is no agreement: the pair stays in dispute.
        contradictory = [
            pair
            for pair, reply in zip(candidates, replies, strict=True)
            if isinstance(reply, Exception) or reply.contradict
        ]
        extracted = yield Wave(
            "snippets", [self._extraction(case, sides, p) for p in contradictory]
        )
        _note_failures(case, "extractions", extracted)
        pairs = []
        for (i, j), reply in zip(contradictory, extracted, strict=True):
            failed = isinstance(reply, Exception)
            found = UNTYPED if failed else Relation(contradiction=True, type=reply.type, by="model")
            pairs.append(Pair(i, j, found))
            if not failed:
                sides[i] = _with_snippet(sides[i], reply.first_snippet)
                sides[j] = _with_snippet(sides[j], reply.second_snippet)
        return pairs, sides

    def _extraction(self, case: Case, sides: Sequence[Side], pair: tuple[int, int]) -> Call:
        one, other = sides[pair[0]], sides[pair[1]]
        return Call(
            self.extract,
            {
                "first_context": _context(case, one),
                "second_context": _context(case, other),
                "question": case.question,
                "first_answer": one.answer,
                "second_answer": other.answer,
            },
            role="analyzer",
        )

    def _judgments(
        self, case: Case, sides: Sequence[Side], pairs: Sequence[Pair]
    ) -> Steps[list[Judgment]]:
        """(3) and (4): rules by the model, one request a conflict, then the fallback."""
        offered = [self.rules.matching(p.relation.type) for p in pairs]
        asked = [n for n, rules in enumerate(offered) if rules]
        replies = yield Wave(
            "reasoner",
            [self._judging(self.apply, case, sides, pairs[n], offered[n]) for n in asked],
        )
        _note_failures(case, "rule applications", replies)
        judgments = [Judgment() for _ in pairs]
        for n, reply in zip(asked, replies, strict=True):
            judgments[n] = _by_rule(reply, offered[n])
        open_ones = [n for n, j in enumerate(judgments) if j.winner is None]
        replies = yield Wave(
            "fallback", [self._judging(self.judge, case, sides, pairs[n], ()) for n in open_ones]
        )
        _note_failures(case, "fallback judgments", replies)
        for n, reply in zip(open_ones, replies, strict=True):
            judgments[n] = _by_memory(reply)
        return judgments

    def _judging(
        self,
        predictor: dspy.Predict,
        case: Case,
        sides: Sequence[Side],
        pair: Pair,
        rules: Sequence[Any],
    ) -> Call:
        one, other = sides[pair.first], sides[pair.second]
        conflict = OpenConflict(
            conflict=1,
            first=one.answer,
            first_text=shown(one),
            second=other.answer,
            second_text=shown(other),
            rules=[as_rule_text(r) for r in rules],
        )
        inputs = {"question": case.question, "today": case.date, "conflicts": [conflict]}
        return Call(predictor, inputs, role="reasoner")

    def _synthesis(self, case: Case, found: Findings) -> Steps[Verdict]:
        """(5), Eq. 11: free generation; the record of conflicts is kept beside it."""
        record = conclude(found)
        inputs = {
            "contexts": "\n\n".join(
                numbered((_context(case, s, share=len(found.sides)) for s in found.sides), start=0)
            ),
            "question": case.question,
            "today": case.date,
            "judgments": list(dict.fromkeys(_judgment_text(found, p, j) for p, j in found.judged)),
        }
        (reply,) = yield Wave("synthesis", [Call(self.synthesize, inputs, role="reasoner")])
        answer = read_answer(reply, None, case.question)
        if answer.status != "answered":
            failed = without_answer((answer,), "The synthesis gave no answer.")
            kept = {"conflicts", "judgments", "uncertainty", "branch", "answers"}
            return failed.model_copy(update={k: getattr(record, k) for k in kept})
        return record.model_copy(
            update={"answer": answer.text, "explanation": reply.explanation.strip()}
        )

    def _step_by_step(self, case: Case, knowledge: Knowledge) -> Steps[Verdict]:
        """Table III, "w/ CoT": one context after the other, each with the answer so far."""
        basic, said = knowledge.text, knowledge.answer.text if knowledge.answer else ""
        reply: Any = None
        for document in case.documents:
            inputs = {
                "basic_context": basic,
                "context": case.passage(document, share=2),
                "question": case.question,
                "today": case.date,
                "answer_so_far": said,
            }
            (reply,) = yield Wave("chain of thought", [Call(self.step, inputs, role="reasoner")])
            if isinstance(reply, Exception):
                break
            answer = clean_answer(reply.answer)
            said = said if is_no_answer(answer) else answer
        last = read_answer(reply, None, case.question)
        final = Answer(text=said) if said and last.status in ("answered", "no answer") else last
        how = "" if isinstance(reply, Exception) else reply.reasoning.strip()
        verdict = from_single_answer(final, (), how or "One model went through the contexts.")
        return verdict.model_copy(
            update={"uncertainty": knowledge.uncertainty, "branch": knowledge.branch}
        )


def _pairs(documents: int) -> int:
    """Pairs of contexts; C0 is one more."""
    return (documents + 1) * documents // 2


def _one_side_each(
    answers: Sequence[Answer], documents: Sequence[Document], knowledge: Knowledge
) -> list[Side]:
    by_id = {d.id: d for d in documents}
    sides = [
        Side(
            answer=a.text,
            documents=(by_id[a.document_id or ""],),
            snippets=(a.evidence,),
            sources=1,
        )
        for a in answers
        if a.status == "answered"
    ]
    if knowledge.answer and knowledge.answer.text:
        branch: Any = knowledge.branch
        basic = Side(answer=knowledge.answer.text, basic=branch, basic_text=knowledge.text)
        sides.insert(0, basic)
    return sides


def _context(case: Case, side: Side, share: int = 2) -> str:
    if not side.documents:
        return side.basic_text
    document = side.documents[0]
    dated = f"({document.date}) " if document.date else ""
    return f"{dated}{case.passage(document, share)}"


def _with_snippet(side: Side, snippet: str) -> Side:
    """The side with a snippet that really stands in its context; else as it was."""
    if not side.documents:
        found = locate(snippet, side.basic_text)
        return side.model_copy(update={"basic_text": found.text}) if found else side
    found = locate(snippet, side.documents[0].text)
    return side.model_copy(update={"snippets": (found,)}) if found else side


def _by_rule(reply: Any, offered: Sequence[Any]) -> Judgment:
    if isinstance(reply, Exception) or not reply.judgments.root:
        return Judgment()
    return by_model(reply.judgments.root[0], offered)


def _by_memory(reply: Any) -> Judgment:
    if isinstance(reply, Exception) or not reply.judgments.root:
        return Judgment()
    winner = winner_index(reply.judgments.root[0].winner)
    if winner is None:
        return Judgment()
    return Judgment(winner=winner, how="fallback", provisional=True)


def _note_failures(case: Case, stage: str, replies: Sequence[Any]) -> None:
    failed = [r for r in replies if isinstance(r, Exception)]
    if failed:
        case.meter.note(f"{len(failed)} of {len(replies)} {stage} failed: {failure(failed[0])[1]}")


def _judgment_text(found: Findings, pair: Pair, judgment: Judgment) -> str:
    sides = (found.sides[pair.first], found.sides[pair.second])
    names = f"{sides[0].answer!r} against {sides[1].answer!r}"
    if judgment.winner is None:
        return f"{names}: undecided"
    return f"{names}: {sides[judgment.winner].answer!r} is credible"
