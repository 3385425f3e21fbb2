import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import row

from referee.progress import row_line
from referee.runner import Progress
from referee.runtime import Answer, Document, Usage, Verdict
from referee.scoring import candidates, score, score_long
from referee.tables import Scored, compare, summarize


def record(verdict, program="direct"):
    return verdict.model_copy(update={"program": program}).record


def scored(row_id, value, status="ok", kind="", usage=None):
    scores = {} if value is None else {"em": value, "tied": 0.0}
    return Scored(row_id, status, kind, scores, usage or Usage(requests=1, tokens=5), 0.5)


def test_an_abstention_scores_zero_and_no_tie():
    result = record(Verdict(abstained=True, status="abstained"))
    scores = score(row(1), {"result": result})
    assert scores == {
        "em": 0.0,
        "containment": 0.0,
        "inside": 0.0,
        "rouge_l": 0.0,
        "context_right": None,
        "tied": 0.0,
    }


def test_a_tie_of_the_vote_is_scored_in_expectation():
    documents = tuple(
        Document(text=f"Say {n} moons.", id=f"d{n}", source=n) for n in ("two", "three", "four")
    )
    answers = tuple(Answer(text=n, document_id=f"d{n}") for n in ("two", "three", "four"))
    verdict = Verdict(answer="two", documents=documents, answers=answers)
    result = record(verdict, "vote")
    assert candidates(result) == ["two", "three", "four"]
    scores = score(row(1), {"result": result})
    assert scores["em"] == pytest.approx(1 / 3)
    assert scores["context_right"] == 1.0
    assert scores["tied"] == 1.0
    assert candidates(record(verdict, "icl")) == ["two"]


def test_what_a_conflict_leaves_open_ties_with_the_answer():
    open_one = {"answers": ["two", "three"], "judgment": None}
    closed = {"answers": ["two", "four"], "judgment": "two"}
    elsewhere = {"answers": ["five", "six"], "judgment": None}
    verdict = Verdict(answer="two", conflicts=(open_one, closed, elsewhere))
    assert candidates(record(verdict, "macr")) == ["two", "three"]


def test_a_long_answer_is_scored_without_a_made_up_zero():
    assert score_long(row(1), {"text": "It has two moons."}) == {
        "containment": 1.0,
        "fact_recall": None,
    }
    assert score_long(row(1, answers=()), {"text": "x"})["containment"] is None


@given(st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_the_lower_bound_is_below_the_mean_by_the_share_of_failures(values):
    rows = [
        scored(str(i), v, "ok" if v is not None else "provider_error") for i, v in enumerate(values)
    ]
    found = summarize("p", rows, len(rows) + 2)
    measured = [v for v in values if v is not None]
    assert found.answered + found.abstained + found.failed == found.rows == len(values)
    assert found.unasked == 2
    if measured:
        em = found.measures["em"]
        assert em.lower_bound == pytest.approx(sum(measured) / len(values))
        assert em.lower_bound <= em.mean + 1e-12
        assert em.low <= em.mean <= em.high
    else:
        assert not found.measures


def test_costs_add_up_and_one_unknown_price_makes_the_sum_unknown():
    known, unknown = Usage(requests=1, tokens=5, cost=0.5), Usage(requests=1, tokens=5)
    cached = Usage(cached=2, cost=0.0)
    priced = [scored("a", 1.0, usage=known), scored("b", 1.0, usage=cached)]
    assert summarize("p", priced, 2).usage == Usage(requests=1, cached=2, tokens=5, cost=0.5)
    both = [scored("a", 1.0, usage=known), scored("b", 1.0, usage=unknown)]
    assert summarize("p", both, 2).usage.cost is None


def test_no_row_gives_no_number():
    found = summarize("p", [], 5)
    assert (found.rows, found.unasked, found.coverage, found.seconds) == (0, 5, None, None)
    assert not found.measures
    assert compare({"a": [scored("x", 1.0)], "b": []}) == []


def test_progress_tells_rate_time_left_requests_and_cost():
    usage = Usage(requests=210, cached=3, tokens=9, cost=0.25)
    line = row_line(Progress("vote", 111, 10, 1000, 2, usage), 10.0)
    assert line == (
        "vote 111/1,000 rows, 10.0 rows/s, about 1 min 29 s left, 210 requests and 3 cached, "
        "$0.2500, 2 failed"
    )
    line = row_line(Progress("vote", 1, 0, None, 0, Usage(requests=1)), 0.0)
    assert line == "vote 1 rows, 1 requests, cost unknown"
