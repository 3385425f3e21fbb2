import threading
import time

import pytest

from referee.errors import BackboneError
from referee.programs import Program
from referee.runner import Task, answer, answer_all, in_window, long_run, rows_in_flight
from referee.runtime import Verdict
from referee.runtime.scripted import scripted_lm


class Echo(Program):
    """Answers with the question; asks no model."""

    name = "echo"
    needs_documents = False

    def steps(self, case):
        if "bug" in case.question:
            raise KeyError("sk-abcdefgh12345678 at http://10.0.0.1/v1")
        return Verdict(answer=case.question)
        yield


def model():
    return scripted_lm(lambda _: "a")


def test_items_are_taken_no_further_ahead_than_the_window():
    taken, given = [], []

    def items():
        for i in range(200):
            taken.append(i)
            yield i

    for result in in_window(items(), lambda i: i * 2, 7):
        given.append(result)
        assert len(taken) - len(given) < 7
    assert sorted(given) == [2 * i for i in range(200)]


def test_the_window_is_full_while_there_are_items():
    lock, now, most = threading.Lock(), [0], [0]

    def work(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1

    list(in_window(range(40), work, 8))
    assert most[0] == 8


def test_results_come_as_they_are_ready():
    slow = threading.Event()

    def work(i):
        if i == 0:
            slow.wait(10)
        return i

    order = []
    for i in in_window(range(5), work, 3):
        order.append(i)
        if len(order) == 4:
            slow.set()
    assert order[-1] == 0


def test_a_failure_of_the_work_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(in_window([1, 0], lambda i: 1 / i, 2))


def test_every_end_of_a_row_is_a_status():
    with long_run(model()):
        found = {
            q: answer(Echo(), Task("x", q, documents, date))
            for q, documents, date in [
                ("fine", (), None),
                ("a bug", (), None),
                (" ", (), None),
                ("no date", (), "soon"),
                ("no documents", 3, None),
            ]
        }
        found["wrong line"] = answer(Echo(), Task("x", error="It is wrong."))
    statuses = {q: r["status"] for q, r in found.items()}
    assert statuses.pop("fine") == "ok"
    assert statuses.pop("a bug") == "program_error"
    assert set(statuses.values()) == {"input_error"}
    assert "KeyError" in found["a bug"]["error"]
    assert "sk-" not in found["a bug"]["error"]
    assert "10.0.0.1" not in found["a bug"]["error"]
    assert "'soon'" in found["no date"]["error"]
    assert found["wrong line"]["error"] == "It is wrong."


def test_a_provider_that_is_down_ends_the_run(monkeypatch):
    def down(program, task):
        return {"id": task.id, "status": "provider_error", "error": "No connection."}

    monkeypatch.setattr("referee.runner.answer", down)
    tasks = (Task(str(i)) for i in range(10_000))
    with long_run(model()) as meter, pytest.raises(BackboneError, match="No connection"):
        list(answer_all(Echo(), tasks, meter, 4))
    assert int(next(tasks).id) <= 3 * rows_in_flight(4)


def test_single_failures_do_not_end_the_run(monkeypatch):
    def flaky(program, task):
        status = "ok" if int(task.id) % 10 == 0 else "provider_error"
        return {"id": task.id, "status": status, "error": "x"}

    monkeypatch.setattr("referee.runner.answer", flaky)
    with long_run(model()) as meter:
        records = list(answer_all(Echo(), (Task(str(i)) for i in range(500)), meter, 8))
    assert len(records) == 500
