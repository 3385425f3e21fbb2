import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import dspy
import pytest
from tuning_world import Model, long, short

from referee.errors import BackboneError, BudgetExceeded, InputError
from referee.optimizers import RuleMatrix, TuneThresholds
from referee.optimizers.rehearsal import Pass, Rehearsal
from referee.optimizers.scoring import as_metric
from referee.optimizers.study import Study, comparable, working
from referee.programs import MACR, ArbGraph, Direct, Gate, RuleBase, Vote
from referee.programs.rules import Rule
from referee.programs.tunables import Tunable
from referee.runtime import Budget
from referee.runtime.exchange import channel
from referee.runtime.fake_server import FakeServer
from referee.runtime.meter import Meter
from referee.runtime.scripted import WordEncoder, scripted_lm

SHORT = [short(n) for n in range(9)]
LONG = [long(n) for n in range(4)]


def macr(**settings):
    return MACR(rules=RuleBase([]), **settings)


def arbgraph(**settings):
    return ArbGraph(rules=RuleBase([]), encoder=WordEncoder(), **settings)


def tune(program, rows, model=None, metric="em", **settings):
    lm = scripted_lm(model or Model(), "scripted/tuned")
    with dspy.context(lm=lm):
        return TuneThresholds(metric, **settings).tune(program, rows)


# What a trial is

PROGRAMS = [(macr, SHORT, "em"), (arbgraph, LONG, "fact_recall")]


def drawn(tunables, draw):
    values = {}
    for name, t in tunables.items():
        steps = draw.randrange(1 + round((t.high - t.low) / t.step))
        values[name] = Tunable(t.symbol, t.low + steps * t.step, t.low, t.high, t.step).nearest
    return values


@pytest.mark.parametrize(("build", "rows", "metric"), PROGRAMS)
def test_a_replayed_trial_is_a_run_of_the_program(build, rows, metric):
    """Answers and requests of a trial are those of a program that was built with its values."""
    program, seen, draw = build(), [], random.Random(0)

    def answer(example, prediction):
        record = prediction.get("verdict") or prediction.report
        seen.append((example.question, prediction.answer, record.status))
        return 1.0

    with dspy.context(lm=scripted_lm(Model(), "scripted/replay"), trace=None):
        rehearsal = Rehearsal(rows, answer, Meter())
        for _ in range(25):
            variant = program.with_values(drawn(program.tunables(), draw))
            seen.clear()
            with dspy.context(adapter=channel()):
                found = rehearsal.run(variant, "trial")
            plain = [variant(**row.inputs()) for row in rows]
            records = [p.get("verdict") or p.report for p in plain]
            expected = {(r.question, p.answer) for r, p in zip(rows, plain, strict=True)}
            assert {s[:2] for s in seen} == expected
            assert found.requests * len(rows) == sum(r.usage.requests for r in records)


def test_what_a_threshold_does_not_change_is_not_asked():
    model = Model()
    found = tune(macr(), SHORT, model, trials=20)
    # Samples are drawn once, for the largest k; beyond the first pass only the internal branch is
    # new: notes, the answer from them, and their conflicts.
    assert model.asked["sample"] == 8 * len(SHORT)
    assert model.asked["read"] == 2 * len(SHORT)
    assert model.asked["recall"] == model.asked["year"] == len(SHORT)
    assert found.usage.requests == model.asked.total()
    assert sum(t.new_requests for t in found.trials) == model.asked.total()
    assert found.first_pass == found.default.new_requests > 0


def test_arbitration_is_replayed():
    model = Model()
    names = ("step_size", "pairs_per_round", "rounds")
    found = tune(arbgraph(), LONG, model, "fact_recall", parameters=names, trials=15)
    assert model.asked.total() == found.first_pass


# What is found


def test_memory_is_trusted_where_it_pays():
    program = macr()
    found = tune(program, SHORT, trials=20)
    assert found.default.number == 0
    assert found.default.score == pytest.approx(2 / 3)
    assert found.best.score == 1.0
    gate = found.program.assessment.gate
    assert gate.threshold == found.best.values["gate_threshold"]
    assert gate.k == found.best.values["samples"]
    assert program.assessment.gate == Gate()
    assert found.gain.difference == pytest.approx(1 / 3)
    assert found.interval.low <= 1.0 <= found.interval.high
    assert set(found.importances) == {"gate_threshold", "samples"}


