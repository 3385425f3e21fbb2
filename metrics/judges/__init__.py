"""LLM judges: dspy Modules that put several facts or claims into one request.

    >>> from referee.metrics import fact_recall
    >>> from referee.metrics.judges import FactJudge
    >>> judge = FactJudge()
    >>> stated = judge(text="Mars has two moons.", facts=["Mars has two moons."]).stated
    >>> fact_recall([s for s in stated if s is not None])
    1.0

The certain cases are decided in code: a blank text states nothing, and a text states each of its
own sentences. All else is asked, and what the judge fails to answer is unscored. How often each
judge is right is measured by `benchmarks/judges.py`.
"""

from .base import PER_REQUEST, Judge
from .items import EntailmentJudge, FactJudge
from .relations import RelationJudge
from .response import FactLister, RecallJudge, ResponseJudge

__all__ = [
    "PER_REQUEST",
    "EntailmentJudge",
    "FactJudge",
    "FactLister",
    "Judge",
    "RecallJudge",
    "RelationJudge",
    "ResponseJudge",
]
