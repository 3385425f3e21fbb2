"""The Analyzer: from answers to typed conflicts (MACR §3.5.2 (1)-(2), Eq. 10).

Equal answers are one side, found in code, so only representatives are compared. Code says how two
sides relate where it can; one request decides all that is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import dspy

from ..runtime.exchange import LOCAL_PREFIX
from ..runtime.failures import failure
from ..runtime.records import Answer, Document
from ..signatures import AnswerPair, RelateAnswers
from .assessment import Knowledge
from .base import Case
from .clusters import cluster_answers, same_answer
from .conflicts import Relation, Side
from .evidence import find_evidence
from .reading import independent_sources
from .shapes import relate
from .steps import Call, Steps, Wave

SNIPPET_CHARS = 400  # ours: of a snippet in a prompt


@dataclass(frozen=True)
class Pair:
    """Two sides and how they relate."""

    first: int
    second: int
    relation: Relation


class Analyzer(dspy.Module):
    """Finds which sides contradict each other, and of what type the conflict is.

    Args:
        ask_model: Whether pairs that code cannot relate go to the model; else they count as
            contradictions of type ``other``. None: unless the model is an embedded one, whose types
            are guesses (1 of 6 right on the 1.5B, design §9).
    """

    def __init__(self, *, ask_model: bool | None = None) -> None:
        super().__init__()
        self.ask_model = ask_model
        self.relate = dspy.Predict(RelateAnswers, temperature=0.0, max_tokens=800)

    def steps(self, case: Case, sides: Sequence[Side]) -> Steps[list[Pair]]:
        """Relate all pairs of sides; at most one request."""
        found = {
            (i, j): relate(case.question, sides[i], sides[j])
            for i, j in combinations(range(len(sides)), 2)
        }
        unclear = [pair for pair, relation in found.items() if relation is None]
        asked: dict[tuple[int, int], Relation] = {}
        if unclear and asks_model(self.ask_model, case, self.relate, "analyzer"):
            asked = yield from self._ask(case, sides, unclear)
        return [
            Pair(i, j, relation or asked.get((i, j)) or UNTYPED)
            for (i, j), relation in found.items()
        ]

    def _ask(
        self, case: Case, sides: Sequence[Side], unclear: Sequence[tuple[int, int]]
    ) -> Steps[dict[tuple[int, int], Relation]]:
        pairs = [
            AnswerPair(
                pair=n,
                first=sides[i].answer,
                first_text=shown(sides[i]),
                second=sides[j].answer,
                second_text=shown(sides[j]),
            )
            for n, (i, j) in enumerate(unclear, start=1)
        ]
        call = Call(self.relate, {"question": case.question, "pairs": pairs}, role="analyzer")
        (reply,) = yield Wave("analyzer", [call])
        if isinstance(reply, Exception):
            case.meter.note(f"The Analyzer could not type the conflicts: {failure(reply)[1]}")
            return {}
        by_number = dict(enumerate(unclear, start=1))
        return {
            by_number[r.pair]: _relation(r) for r in reply.relations.root if r.pair in by_number
        }


def asks_model(choice: bool | None, case: Case, predictor: dspy.Predict, role: str) -> bool:
    """Whether a judgment is worth a request: as chosen, else of any but an embedded model."""
    if choice is not None:
        return choice
    lm = predictor.lm or case.lms.get(role) or dspy.settings.lm
    return lm is None or not lm.model.startswith(LOCAL_PREFIX)


UNTYPED = Relation(contradiction=True, type="other", reason="the answers differ")


def _relation(found: Any) -> Relation:
    if found.relation == "contradiction":
        return Relation(contradiction=True, type=found.type, by="model")
    return Relation(contradiction=False, shape=found.relation, by="model")


def shown(side: Side) -> str:
    """What a prompt shows of a side: its snippet with its date, cut to a readable length."""
    text = side.snippet if len(side.snippet) <= SNIPPET_CHARS else side.snippet[:SNIPPET_CHARS]
    return f"({side.snippet_date}) {text}" if side.snippet_date and text else text


def make_sides(
    question: str, answers: Sequence[Answer], documents: Sequence[Document], knowledge: Knowledge
) -> list[Side]:
    """Sides from the answers of the contexts and of C0, in order of appearance.

    An external C0 that states just one of the contexts' answers backs that side: taken as an
    authority it does better than read once more for an answer of its own (design §9).

    Args:
        question: What is asked.
        answers: One per document.
        documents: The documents.
        knowledge: The basic context; its answer joins an equal side or makes one of its own.
    """
    by_id = {d.id: d for d in documents}
    given = [a for a in answers if a.status == "answered"]
    sides = [
        _side([given[i] for i in members], by_id)
        for members in cluster_answers([a.text for a in given])
    ]
    if knowledge.branch == "external":
        stated = [
            i
            for i, side in enumerate(sides)
            if find_evidence(side.answer, question, knowledge.text)
        ]
        if len(stated) == 1:
            return [_backed(s, "external") if i in stated else s for i, s in enumerate(sides)]
    return _with_basic(question, sides, knowledge)


def _side(answers: Sequence[Answer], by_id: dict[str, Document]) -> Side:
    texts = [a.text for a in answers]
    return Side(
        answer=max(texts, key=texts.count),
        documents=tuple(by_id[a.document_id or ""] for a in answers),
        snippets=tuple(a.evidence for a in answers),
        sources=independent_sources(answers, by_id),
    )


def _with_basic(question: str, sides: list[Side], knowledge: Knowledge) -> list[Side]:
    """The sides with A_init: it backs the first equal one, or is a side of its own."""
    answer = knowledge.answer.text if knowledge.answer else ""
    branch: Any = knowledge.branch
    if not answer:
        return sides
    for i, side in enumerate(sides):
        if same_answer(side.answer, answer):
            return [*sides[:i], _backed(side, branch), *sides[i + 1 :]]
    evidence = find_evidence(answer, question, knowledge.text)
    text = evidence.text if evidence else knowledge.text[:SNIPPET_CHARS]
    return [*sides, Side(answer=answer, basic=branch, basic_text=text)]


def _backed(side: Side, branch: Any) -> Side:
    return side.model_copy(update={"basic": branch})
