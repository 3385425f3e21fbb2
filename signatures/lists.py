"""Lists that keep their good items: one bad entry, or a cut-off end, must not cost the rest."""

from __future__ import annotations

from typing import Any

import pydantic


def keep_valid(item: type[pydantic.BaseModel], value: Any) -> list[Any]:
    """The items of a list that validate; half-broken lists keep their good items."""
    good = []
    for entry in value if isinstance(value, list) else []:
        try:
            good.append(item.model_validate(entry))
        except pydantic.ValidationError:
            continue
    return good


def keep_texts(value: Any) -> list[str]:
    """The texts of a list; a model that writes objects means their first text."""
    texts = []
    for entry in value if isinstance(value, list) else []:
        values = entry.values() if isinstance(entry, dict) else (entry,)
        found = next((v for v in values if isinstance(v, str) and v.strip()), None)
        if found is not None:
            texts.append(" ".join(found.split()))
    return texts
