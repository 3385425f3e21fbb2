import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import dspy
import pytest
from induction_world import FIRMS, LATEST, Model, copied, moved

import referee
from referee.errors import BackboneError, InputError
from referee.optimizers import InduceRules, RuleMatrix
from referee.programs import MACR, PaperMACR, Rule, RuleBase, Vote
from referee.programs.feedback import Observed, Queue, queue_paused, read_queue
from referee.programs.rules import lint
from referee.runtime import ReplyCache, caching, current_meter
from referee.runtime.fake_server import FakeServer
from referee.runtime.scripted import scripted_lm

DEMOS = [moved(0), moved(1), copied(0), copied(1)]
VAL = [moved(n) for n in range(2, 8)] + [copied(n) for n in range(2, 6)]
IN_WORDS = {
    "type": "misinformation",
    "condition": "One text calls itself a witness of what happened.",
    "resolution": "Believe the other statement.",
}


def in_words(prompt):
    """An Observer that sees something in misinformation only."""
    return {"rules": [IN_WORDS] if "Type: misinformation" in prompt else []}


def induce(model, *, program=None, demos=DEMOS, val=VAL, conflicts=(), **options):
    lm = scripted_lm(model)
    with dspy.context(lm=lm):
        found = InduceRules(**options).induce(
            program or MACR(rules=RuleBase([])), demos, val, conflicts
        )
    return found, lm.engine.requests


def by_operator(found):
    return {entry["operator"]: entry for entry in found.table()}


def test_a_candidate_is_proposed_verified_alone_and_kept():
    found, _ = induce(Model())
    rule = by_operator(found)["latest_date"]
    assert (rule["type"], rule["kept"], rule["provenance"]) == ("temporal", True, "induced")
    assert (rule["coverage"], rule["support"], rule["fired"]) == (0.6, 1.0, 6)
    assert rule["interval"][0] == pytest.approx(0.6097, abs=1e-3)
    without = [flag for flag, n in zip(found.matrix.baseline, range(10), strict=True) if n < 6]
    assert rule["gain"] == pytest.approx(1 - sum(without) / 6)
    (revision,) = found.rules.history
    assert (revision.version, revision.added) == (2, (rule["id"],))
    assert len(revision.data) == 16


def test_thresholds_are_applied_later_and_ask_nothing(tmp_path):
    found, _ = induce(Model(), folder=tmp_path)
    matrix = RuleMatrix.load(tmp_path / "matrix.json")
    assert matrix == found.matrix
    assert [r.id for r in matrix.select(0.6, 1.0)] == [r.id for r in found.rules.rules]
    assert matrix.select(0.61, 0.6) == []
    _, requests = induce(Model(), folder=tmp_path, min_coverage=0.7, min_support=0.9)
    assert not requests


def test_operators_cost_nothing_beyond_one_pass_and_words_one_judgment_a_conflict():
    program = MACR(rules=RuleBase([]))
    model = Model()
    with dspy.context(lm=scripted_lm(model)):
        for x in (*DEMOS, *VAL):
            program(**x.inputs())
    one_pass = model.asked.total()
    found, requests = induce(Model())
    assert found.usage.requests == len(requests)
    assert len(requests) == one_pass + 2 * 3  # two types of conflict in three passes
    worded = Model(observer=in_words)
    _, requests = induce(worded)
    bridges = sum("bridge" in x.question for x in VAL)
    assert worded.asked["reasoner"] == bridges
    assert len(requests) == one_pass + 2 * 3 + bridges


def test_a_rule_in_words_fires_where_the_model_applies_it():
    def judge(prompt):
        return {"judgments": [{"conflict": 1, "rule": "R1", "winner": "second"}]}

    found, _ = induce(Model(observer=in_words, reasoner=judge))
    (entry,) = [e for e in found.table() if e["type"] == "misinformation"]
    assert (entry["operator"], entry["fired"], entry["coverage"]) == ("", 4, 0.4)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_gives_the_same_result(seed):
    first, one = induce(Model(), seed=seed)
    second, other = induce(Model(), seed=seed)
    assert first.rules == second.rules
    assert first.matrix == second.matrix
    seeds = sorted({r.config.seed for r in one if r.config.temperature == 0.7})
    assert seeds == [seed * 1000 + n for n in range(3)]
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_the_order_of_sides_is_drawn_and_a_pass_sees_at_most_its_share():
    model = Model()
    demos = [moved(n) for n in range(8)]
    induce(model, demos=demos, shown=3, passes=4)
    shown = [p for part, p in model.prompts if part == "observer"]
    assert len(shown) == 4
    assert {p.count('"right"') - 1 for p in shown} <= {3, 2}
    assert {side for p in shown for side in ("first", "second") if f'"right": "{side}"' in p} == {
        "first",
        "second",
    }


