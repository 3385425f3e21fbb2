"""Checks that the measures share: raw arguments in, clean arrays out, one sentence when wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_UNIT_NOISE = 1e-6  # single-precision cosines of equal vectors come out as 1.0000001


def as_answers(answers: str | Sequence[str]) -> list[str]:
    """Return the accepted answers as a list; a lone string is one answer."""
    accepted = [answers] if isinstance(answers, str) else list(answers)
    if not accepted:
        raise InputError("answers is empty: pass at least one accepted answer.")
    return accepted


def as_floats(name: str, values: ArrayLike) -> Floats:
    """Return one or more finite numbers as a one-dimensional array."""
    array = _numbers(name, values)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{name} has shape {array.shape}: pass a flat list with at least one number."
        )
    return array


def as_square(name: str, values: ArrayLike) -> Floats:
    """Return k rows of k finite numbers, k >= 1, as a square array."""
    array = _numbers(name, values)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}: pass k rows of k numbers, k >= 1.")
    return array


def in_unit(name: str, array: Floats) -> Floats:
    """Return the array clipped to [0, 1] when it leaves it by rounding noise only."""
    low, high = float(array.min()), float(array.max())
    if low < -_UNIT_NOISE or high > 1 + _UNIT_NOISE:
        raise InputError(f"{name} spans [{low:g}, {high:g}]: rescale it to [0, 1].")
    return np.clip(array, 0.0, 1.0)


def as_flags(name: str, values: ArrayLike) -> Flags:
    """Return zero or more booleans (True/False or 1/0) as a one-dimensional array."""
    array = _array(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: pass a flat list of booleans.")
    wrong = [value for value in array.tolist() if value not in (0, 1)]
    if wrong:
        raise InputError(f"{name} holds {wrong[0]!r}: pass True or False for each item.")
    return array.astype(np.bool_)


def as_flag_rows(name: str, rows: ArrayLike) -> Flags:
    """Return rows of booleans of one length as a two-dimensional array, [0, 0] without rows."""
    if isinstance(rows, str) or not isinstance(rows, Sequence | np.ndarray):
        raise InputError(f"{name} is {rows!r}: pass a list of rows of booleans.")
    checked = [as_flags(f"{name}[{i}]", row) for i, row in enumerate(rows)]
    widths = sorted({row.size for row in checked})
    if len(widths) > 1:
        raise InputError(f"{name} has rows of lengths {widths}: pass rows of one length.")
    return np.array(checked, dtype=np.bool_).reshape(len(checked), widths[0] if widths else 0)


def same_length(**sized: NDArray[Any]) -> None:
    """Raise unless all named arrays have the same length."""
    lengths = {name: len(values) for name, values in sized.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"lengths differ, {lengths}: pass one value per item in each.")


def as_count(name: str, value: int) -> int:
    """Return a whole number that is not negative."""
    if value < 0 or value != int(value):
        raise InputError(f"{name} is {value!r}: pass a whole number that is not negative.")
    return int(value)


def as_share(name: str, value: float) -> float:
    """Return a number in [0, 1]."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value!r}: pass a number from 0 to 1.")
    return float(value)


def _numbers(name: str, values: ArrayLike) -> Floats:
    array = _array(name, values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds something other than numbers: drop what is missing first.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a value that is nan or infinite: drop it first.")
    return array.astype(np.float64)


def _array(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} has rows of different lengths: pass a full table.") from error