def test_without_a_gain_the_program_stays_as_it_is():
    program = arbgraph()
    found = tune(program, LONG, metric="fact_recall", parameters=["step_size"], trials=6)
    assert found.best.number == 0
    assert found.program.settings is program.settings
    assert found.importances is None


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_finds_the_same(seed):
    one, other = (tune(macr(), SHORT, trials=14, seed=seed) for _ in range(2))
    assert [t.values for t in one.trials] == [t.values for t in other.trials]
    assert one.best.values == other.best.values


def test_another_seed_searches_elsewhere():
    one, other = (tune(macr(), SHORT, trials=4, seed=seed) for seed in (0, 1))
    assert one.trials[0].values == other.trials[0].values
    assert one.trials[1].values != other.trials[1].values


def test_pareto():
    found = tune(macr(), SHORT, trials=20, pareto=True)
    assert found.best in found.front
    costs = [t.requests for t in found.front]
    scores = [t.score for t in found.front]
    assert costs == sorted(costs)
    assert scores == sorted(scores)
    for trial in found.trials:
        assert any(f.score >= trial.score and f.requests <= trial.requests for f in found.front)


def test_rule_thresholds_choose_from_a_matrix():
    older = Rule(id="R1", condition="Always.", resolution="Believe the text with a source.")
    matrix = RuleMatrix(
        rules=(older,),
        examples=tuple("abc"),
        fired=((True, False, True),),
        correct=((True, False, False),),
        baseline=(False, False, False),
    )
    names = ["min_coverage", "min_support"]
    found = tune(macr(), SHORT, matrix=matrix, parameters=names, trials=8)
    kept = {t.values["min_support"] <= 0.5 for t in found.trials[1:]}
    assert kept == {True, False}  # with the rule, and without it
    assert found.default.values == {"min_coverage": 0.05, "min_support": 0.6}


def test_a_dspy_optimizer():
    with dspy.context(lm=scripted_lm(Model(), "scripted/compile")):
        compiled = TuneThresholds(trials=10).compile(macr(), trainset=SHORT)
    assert compiled.assessment.gate.threshold > 0


# What goes wrong


def test_a_row_without_a_score_counts_as_at_the_defaults():
    assert comparable([1.0, None, 0.0, 1.0], [0.0, 1.0, 0.0, None]) == pytest.approx(2 / 3)


class Failing(Model):
    """Fails on the notes of some mills."""

    def __init__(self, *mills):
        super().__init__()
        self.mills = mills

    def recall(self, prompt, seed):
        if any(f"mill {n} of" in prompt for n in self.mills):
            raise dspy.LMInvalidRequestError("refused", status=400)
        return super().recall(prompt, seed)


def test_one_row_may_fail():
    found = tune(macr(), SHORT, Failing(0), parameters=["gate_threshold"], trials=8)
    failed = [t for t in found.trials if t.scores[0] is None]
    assert failed
    assert found.default.scores[0] == 0.0
    assert all(t.score < 1.0 for t in failed)
    assert found.rows == len(SHORT)


def test_no_row_economises_when_the_budget_comes_to_its_end():
    every = [text for row in LONG for text in row.documents]
    rows = [dspy.Example(LONG[0], documents=every).with_inputs("question", "documents", "date")]

    def passed(budget):
        rehearsal = Rehearsal(rows, as_metric("fact_recall").score, Meter(budget))
        with dspy.context(lm=scripted_lm(Model(), "scripted/economy"), adapter=channel()):
            return rehearsal.run(arbgraph(ask_model=False), "pass")

    free = passed(Budget())
    bounded = passed(Budget(requests=free.new_requests))
    assert (bounded.scores, bounded.new_requests) == (free.scores, free.new_requests)


def test_values_off_the_grid_can_be_entered():
    """The value in force may lie off the steps, and beyond their end."""
    tunables = {
        "M": Tunable("M", 103, 0, 103, step=5),
        "tau": Tunable("tau", 0.9, 0.2, 0.9),
        "accept": Tunable("accept", 0.555, 0.05, 0.555),
    }
    study = Study(tunables, pareto=False, seed=0, storage=None)
    study.add_default(Pass((1.0,), 1.0, 1, 0.1))
    assert study.trials()[0].values == {"M": 100, "tau": 0.9, "accept": 0.55}
    assert study.ask()[1].keys() == tunables.keys()


