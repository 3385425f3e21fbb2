"""From sides and judgments to a verdict: the answer is one that a source states (MACR Eq. 11).

Facts of the explanation come from here, not from a model: left alone, small models credit documents
with the opposite of what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..runtime.records import Alternative, Answer, Verdict
from .analyzer import Pair
from .assessment import Knowledge
from .clusters import is_refinement
from .conflicts import Judgment, Side
from .operators import OPERATORS
from .outcomes import failure_notes
from .rules import RuleBase
from .shapes import questions_list

RULE_CONFIDENCE = 0.75  # ours: of a rule that was never verified, until tuning calibrates it
FALLBACK_CONFIDENCE = 0.5  # ours: a provisional judgment is worth no more than a coin


@dataclass(frozen=True)
class Findings:
    """Everything that a verdict is made of.

    Attributes:
        sides: The sides, in order of appearance.
        pairs: How each two of them relate.
        judgments: One per contradiction among ``pairs``, in order.
        answers: One per context.
        knowledge: The basic context.
        rules: The rule base.
        question, date: What was asked, as of when.
    """

    sides: Sequence[Side]
    pairs: Sequence[Pair]
    judgments: Sequence[Judgment]
    answers: Sequence[Answer]
    knowledge: Knowledge
    rules: RuleBase
    question: str
    date: str

    @property
    def contradictions(self) -> list[Pair]:
        """The pairs that cannot both hold."""
        return [p for p in self.pairs if p.relation.contradiction]

    @property
    def judged(self) -> list[tuple[Pair, Judgment]]:
        """Each contradiction with its judgment."""
        return list(zip(self.contradictions, self.judgments, strict=True))


def conclude(found: Findings) -> Verdict:
    """Decide and explain."""
    ranked = _ranked(found)
    best, rivals = ranked[0], _rivals(found, ranked)
    shown = _finest(found, best)
    members = [shown, *_listed(found, shown)]
    answer = _wording(found, members)
    decisive = [(p, j) for p, j in found.judged if _winner(p, j) == best]
    spent = any(a.status == "budget" for a in found.answers)
    return Verdict(
        answer=answer,
        explanation=_explanation(found, members, decisive, rivals),
        confidence=_confidence(found, best, decisive, rivals),
        alternatives=tuple(
            _alternative(found, i) for i in ranked if i != best and i not in members
        ),
        conflicts=tuple(_conflict(found, p, j) for p, j in found.judged),
        judgments=tuple(_judgment(n, found, p, j) for n, (p, j) in enumerate(found.judged)),
        rules_used=tuple(dict.fromkeys(j.rule for _, j in decisive if j.rule)),
        answers=_all_answers(found),
        uncertainty=found.knowledge.uncertainty,
        branch=found.knowledge.branch,
        status="budget" if spent else "ok",
        stages=stages(found.knowledge, found.sides, found.pairs),
        notes=failure_notes(found.answers),
    )


def stages(
    knowledge: Knowledge, sides: Sequence[Side] = (), pairs: Sequence[Pair] = ()
) -> Mapping[str, Any]:
    """What happened before the conclusion, for a reader who wants to follow it."""
    return {
        "subject": knowledge.subject,
        "samples": list(knowledge.samples),
        "basic_context": knowledge.text,
        "basic_source": knowledge.source,
        "relations": [
            {
                "answers": [sides[p.first].answer, sides[p.second].answer],
                **p.relation.model_dump(),
            }
            for p in pairs
        ],
    }


def _ranked(found: Findings) -> list[int]:
    """Sides, best first: undefeated, backed from outside, with more wins, more sources, earlier.

    A plan or a condition contradicts nothing, but it is no answer beside a statement of fact.
    """
    hedged = {_hedged(found, p) for p in found.pairs if p.relation.shape in ("plan", "conditional")}
    lost = {_loser(p, j) for p, j in found.judged if j.winner is not None and not j.provisional}
    doubted = {_loser(p, j) for p, j in found.judged if j.winner is not None and j.provisional}
    wins = [_winner(p, j) for p, j in found.judged]
    return sorted(
        range(len(found.sides)),
        key=lambda i: (
            i in lost or i in hedged,
            i in doubted,
            found.sides[i].basic != "external",
            -wins.count(i),
            -found.sides[i].sources,
            i,
        ),
    )


def _hedged(found: Findings, pair: Pair) -> int | None:
    """The side of a pair that is only a plan or a condition."""
    sides = (found.sides[pair.first], found.sides[pair.second])
    applied = OPERATORS["statement_over_plan"](found.question, sides, found.date, found.rules)
    return None if applied is None else (pair.second, pair.first)[applied.winner]


def _rivals(found: Findings, ranked: Sequence[int]) -> list[int]:
    """Sides that contradict the best one without a judgment: the conflict is not resolved."""
    best = ranked[0]
    open_pairs = [p for p, j in found.judged if j.winner is None and best in (p.first, p.second)]
    beaten = {_loser(p, j) for p, j in found.judged if j.winner is not None and not j.provisional}
    others = (p.second if p.first == best else p.first for p in open_pairs)
    return [i for i in others if i not in beaten]


def _with(found: Findings, side: int, shape: str) -> list[int]:
    """Sides that stand in a compatible shape with ``side``."""
    return [
        p.second if p.first == side else p.first
        for p in found.pairs
        if p.relation.shape == shape and side in (p.first, p.second)
    ]


def _listed(found: Findings, side: int) -> list[int]:
    """Sides to name beside ``side``: several were asked for, and code says they are a list."""
    if not questions_list(found.question):
        return []
    sure = {(p.first, p.second) for p in found.pairs if p.relation.by == "code"}
    listed = [i for i in _with(found, side, "list") if (min(i, side), max(i, side)) in sure]
    return [i for i in listed if not _disputed(found, i)]


def _disputed(found: Findings, side: int) -> bool:
    """Whether a side lost a conflict, or is in one that nothing decided."""
    return any(
        j.winner is None or _loser(p, j) == side
        for p, j in found.judged
        if side in (p.first, p.second)
    )


def _wording(found: Findings, members: Sequence[int]) -> str:
    texts = [found.sides[i].answer for i in sorted(members)]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]


def _finest(found: Findings, side: int) -> int:
    """The side that says the same more precisely, if nothing disputes it; else the side itself."""
    general = found.sides[side].answer
    finer = [
        i
        for i in _with(found, side, "refinement")
        if is_refinement(general, found.sides[i].answer) and not _disputed(found, i)
    ]
    return finer[0] if finer else side


def _winner(pair: Pair, judgment: Judgment) -> int | None:
    if judgment.winner is None:
        return None
    return (pair.first, pair.second)[judgment.winner]


def _loser(pair: Pair, judgment: Judgment) -> int | None:
    if judgment.winner is None:
        return None
    return (pair.second, pair.first)[judgment.winner]


def _confidence(
    found: Findings, best: int, decisive: Sequence[tuple[Pair, Judgment]], rivals: Sequence[int]
) -> float:
    """Share of the independent sources behind the answer, raised by the rules that decided."""
    total = sum(s.sources + (s.basic == "external") for s in found.sides) or 1
    side = found.sides[best]
    share = (side.sources + (side.basic == "external")) / total
    if rivals or not decisive:
        return round(share, 4)
    trust = min(_trust(found.rules, j) for _, j in decisive)
    return round(max(share, trust), 4)


def _trust(rules: RuleBase, judgment: Judgment) -> float:
    if judgment.provisional:
        return FALLBACK_CONFIDENCE
    support = next((r.support for r in rules.rules if r.id == judgment.rule), None)
    return RULE_CONFIDENCE if support is None else support


def _alternative(found: Findings, index: int) -> Alternative:
    side = found.sides[index]
    return Alternative(
        answer=side.answer,
        entity=next((d.title for d in side.documents if d.title), ""),
        document_ids=tuple(d.id for d in side.documents),
    )


def _conflict(found: Findings, pair: Pair, judgment: Judgment) -> Mapping[str, Any]:
    sides = (found.sides[pair.first], found.sides[pair.second])
    winner = _winner(pair, judgment)
    return {
        "type": pair.relation.type,
        "answers": [s.answer for s in sides],
        "snippets": [s.snippet for s in sides],
        "dates": [s.snippet_date for s in sides],
        "sources": [s.sources for s in sides],
        "offsets": [_offsets(s) for s in sides],
        "documents": [[d.id for d in s.documents] or [f"C0 ({s.basic})"] for s in sides],
        "judgment": None if winner is None else found.sides[winner].answer,
        "rule": judgment.rule,
        "how": judgment.how,
        "reason": judgment.reason,
        "provisional": judgment.provisional,
    }


def _offsets(side: Side) -> list[Any]:
    found = ((d.id, s) for d, s in zip(side.documents, side.snippets, strict=True) if s)
    return next(([name, s.start, s.end] for name, s in found), [])


def _judgment(number: int, found: Findings, pair: Pair, judgment: Judgment) -> Mapping[str, Any]:
    winner = _winner(pair, judgment)
    return {
        "conflict": number,
        "winner": None if winner is None else found.sides[winner].answer,
        **judgment.model_dump(exclude={"winner"}),
    }


def _all_answers(found: Findings) -> tuple[Answer, ...]:
    own = found.knowledge.answer
    return (*found.answers, own) if own else tuple(found.answers)


def _explanation(
    found: Findings,
    members: Sequence[int],
    decisive: Sequence[tuple[Pair, Judgment]],
    rivals: Sequence[int],
) -> str:
    parts = ["; ".join(_says(s) for s in found.sides) + "."]
    parts += [_because(found, p, j) for p, j in decisive]
    if rivals:
        names = ", ".join(f"“{found.sides[i].answer}”" for i in rivals)
        best = f"“{found.sides[members[0]].answer}”"
        parts.append(
            f"Between {best} and {names} nothing decides: this conflict is not resolved, and the "
            "answer with more independent sources, or else the first, is shown."
        )
    elif len(members) > 1:
        parts.append("The question has several answers, and they do not exclude each other.")
    elif not decisive and len(found.sides) > 1:
        parts.append(_compatible(found, members[0]))
    return " ".join(p for p in parts if p)


def _says(side: Side) -> str:
    who = [d.id for d in side.documents]
    if side.basic:
        who.append("the model's own memory" if side.basic == "internal" else "the outside source")
    return f"{', '.join(who)} say{'s' * (len(who) == 1)} “{side.answer}”"


def _because(found: Findings, pair: Pair, judgment: Judgment) -> str:
    winner, loser = _winner(pair, judgment), _loser(pair, judgment)
    sides = found.sides
    rule = next((r for r in found.rules.rules if r.id == judgment.rule), None)
    by = f"rule {rule.id} ({rule.resolution.rstrip('.')})" if rule else "no rule"
    reason = f": {judgment.reason}" if judgment.reason else ""
    doubt = " (provisional)" if judgment.provisional else ""
    kind = "" if pair.relation.type == "other" else f"{pair.relation.type} "
    return (
        f"The {kind}conflict between “{sides[winner or 0].answer}” and "
        f"“{sides[loser or 0].answer}” is settled for the first{doubt} by {by}{reason}."
    )


def _compatible(found: Findings, best: int) -> str:
    shapes = {p.relation.shape for p in found.pairs if best in (p.first, p.second)} - {None}
    if not shapes:
        return ""
    return f"The answers do not contradict each other ({', '.join(sorted(map(str, shapes)))})."
