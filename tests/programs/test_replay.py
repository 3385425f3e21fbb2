from referee.programs import replay
from referee.programs.known_judgments import KnownJudgments
from referee.programs.replay import Replay, computed, remembered, stand_for
from referee.programs.steps import Call, Task, Wave
from referee.signatures import OpenConflict
from referee.signatures.macr import RuleJudgment


def stage(*inputs):
    replies = yield Wave("stage", [Call("predictor", {"x": x}) for x in inputs])
    return replies


def run(steps, answer):
    """Drive steps; returns their result and the inputs that were asked."""
    asked, replies = [], None
    while True:
        try:
            wave = steps.send(replies)
        except StopIteration as done:
            return done.value, asked
        asked += [call.inputs["x"] for call in wave.calls if isinstance(call, Call)]
        replies = [answer(call) for call in wave.calls]


def echo(call):
    return call.inputs["x"]


def in_replay(found, steps, answer=echo):
    found.begin()
    with found.running():
        return run(found.steps(steps), answer)


def test_outside_a_replay_a_stage_simply_runs():
    for _ in range(2):
        assert run(remembered("key", stage(1)), echo) == ([1], [1])
        assert computed("key", lambda: object()) is not computed("key", lambda: object())


def test_a_stage_runs_once_and_its_requests_count_each_time():
    found = Replay()
    for asked in ([1, 2], []):
        assert in_replay(found, remembered("key", stage(1, 2))) == ([1, 2], asked)
        assert found.requests == 2


def test_a_request_is_made_once_in_whatever_stage():
    found = Replay()
    in_replay(found, stage(1, 2))
    assert in_replay(found, stage(2, 3, 2)) == ([2, 3, 2], [3])
    assert found.requests == 2


def test_failures_are_not_kept():
    found = Replay()
    lost = LookupError("lost")
    for _ in range(2):
        assert in_replay(found, remembered("key", stage(1)), lambda _: lost) == ([lost], [1])
        assert found.failed == [lost]
    assert in_replay(found, remembered("key", stage(1))) == ([1], [1])
    assert found.failed == []


def test_a_failed_task_is_a_failure_too():
    def retrieving():
        (found,) = yield Wave("retrieval", [Task(lambda: None)])
        return found

    found, lost = Replay(), LookupError("lost")
    in_replay(found, remembered("key", retrieving()), lambda _: lost)
    assert found.failed == [lost]
    assert in_replay(found, remembered("key", retrieving()), lambda _: 1) == (1, [])


def test_what_rests_on_a_failure_is_not_kept():
    """A later stage is computed from what an earlier one found, which its key does not tell."""

    def program():
        (first,) = yield from remembered("first", stage(1))
        (second,) = yield from remembered("second", stage(2))
        return first, second, computed("third", lambda: first)

    found, lost = Replay(), LookupError("lost")
    in_replay(found, program(), lambda call: lost if echo(call) == 1 else 2)
    assert found.lost == [lost]
    assert in_replay(found, program()) == ((1, 2, 1), [1])
    assert in_replay(found, program()) == ((1, 2, 1), [])


def test_a_reply_is_whole_each_time():
    def taking():
        (reply,) = yield from stage(1)
        return reply.pop()

    found = Replay()
    for _ in range(3):
        assert in_replay(found, taking(), lambda _: ["logprobs"])[0] == "logprobs"


def test_stages_within_a_stage():
    def outer():
        first = yield from remembered("inner", stage(1))
        second = yield from stage(2)
        return first + second

    found = Replay()
    in_replay(found, remembered("inner", stage(1)))
    assert in_replay(found, remembered("outer", outer())) == ([1, 2], [2])
    assert found.requests == 2
    assert in_replay(found, remembered("outer", outer())) == ([1, 2], [])
    assert found.requests == 2


def test_the_least_recently_used_stage_goes_first(monkeypatch):
    monkeypatch.setattr(replay, "STAGES", 2)
    found, made = Replay(), []

    def use(key):
        return computed(key, lambda: made.append(key))

    with found.running():
        for key in ("a", "b", "a", "c", "a", "b"):
            use(key)
    assert made == ["a", "b", "c", "b"]


def test_requests_that_follow_from_others_count():
    stand_for(3)  # outside a replay nothing counts
    found = Replay()
    with found.running():
        stand_for(2)
    assert found.requests == 2


def conflict(*rules):
    texts = [f"{rule}: If so, then the later." for rule in rules]
    sides = {"first": "a", "first_text": "A", "second": "b", "second_text": "B"}
    return OpenConflict(conflict=1, rules=texts, **sides)


def said(rule, winner="first"):
    return RuleJudgment(conflict=1, rule=rule, winner=winner)


def test_a_judgment_with_more_rules_answers_for_fewer():
    known = KnownJudgments()
    known.keep(conflict("R1", "R2", "R3"), said("R2"))
    assert known.by_rules(conflict("R2", "R3")) == said("R2")
    assert known.by_rules(conflict("R2")) == said("R2")
    assert known.by_rules(conflict("R1", "R3")) is None  # the rule that was met is gone
    assert known.by_rules(conflict("R2", "R4")) is None  # R4 was not offered
    known.keep(conflict("R1", "R3"), said("", "undecided"))
    assert known.by_rules(conflict("R3")) == said("", "undecided")


def test_a_judgment_without_rules_is_another_question():
    known = KnownJudgments()
    known.keep(conflict(), said("", "second"))
    assert known.from_knowledge(conflict()) == said("", "second")
    assert known.by_rules(conflict("R1")) is None
