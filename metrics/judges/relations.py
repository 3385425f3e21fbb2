"""The judge of pairs: each claim with its own evidence, pairs together in a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from ...runtime.meter import Budget
from ...signatures.judges import JudgeRelations, Label, NumberedPair
from .asking import label_items, settings
from .base import PER_REQUEST, Ask, Judge, Rounds, as_per_request, as_texts, together

_CONTRADICTED: Label = "contradicted"


class RelationJudge(Judge):
    """Says what each piece of evidence says about its own claim: ``judge(pairs=[(e, c), ...])``.

    Unlike `EntailmentJudge` it puts pairs with different evidence into one request.

    Args:
        per_request: Pairs in one request, at least 1.
        swap: Ask a second time with evidence and claim exchanged. A contradiction holds both ways:
            a pair that is one in one order only is unscored. Support has a direction, so the
            label is that of the given order. It doubles the requests.

    Raises:
        InputError: ``per_request`` is no whole number of at least 1.
    """

    def __init__(self, *, per_request: int = PER_REQUEST, swap: bool = True) -> None:
        super().__init__()
        self.per_request, self.swap = as_per_request(per_request), swap
        self.relate = dspy.Predict(JudgeRelations, **settings(per_request))

    def forward(
        self, pairs: Sequence[tuple[str, str]], budget: Budget | None = None
    ) -> dspy.Prediction:
        """Judge the pairs.

        Args:
            pairs: n >= 0 pairs of evidence and claim, neither blank.
            budget: Bounds on what this call may cost.

        Returns:
            A Prediction with ``relations`` (one label for each pair, as in `EntailmentJudge`),
            ``unscored`` (how many are None), ``notes`` and ``usage``. It took at most
            ceil(n / per_request) requests, twice that with ``swap``.

        Raises:
            InputError: A pair holds something that is no text, or blank.
        """
        return self.run(self.rounds(pairs), budget)

    async def aforward(
        self, pairs: Sequence[tuple[str, str]], budget: Budget | None = None
    ) -> dspy.Prediction:
        """The twin of `forward` for coroutines."""
        return await self.arun(self.rounds(pairs), budget)

    def rounds(self, pairs: Sequence[tuple[str, str]]) -> Rounds[dict[str, Any]]:
        """The core: one round, then the fields of the Prediction."""
        for pair in pairs:
            as_texts("pairs", pair)
        distinct = list(dict.fromkeys((e, c) for e, c in pairs))
        turned = [(c, e) for e, c in distinct] if self.swap else []
        found, swapped = yield from together(
            *[
                label_items(ps, self.per_request, False, self._ask, "label")
                for ps in (distinct, turned)
            ]
        )
        labels = tuple(self._agreed(e, c, found, swapped) for e, c in pairs)
        return {"relations": labels, "unscored": labels.count(None)}

    def _ask(self, items: Sequence[tuple[str, str]]) -> Ask:
        numbered = [
            NumberedPair(number=n, evidence=e, claim=c) for n, (e, c) in enumerate(items, start=1)
        ]
        return Ask(self.relate, {"pairs": numbered})

    def _agreed(self, e: str, c: str, found: Mapping[Any, Any], swapped: Mapping[Any, Any]) -> Any:
        label, other = found.get((e, c)), swapped.get((c, e))
        if self.swap and (other is None or (label == _CONTRADICTED) != (other == _CONTRADICTED)):
            return None
        return label
