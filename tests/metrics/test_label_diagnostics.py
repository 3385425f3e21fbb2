import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.metrics import label_diagnostics, rag_diagnostics

S, C, N = "supported", "contradicted", "insufficient"
LABELS = st.sampled_from([S, C, N])


@st.composite
def labelled(draw, missing=False, least=0):
    label = st.one_of(LABELS, st.none()) if missing else LABELS
    flag = st.one_of(st.booleans(), st.none()) if missing else st.booleans()
    r, a, d = draw(st.integers(0, 5)), draw(st.integers(0, 5)), draw(st.integers(least, 4))
    row = st.lists(label, min_size=d, max_size=d)
    return (
        draw(st.lists(label, min_size=r, max_size=r)),
        draw(st.lists(flag, min_size=a, max_size=a)),
        draw(st.lists(row, min_size=r, max_size=r)),
        draw(st.lists(row, min_size=a, max_size=a)),
    )


def test_contradicted_is_kept_apart_from_silence():
    found = label_diagnostics([C, N, S, N], [True], [[C, N], [N, N], [S, C], [N, C]], [[S, N]])
    m = found.measures
    assert (m["faithfulness"], m["contradicted"], m["unsupported"]) == (0.25, 0.5, 0.25)
    assert (m["precision"], m["wrong"]) == (0.25, 0.25)
    assert (found.claims, found.facts, found.unscored) == (4, 1, 0)


def test_a_missing_label_leaves_its_claim_out_of_every_measure():
    whole = label_diagnostics([S, N], [True], [[S], [C]], [[S]])
    holes = label_diagnostics([S, N, None, S], [True, None], [[S], [C], [S], [None]], [[S], [S]])
    assert holes.measures == whole.measures
    assert (holes.claims, holes.facts, holes.unscored) == (2, 1, 3)


def test_fact_recall_needs_no_documents():
    found = label_diagnostics([], [True, False], [], [[None], [None]])
    assert found.measures["fact_recall"] == 0.5
    assert found.measures["recall"] is None
    assert found.unscored == 2


def test_without_documents_nothing_is_said_of_them():
    m = label_diagnostics([S, C], [True], [[], []], [[]]).measures
    assert m["faithfulness"] is m["contradicted"] is m["unsupported"] is None
    assert (m["precision"], m["wrong"], m["fact_recall"]) == (0.5, 0.5, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["Entailment"], [], [[]], []), "a label is 'Entailment'"),
        (([S], [], [["yes"]], []), "a label is 'yes'"),
        (([S, S], [], [[]], []), "claims_by_documents has 1 rows for 2"),
        (([], [True], [], []), "facts_by_documents has 0 rows for 1"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        label_diagnostics(*arguments)


@given(labelled())
def test_without_holes_it_is_rag_diagnostics_and_more(tables):
    gold, stated, by_response, by_gold = tables
    found = label_diagnostics(*tables)

    def supported(rows):
        return [[label == S for label in row] for row in rows]

    (flags,) = supported([gold])
    plain = rag_diagnostics(flags, stated, supported(by_response), supported(by_gold))
    assert {name: found.measures[name] for name in plain} == plain
    assert (found.claims, found.facts, found.unscored) == (len(gold), len(stated), 0)
    assert found.measures["fact_recall"] == plain["recall"]


@given(labelled(missing=True))
def test_bounds_and_counts(tables):
    found = label_diagnostics(*tables)
    assert all(v is None or 0 <= v <= 1 for v in found.measures.values())
    assert found.claims + found.facts + found.unscored == len(tables[0]) + len(tables[1])


@given(labelled(missing=True, least=1))
def test_every_scored_claim_is_supported_contradicted_or_met_with_silence(tables):
    m = label_diagnostics(*tables).measures
    if m["faithfulness"] is not None:
        parts = m["faithfulness"] + m["contradicted"] + m["unsupported"]
        assert parts == pytest.approx(1)
        assert m["hallucination"] + m["self_knowledge"] == pytest.approx(1 - m["faithfulness"])
    if m["precision"] is not None:
        assert m["wrong"] <= 1 - m["precision"] + 1e-9