def test_a_backbone_that_fails_ends_it():
    with pytest.raises(BackboneError, match="of 9 rows failed"):
        tune(macr(), SHORT, Failing(*range(9)), trials=8)


def test_the_best_so_far_when_the_budget_is_spent(tmp_path):
    model = Model()
    full = tune(macr(), SHORT, trials=12)
    spent = Budget(requests=full.first_pass + 1)
    found = tune(macr(), SHORT, model, trials=12, folder=tmp_path, budget=spent)
    assert not found.complete
    assert found.trials[0].number == 0
    assert model.asked.total() == full.first_pass + 1
    again = tune(macr(), SHORT, model, trials=12, folder=tmp_path)
    assert again.complete
    assert [t.values for t in again.trials] == [t.values for t in full.trials]
    assert model.asked.total() == full.usage.requests


def test_a_budget_below_one_pass(tmp_path):
    with pytest.raises(BudgetExceeded):
        tune(macr(), SHORT, trials=2, budget=Budget(requests=5))


@pytest.mark.parametrize(
    ("program", "settings", "message"),
    [
        (Vote, {}, "vote offers nothing to tune"),
        (macr, {"parameters": ["tau"]}, "no parameter 'tau' to tune: it offers gate_threshold"),
        (macr, {"parameters": ["min_support"]}, "needs measured rules"),
        (macr, {"trials": 0}, "trials is 0"),
        (macr, {"metric": "bleu"}, "no metric 'bleu'"),
        (macr, {"storage": "nosuch://x"}, "nosuch storage cannot be used"),
    ],
)
def test_what_is_refused(program, settings, message):
    with pytest.raises(InputError, match=message):
        tune(program(), SHORT, **{"trials": 2, **settings})


def test_no_row_and_no_label():
    with pytest.raises(InputError, match="no validation example"):
        tune(macr(), [])
    bare = dspy.Example(question="Who?", documents=["x"]).with_inputs("question", "documents")
    model = Model()
    with pytest.raises(InputError, match=r"'Who\?' has no 'answers'"):
        tune(macr(), [*SHORT, bare], model)
    assert not model.asked  # before anything is paid


class Silent(Model):
    def __call__(self, request):
        return ""


def test_a_model_whose_replies_cannot_be_read(tmp_path):
    with pytest.raises(BackboneError, match="could be scored: no reply"):
        tune(macr(), SHORT, Silent())


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(InputError, match=r"notes cannot be used \(Not a directory|File exists"):
        tune(macr(), SHORT, trials=2, folder=tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def spoiled(path):
    path.write_bytes(b"no database" * 1000)


def truncated(path):
    with sqlite3.connect(path) as study:
        study.execute("UPDATE trial_user_attributes SET value_json = '{}'")
    study.close()


def read_only(path):
    with sqlite3.connect(path) as study:
        study.execute(
            "CREATE TRIGGER full BEFORE INSERT ON trials BEGIN "
            "SELECT RAISE(ABORT, 'disk is full'); END"
        )
    study.close()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoiled, r"study.db cannot be read or written \(file is not a database\): make room, or"),
        (truncated, "Trial 0 of the study is damaged: delete"),
        (read_only, r"study.db cannot be read or written \(disk is full\)"),
    ],
)
def test_a_study_that_cannot_go_on(tmp_path, spoil, message):
    model = Model()
    tune(macr(), SHORT, model, trials=2, folder=tmp_path)
    asked = model.asked.total()
    spoil(tmp_path / "study.db")
    with pytest.raises(InputError, match=message):
        tune(macr(), SHORT, model, trials=3, folder=tmp_path)
    (tmp_path / "study.db").unlink()
    tune(macr(), SHORT, model, trials=2, folder=tmp_path)
    assert model.asked.total() == asked  # as the sentence promises


def test_a_study_of_something_else_is_refused(tmp_path):
    tune(macr(), SHORT, trials=2, folder=tmp_path)
    with pytest.raises(InputError, match=r"differs in: data\. Choose another folder"):
        tune(macr(), SHORT[:5], trials=2, folder=tmp_path)
    with pytest.raises(InputError, match="differs in: seed"):
        tune(macr(), SHORT, trials=2, folder=tmp_path, seed=3)


