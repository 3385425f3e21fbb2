"""The recipe of compile: rules before demonstrations, for MACR and for ArbGraph."""

import json

import dspy
import pytest
from induction_world import Model, copied, moved

import referee
from referee.errors import BackboneError, InputError
from referee.optimizers import InduceRules, RuleMatrix, compile_program
from referee.optimizers.scoring import as_metric, as_right
from referee.programs import MACR, ArbGraph, RuleBase, Vote
from referee.runtime import Budget, Report
from referee.runtime.chunks import sentences
from referee.runtime.scripted import prompt_of, scripted_lm

DEMOS = [moved(0), moved(1), copied(0), copied(1)]
VAL = [moved(2), moved(3), copied(2), copied(3)]
WITNESS = {
    "condition": "One text calls itself a witness of what happened.",
    "resolution": "Believe the other statement.",
}


def macr_world():
    """A model whose Observer writes a rule in words, which its Reasoner applies."""

    def observer(prompt):
        shown = "Type: misinformation" in prompt
        return {"rules": [{"type": "misinformation", **WITNESS}] if shown else []}

    def reasoner(prompt):
        return {"judgments": [{"conflict": 1, "rule": "R1", "winner": "second"}]}

    def read(prompt):  # the last document: those before it are demonstrations
        return Model().read("Document:" + prompt.rpartition("Document:")[2])

    return Model(observer=observer, reasoner=reasoner, read=read)


def compiled(model, **options):
    rules = options.pop("rules", InduceRules(own="drop", min_support=0.0))
    program, lm = MACR(rules=RuleBase([])), scripted_lm(model)
    result = compile_program(program, DEMOS, VAL, lm=lm, rules=rules, **options)
    assert len(lm.engine.requests) == result.usage.requests <= result.estimate
    return result


def test_rules_come_before_demonstrations_and_are_saved_with_them(tmp_path):
    said = []
    result = compiled(macr_world(), tell=said.append)
    assert [rule.provenance for rule in result.program.rules.rules] == ["induced"]
    assert result.program.read.demos
    assert said[0] == f"At most {result.estimate:,} requests, retries apart."
    assert "rules: 1 of 1 candidates kept" in said
    table = result.program.card["rules"]["rules"]
    assert [(r["fired"], r["kept"]) for r in table] == [(2, True)]
    result.program.save_artifact(tmp_path)
    loaded = referee.load(tmp_path)
    assert loaded.rules.dump_state() == result.program.rules.dump_state()
    assert loaded.card == result.program.card


def test_rules_may_be_left_as_they_are():
    model = macr_world()
    result = compiled(model, rules=False)
    assert result.induction is None
    assert result.program.card["rules"] is None
    assert not result.program.rules.rules
    assert not model.asked["observer"]
    assert compiled(macr_world()).estimate > result.estimate
    with pytest.raises(InputError, match="vote has no rule base"):
        compile_program(Vote(), DEMOS, VAL, lm=scripted_lm(Model()), rules=InduceRules())


def test_a_budget_that_ends_within_the_induction_leaves_the_rules_as_they_are():
    said, model = [], macr_world()
    result = compiled(model, budget=Budget(requests=60), tell=said.append)
    assert result.usage.requests <= 60
    assert model.asked["observer"]
    assert result.induction is None
    assert not result.program.rules.rules
    assert any(line.startswith("rules stay as they are: the budget") for line in said)
    assert not result.complete


# ArbGraph: two documents against one, told apart by the model alone.


def town(n):
    name = ("Arburg", "Belmar", "Corvik", "Dunhill", "Estrow", "Falmer")[n]
    return dspy.Example(
        question=f"In which year was the bridge of {name} opened?",
        documents=[
            {"text": f"The bridge of {name} was opened in 1932.", "date": "2001-01-01"},
            {"text": f"A witness says the bridge of {name} was opened in 1934."},
            {"text": f"The mayor opened the bridge of {name} in 1932."},
        ],
        facts=[f"The bridge of {name} was opened in 1932."],
    ).with_inputs("question", "documents")


def arb_model(request):
    """A model that applies the rule of the witness when it is shown one, and decides nothing."""
    prompt = prompt_of(request)
    said = request.messages[-1].text
    if '"complete"' in prompt:
        return json.dumps({"claims": [s.text for s in sentences(said.rpartition("Text:")[2])]})
    if "general rules" in prompt:
        return json.dumps({"rules": [{"type": "other", **WITNESS}]})
    if '"confidence": number}, ...]' in prompt:
        pairs = json.loads(said[said.rindex("[{") :])
        kinds = ["contradiction" if "1934" in str(p) else "support" for p in pairs]
        found = [
            {"pair": n, "relation": kind, "confidence": 1} for n, kind in enumerate(kinds, start=1)
        ]
        return json.dumps({"relations": found})
    if '"winner"' in prompt:
        right = "first" if "1932" in said.rpartition("First:")[2].split("Second:")[0] else "second"
        rule = "R1" if "R1: If One text calls itself a witness" in prompt else ""
        return json.dumps({"winner": right if rule else "undecided", "rule": rule})
    claims = said.rpartition("Claims:")[2].partition("Question:")[0].strip().splitlines()
    told = [line.partition(". ")[2].partition(" (disputed")[0] for line in claims]
    written = [{"sentence": text, "claims": [n]} for n, text in enumerate(told, start=1)]
    return json.dumps({"sentences": written})


