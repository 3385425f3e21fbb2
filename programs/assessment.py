"""Knowledge assessment and retrieval: how sure the model is, and C0 (MACR §3.3-3.4)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import dspy
from dspy.predict.parameter import Parameter

from ..errors import ArtifactError, InputError
from ..metrics import answer_similarity, normalized_uncertainty, relevant_snne, rouge_l, snne
from ..metrics.refusal import clean_answer, is_no_answer
from ..metrics.uncertainty import likelihood_weights
from ..runtime.failures import failure
from ..runtime.records import Answer, Branch
from ..runtime.retrieval import asking
from ..signatures import (
    AnswerFromKnowledge,
    ConsultKnowledge,
    DescribeSubject,
    JudgeRelevance,
    RecallKnowledge,
    SampleAnswer,
)
from .base import Case
from .reading import SHORT_ANSWER, read_answer, taken_logprobs
from .replay import remembered
from .steps import Call, Reply, Steps, Task, Wave
from .tunables import Tunable, Values

Relevance = Literal["code", "rouge", "embedding", "llm"]
Weights = Literal["uniform", "likelihood"]

SAMPLES = 8  # paper, §4.1
SAMPLING = {"temperature": 0.8, "top_p": 0.95}  # ours: the paper says top-p sampling, no values
_SAMPLE_CHARS = 1000  # a server may ignore max_tokens, and ROUGE-L is quadratic
NEVER = 0.0  # ours: uncompiled, no uncertainty is below it, so memory is never trusted


@dataclass(frozen=True)
class Gate:
    """When the model's memory is trusted (MACR §3.4).

    A threshold belongs to its equation, number of samples, relevance and weights: `Assessment`
    refuses to use it with another.

    Attributes:
        threshold: Normalised uncertainty in [0, 1] below which memory is trusted; 0: never.
            `metrics.normalized_uncertainty` converts an entropy.
        k: Number of samples, at least 2.
        equation: 2 (plain SNNE) or 3 (relevance-weighted).
        relevance: sim(a, q) of Eq. 3. ``code``: 1 for a well-formed answer, 0 for a refusal;
            ``rouge``: the paper's, 0 for every short answer; ``embedding``: rescaled cosine;
            ``llm``: one more request.
        weights: P(a|q): ``uniform``, or ``likelihood`` where log-probabilities are reported.
        inclusive: Whether memory is trusted at the threshold too. The paper's Case 1 says no.
    """

    threshold: float = NEVER
    k: int = SAMPLES
    equation: Literal[2, 3] = 3
    relevance: Relevance = "code"
    weights: Weights = "uniform"
    inclusive: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InputError(
                f"The gate's threshold is {self.threshold!r}: give a normalised uncertainty in "
                "[0, 1] (metrics.normalized_uncertainty converts an entropy)."
            )
        if self.k < 2:
            raise InputError(f"k is {self.k!r}: the gate needs 2 samples or more.")

    def trusts(self, uncertainty: float) -> bool:
        """Whether memory is trusted at this uncertainty."""
        if self.inclusive:
            return uncertainty <= self.threshold
        return uncertainty < self.threshold


class GateParameter(Parameter):  # type: ignore[misc,unused-ignore]
    """The gate as a part of the program's state: saved with it, kept by optimizers.

    Attributes:
        gate: The gate in force.
    """

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def reset(self) -> None:
        """Copies that optimizers reset keep the gate."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The gate as JSON-ready data: a threshold never travels without its equation and k."""
        return asdict(self.gate)

    def load_state(self, state: dict[str, Any]) -> GateParameter:
        """Take a saved gate.

        Raises:
            ArtifactError: The state is no gate.
        """
        try:
            self.gate = Gate(**state)
        except (TypeError, ValueError) as error:
            raise ArtifactError(
                f"The saved gate cannot be used ({error}): save it again."
            ) from None
        return self


