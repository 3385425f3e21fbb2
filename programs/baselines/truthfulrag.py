"""Baseline TruthfulRAG: a graph of facts, paths, an entropy filter (Liu et al., 2025).

Same as in the paper ("TruthfulRAG: Resolving Factual-level Conflicts in Retrieval-Augmented
Generation with Knowledge Graphs"): triples are extracted from each document and joined to a graph;
paths of at most two hops from the entities of the question are scored by the entities and other
words of the question that they hold; a path is corrective when the entropy of the answer with it is
above that of the model's own answer by more than ``threshold``; the answer comes from those paths.

What differs: the entities of the question and the scores are found in code, by words, where the
paper asks a model and compares vectors; at most 5 paths; when no path raises the entropy all are
read, since a small model that knows nothing would otherwise have nothing to read; documents are cut
to fit. The entropy is that of the next-token distributions (top candidates) where the backbone
reports log-probabilities; where it does not, that of 5 sampled answers, clustered by meaning in
code, and a note says so. A threshold belongs to the entropy that was used.

Requests per question for n documents with text: n + 1 without any path; n + 7 at most with
log-probabilities, n + 32 without. Three waves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dspy

from ...metrics.refusal import clean_answer, is_no_answer
from ...metrics.semantic_entropy import discrete_entropy
from ...runtime.failures import failure
from ...runtime.passages import fit
from ...runtime.records import Answer, Document, Verdict
from ...signatures import AnswerFromMemory
from ...signatures.baselines_short import AnswerFromFacts, ExtractTriples
from ..assessment import SAMPLING
from ..base import READING_TOKENS, Case, Program
from ..clusters import cluster_answers
from ..outcomes import from_single_answer, without_answer
from ..reading import SHORT_ANSWER, read_answer, stating, taken_logprobs
from ..steps import Call, Reply, Steps, Wave
from .logprobs import ASKED, as_nats, mean_entropy
from .paths import Fact, Path, merged, reasoning_paths
from .replies import with_text

PATHS = 5  # ours
SAMPLES = 5  # ours
THRESHOLD = 0.0  # ours: any rise; the paper tunes it for each model


class TruthfulRAG(Program):
    """Answers from the facts that contradict what the model believes.

    Args:
        threshold: Rise of the entropy, in nats, above which a path is corrective.
        lms, reading_tokens: As in `Program`.
    """

    name: ClassVar[str] = "truthfulrag"

    def __init__(
        self,
        *,
        threshold: float = THRESHOLD,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        self.threshold = as_nats(threshold)
        self.extract = dspy.Predict(ExtractTriples, temperature=0.0, max_tokens=600)
        self.recall = dspy.Predict(AnswerFromMemory, **SHORT_ANSWER)
        self.answer = dspy.Predict(AnswerFromFacts, **SHORT_ANSWER)

    def dump_thresholds(self) -> dict[str, Any]:
        """The rise above which a path is corrective."""
        return {"threshold": self.threshold}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """Triples and memory; with paths also their entropies, sampled at worst, and the answer."""
        n = len(with_text(documents))
        return n + 1, n + 1 + (PATHS + 1) * SAMPLES + 1

    def steps(self, case: Case) -> Steps[Verdict]:
        """Triples and memory; entropies; the answer."""
        documents = with_text(case.documents)
        texts = [Call(self.extract, {"text": case.passage(d)}, role="reader") for d in documents]
        replies = yield Wave("triples", [*texts, self._call(case, None, ASKED)])
        *extracted, memory = replies
        facts = merged(_facts(documents, extracted))
        paths = reasoning_paths(case.question, facts, PATHS)
        if not paths:
            return _without_paths(case, documents, extracted)
        own, entropies = yield from self._entropies(case, memory, paths)
        kept = corrective(paths, own, entropies, self.threshold)
        case.meter.note(_filtered(paths, kept, own))
        (reply,) = yield Wave("answer", [self._call(case, kept or paths, {})])
        return _verdict(case, reply, kept or paths, (own, entropies), len(facts))

    def _entropies(
        self, case: Case, memory: Reply, paths: Sequence[Path]
    ) -> Steps[tuple[float | None, list[float | None]]]:
        """Entropy of the model's own answer, and of that with each path."""
        if isinstance(memory, Exception):
            case.meter.note(f"The model's own answer could not be had: {failure(memory)[1]}")
            return None, [None] * len(paths)
        own = mean_entropy(taken_logprobs(memory))
        if own is not None:
            replies = yield Wave("paths", [self._call(case, [p], ASKED) for p in paths])
            return own, [_token_entropy(reply) for reply in replies]
        case.meter.note(
            f"The backbone reports no log-probabilities: entropies are those of {SAMPLES} sampled "
            "answers."
        )
        draws = [{**SAMPLING, "seed": i, "rollout_id": i} for i in range(SAMPLES)]
        contexts: list[list[Path] | None] = [None, *([p] for p in paths)]
        replies = yield Wave("paths", [self._call(case, c, d) for c in contexts for d in draws])
        groups = [replies[i : i + SAMPLES] for i in range(0, len(replies), SAMPLES)]
        first, *rest = map(_sampled_entropy, groups)
        return first, rest

    def _call(self, case: Case, paths: Sequence[Path] | None, config: Mapping[str, Any]) -> Call:
        """What does the model answer from these paths, or from memory?"""
        if paths is None:
            return Call(self.recall, {"question": case.question}, config, role="reader")
        lines = "\n".join(dict.fromkeys(p.text for p in paths))
        facts = fit(lines, case.question, case.reading_tokens).text
        return Call(self.answer, {"facts": facts, "question": case.question}, config, role="reader")


