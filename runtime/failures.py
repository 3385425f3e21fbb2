"""Failed calls in one clear sentence each, without keys and addresses."""

from __future__ import annotations

import os
import re
from typing import Literal

import dspy

from ..errors import BudgetExceeded, RefereeError

FailureStatus = Literal["parse_error", "provider_error", "budget"]

# Failures that belong to one call and are kept as its reply; anything else is a bug and is raised.
CALL_FAILURES = (dspy.LMError, dspy.AdapterParseError, BudgetExceeded, RefereeError)

_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>)]+"
    r"|\[[0-9a-f:.]{2,45}\](?::\d+)?"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    r"|\b[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}:\d{2,5}\b",
    re.I,
)
_KEY = re.compile(
    r"\b(?:Bearer|Basic)\s+\S+|\b(?:sk|pk|key|gsk|hf|xai|AIza)[-_ ]?[A-Za-z0-9_\-]{8,}"
    r"|\b(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{28,}\b|[^\s/@]{1,80}:[^\s/@]{1,80}@",
    re.I,
)
_LONGEST = 300  # characters of a provider's own words


def failure(error: Exception) -> tuple[FailureStatus, str]:
    """Status and sentence for a failed call.

    Args:
        error: One of `CALL_FAILURES`.

    Returns:
        ``budget``, ``parse_error`` or ``provider_error``, and what to tell the reader.
    """
    if isinstance(error, BudgetExceeded):
        return "budget", str(error)
    if isinstance(error, dspy.AdapterParseError):
        shown = _short(redacted(str(getattr(error, "lm_response", ""))), 80)
        return "parse_error", f"The reply could not be read: {shown!r}."
    return "provider_error", f"{_hint(error)} ({redacted(str(error))})"


def redacted(text: str) -> str:
    """A provider's message without addresses and keys, cut to a readable length."""
    for name, value in os.environ.items():
        if name.endswith(("_API_KEY", "_TOKEN", "_API_BASE", "_BASE_URL")) and len(value) > 3:
            text = text.replace(value, "<removed>")
    return _short(_KEY.sub("<removed>", _URL.sub("<address>", text)), _LONGEST)


def _short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _hint(error: Exception) -> str:
    hints: list[tuple[str, str]] = [
        ("LMAuthError", "The provider refuses the key: set the provider's key variable"),
        ("LMNotConfiguredError", "The provider's key is missing: set the provider's key variable"),
        (
            "LMConfigurationError",
            "The model is not configured: set its key, or choose another --lm",
        ),
        ("LMRateLimitError", "The provider limits the rate: lower --concurrency or try later"),
        ("LMBillingError", "The provider reports a billing problem: check the account"),
        ("LMTimeoutError", "The model did not answer in time: try later or another --lm"),
        ("LMTransportError", "The model's server cannot be reached: check that it runs"),
        ("LMServerError", "The model's server failed: try later or another --lm"),
        (
            "ContextWindowExceededError",
            "The prompt is longer than the model takes: give shorter documents",
        ),
        ("LMUnsupportedModelError", "The provider does not know the model: check its name"),
        ("LMInvalidRequestError", "The provider refuses the request"),
    ]
    names = {cls.__name__ for cls in type(error).__mro__}
    return next((hint for name, hint in hints if name in names), "The model failed")