def test_a_failing_pass_keeps_the_others():
    asked = []

    def observer(prompt):
        if "Type: temporal" in prompt:
            asked.append(prompt)
            if len(asked) == 1:
                raise RuntimeError("boom")
        return Model().observer(prompt)

    found, _ = induce(Model(observer=observer))
    assert by_operator(found)["latest_date"]["kept"]
    assert any(p.startswith("The Observer: The model failed") for p in found.problems)


def test_a_broken_reply_keeps_its_good_rules():
    said = json.dumps({"rules": [*LATEST["rules"], {"type": 7}, "x", None]})
    found, _ = induce(Model(observer=said[:-3]))
    assert "latest_date" in by_operator(found)


def test_a_dead_model_is_an_error_and_no_verdict_on_the_rules():
    lm = dspy.LM("hosted_vllm/m", api_base="http://127.0.0.1:9/v1", api_key="k", num_retries=0)
    with dspy.context(lm=lm), pytest.raises(BackboneError, match="cannot be reached"):
        InduceRules(own="verify").induce(MACR(), DEMOS, VAL)


def test_own_rules_whose_requests_fail_stay_as_they_are():
    def broken(prompt):
        raise RuntimeError("boom")

    own = RuleBase([Rule(id="R9", **IN_WORDS), Rule(id="R8", type="semantic", operator="")])
    found, _ = induce(Model(reasoner=broken), program=MACR(rules=own), own="verify")
    assert [r.id for r in found.rules.rules] == ["R9", "R10"]
    assert found.rules.rules[0].support is None
    assert any("could not apply" in p for p in found.problems)
    (row,) = [
        f for rule, f in zip(found.matrix.rules, found.matrix.fired, strict=True) if rule.id == "R9"
    ]
    assert row.count(None) == 4


@pytest.mark.parametrize(("own", "ids"), [("verify", ["R6", "R7"]), ("keep", None), ("drop", None)])
def test_what_becomes_of_the_starter_rules(own, ids):
    found, _ = induce(Model(), program=MACR(), own=own)
    starters = [r.id for r in MACR().rules.rules]
    got = [r.id for r in found.rules.rules]
    if own == "verify":
        assert got == ids
        assert all(r.support is not None for r in found.rules.rules)
    elif own == "keep":
        assert got[: len(starters)] == starters
    else:
        assert got == [f"R{len(starters) + 1}"]  # an id is never given twice


def test_a_rule_that_would_never_decide_is_left_out_and_lint_is_content():
    def observer(prompt):
        said = {"type": "misinformation", "condition": "c", "operator": "most_independent_sources"}
        return {"rules": [said]}

    found, _ = induce(Model(observer=observer), program=MACR(), own="verify")
    twin = next(
        e for e in found.table() if e["id"] != "R7" and e["support"] == 1.0 and not e["kept"]
    )
    assert twin["operator"] == "most_independent_sources"
    assert [r.id for r in found.rules.rules] == ["R6", "R7"]
    assert lint(found.rules) == []


def test_the_metric_may_be_a_callable_or_fact_recall():
    found, _ = induce(Model(), metric=lambda example, pred, trace=None: 0.0)
    assert found.rules.rules == []
    assert by_operator(found)["latest_date"]["support"] == 0.0
    scored, _ = induce(Model(), metric=lambda e, p: dspy.Prediction(score=0.7, feedback="ok"))
    assert by_operator(scored)["latest_date"]["support"] == 1.0
    with_facts = [dspy.Example(**x, facts=x.answers).with_inputs(*x.inputs()) for x in VAL]
    recalled, _ = induce(Model(), metric="fact_recall", val=with_facts)
    assert by_operator(recalled)["latest_date"]["support"] == 1.0
    with pytest.raises(InputError, match="says nothing"):
        induce(Model(), metric="fact_recall")


