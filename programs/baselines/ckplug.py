"""Baseline CK-PLUG, per answer: documents or memory, by confidence gain (Bi et al., 2025).

Same as in the paper ("Parameters vs. Context: Fine-Grained Control of Knowledge Reliance in
Language Models"): confidence gain is the entropy of the next-token distributions without the
documents, less that with them. A gain keeps the documents' answer; a loss marks a conflict with
what the model knows.

What differs, and why it is named ``ckplug-answer``: the paper measures the gain of each token and
mixes the two distributions where it is negative. Chat backbones, the embedded one among them, give
the log-probabilities of finished replies: they neither continue a forced beginning nor take a mixed
distribution, so token by token would need a request per token through another door than that of all
programs. Here one decision is made for the whole answer, as MACR §4.1 describes this baseline: the
gain is between the mean entropies of the two answers' tokens (of the top candidates that are
reported; surprisal where only the chosen token is), and below ``threshold`` the model's own answer
is taken. Nothing is mixed.

Requests per question: 2, in one wave. A backbone that reports no log-probabilities is refused with
a sentence, not guessed around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dspy

from ...runtime.records import Answer, Document, Verdict
from ...signatures import AnswerFromDocuments, AnswerFromMemory
from ..base import READING_TOKENS, Case, Program
from ..icl import layout
from ..outcomes import from_single_answer
from ..reading import SHORT_ANSWER, read_answer, stating, taken_logprobs
from ..steps import Call, Reply, Steps, Wave
from .logprobs import ASKED, as_nats, mean_entropy
from .replies import alternatives

THRESHOLD = 0.0  # the paper's: any loss of confidence is a conflict
WITHOUT = (
    "ckplug-answer compares token probabilities, which this backbone does not report: choose "
    "another --lm (the embedded model reports them), or another program."
)


class CKPlugAnswer(Program):
    """Takes the answer of the documents or of memory, whichever the token probabilities favour.

    Args:
        threshold: Smallest gain, in nats per token, that keeps the documents' answer.
        lms, reading_tokens: As in `Program`.
    """

    name: ClassVar[str] = "ckplug-answer"

    def __init__(
        self,
        *,
        threshold: float = THRESHOLD,
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        self.threshold = as_nats(threshold)
        self.answer = dspy.Predict(AnswerFromDocuments, **SHORT_ANSWER)
        self.recall = dspy.Predict(AnswerFromMemory, **SHORT_ANSWER)

    def dump_thresholds(self) -> dict[str, Any]:
        """The gain that keeps the documents' answer."""
        return {"threshold": self.threshold}

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """With documents, and without."""
        return 2, 2

    def steps(self, case: Case) -> Steps[Verdict]:
        """Two answers, then the choice in code."""
        inputs = {"documents": layout(case), "question": case.question}
        replies = yield Wave(
            "answers",
            [
                Call(self.answer, inputs, ASKED, role="reader"),
                Call(self.recall, {"question": case.question}, ASKED, role="reader"),
            ],
        )
        answers = read, known = [read_answer(r, None, case.question) for r in replies]
        gain = _gain(replies)
        given = any(a.status == "answered" for a in answers)
        if gain is None and given and not any(a.error for a in answers):
            return Verdict(status="provider_error", explanation=WITHOUT, answers=tuple(answers))
        return choose(case, read, known, gain, self.threshold)


def choose(
    case: Case, read: Answer, known: Answer, gain: float | None, threshold: float
) -> Verdict:
    """The verdict of the documents' answer and of the model's own.

    An answer stands against none whatever the gain: a confident refusal is no knowledge.

    Args:
        case: The question.
        read: With the documents.
        known: Without them.
        gain: In nats per token; None when a request failed.
        threshold: Smallest gain that keeps ``read``.
    """
    reads = known.status != "answered" or gain is None
    reads = reads or (read.status == "answered" and gain is not None and gain >= threshold)
    taken, other = (read, known) if reads else (known, read)
    stated = stating(read, case) if reads else ()
    verdict = from_single_answer(taken, stated, _how(gain, known, reads=reads))
    if verdict.status != "ok":
        return verdict
    said = stating(read, case) if other is read else ()
    return verdict.model_copy(
        update={
            "alternatives": alternatives(taken.text, [other.text], said),
            "stages": {"confidence_gain": None if gain is None else round(gain, 4)},
            "notes": (f"The model's own answer could not be had: {known.error}",)
            * bool(known.error),
        }
    )


def _how(gain: float | None, known: Answer, *, reads: bool) -> str:
    measured = "unknown" if gain is None else f"{gain:.2f} nats per token"
    own = "" if known.status == "answered" else ", where it has no answer"
    taken = "the documents' answer is taken" if reads else "its own answer is taken"
    return (
        f"The model answered with the documents and without{own}; the confidence gain is "
        f"{measured}: {taken}."
    )


def _gain(replies: Sequence[Reply]) -> float | None:
    """Mean entropy without documents less that with; None where one is not known."""
    read, known = (
        None if isinstance(r, Exception) else mean_entropy(taken_logprobs(r)) for r in replies
    )
    return None if read is None or known is None else known - read