def test_a_report_tells_its_contradictions_and_the_rule_that_settled_each():
    with dspy.context(lm=scripted_lm(arb_model)):
        example = town(0)
        report = ArbGraph(rules=RuleBase([]))(**example.inputs()).report
    conflict = report.record["conflicts"][0]
    assert (conflict["type"], conflict["rule"], conflict["judgment"]) == ("other", "", None)
    assert any("1934" in answer for answer in conflict["answers"])
    assert all(snippet for snippet in conflict["snippets"])
    assert sorted(conflict["dates"]) == ["", "2001-01-01"]
    assert sorted(conflict["sources"]) == [1, 2]


def test_arbgraph_learns_rules_and_demonstrations_by_fact_recall(tmp_path):
    lm = scripted_lm(arb_model)
    program = ArbGraph(rules=RuleBase([]), ask_model=True)
    result = compile_program(
        program,
        [town(n) for n in range(3)],
        [town(n) for n in range(3, 6)],
        metric="fact_recall",
        lm=lm,
    )
    assert len(lm.engine.requests) == result.usage.requests <= result.estimate
    (rule,) = result.program.rules.rules
    assert (rule.coverage, rule.support) == (1.0, 1.0)
    assert result.without_demonstrations == ()
    assert result.before.mean == result.after.mean == 1.0
    assert result.program.verifier.ask_model is True
    assert result.program.card["metric"] == "fact_recall (word for word)"
    result.program.save_artifact(tmp_path)
    loaded = referee.load(tmp_path, lm=lm)
    report = loaded(**town(0).inputs()).report
    assert {c["rule"] for c in report.conflicts} == {rule.id}
    assert not any("1934" in claim.text for claim in report.validated)


def test_the_matrix_chooses_other_rules_without_a_request(tmp_path):
    result = compiled(macr_world())
    result.induction.matrix.save(tmp_path / "matrix.json")
    matrix = RuleMatrix.load(tmp_path / "matrix.json")
    assert len(matrix.select(0.0, 0.0)) == 1
    assert matrix.select(0.9, 0.0) == []


LONG = dspy.Example(facts=["There are boats.", "They are red."])


def said(text, status="ok"):
    return dspy.Prediction(report=Report(text=text, status=status), answer=text)


def judge(found, name="scripted/judge"):
    verdicts = [{"number": n, "stated": flag} for n, flag in enumerate(found, start=1)]
    return scripted_lm(lambda _: json.dumps({"verdicts": verdicts}), name)


def test_fact_recall_asks_a_judge_where_there_is_one_and_says_which():
    words = as_metric("fact_recall")
    assert words.name == "fact_recall (word for word)"
    assert words.score(LONG, said("There are boats.")) == 0.5
    assert "They are red." in words.feedback(LONG, said("There are boats."))
    assert words.requests(LONG) == 0
    other = as_metric("fact_recall", judge([True, True]))
    assert other.name == "fact_recall (judge scripted/judge)"
    assert other.score(LONG, said("Red boats.")) == 1.0
    assert other.requests(LONG) == 1


def test_a_judge_that_fails_scores_nothing_and_an_unreadable_reply_scores_zero():
    failing = as_metric("fact_recall", scripted_lm(lambda _: "?", "scripted/mute"))
    assert failing.score(LONG, said("Red boats.")) is None
    with pytest.raises(BackboneError):
        as_right(failing)(LONG, said("Red boats."))
    metric = as_metric("fact_recall")
    assert metric.score(LONG, said("", "parse_error")) == 0.0
    assert metric.score(LONG, said("", "provider_error")) is None
    assert as_right("em")(LONG, said("x")) is None  # it has no right answers


def test_the_judge_is_counted_and_bounded_with_the_rest(tmp_path):
    student, other = scripted_lm(arb_model), judge([True])
    rows = [town(n) for n in range(4)]
    result = compile_program(
        ArbGraph(), rows[:2], rows[2:], metric="fact_recall", judge=other, lm=student, rules=False
    )
    asked = len(student.engine.requests) + len(other.engine.requests)
    assert asked == result.usage.requests <= result.estimate
