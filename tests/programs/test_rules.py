import copy

import dspy
import pytest
import yaml
from dspy.teleprompt import BootstrapFewShot

from referee.errors import ArtifactError, InputError
from referee.programs.conflicts import CONFLICT_TYPES
from referee.programs.operators import OPERATORS
from referee.programs.rules import Interval, Rule, RuleBase, lint, starter_rules
from referee.runtime.scripted import by_content, scripted_lm


def rule(id, type="any", operator="", **fields):
    words = {"condition": f"Condition of {id}.", "resolution": f"Believe statement {id}."}
    return Rule(id=id, type=type, operator=operator, **{**words, **fields})


def measured(id, support, coverage=None, type="temporal"):
    return rule(id, type, support=support, coverage=coverage, fired=10, correct=int(10 * support))


def full_base():
    rules = [
        rule("R1", "temporal", "latest_date", provenance="starter"),
        rule(
            "R2",
            coverage=0.25,
            support=0.8,
            fired=10,
            correct=8,
            interval=Interval(0.49, 0.94),
            gain=-0.1,
            provenance="induced",
            provisional=True,
            condition='A: "quoted" # and — umlauts äöü\nin two lines',
        ),
    ]
    base = RuleBase(rules[:1], authoritative=["Federal Register", "nasa.gov"])
    return base.updated(rules, "The queue of 3 May.", "2026-05-03")


# --- order


def test_matching_gives_the_type_and_any_best_first():
    base = RuleBase(
        [
            rule("R10", "temporal"),
            rule("R2"),
            measured("M1", 0.7),
            measured("M2", 0.9, 0.1),
            measured("M3", 0.9, 0.2),
            measured("M4", 0.9),
            rule("R1", "semantic"),
            rule("R3", support=0.0, fired=1),
        ]
    )
    assert [r.id for r in base.matching("temporal")] == [
        *("M3", "M2", "M4", "M1"),
        *("R3", "R2", "R10"),
    ]
    assert [r.id for r in base.matching("other")] == ["R3", "R2"]


def test_the_order_of_the_file_does_not_matter():
    rules = [rule("R2"), rule("R1"), measured("M", 0.6), rule("R11"), rule("R3", "temporal")]
    orders = {
        tuple(r.id for r in RuleBase(some).matching("temporal"))
        for some in (rules, rules[::-1], rules[2:] + rules[:2])
    }
    assert orders == {("M", "R1", "R2", "R3", "R11")}


# --- starter rules


def test_starter_rules_cover_every_type_and_operator_and_are_clean():
    base = starter_rules()
    assert {r.type for r in base.rules} == {*CONFLICT_TYPES, "any"}
    assert {r.operator for r in base.rules} == {*OPERATORS, ""}
    assert all(r.condition and r.resolution and r.provenance == "starter" for r in base.rules)
    assert all(r.support is None and r.coverage is None for r in base.rules)
    assert lint(base) == []
    assert base.authoritative == []


@pytest.mark.parametrize("type", CONFLICT_TYPES)
def test_starter_rules_try_context_then_date_then_counting(type):
    order = [r.operator for r in starter_rules().matching(type) if r.operator]
    wanted = ["authoritative_source", "external_context", "latest_date", "most_independent_sources"]
    assert [name for name in order if name in wanted] == [name for name in wanted if name in order]
    assert ("latest_date" in order) == (type == "temporal")


def test_starter_rules_are_new_on_every_call():
    starter_rules().rules.clear()
    starter_rules().authoritative.append("x")
    assert starter_rules().rules
    assert starter_rules().authoritative == []


# --- versions


def test_updated_makes_a_new_version_and_leaves_the_old():
    old = RuleBase([rule("R1"), rule("R2")], authoritative=["a"])
    new = old.updated([rule("R2", condition="Changed."), rule("R3")], "Feedback.", "2026-05-03")
    assert (old.version, len(old.rules), old.history) == (1, 2, [])
    assert new.version == 2
    assert new.authoritative == ["a"]
    [entry] = new.history
    assert (entry.version, entry.date, entry.reason) == (2, "2026-05-03", "Feedback.")
    assert (entry.added, entry.removed) == (("R2", "R3"), ("R1", "R2"))
    new.authoritative.append("b")
    assert old.authoritative == ["a"]


