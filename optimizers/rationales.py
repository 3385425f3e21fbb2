"""Rationales as demonstrations: the model explains known answers, once (InstructRAG-ICL)."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, ClassVar

import dspy

from ..errors import InputError
from ..metrics import normalize_answer
from ..programs import Program
from ..programs.base import Case, as_of
from ..programs.icl import layout
from ..runtime.chunks import sentences
from ..runtime.documents import as_documents
from ..runtime.failures import CALL_FAILURES, failure
from ..runtime.fan_out import fan_out
from ..signatures.baselines_short import ExplainAnswer
from .bootstrap import DEMONSTRATIONS, without_demonstrations
from .demonstrations import Demonstration, choose, demonstration
from .runs import Run, chunks

EXPLAINED = {"documents", "question", "rationale", "answer"}
SENTENCES = 3  # as the prompt asks
TRIES = 4  # ours: rows explained for each demonstration, since some rationales are no use


class Rationales:
    """Optimizer ``rationales``, for programs that answer with a rationale.

    The teacher explains how the documents of training rows lead to their known answers. A
    rationale becomes a demonstration when it names the answer and fits.

    Args:
        demonstrations: At most.
    """

    name: ClassVar[str] = "rationales"

    def __init__(self, demonstrations: int = DEMONSTRATIONS) -> None:
        self.demonstrations = demonstrations

    def settings(self) -> dict[str, Any]:
        """See `Optimizer.settings`."""
        return {"demonstrations": self.demonstrations}

    def estimate(self, run: Run) -> int:
        """One request for each row that is explained."""
        return min(len(run.trainset), TRIES * self.demonstrations)

    def compile(self, run: Run) -> Program:
        """See `Optimizer.compile`.

        Raises:
            InputError: The program gives no rationales, or an example has no known answer.
        """
        program = without_demonstrations(run.student)
        taking = [p for p in program.predictors() if set(p.signature.fields) == EXPLAINED]
        if not taking:
            raise InputError(
                f"{program.name} answers without a rationale: compile instructrag, or choose "
                "another optimizer."
            )
        for predictor in taking:
            predictor.demos = [d.as_example() for d in self.collect(run, predictor.signature)]
        return program

    def collect(self, run: Run, signature: Any) -> list[Demonstration]:
        """Demonstrations from the training set in the order of the seed."""
        order = list(enumerate(run.trainset))
        random.Random(run.seed).shuffle(order)
        explain = dspy.Predict(ExplainAnswer, temperature=0.0, max_tokens=250)
        found: list[Demonstration] = []
        for chunk in chunks(order[: TRIES * self.demonstrations]):
            if len(choose(found, self.demonstrations)) == self.demonstrations:
                break
            calls = [partial(_explained, run, explain, example) for _, example in chunk]
            explained: list[Any] = fan_out(calls)
            for (number, _), values in zip(chunk, explained, strict=True):
                made = values and demonstration(number, signature, values, values)
                found += [made] if made else []
            run.tell(f"rationales: {len(found)} that name the known answer")
        chosen = choose(found, self.demonstrations)
        run.tell(f"rationales: {len(chosen)} fit and become demonstrations")
        return chosen


def concise(rationale: str) -> str:
    """Its first whole sentences, each once: a small model repeats itself until it is cut off."""
    said = [" ".join(s.text.split()) for s in sentences(rationale)]
    whole = [s for s in dict.fromkeys(said) if s[-1] in ".!?。！？।…"]
    return " ".join((whole or said)[:SENTENCES])


def names_answer(rationale: str, answer: str) -> bool:
    """Whether a rationale holds the answer word for word, articles and punctuation apart."""
    said, wanted = normalize_answer(rationale), normalize_answer(answer)
    return bool(wanted) and f" {wanted} " in f" {said} "


def _explained(run: Run, explain: dspy.Predict, example: dspy.Example) -> dict[str, str] | None:
    """The values of one demonstration; None when the request failed or explains nothing."""
    case = Case(
        example.question,
        as_documents(example.documents),
        as_of(None),
        run.student.reading_tokens,
        run.meter,
    )
    answer = _known(example)
    asked = {"documents": layout(case), "question": case.question, "answer": answer}
    try:
        with dspy.context(lm=run.teacher_lm):
            rationale = concise(explain(**asked).rationale)
    except CALL_FAILURES as error:
        run.tell(f"not explained: {failure(error)[1]}")
        return None
    return {**asked, "rationale": rationale} if names_answer(rationale, answer) else None


def _known(example: dspy.Example) -> str:
    answers = example.get("answers")
    if not answers:
        raise InputError(
            f"The example {example.question[:60]!r} has no 'answers', which rationales explain."
        )
    return str(answers[0])
