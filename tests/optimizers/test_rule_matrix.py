import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.errors import ArtifactError, InputError
from referee.optimizers import RuleMatrix, verify_rules
from referee.programs import Rule


def matrix(fired, correct, baseline):
    rules = [Rule(id=f"R{n}") for n, _ in enumerate(fired)]
    examples = [str(n) for n, _ in enumerate(baseline)]
    return RuleMatrix(
        rules=rules, examples=examples, fired=fired, correct=correct, baseline=baseline
    )


def test_cells_that_failed_are_left_out():
    table = matrix(
        [[True, None, True, False]], [[True, None, False, None]], [False, True, None, True]
    )
    (check,) = table.checks(0.05, 0.6)
    assert (check.examples, check.fired, check.correct, check.gain) == (1, 1, 1, 1.0)


def test_a_rule_that_only_failed_is_unmeasured_and_not_kept():
    table = matrix([[None, False], [False, False]], [[None, True], [True, True]], [True, True])
    assert table.unmeasured() == ["R0"]
    assert [r.id for r in table.select(0, 0)] == ["R1"]
    unknown, silent = table.measured()
    assert (unknown.coverage, silent.coverage, silent.support) == (None, 0.0, None)


def test_a_measured_zero_is_no_missing_number():
    (kept,) = matrix([[True]], [[False]], [False]).measured()
    assert (kept.support, kept.gain) == (0.0, 0.0)


@settings(deadline=None)
@given(st.data())
def test_without_failures_it_is_equation_9(data):
    rules, examples = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    row = st.lists(st.booleans(), min_size=examples, max_size=examples)
    rows = st.lists(row, min_size=rules, max_size=rules)
    fired, correct, baseline = data.draw(rows), data.draw(rows), data.draw(row)
    low, high = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))
    expected = verify_rules(fired, correct, low, high, baseline=baseline)
    assert matrix(fired, correct, baseline).checks(low, high) == expected


def test_it_survives_a_file(tmp_path):
    table = matrix([[True, None]], [[False, None]], [True, None])
    table.save(tmp_path / "m.json")
    assert RuleMatrix.load(tmp_path / "m.json") == table


@pytest.mark.parametrize("text", ["", "{}", '{"rules": 1}', "[]"])
def test_a_damaged_file_is_said(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ArtifactError, match="no rule matrix"):
        RuleMatrix.load(tmp_path / "m.json")
    with pytest.raises(InputError, match="cannot be read"):
        RuleMatrix.load(tmp_path / "none.json")


def test_rows_must_have_one_shape():
    with pytest.raises(ValueError, match="one cell per example"):
        matrix([[True]], [[True]], [True, False])