def test_rules_are_frozen_and_ids_unique_and_operators_known():
    with pytest.raises(ValueError, match="frozen"):
        rule("R1").id = "R2"
    with pytest.raises(InputError, match=r"Rule R1 stands twice"):
        RuleBase([rule("R1"), rule("R1", "other")])
    with pytest.raises(InputError, match=r"Rule R1, field 'operator'.*did you mean 'latest_date'"):
        RuleBase([rule("R1", operator="latest_dates")])
    with pytest.raises(InputError, match=r"the operators are authoritative_source, "):
        RuleBase([rule("R1", operator="zzz")])


# --- YAML


@pytest.mark.parametrize("base", [full_base(), starter_rules(), RuleBase()])
def test_yaml_round_trip(base):
    text = base.to_yaml()
    again = RuleBase.from_yaml(text)
    assert again == base
    assert again.to_yaml() == text
    zero = RuleBase([Rule(id="Z", condition="c", resolution="one", support=0.0, gain=0.0)])
    assert RuleBase.from_yaml(zero.to_yaml()) == zero  # a measured zero is no missing number
    assert isinstance(yaml.safe_load(text), dict)


def test_yaml_explains_every_field_and_leaves_out_what_is_not_set():
    text = full_base().to_yaml()
    header = text.split("\n\n")[0]
    for field in (*Rule.model_fields, "authoritative", "version", "history", *OPERATORS):
        assert field in header, field
    first = yaml.safe_load(text)["rules"][0]
    assert set(first) == {"id", "type", "condition", "resolution", "operator", "provenance"}


def test_yaml_by_hand_may_be_short():
    base = RuleBase.from_yaml(
        "rules:\n- id: 7\n  condition: Always.\n  operator:\n  resolution: Believe the first.\n"
        "authoritative: [nasa.gov]\n"
    )
    [only] = base.rules
    assert (only.id, only.type, only.operator, only.provenance) == ("7", "any", "", "user")
    assert base.authoritative == ["nasa.gov"]
    assert base.version == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no field 'rules'"),
        ("- a", "no field 'rules'"),
        ("rules: [", "no valid YAML"),
        ("rules: 3", "'rules' of the rules file is no list"),
        ("rules: [R1]", "Entry 1 of 'rules' is 'R1'"),
        ("rules: []\nruls: 1", "field 'ruls'"),
        ("rules: []\nversion: two", "'version'.*'two'"),
        ("rules: []\nauthoritative: nasa.gov", "'authoritative'.*list of texts"),
        ("rules:\n- {id: R1, type: tmporal}", "Rule R1, field 'type' is 'tmporal'"),
        ("rules:\n- {type: any}", "Rule number 1, field 'id' is missing"),
        ("rules:\n- {id: R1, suport: 1}", "Rule R1, field 'suport' is unknown; the fields are id"),
        ("rules:\n- {id: R1, support: 2}", "Rule R1, field 'support' is 2"),
        ("rules:\n- {id: R1, operator: latest}", "Rule R1, field 'operator'.*'latest_date'"),
        ("rules:\n- {id: R1}\n- {id: R1}", "Rule R1 stands twice"),
        ("rules: []\nhistory: [{version: 2}]", "Revision number 1, field 'date' is missing"),
        ("rules: !!python/object/apply:os.system ['true']", "no valid YAML"),
        ("rules: &a [*a]", "alias"),
        ("rules: " + "[" * 5000, "nested more than 20 deep"),
    ],
)
def test_yaml_errors_are_one_sentence_that_names_the_place(text, message):
    with pytest.raises(InputError, match=message) as caught:
        RuleBase.from_yaml(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


# --- state of programs


class Judge(dspy.Module):
    def __init__(self, rules):
        super().__init__()
        self.rules = rules
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question):
        return self.answer(question=question)


