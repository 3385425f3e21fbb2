"""Lists that keep their good items: one bad entry, or a cut-off end, must not cost the rest."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Generic, TypeVar, get_args

import pydantic

T = TypeVar("T", bound=pydantic.BaseModel)


class GoodItems(pydantic.RootModel[list[T]], Generic[T]):
    """The records of a list that could be read."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _keep_good(cls, value: Any) -> Any:
        (item,) = get_args(cls.model_fields["root"].annotation)
        return keep_valid(item, value)


def keep_valid(item: type[pydantic.BaseModel], value: Any) -> list[Any]:
    """The items of a list that validate; half-broken lists keep their good items.

    One item without its list is a list of one; a mapping by number means its values.
    """
    good = []
    for entry in _entries(value, item.model_fields):
        try:
            good.append(item.model_validate(entry))
        except pydantic.ValidationError:
            continue
    return good


def keep_texts(value: Any) -> list[str]:
    """The texts of a list; a model that writes objects means their first text."""
    texts = []
    for entry in _entries(value):
        values = entry.values() if isinstance(entry, dict) else (entry,)
        found = next((v for v in values if isinstance(v, str) and v.strip()), None)
        if found is not None:
            texts.append(" ".join(found.split()))
    return texts


def _entries(value: Any, keys: Collection[str] = ()) -> list[Any]:
    """What a model wrote for a list, as one."""
    if isinstance(value, dict) and not set(keys) & set(value):
        return list(value.values())
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
