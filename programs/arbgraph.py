"""ArbGraph: long answers from arbitrated evidence (ArbGraph §3)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, get_args

import dspy

from ..errors import BudgetExceeded, InputError
from ..runtime.embedder import Encoder, default_encoder
from ..runtime.records import Claim, Document, Report
from .arbitration import without_losers
from .base import READING_TOKENS, Case, Program
from .claim_arbiter import Arbiter, Arbitrated
from .claim_nodes import Screened, candidates, screened
from .composition import Composition, Writer, composed, fitting, with_settled
from .evidence_graph import EvidenceGraph
from .extraction import CONTINUATIONS, Extraction, Extractor, chunked
from .homonyms import about_homonym
from .replay import computed, remembered
from .report import Findings, report
from .rules import RuleBase, starter_rules
from .settings import PRESETS, TUNED, ArbSettings, SettingsParameter, from_saved, saved
from .spending import Allowance
from .steps import Steps
from .thresholds import Thresholds, thresholds_for
from .tunables import Tunable, Values, chosen
from .verification import Verified, Verifier

ROUNDS = 20  # ours: the most worth trying; settling seldom takes as many

Ablation = Literal[
    "",
    "no evidence graph",
    "no soft arbitration",
    "no screening",
    "no rejection",
    "no gating",
]


class ArbGraph(Program):
    """Claims, evidence graph, arbitration, then an answer from what survived.

    Differences from the paper are `ArbSettings`, each with its reason; ``preset="paper"`` takes the
    paper's. The rule base decides in code where a rule has an operator; what is left goes to the
    model, in both orders.

    Args:
        preset: ``default`` or ``paper``.
        settings: All settings, instead of a preset.
        rules: The arbiter's rule base. None: the starter base; none at all for ``paper``.
        encoder: Sentence encoder of the claims; the default one when None.
        ask_model: Whether the model relates claims and weighs them where code is not sure. None:
            unless it is an embedded one. ``paper``: always.
        ablation: A part that is left out (Table 3). ``no evidence graph``: all claims on the
            question are used. ``no soft arbitration``: one round, losers are removed. ``no
            screening``: no filter by the question. ``no rejection``: all claims are kept for the
            answer. ``no gating``: every decision counts (*implied by the paper*: gate 0).
        lms: Language models of single roles.
        reading_tokens: Bound on the claims in the last prompt, in estimated tokens.

    Raises:
        InputError: An option is unknown, or the encoder has no thresholds.
    """

    name: ClassVar[str] = "arbgraph"
    long_answers: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("extractor", "verifier", "arbiter", "writer")
    parts: ClassVar[tuple[str, ...]] = ("lms", "encoder")
    variants: ClassVar[Mapping[str, str]] = {
        "no-graph": "no evidence graph",
        "no-soft": "no soft arbitration",
        "no-screening": "no screening",
        "no-rejection": "no rejection",
        "no-gating": "no gating",
    }

    def __init__(
        self,
        *,
        preset: Literal["default", "paper"] = "default",
        settings: ArbSettings | None = None,
        rules: RuleBase | None = None,
        encoder: Encoder | None = None,
        ask_model: bool | None = None,
        ablation: Ablation = "",
        lms: Mapping[str, dspy.BaseLM] | None = None,
        reading_tokens: int = READING_TOKENS,
    ) -> None:
        super().__init__(lms=lms, reading_tokens=reading_tokens)
        if preset not in PRESETS:
            raise InputError(f"There is no preset {preset!r}: choose 'default' or 'paper'.")
        if ablation not in get_args(Ablation):
            names = ", ".join(repr(a) for a in get_args(Ablation) if a)
            raise InputError(f"There is no ablation {ablation!r}: choose one of {names}.")
        chosen = settings or PRESETS[preset]
        self.settings = SettingsParameter(chosen)
        self.encoder = encoder or default_encoder()
        self.preset, self.ablation = preset, ablation
        self.extractor = Extractor(focused=chosen.focused)
        paper = preset == "paper"
        asks = True if paper else ask_model
        self.verifier = Verifier(ask_model=asks)
        base = rules if rules is not None else RuleBase([]) if paper else starter_rules()
        self.arbiter = Arbiter(base, ask_model=asks)
        self.writer = Writer()
        self.thresholds()  # an encoder without any is an error now, not after the first request

    @property
    def rules(self) -> RuleBase:
        """The rule base of the arbiter."""
        return self.arbiter.rules

    def thresholds(self) -> Thresholds:
        """The cosine thresholds in force."""
        return self.settings.value.thresholds or thresholds_for(self.encoder.name)

    def dump_settings(self) -> dict[str, Any]:
        """See `Program.dump_settings`."""
        return {
            **super().dump_settings(),
            "preset": self.preset,
            "ablation": self.ablation,
            "ask_model": self.verifier.ask_model,
            "settings": saved(self.settings.value),
        }

    def dump_thresholds(self) -> dict[str, Any]:
        """The cosines of the encoder in use, and what else may be tuned."""
        tuned = {name: getattr(self.settings.value, name) for name in TUNED}
        return {**self.thresholds()._asdict(), **tuned}

    @property
    def encoder_name(self) -> str:
        """See `Program.encoder_name`."""
        return self.encoder.name

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], **parts: Any) -> Self:
        """See `Program.from_settings`."""
        encoder = parts.get("encoder") or default_encoder()
        return cls(**from_saved(settings, encoder.name), **parts)

    def exercises(self) -> list[Self]:
        """Every pair and every contradiction put to the model, unless it is never to be asked."""
        if self.verifier.ask_model is False:
            return []
        other = copy.copy(self)
        other.settings = SettingsParameter(replace(self.settings.value, certain=False))
        other.verifier, other.arbiter = self.verifier.asking(), self.arbiter.asking()
        return [other]

    def requests(self, documents: Sequence[Document]) -> tuple[int, int]:
        """A chunk each and no more; or every list continued, every pair and decision asked."""
        chunks = len(chunked(documents))
        pairs = self._most_pairs(documents)
        related = self.verifier.request_bound(pairs, self.settings.value)
        return chunks, chunks * (1 + CONTINUATIONS) + related + self.requests_of_rules(documents)

    def requests_of_rules(self, documents: Sequence[Document]) -> int:
        """Every decision, and the answer."""
        pairs = self._most_pairs(documents)
        return self.arbiter.request_bound(pairs, self._policy(pairs)) + 1

    def _most_pairs(self, documents: Sequence[Document]) -> int:
        settings = self.settings.value
        one = len(documents) < 2 and not settings.within_document
        return 0 if one or self.ablation == "no evidence graph" else settings.max_pairs

    def tunables(self) -> dict[str, Tunable]:
        """Thresholds, step size and bounds; without a rounds bound, its end of the search."""
        settings, cosines = self.settings.value, self.thresholds()
        rounds = ROUNDS if settings.rounds is None else settings.rounds
        return {
            "query": Tunable("tau_q", cosines.query, 0.0, 0.6),
            "similarity": Tunable("tau_sim", cosines.similarity, 0.2, 0.9),
            "confidence": Tunable("tau_conf", settings.confidence, 0.0, 1.0, step=0.05),
            "accept": Tunable("tau_accept", settings.accept, 0.05, max(0.5, settings.accept)),
            "step_size": Tunable("eta", settings.step_size, 0.1, 2.0, step=0.05),
            "pairs_per_round": Tunable("k", settings.pairs_per_round, 1, 10, step=1),
            "supports": Tunable("M", settings.supports, 0, max(100, settings.supports), step=5),
            "rounds": Tunable("T", rounds, 1, max(ROUNDS, rounds), step=1),
        }

    def with_values(self, values: Values) -> Self:
        """See `Program.with_values`; tau_q and tau_sim stay those of the encoder in use."""
        given: dict[str, Any] = dict(chosen(self.tunables(), values, self.name))
        cosines = {name: given.pop(name) for name in ("query", "similarity") if name in given}
        if cosines:
            given["thresholds"] = self.thresholds()._replace(**cosines)
        other = copy.copy(self)
        other.settings = SettingsParameter(replace(self.settings.value, **given))
        return other

    def steps(self, case: Case) -> Steps[Report]:
        """Claims, screening, relations, arbitration, answer."""
        allowance, cosines, settings = Allowance(case.meter), self.thresholds(), self.settings.value
        extraction = yield from remembered("claims", self._extracted(case, allowance))
        claims = yield from remembered(
            ("screened", cosines.query, cosines.merge), self._screened(case, extraction)
        )
        findings = Findings(case, extraction, claims)
        if not claims.nodes:
            return report(findings)
        related = yield from remembered(
            ("related", cosines), self._related(case, claims, allowance)
        )
        graph = computed(
            ("graph", cosines, settings.confidence, settings.supports),
            lambda: self._graph(claims, related),
        )
        arbitrated = yield from self._arbitrated(case, graph, claims, allowance)
        findings = replace(findings, related=related, graph=graph, arbitrated=arbitrated)
        return (yield from self._answered(case, findings))

    def _extracted(self, case: Case, allowance: Allowance) -> Steps[Extraction]:
        chunks = allowance.chunks(chunked(self._on_subject(case)))
        return (yield from self.extractor.steps(case, chunks, allowance.reading()))

    def _screened(self, case: Case, extraction: Extraction) -> Steps[Screened]:
        filtering = self.ablation != "no screening"
        cosines = self.thresholds()
        return (yield from screened(case, extraction.claims, self.encoder, cosines, filtering))

    def _on_subject(self, case: Case) -> list[Document]:
        """Documents without those about a homonym of what is asked (ours; Figure 4)."""
        if not self.settings.value.homonyms or self.ablation == "no screening":
            return list(case.documents)
        other = {d.id: about_homonym(case.question, d) for d in case.documents}
        for id, long in other.items():
            if long:
                case.meter.note(f"{id} is about the {long}, a homonym: it was left out.")
        return [d for d in case.documents if not other[d.id]]

    def _related(
        self, case: Case, claims: Screened, allowance: Allowance
    ) -> Steps[dict[tuple[int, int], Verified]]:
        """Relations of the candidate pairs (§3.3.2-3.3.3)."""
        settings = self.settings.value
        if self.ablation == "no evidence graph":
            return {}
        pairs = candidates(case, claims, self.thresholds(), settings)
        texts = [claim.text for claim in claims.nodes]
        most = allowance.relations()
        return (yield from self.verifier.steps(case, texts, pairs, settings, most))

    def _graph(
        self, claims: Screened, related: Mapping[tuple[int, int], Verified]
    ) -> EvidenceGraph:
        """Edges for relations that are sure enough, the M most similar supports only."""
        settings, nodes = self.settings.value, claims.nodes
        graph = EvidenceGraph()
        for claim in nodes:
            graph.add_claim(claim.id, claim.text, claim.document_ids)
        for (i, j), found in related.items():
            if found.confidence < settings.confidence or found.relation == "neutral":
                continue
            a, b = nodes[i].id, nodes[j].id
            if found.relation == "support":
                graph.support(a, b, claims.similarity(i, j), found.confidence)
            else:
                graph.contradict(a, b, found.confidence)
        return graph.top_supports(settings.supports, settings.per_node)

    def _arbitrated(
        self, case: Case, graph: EvidenceGraph, claims: Screened, allowance: Allowance
    ) -> Steps[Arbitrated]:
        settings = self._policy(len(graph.contradictions))
        by_id = {claim.id: claim for claim in claims.nodes}
        found = yield from self.arbiter.steps(case, graph, by_id, settings, allowance.decisions())
        if self.ablation == "no soft arbitration":
            found = replace(found, arbitration=without_losers(found.arbitration, graph))
        return found

    def _policy(self, contradictions: int) -> ArbSettings:
        """The settings of the arbitration, as the ablation changes them."""
        settings = self.settings.value
        if self.ablation == "no gating":
            return replace(settings, gate=0.0)
        if self.ablation == "no soft arbitration":
            every = max(1, contradictions)
            return replace(settings, policy="paper", rounds=1, pairs_per_round=every)
        return settings

    def _answered(self, case: Case, findings: Findings) -> Steps[Report]:
        usable = findings.usable(keep_all=self.ablation == "no rejection")
        shown, left = fitting(usable, case.reading_tokens)
        if left:
            case.meter.note(f"{left} of {len(usable)} claims did not fit into the last prompt.")
        if not shown:
            return report(findings)
        disputed = findings.disputed()
        key = ("answer", findings.graph, tuple(c.id for c in shown), tuple(disputed.items()))
        written = yield from remembered(key, self._written(case, shown, disputed))
        if isinstance(written, BudgetExceeded):  # what is settled is shown as it is
            return report(replace(findings, failed=written, composition=composed([], shown)))
        if isinstance(written, Exception):
            return report(replace(findings, failed=written))
        return report(replace(findings, composition=with_settled(written, findings.settled())))

    def _written(
        self, case: Case, claims: Sequence[Claim], disputed: Mapping[str, str]
    ) -> Steps[Composition | Exception]:
        reply = yield from self.writer.steps(case, claims, disputed)
        if isinstance(reply, Exception):
            return reply
        return composed(reply.sentences.root, claims)