def with_gate(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Saved settings with the gate as an object.

    Raises:
        ArtifactError: The saved gate is none.
    """
    return {**settings, "gate": GateParameter(Gate()).load_state(settings.get("gate", {})).gate}


@dataclass(frozen=True)
class Knowledge:
    """What the assessment gives to the agents: (A_init, C0) and how it came about.

    Attributes:
        branch: ``internal``, ``external`` or ``none``.
        uncertainty: Normalised, in [0, 1]; None when nothing could be sampled.
        samples: The sampled answers, refusals included.
        subject: The line of disambiguation (I_subject).
        text: The basic context C0, or empty.
        source: Where an external C0 comes from, for the reader.
        answer: A_init, or None without C0.
    """

    branch: Branch
    uncertainty: float | None = None
    samples: tuple[str, ...] = ()
    subject: str = ""
    text: str = ""
    source: str = ""
    answer: Answer | None = None


class Assessment(dspy.Module):
    """Samples the model's memory, measures its uncertainty and makes the basic context.

    Args:
        gate: When memory is trusted.
        retriever: ``(query, k) -> passages`` for the low-confidence branch, or None.
        subject: The caller's line of disambiguation instead of a predicted one.
        always_internal: The ablation "w/o Assessment & Retrieval": no gate, always C_int.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        retriever: Callable[..., Any] | None = None,
        subject: str = "",
        always_internal: bool = False,
    ) -> None:
        super().__init__()
        self.tuned = GateParameter(gate)
        self.retriever, self.subject = retriever, subject
        self.always_internal = always_internal
        self.describe = dspy.Predict(DescribeSubject, **SHORT_ANSWER)
        self.sample = dspy.Predict(SampleAnswer, max_tokens=48, stop=["\n"])
        self.judge_relevance = dspy.Predict(JudgeRelevance, temperature=0.0)
        self.recall = dspy.Predict(RecallKnowledge, temperature=0.0, max_tokens=400)
        self.consult = dspy.Predict(ConsultKnowledge, temperature=0.0, max_tokens=250)
        self.answer = dspy.Predict(AnswerFromKnowledge, **SHORT_ANSWER)

    @property
    def gate(self) -> Gate:
        """The gate in force."""
        return self.tuned.gate

    @property
    def encoder_name(self) -> str:
        """The encoder whose cosines the threshold was chosen on; empty without one."""
        if self.gate.relevance != "embedding":
            return ""
        from ..runtime.embedder import default_encoder

        return default_encoder().name

    def request_bound(self) -> int:
        """Requests at most: subject, k samples, their relevance, C0 and the answer from it."""
        return 1 + self.gate.k + (self.gate.relevance == "llm") + 2

    def from_memory(self) -> Assessment:
        """The same predictors without a gate: memory is always the basic context."""
        other = copy.copy(self)
        other.always_internal = True
        return other

    def tunables(self) -> dict[str, Tunable]:
        """The threshold and the number of samples; fewer samples are the first of more."""
        if self.always_internal:
            return {}
        most = max(SAMPLES, self.gate.k)
        return {
            "gate_threshold": Tunable("tau", self.gate.threshold, 0.0, 1.0),
            "samples": Tunable("k", self.gate.k, 2, most, step=1),
        }

    def with_values(self, values: Values) -> Assessment:
        """The same predictors behind another gate."""
        gate = self.gate
        threshold = values.get("gate_threshold", gate.threshold)
        k = int(values.get("samples", gate.k))
        other = copy.copy(self)
        other.tuned = GateParameter(replace(gate, threshold=threshold, k=k))
        return other

    def steps(self, case: Case, *, consults: bool) -> Steps[Knowledge]:
        """Sample, measure, branch, and answer from C0.

        Args:
            case: The question.
            consults: Whether a language model plays the retriever (it has the role of one).
        """
        subject = yield from remembered("subject", self._subject(case))
        enriched = {"today": case.date, "subject": subject, "question": case.question}
        if self.always_internal:
            return (yield from self._internal(case, enriched, Knowledge("internal")))
        # A threshold changes no sample, so what was measured is kept without it.
        measured = ("uncertainty", replace(self.gate, threshold=NEVER))
        texts, uncertainty = yield from remembered(measured, self._measured(case, enriched))
        found = Knowledge("none", uncertainty, texts, subject)
        if uncertainty is not None and self.gate.trusts(uncertainty):
            found = replace(found, branch="internal")
            return (yield from remembered(found, self._internal(case, enriched, found)))
        if self.retriever is None and not consults:
            return found
        found = replace(found, branch="external")
        return (yield from remembered(found, self._external(case, found)))

    def _measured(
        self, case: Case, enriched: dict[str, str]
    ) -> Steps[tuple[tuple[str, ...], float | None]]:
        samples = yield from self._samples(case, enriched)
        uncertainty = yield from self._uncertainty(case, samples)
        return tuple(s.text for s in samples), uncertainty

    def _subject(self, case: Case) -> Steps[str]:
        if self.subject:
            return self.subject
        call = Call(self.describe, {"question": case.question}, role="sampler")
        (reply,) = yield Wave("subject", [call])
        if isinstance(reply, Exception):
            case.meter.note(f"The subject line could not be had: {failure(reply)[1]}")
            return ""
        return clean_answer(reply.subject)

    def _samples(self, case: Case, enriched: dict[str, str]) -> Steps[list[_Sample]]:
        """Draw k samples that really differ: each has its own seed and its own cache entry."""
        extra: dict[str, Any] = {"logprobs": True} if self.gate.weights == "likelihood" else {}
        replies = yield Wave(
            "samples",
            [
                Call(
                    self.sample,
                    enriched,
                    {**SAMPLING, "seed": i, "rollout_id": i, **extra},
                    role="sampler",
                )
                for i in range(self.gate.k)
            ],
        )
        samples = [_sample(r, self.gate.weights) for r in replies if not isinstance(r, Exception)]
        if len(samples) < len(replies):
            lost = next(r for r in replies if isinstance(r, Exception))
            case.meter.note(
                f"{len(replies) - len(samples)} of {len(replies)} samples failed, so the model's "
                f"uncertainty is not known: {failure(lost)[1]}"
            )
        return samples

    def _uncertainty(self, case: Case, samples: Sequence[_Sample]) -> Steps[float | None]:
        """Eq. 2 or 3, normalised; None when samples are missing (a threshold belongs to its k)."""
        if len(samples) < self.gate.k:
            return None
        texts = [s.text for s in samples]
        tokenizer: Any = "rouge" if all(t.isascii() for t in texts) else "unicode"
        similarity = answer_similarity(texts, tokenizer=tokenizer)
        weights = None
        if self.gate.weights == "likelihood":
            weights = likelihood_weights([s.mean_logprob for s in samples])
        if self.gate.equation == 2:
            return normalized_uncertainty(snne(similarity, weights), self.gate.k, 2)
        relevance = yield from self._relevance(case, texts)
        if relevance is None:
            return None
        if not any(relevance):
            case.meter.note(
                "The gate is dead for this question: no sampled answer is relevant by "
                f"relevance={self.gate.relevance!r}, so the uncertainty says nothing."
            )
        value = relevant_snne(similarity, relevance, weights)
        return normalized_uncertainty(value, self.gate.k, 3)

    def _relevance(self, case: Case, texts: list[str]) -> Steps[list[float] | None]:
        if self.gate.relevance == "code":
            return [0.0 if is_no_answer(t) else 1.0 for t in texts]
        if self.gate.relevance == "rouge":
            return [rouge_l(t, [case.question]) for t in texts]
        if self.gate.relevance == "embedding":
            return _cosines(texts, case.question)
        call = Call(self.judge_relevance, {"question": case.question, "answers": texts})
        (reply,) = yield Wave("relevance", [call])
        if isinstance(reply, Exception) or len(reply.real) != len(texts):
            # A threshold belongs to its relevance: another one must not take its place.
            case.meter.note("The relevance of the samples could not be judged.")
            return None
        return [float(r) for r in reply.real]

    def _internal(self, case: Case, enriched: dict[str, str], found: Knowledge) -> Steps[Knowledge]:
        """Eq. 5 and 6: externalise memory in four parts, then answer strictly from them."""
        (reply,) = yield Wave("knowledge", [Call(self.recall, enriched, role="sampler")])
        if isinstance(reply, Exception):
            case.meter.note(f"The model's knowledge could not be had: {failure(reply)[1]}")
            return replace(found, branch="none")
        *facts, cutoff = _four_parts(reply)
        if not any(facts):
            case.meter.note("The model wrote down nothing it knows: there is no basic context.")
            return replace(found, branch="none")
        notes = "\n".join(part for part in (*facts, cutoff) if part)
        return (yield from self._answered(case, replace(found, text=notes)))

    def _external(self, case: Case, found: Knowledge) -> Steps[Knowledge]:
        """Eq. 7 and 8: one passage from outside, never from the input documents."""
        if self.retriever is not None:
            (passages,) = yield Wave("retrieval", [Task(asking(self.retriever, case.question, 1))])
            failed = isinstance(passages, Exception)
            text = "" if failed else "\n\n".join(p.text for p in passages)
            source = "" if failed else "; ".join(p.source or p.title or p.url for p in passages)
            why = str(passages) if failed else "it found nothing"
        else:
            inputs = {"today": case.date, "question": case.question}
            (reply,) = yield Wave("retrieval", [Call(self.consult, inputs, role="retriever")])
            failed = isinstance(reply, Exception)
            text = "" if failed or is_no_answer(reply.passage) else reply.passage.strip()
            source, why = "language model", failure(reply)[1] if failed else "it does not know"
        if not text:
            case.meter.note(f"The retriever gave no basic context: {why}.".replace("..", "."))
            return replace(found, branch="none")
        return (yield from self._answered(case, replace(found, text=text, source=source)))

    def _answered(self, case: Case, found: Knowledge) -> Steps[Knowledge]:
        inputs = {"notes": found.text, "question": case.question}
        (reply,) = yield Wave("initial answer", [Call(self.answer, inputs)])
        answer = read_answer(reply, None, case.question)
        if answer.error:
            case.meter.note(f"The basic context gave no answer: {answer.error}")
        return replace(found, answer=answer)