def test_a_judge_that_fails_is_no_score_and_its_requests_are_counted():
    def metric(example, pred):
        if "Zandora" in example.question:
            raise BackboneError("The judge is away.")
        meter = current_meter()
        meter.reserve()
        meter.settle({"total_tokens": 1}, 0.0)
        scored.append(example)
        return float(pred.answer in example.answers)

    scored = []
    found, requests = induce(Model(), metric=metric)
    assert found.problems == ("The judge is away.",)
    entry = by_operator(found)["latest_date"]
    assert (entry["fired"], entry["coverage"]) == (5, pytest.approx(5 / 9))
    assert found.usage.requests == len(requests) + len(scored)


def test_validation_examples_are_never_shown_to_the_observer():
    model = Model()
    induce(model)
    shown = "".join(prompt for part, prompt in model.prompts if part == "observer")
    assert DEMOS[0].question in shown
    assert not any(x.question in shown for x in VAL)


def test_the_input_stays_as_it_is():
    program = MACR()
    before = program.dump_state()
    induce(Model(), program=program)
    assert program.dump_state() == before


def test_compile_gives_a_copy_with_the_rules_and_leaves_the_rest(tmp_path):
    program = MACR(rules=RuleBase([]), queue=tmp_path / "queue.jsonl")
    with dspy.context(lm=scripted_lm(Model())):
        compiled = referee.InduceRules().compile(program, trainset=[*DEMOS, *VAL])
        assert compiled(**moved(3).inputs()).answer == moved(3).answers[0]
    assert not program.rules.rules
    assert [r.operator for r in compiled.rules.rules] == ["latest_date"]
    assert not (tmp_path / "queue.jsonl").exists()  # labelled data is no feedback
    compiled.save(tmp_path / "p.json")
    loaded = MACR(rules=RuleBase([]))
    loaded.load(tmp_path / "p.json")
    assert loaded.rules == compiled.rules


def test_rules_survive_prompt_optimization():
    with dspy.context(lm=scripted_lm(Model())):
        compiled = InduceRules().compile(MACR(rules=RuleBase([])), trainset=DEMOS, valset=VAL)
        teleprompter = dspy.BootstrapFewShot(
            metric=lambda e, p, trace=None: p.answer in e.answers, max_labeled_demos=0
        )
        optimized = teleprompter.compile(compiled, trainset=DEMOS)
    assert optimized.rules == compiled.rules
    assert compiled.rules.rules


def test_the_printed_preset_takes_rules_too():
    program = PaperMACR().with_rules(RuleBase([Rule(id="X", condition="c", resolution="one")]))
    assert [r.id for r in program.rules.rules] == ["X"]
    with pytest.raises(InputError, match="vote has no rules"):
        Vote().with_rules(RuleBase([]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"own": "burn"}, "own is 'burn'"),
        ({"min_coverage": 5}, "min_coverage is 5"),
        ({"metric": "bleu"}, "no metric 'bleu'"),
        ({"passing": 2}, "passing is 2"),
        ({"passes": 0}, "passes is 0"),
        ({"val": []}, "no validation example"),
    ],
)
def test_wrong_settings_are_named(options, says):
    with pytest.raises(InputError, match=says):
        induce(Model(), **options)


def test_conflicts_without_one_right_side_teach_nothing():
    odd = moved(0).copy(answers=["Nowhere"]).with_inputs("question", "documents", "date")
    model = Model()
    found, _ = induce(model, demos=[odd])
    assert (found.observed, found.unclear, model.asked["observer"]) == (0, 1, 0)


# Feedback (MACR §3.5.2, step 4)


def namesake(n):
    """Two towns of one name: the question says which."""
    firm = FIRMS[n % 8]
    return dspy.Example(
        question=f"Who is the mayor of Ashby, {firm} County?",
        documents=[
            f"The mayor of Ashby, {firm} County, is {FIRMS[(n + 1) % 8]} Orne.",
            f"The mayor of Ashby, Quorn County, is {FIRMS[(n + 2) % 8]} Bell.",
        ],
        answers=[f"{FIRMS[(n + 1) % 8]} Orne"],
    ).with_inputs("question", "documents")


