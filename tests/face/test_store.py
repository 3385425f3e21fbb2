import errno
import json
import os
import subprocess
import sys

import pytest

from referee.errors import InputError
from referee.store import Journal, Run, Seen


def record(row_id, status="ok", **more):
    return {"id": row_id, "status": status, **more}


def test_the_newest_record_of_an_id_counts_and_failed_rows_are_not_final(tmp_path):
    journal = Journal(tmp_path / "a.jsonl")
    journal.append(record("x", "provider_error"))
    journal.append(record("é", "abstained"))
    assert not journal.final("x")
    assert journal.final("é")
    journal.append(record("x", "ok", n=2))
    journal.close()
    again = Journal(tmp_path / "a.jsonl")
    assert again.final("x")
    assert again.get("x")["n"] == 2
    assert again.get("y") is None
    assert [r["id"] for r in again] == ["é", "x"]
    assert again.statuses() == {"ok": 1, "abstained": 1}
    again.tidy()
    assert ids(tmp_path / "a.jsonl") == ["é", "x"]
    again.close()


def ids(path):
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("torn", ['{"id": "b", "sta', '{"id": "b", "status": "ok"}', "\xe9"])
def test_a_torn_last_line_is_cut_off(tmp_path, torn):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "a", "status": "ok"}\n' + torn.encode("latin-1"))
    journal = Journal(path)
    assert not journal.final("b")
    journal.append(record("c"))
    journal.close()
    assert ids(path) == ["a", "c"]


@pytest.mark.parametrize("line", ['{"id": 3}', '{"id": "b", "status": "ok", "result": {}}'])
def test_a_broken_line_in_the_middle_is_named(line, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "status": "ok"}\n' + line + "\n")
    with pytest.raises(InputError, match=r"a\.jsonl, line 2 is no record"):
        Journal(path)


def test_a_full_disk_is_one_sentence_and_loses_no_finished_row(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    journal = Journal(path)
    journal.append(record("a"))
    real = os.write

    def full(file, data):
        real(file, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    for broken in (full, lambda file, data: real(file, data[:10])):
        monkeypatch.setattr("referee.store.os.write", broken)
        with pytest.raises(InputError, match="make room and run again"):
            journal.append(record("b"))
        monkeypatch.undo()
    journal.append(record("c"))
    journal.close()
    assert ids(path) == ["a", "c"]


def test_two_processes_cannot_use_one_folder(tmp_path):
    code = (
        "import sys; from referee.store import Run; from referee.errors import InputError\n"
        "try: Run(sys.argv[1], {}, {})\nexcept InputError as e: print(e)\n"
    )
    with Run(tmp_path, {"lm": "a"}, {}):
        command = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "is in use by another referee" in done.stdout
    with Run(tmp_path, {"lm": "a"}, {}):  # and is free again
        pass


def test_other_settings_are_refused_by_name(tmp_path):
    with Run(tmp_path, {"lm": "a", "seed": 0}, {"date": "2026-01-01"}):
        pass
    with pytest.raises(InputError, match='a run with lm "a", and this one asks for "b"'):
        Run(tmp_path, {"lm": "b", "seed": 0}, {})
    # What was not asked for stays what it was: a run goes on with the date it began with.
    with Run(tmp_path, {"lm": "a", "seed": 0}, {"date": "2026-02-02"}) as run:
        assert run.asked["date"] == "2026-01-01"
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="not a run of this version"):
        Run(tmp_path, {"lm": "a", "seed": 0}, {})


def test_the_line_in_which_an_id_stood_first():
    seen = Seen()
    assert [seen.first(i, n) for n, i in enumerate("aba", start=1)] == [1, 2, 1]
    seen.close()
