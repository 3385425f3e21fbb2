"""ArbGraph's verifier and arbiter, each alone on labelled cases (ArbGraph, Table 4).

A case becomes a row and a component a program, so that `evaluate` asks, keeps, resumes and scores
them like any other. Every pair is a request of its own here; `benchmarks/relations.py` measures
several pairs a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import dspy

from referee.errors import InputError
from referee.programs import ArbSettings, EvidenceGraph, Program, starter_rules
from referee.programs.base import Case
from referee.programs.claim_arbiter import Arbiter
from referee.programs.settings import DEFAULT
from referee.programs.steps import Steps, T
from referee.programs.verification import Verifier
from referee.runtime import Document, Verdict
from referee.runtime.chunks import sentences
from referee.runtime.failures import failure
from referee.runtime.records import Claim, Evidence, Mention


class RelationProbe(Program):
    """What the relation verifier says about two texts, the two documents of a row (§3.3.3).

    Args:
        ask_model: True: the model is asked about every pair. None: as in `ArbGraph`, code decides
            what it is sure of, and an embedded model is not asked.
        lms: Language model of the role ``verifier``.
    """

    name: ClassVar[str] = "relation-verifier"
    roles: ClassVar[tuple[str, ...]] = ("verifier",)

    def __init__(
        self, *, ask_model: bool | None = None, lms: Mapping[str, dspy.BaseLM] | None = None
    ) -> None:
        super().__init__(lms=lms)
        self.verifier = Verifier(ask_model=ask_model)
        self.one_by_one = ArbSettings(batch=1, certain=not ask_model)

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """None where code decides; one, and a second try."""
        return 0, self.verifier.request_bound(1, self.one_by_one)

    def steps(self, case: Case) -> Steps[Verdict]:
        """One pair."""
        texts = [case.passage(document, 2) for document in case.documents]
        failures: list[Exception] = []
        asked = self.verifier.steps(case, texts, [(0, 1)], self.one_by_one)
        found = (yield from _watched(asked, failures)).get((0, 1))
        if found is not None:
            return Verdict(answer=found.relation, explanation=f"Decided by {found.by}.")
        return _failed(failures) or Verdict(
            status="parse_error", explanation="The reply gives no relation for the pair."
        )


class ArbiterProbe(Program):
    """Which of two contradicting claims the arbiter believes (§3.4).

    The first sentence of each document is its claim; documents that begin alike state one claim.

    Args:
        ask_model: True: the model is asked about every case. None: as in `ArbGraph`, rules decide
            in code where they apply, and an embedded model is not asked.
        lms: Language model of the role ``arbiter``.
    """

    name: ClassVar[str] = "claim-arbiter"
    roles: ClassVar[tuple[str, ...]] = ("arbiter",)

    def __init__(
        self, *, ask_model: bool | None = None, lms: Mapping[str, dspy.BaseLM] | None = None
    ) -> None:
        super().__init__(lms=lms)
        arbiter = Arbiter(starter_rules())
        self.arbiter = arbiter.asking() if ask_model else arbiter

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """None where a rule decides; at most one a round."""
        return 0, self.arbiter.request_bound(1, DEFAULT)

    def steps(self, case: Case) -> Steps[Verdict]:
        """One contradiction; the claim that is left when the other was suppressed."""
        claims = _claims(case.documents)
        graph = EvidenceGraph()
        for id, claim in claims.items():
            graph.add_claim(id, claim.text, claim.document_ids)
        one, other = claims
        graph.contradict(one, other)
        failures: list[Exception] = []
        asked = self.arbiter.steps(case, graph, claims, DEFAULT)
        found = yield from _watched(asked, failures)
        reasons = "; ".join(found.reasons)
        left = found.arbitration.validated
        if len(left) == 1:
            return Verdict(answer=claims[left[0]].text, explanation=reasons)
        return _failed(failures) or Verdict(status="abstained", abstained=True, explanation=reasons)


PROBES: Mapping[str, type[RelationProbe] | type[ArbiterProbe]] = {
    "verifier": RelationProbe,
    "arbiter": ArbiterProbe,
}


def _claims(documents: Sequence[Document]) -> dict[str, Claim]:
    """The two claims of a case by id.

    Raises:
        InputError: There are not two.
    """
    mentions: dict[str, list[Mention]] = {}
    for document in documents:
        first = sentences(document.text)[0]
        evidence = Evidence(text=first.text, start=first.start, end=first.end)
        mention = Mention(document_id=document.id, evidence=evidence, date=document.date)
        mentions.setdefault(first.text, []).append(mention)
    if len(mentions) != 2:
        raise InputError(
            f"The documents begin with {len(mentions)} different sentences: a case for the arbiter "
            "has two claims, and each document begins with one of them."
        )
    return {
        f"c{n}": Claim(id=f"c{n}", text=text, mentions=tuple(found), sources=len(found))
        for n, (text, found) in enumerate(mentions.items(), start=1)
    }


def _watched(steps: Steps[T], failures: list[Exception]) -> Steps[T]:
    """The same steps; calls that failed are kept, which the steps only note."""
    replies = None
    while True:
        try:
            wave = steps.send(replies) if replies is not None else next(steps)
        except StopIteration as done:
            found: T = done.value
            return found
        replies = yield wave
        failures += [reply for reply in replies if isinstance(reply, Exception)]


def _failed(failures: Sequence[Exception]) -> Verdict | None:
    if not failures:
        return None
    status, sentence = failure(failures[-1])
    return Verdict(status=status, explanation=sentence)