def test_state_survives_save_and_load(tmp_path):
    program = Judge(full_base())
    program.save(tmp_path / "program.json")
    other = Judge(starter_rules())
    other.load(tmp_path / "program.json")
    assert other.rules == full_base()
    assert other.rules.history == full_base().history
    assert other.rules.rules[1].interval == Interval(0.49, 0.94)


def test_state_is_json_only():
    import json

    state = full_base().dump_state()
    assert json.loads(json.dumps(state)) == state


def test_copies_are_independent_and_keep_the_rules():
    program = Judge(full_base())
    for made in (program.deepcopy(), program.reset_copy(), copy.deepcopy(program)):
        assert made.rules == full_base()
        assert made.rules is not program.rules
        made.rules.rules.clear()
        made.rules.authoritative.append("x")
    assert program.rules == full_base()


def test_rules_are_found_as_a_parameter_and_survive_optimization():
    program = Judge(full_base())
    assert "rules" in dict(program.named_parameters())
    assert "rules" not in dict(program.named_predictors())
    examples = [
        dspy.Example(question=f"q{i}", answer="yes").with_inputs("question") for i in range(3)
    ]
    lm = scripted_lm(by_content({"": "[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]"}))
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        compiled = BootstrapFewShot(metric=lambda *_: True, max_labeled_demos=0).compile(
            program, trainset=examples
        )
    assert compiled.answer.demos
    assert compiled.rules == full_base()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.update(schema=2),
        lambda s: s.pop("schema"),
        lambda s: s.pop("rules"),
        lambda s: s["rules"].append({"id": "R1"}),
        lambda s: s["rules"][0].update(operator="nope"),
        lambda s: s.update(version="x"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(spoil):
    state = full_base().dump_state()
    spoil(state)
    base = starter_rules()
    with pytest.raises(ArtifactError):
        base.load_state(state)
    assert base == starter_rules()


# --- lint


@pytest.mark.parametrize(
    ("rules", "finding"),
    [
        ([rule("R1", condition=" ")], "R1: the condition is empty"),
        ([rule("R1", resolution="")], "R1: it has neither an operator nor a resolution"),
        ([rule("R1", resolution="Be careful.")], "R1: the resolution names neither"),
        ([rule("R1", "granularity", "latest_date")], "R1: the operator latest_date never settles"),
        ([rule("R1", "temporal", "most_specific")], "R1: the operator most_specific never settles"),
        ([rule("R1", support=0.4, fired=5, correct=2)], "R1: its support of 0.40 is worse"),
        ([rule("R1", support=0.9, fired=5, correct=4, gain=-0.2)], "R1: its gain is -0.20"),
        ([rule("R1", support=0.9)], "R1: it has a support but never fired"),
        ([rule("R1", fired=1, correct=2)], "R1: it was right 2 times but fired 1"),
        (
            [
                rule("R1", condition="A, b!"),
                rule("R2", condition="a B", resolution="Believe side R1."),
            ],
            None,
        ),
        (
            [
                rule("R1", condition="The dates differ.", resolution="Believe the later one!"),
                rule("R2", condition="Dates DIFFER", resolution="believe later one"),
            ],
            "R2: it says the same as R1",
        ),
        (
            [rule("R1", "any", "latest_date"), rule("R2", "temporal", "latest_date")],
            "R2: R1 comes first with the same operator",
        ),
        ([rule("R1", "temporal", "latest_date"), rule("R2", "any", "latest_date")], None),
        ([rule("R1", "any"), rule("R2", "temporal")], None),
        (
            [Rule.model_construct(**{**rule("R1").model_dump(), "type": "odd"})],
            "R1: the type 'odd' is unknown",
        ),
    ],
)
def test_lint(rules, finding):
    found = lint(RuleBase(rules))
    if finding is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(finding)