@dataclass(frozen=True)
class _Sample:
    text: str
    mean_logprob: float = 0.0


def _sample(reply: Reply, weights: Weights) -> _Sample:
    text = clean_answer(reply.answer)[:_SAMPLE_CHARS]
    if weights == "uniform":
        return _Sample(text)
    tokens = taken_logprobs(reply)
    if not tokens:
        raise InputError(
            "weights='likelihood' needs log-probabilities, which this backbone does not report: "
            "use weights='uniform'."
        )
    return _Sample(text, min(0.0, sum(t["logprob"] for t in tokens) / len(tokens)))


def _cosines(texts: Sequence[str], question: str) -> list[float]:
    """Cosine with the question, rescaled from [-1, 1] to [0, 1]."""
    from ..runtime.embedder import default_encoder

    vectors = default_encoder().encode([*texts, question])
    return [float(min(1.0, max(0.0, (v @ vectors[-1] + 1) / 2))) for v in vectors[:-1]]


def _four_parts(reply: Any) -> list[str]:
    names = ("key_attributes", "background", "details", "knowledge_cutoff")
    labels = ("Key attributes", "Background", "Details", "Knowledge cut-off")
    return [
        f"{label}: {getattr(reply, name).strip()}" if getattr(reply, name).strip() else ""
        for label, name in zip(labels, names, strict=True)
    ]