@pytest.mark.parametrize(
    ("other", "differs"),
    [({"ablation": "no gating"}, "program, settings"), ({"reading_tokens": 900}, "settings")],
)
def test_a_study_of_another_variant_is_refused(tmp_path, other, differs):
    """Ablations offer the same values to tune, and have the same state."""
    same = {"metric": "fact_recall", "trials": 1, "folder": tmp_path}
    tune(arbgraph(), LONG[:1], **same)
    with pytest.raises(InputError, match=f"differs in: {differs}"):
        tune(arbgraph(**other), LONG[:1], **same)


def test_programs_without_thresholds_take_no_values():
    assert Direct().tunables() == {}
    with pytest.raises(InputError, match="no parameter 'k'"):
        Direct().with_values({"k": 3})


# Killed, and several workers

SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import dspy
from test_tune import SHORT, macr
from referee.optimizers import TuneThresholds
from referee.runtime import connect
lm = connect("openai/m", api_base={url!r}, concurrency=4)
with dspy.context(lm=lm):
    tuner = TuneThresholds(trials={trials}, folder={folder!r}, storage={storage!r})
    found = tuner.tune(macr(), SHORT)
print(found.best.values, len(found.trials), found.best.score)
"""


def started(server, folder, trials, storage=None):
    script = SCRIPT.format(
        here=str(Path(__file__).parent),
        url=server.url,
        folder=str(folder),
        trials=trials,
        storage=storage,
    )
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.timeout(400)  # starts Python four times
def test_killed_at_any_point_it_goes_on_without_paying_twice(tmp_path):
    expected, model = tune(macr(), SHORT, trials=12), Model()
    needed = expected.usage.requests

    def answer(request):
        time.sleep(0.05)
        return model(request)

    with FakeServer(answer) as server:
        for share in (0.3, 0.95):
            running = started(server, tmp_path, 12)
            while model.asked.total() < share * needed:
                assert running.poll() is None
                time.sleep(0.01)
            running.kill()  # signal 9
            assert running.wait() == -signal.SIGKILL
            running.stdout.close()
        last = started(server, tmp_path, 12)
        said = last.communicate(timeout=250)[0]
    assert said == f"{expected.best.values} 12 1.0\n"
    # Only replies that were on their way when it died are asked for once more.
    assert needed <= model.asked.total() <= needed + 2 * 4


@pytest.mark.timeout(400)
@pytest.mark.parametrize("storage", [None, "journal:{folder}/study.log"])
def test_two_workers_share_a_study(tmp_path, storage):
    model = Model()
    needed = tune(macr(), SHORT, trials=2).first_pass

    def answer(request):
        time.sleep(0.02)
        return model(request)

    place = storage and storage.format(folder=tmp_path)
    with FakeServer(answer) as server:
        workers = [started(server, tmp_path, 16, place) for _ in range(2)]
        said = [worker.communicate(timeout=250)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0]
        asked = model.asked.total()
        last = started(server, tmp_path, 16, place)
        final = last.communicate(timeout=250)[0]
    assert model.asked.total() == asked  # nothing is left to ask
    assert all(text.endswith(" 1.0\n") for text in [*said, final])
    assert int(final.split()[-2]) in (16, 17)  # both may begin a last trial
    assert model.asked["read"] == 2 * len(SHORT)  # the second worker waited for the first pass
    assert asked < 2 * needed


def test_nobody_comes_between_the_look_around_and_the_burial(tmp_path, monkeypatch):
    """A worker that came in between had its running trial buried, and failed."""
    holds, inside, seen = [], [], []

    @contextmanager
    def lock(self):
        holds.append(len(holds))
        inside.append(holds[-1])
        yield
        inside.pop()

    @contextmanager
    def present(folder):
        seen.append(("present", tuple(inside)))
        with working(folder) as alone:
            yield alone

    monkeypatch.setattr(TuneThresholds, "_one_at_a_time", lock)
    monkeypatch.setattr("referee.optimizers.tune.working", present)
    monkeypatch.setattr(Study, "bury", lambda self: seen.append(("bury", tuple(inside))))
    tune(macr(), SHORT, trials=1, folder=tmp_path)
    assert seen == [("present", (0,)), ("bury", (0,))]  # within one hold of the lock