class Towns(Model):
    analyzer: ClassVar = {
        "relations": [{"pair": 1, "relation": "contradiction", "type": "semantic"}]
    }
    observer: ClassVar = {
        "rules": [
            {
                "type": "semantic",
                "condition": "The two texts are about places of one name in different counties.",
                "resolution": "Believe the statement about the place that the question names.",
            }
        ]
    }

    def read(self, prompt):
        text = prompt.split("Document:", 1)[1].split("Question:", 1)[0]
        return text.split(" is ", 1)[1].split(".")[0].strip()

    def reasoner(self, prompt):
        first = prompt.split('"first_text": "', 1)[1].split('"')[0]
        won = "second" if "Quorn" in first else "first"
        rule = prompt.split('"rules": ["', 1)[1].split(":")[0]
        return {"judgments": [{"conflict": 1, "rule": rule, "winner": won}]}


def test_an_unknown_type_of_conflict_becomes_covered_through_the_queue(tmp_path):
    queue = tmp_path / "queue.jsonl"
    base = RuleBase([Rule(id="R1", type="temporal", condition="c", operator="latest_date")])
    program = MACR(rules=base, queue=queue)
    with dspy.context(lm=scripted_lm(Towns())):
        for n in range(3):
            before = program(**namesake(n).inputs()).verdict
            assert not before.rules_used
        read = read_queue(queue, {namesake(0).question: namesake(0).answers})
        assert [c.type for c in read.conflicts] == ["semantic"] * 3
        assert [c.right for c in read.conflicts] == [0, None, None]
        found = InduceRules(own="keep").induce(
            program, [], [namesake(n) for n in range(3, 8)], read.conflicts
        )
        after = program.with_rules(found.rules)(**namesake(9).inputs()).verdict
    assert [(r.id, r.type, r.provenance) for r in found.rules.rules[1:]] == [
        ("R2", "semantic", "feedback")
    ]
    assert found.rules.rules[1].coverage == 1.0
    assert after.rules_used == ("R2",)
    assert after.answer == namesake(9).answers[0]
    assert len(queue.read_text().splitlines()) == 3
    assert found.rules.version == 2
    assert base.version == 1


def test_a_queue_cut_short_by_a_crash_loses_its_last_line_only(tmp_path):
    path = tmp_path / "queue.jsonl"
    line = Observed(
        question="q?", type="other", answers=("a", "b"), snippets=("x", "y")
    ).model_dump_json()
    path.write_text(
        "\n".join([line, line, "[]", '{"type": "odd"}', line[:40]])
        + "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    )
    read = read_queue(path)
    assert (len(read.conflicts), read.broken) == (1, 3)
    with pytest.raises(InputError, match="cannot be read"):
        read_queue(tmp_path / "none.jsonl")


def test_a_paused_queue_takes_nothing(tmp_path):
    queue = Queue(tmp_path / "q.jsonl")
    with queue_paused():
        assert queue.add("x") == ""
    assert not queue.path.exists()
    queue.add("y")
    assert queue.path.read_text() == "y\n"


# Killed and started again

SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import dspy
from test_induce import DEMOS, VAL
from referee.optimizers import InduceRules
from referee.programs import MACR, RuleBase
from referee.runtime import connect
lm = connect("openai/m", api_base={url!r}, concurrency=4)
with dspy.context(lm=lm):
    found = InduceRules(folder={folder!r}).induce(MACR(rules=RuleBase([])), DEMOS, VAL)
print(found.rules.to_yaml(), end="")
"""


@pytest.mark.slow  # starts Python three times
@pytest.mark.timeout(300)
def test_killed_at_any_point_it_goes_on_without_paying_twice(tmp_path):
    expected, requests = induce(Model())
    needed, model = len(requests), Model()

    def answer(request):
        time.sleep(0.02)
        return model(request)

    with FakeServer(answer) as server:
        script = SCRIPT.format(
            here=str(Path(__file__).parent), url=server.url, folder=str(tmp_path)
        )

        def start():
            command = [sys.executable, "-c", script]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        for share in (0.2, 0.6):
            running = start()
            while model.asked.total() < share * needed:
                assert running.poll() is None
                time.sleep(0.01)
            running.kill()  # signal 9
            assert running.wait() == -signal.SIGKILL
            running.stdout.close()
        last = start()
        assert last.communicate(timeout=250)[0] == expected.rules.to_yaml()
    # Only replies that were on their way when it died are asked for once more.
    assert needed <= model.asked.total() <= needed + 2 * 4


def test_an_outer_cache_is_used(tmp_path):
    with caching(ReplyCache(tmp_path / "outer")):
        induce(Model())
        found, requests = induce(Model(), folder=tmp_path / "new")
    assert (tmp_path / "new" / "matrix.json").exists()
    assert not requests
    assert found.usage.cached
