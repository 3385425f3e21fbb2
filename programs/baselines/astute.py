"""Baseline AstuteRAG: documents consolidated with the model's own knowledge (Wang et al., 2024).

Same as in the paper ("Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge
Conflicts for Large Language Models"): the model writes down what it knows (at most one passage, as
in its experiments; none when it says that it knows nothing), sorts this and the documents into
groups that agree, each with its sources, ``rounds`` times, then answers from each group and chooses
the most reliable answer.

What differs: prompts are ours and short; groups come as typed lists, and the numbers of passages
that do not exist are dropped in code; documents are cut to fit. The paper counts the finalisation
as the last iteration; here it comes after ``rounds`` consolidations.

Requests per question: ``rounds`` + 2, in as many waves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ...metrics.refusal import is_no_answer
from ...runtime.failures import failure
from ...runtime.passages import fit, numbered
from ...runtime.records import Answer, Document, Verdict
from ...signatures.baselines_short import (
    AnswerFromGroups,
    GroupPassages,
    PassageGroup,
    RecallPassage,
)
from ..base import READING_TOKENS, Case, Program
from ..outcomes import from_single_answer
from ..reading import stating
from ..steps import Call, Steps, Wave
from .long_reports import whole_number
from .replies import alternatives, read_typed, with_text

MEMORY = "the model's memory"
ROUNDS = 1  # the paper's cheapest setting


@dataclass(frozen=True)
class Source:
    """A numbered passage: a document as it fits, or the model's memory."""

    name: str
    text: str


class Astute(Program):
    """Own knowledge, consolidation by agreement and source, the most reliable answer.

    Args:
        rounds: Consolidations (t), at least 1.
        lms, reading_tokens: As in `Program`.
    """

    name: ClassVar[str] = "astute"

    def __init__(
        self,
        *,
        rounds: int = ROUNDS,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        self.rounds = whole_number("rounds", rounds, 1)
        self.recall = dspy.Predict(RecallPassage, temperature=0.0, max_tokens=200)
        self.consolidate = dspy.Predict(GroupPassages, temperature=0.0, max_tokens=500)
        self.answer = dspy.Predict(AnswerFromGroups, temperature=0.0, max_tokens=250)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {**super().dump_settings(), "rounds": self.rounds}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Memory, consolidations, the answer."""
        return self.rounds + 2, self.rounds + 2

    def steps(self, case: Case) -> Steps[Verdict]:
        """Memory; then consolidation, ``rounds`` times; then the answer."""
        sources = [Source(d.id, t) for d, t in _readable(case)]
        memory = yield from self._memory(case)
        sources += [memory] if memory else []
        groups: list[PassageGroup] = []
        for _ in range(self.rounds):
            groups = yield from self._consolidated(case, sources, groups)
        inputs = {"groups": shown(groups, sources), "question": case.question}
        (reply,) = yield Wave("answer", [Call(self.answer, inputs, role="reader")])
        return _verdict(case, reply, groups, sources)

    def _memory(self, case: Case) -> Steps[Source | None]:
        call = Call(self.recall, {"question": case.question}, role="reader")
        (reply,) = yield Wave("memory", [call])
        if isinstance(reply, Exception):
            case.meter.note(f"The model's own knowledge could not be had: {failure(reply)[1]}")
            return None
        if is_no_answer(reply.passage):
            case.meter.note("The model says that it knows nothing: only the documents were read.")
            return None
        passage = fit(reply.passage, case.question, case.reading_tokens // 8)
        return Source(MEMORY, passage.text)

    def _consolidated(
        self, case: Case, sources: Sequence[Source], earlier: list[PassageGroup]
    ) -> Steps[list[PassageGroup]]:
        """Groups of passages that agree; the earlier ones when no new ones can be had."""
        passages = shown([], sources)
        if earlier:
            passages += f"\n\nGroups so far:\n{shown(earlier, sources)}"
        inputs = {"passages": passages, "question": case.question}
        (reply,) = yield Wave("consolidation", [Call(self.consolidate, inputs, role="reader")])
        if isinstance(reply, Exception):
            case.meter.note(f"The passages could not be consolidated: {failure(reply)[1]}")
            return earlier
        return [g for g in reply.groups.root if known(g, sources)] or earlier


def known(group: PassageGroup, sources: Sequence[Source]) -> list[str]:
    """Names of the passages that a group names and that exist, in its order."""
    numbers = dict.fromkeys(n for n in group.passages if 1 <= n <= len(sources))
    return [sources[n - 1].name for n in numbers]


def shown(groups: Sequence[PassageGroup], sources: Sequence[Source]) -> str:
    """Groups with their sources as a prompt shows them; the passages themselves without groups."""
    if groups:
        lines = [f"({', '.join(known(g, sources))}) {g.summary}" for g in groups]
    else:
        lines = [f"({s.name}) {s.text}" if s.name == MEMORY else s.text for s in sources]
    return "\n\n".join(numbered(lines))


def _readable(case: Case) -> list[tuple[Document, str]]:
    documents = with_text(case.documents)
    dated = (f"({d.date}) " if d.date else "" for d in documents)
    return [
        (d, date + case.passage(d, share=len(documents)))
        for d, date in zip(documents, dated, strict=True)
    ]


def _verdict(
    case: Case, reply: Any, groups: Sequence[PassageGroup], sources: Sequence[Source]
) -> Verdict:
    answer = read_typed(reply, None, case.question)
    how = (
        f"The model sorted {len(sources)} passages by agreement (groups: {len(groups)}), and chose "
        "the answer it found most reliable."
        if groups
        else f"The model read {len(sources)} passages, which it did not sort into groups."
    )
    stated = stating(answer, case)
    verdict = from_single_answer(answer, stated, how)
    if verdict.status != "ok":
        return verdict
    others = [c.answer for c in reply.candidates.root]
    said = tuple(a for text in others for a in stating(Answer(text=text), case))
    return verdict.model_copy(
        update={
            "alternatives": alternatives(answer.text, others, said),
            "stages": {
                "memory": [s.text for s in sources if s.name == MEMORY],
                "groups": [{"sources": known(g, sources), "summary": g.summary} for g in groups],
            },
        }
    )
