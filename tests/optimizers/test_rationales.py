"""Rationales as demonstrations: asked for once, checked in code, kept in the artifact."""

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import referee
from referee.errors import InputError
from referee.optimizers import Rationales, compile_program
from referee.optimizers.rationales import concise, names_answer
from referee.programs import PROGRAMS
from referee.programs.baselines.instructrag import InstructRAG
from referee.runtime import Budget
from referee.runtime.scripted import prompt_of

EXPLAIN = "lead to the given answer"


def compiled(lm, examples, program=None, **options):
    return compile_program(
        program or InstructRAG(), examples(12), examples(14)[12:], lm=lm, **options
    )


def explaining(make_lm, rationale="Two documents say two, the other errs."):
    plain = make_lm().engine.script

    def script(request):
        return rationale if EXPLAIN in prompt_of(request) else plain(request)

    return make_lm("scripted/rationales", script)


def test_the_default_optimizer_of_instructrag_makes_rationales_once(make_lm, examples, tmp_path):
    lm = explaining(make_lm)
    result = compiled(lm, examples)
    demos = result.program.answer.demos
    assert [d.rationale for d in demos] == ["Two documents say two, the other errs."] * 2
    assert {d.answer for d in demos} == {"two"}
    assert all("two moons" in d.documents for d in demos)
    asked = [r for r in lm.engine.requests if EXPLAIN in prompt_of(r)]
    assert len(asked) == 4  # one group that runs together
    assert len(lm.engine.requests) <= result.estimate
    assert result.program.card["optimizer"] == {"name": "rationales", "demonstrations": 2}
    result.program.save_artifact(tmp_path / "a")
    loaded = referee.load(tmp_path / "a")
    assert [d["rationale"] for d in loaded.answer.demos] == [d.rationale for d in demos]


def test_demonstrations_stand_before_the_question_and_no_note_is_left(make_lm, examples):
    result = compiled(explaining(make_lm), examples)
    lm = make_lm("scripted/asked")
    with dspy.context(lm=lm):
        verdict = result.program(question="How many?", documents=["It has two moons."]).verdict
    (request,) = lm.engine.requests
    assert len(request.messages) == 5
    assert "the other errs" in request.messages[1].text
    assert verdict.answer == "two"
    assert not any("no rationales" in n for n in verdict.notes)


def test_rationales_that_do_not_name_the_answer_are_dropped(make_lm, examples):
    result = compiled(explaining(make_lm, "I cannot say."), examples)
    assert result.program.answer.demos == []
    assert result.without_demonstrations == ("answer",)


def test_a_failing_request_costs_its_row_only(make_lm, examples):
    plain, said = explaining(make_lm).engine.script, []

    def script(request):
        if EXPLAIN in prompt_of(request) and "planet 1" in request.messages[-1].text:
            raise RuntimeError("boom")
        return plain(request)

    result = compiled(make_lm("scripted/failing", script), examples, tell=said.append)
    assert len(result.program.answer.demos) == 2
    assert any(line.startswith("not explained: ") for line in said)


def test_a_spent_budget_ends_it(make_lm, examples):
    lm = explaining(make_lm)
    result = compiled(lm, examples, budget=Budget(requests=2))
    assert len(lm.engine.requests) == 2
    assert not result.complete


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Report 2 says two. Report 2 says two. Report 2 sa", "Report 2 says two."),
        ("One. Two.\n\nThree. Four.", "One. Two. Three."),
        ("Report 2 says two", "Report 2 says two"),
        ("", ""),
    ],
)
def test_a_rationale_is_whole_and_says_nothing_twice(said, kept):
    assert concise(said) == kept


def test_equal_seeds_give_equal_demonstrations(make_lm, examples):
    def demos(seed):
        program = compiled(explaining(make_lm), examples, seed=seed).program
        return [d.question for d in program.answer.demos]

    assert demos(0) == demos(0)
    assert demos(0) != demos(3)


def test_more_demonstrations_are_asked_for_and_bounded(make_lm, examples):
    run = compiled(explaining(make_lm), examples, optimizer=Rationales(3))
    assert len(run.program.answer.demos) == 3


@pytest.mark.parametrize("program", ["vote", "icl"])
def test_a_program_without_rationales_is_refused(make_lm, examples, program):
    with pytest.raises(InputError, match="without a rationale"):
        compiled(explaining(make_lm), examples, PROGRAMS[program](), optimizer="rationales")


def test_rows_without_answers_are_refused(make_lm):
    row = dspy.Example(question="q", documents=["d"], facts=["f"])
    with pytest.raises(InputError, match="answers"):
        compile_program(InstructRAG(), [row], [row], lm=make_lm(), metric="fact_recall")


@pytest.mark.parametrize(
    ("rationale", "answer", "named"),
    [
        ("So the answer is The Beatles.", "Beatles", True),
        ("It lists 1901.", "190", False),
        ("Nothing.", "", False),
    ],
)
def test_names_answer(rationale, answer, named):
    assert names_answer(rationale, answer) is named


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_rationale_that_ends_in_the_answer_names_it(text, answer):
    assert names_answer(f"{text} {answer}", answer) or not names_answer(answer, answer)