def corrective(
    paths: Sequence[Path], own: float | None, entropies: Sequence[float | None], threshold: float
) -> list[Path]:
    """The paths whose entropy is above the model's own by more than the threshold.

    Args:
        paths: The paths.
        own: Entropy of the model's own answer in nats; None when it is not known.
        entropies: With each path; None where it is not known: such a path is not kept.
        threshold: In nats.
    """
    if own is None:
        return []
    pairs = zip(paths, entropies, strict=True)
    return [path for path, found in pairs if found is not None and found - own > threshold]


def sampled_entropy(answers: Sequence[str]) -> float:
    """Entropy of sampled answers in nats: equal ones are one cluster, refusals another.

    Args:
        answers: At least one.
    """
    given = [i for i, text in enumerate(answers) if not is_no_answer(text)]
    ids = [-1] * len(answers)
    for number, members in enumerate(cluster_answers([answers[i] for i in given])):
        for member in members:
            ids[given[member]] = number
    return discrete_entropy(ids)


def _facts(documents: Sequence[Document], replies: Sequence[Reply]) -> list[Fact]:
    return [
        Fact(t.subject, t.relation, t.object, (document.id,))
        for document, reply in zip(documents, replies, strict=True)
        if not isinstance(reply, Exception)
        for t in reply.triples.root
    ]


def _token_entropy(reply: Reply) -> float | None:
    return None if isinstance(reply, Exception) else mean_entropy(taken_logprobs(reply))


def _sampled_entropy(replies: Sequence[Reply]) -> float | None:
    """None when a draw failed: entropies of different numbers of draws do not compare."""
    if any(isinstance(reply, Exception) for reply in replies):
        return None
    return sampled_entropy([clean_answer(reply.answer) for reply in replies])


def _filtered(paths: Sequence[Path], kept: Sequence[Path], own: float | None) -> str:
    if own is None:
        return f"The entropy is not known, so all {len(paths)} paths were read."
    if not kept:
        return f"No path raises the entropy, so all {len(paths)} were read."
    return f"{len(kept)} of {len(paths)} paths raise the entropy; only these were read."


def _without_paths(case: Case, documents: Sequence[Document], replies: Sequence[Reply]) -> Verdict:
    """No fact could be had: abstained, or how the requests failed."""
    answers = [
        read_answer(reply, document, case.question)
        if isinstance(reply, Exception)
        else Answer(document_id=document.id, status="no answer")
        for document, reply in zip(documents, replies, strict=True)
    ]
    return without_answer(answers, "No facts could be extracted from the documents.")


def _verdict(
    case: Case,
    reply: Reply,
    paths: Sequence[Path],
    entropies: tuple[float | None, list[float | None]],
    facts: int,
) -> Verdict:
    answer = read_answer(reply, None, case.question)
    how = f"Paths of a graph that the model read: {len(paths)}; facts in the graph: {facts}."
    verdict = from_single_answer(answer, stating(answer, case), how)
    own, found = entropies
    stages = {
        "paths": [
            {"facts": p.text, "documents": list(p.document_ids), "score": round(p.score, 4)}
            for p in paths
        ],
        "entropy": {"own": own, "paths": found},
    }
    return verdict.model_copy(update={"stages": stages})
