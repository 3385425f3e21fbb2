"""Every error that referee raises on purpose.

    RefereeError
    ├── InputError        (also ValueError)  a question, document, file or option is wrong
    ├── BackboneError     the language model cannot be reached, refuses or is not configured
    ├── WeightsError      the weights of a local model cannot be fetched, verified or loaded
    ├── ParseError        the language model answered something that cannot be read
    ├── BudgetExceeded    the budget of the run is spent
    └── ArtifactError     a saved program cannot be used as asked

`ArtifactWarning` is a warning: a saved program can be used, but something about it may be wrong.
Each message is one sentence that says what was wrong, the value, and what to do.
This module imports nothing of the package, so that every layer may import it.
"""


class RefereeError(Exception):
    """Root of the tree: catch it to catch everything that referee raises on purpose."""


class InputError(RefereeError, ValueError):
    """A question, document, file or option of the caller is wrong."""


class BackboneError(RefereeError):
    """The language model cannot be reached, refuses the request or is not configured."""


class WeightsError(RefereeError):
    """The weights of a local model cannot be fetched, verified or loaded."""


class ParseError(RefereeError):
    """The language model answered something that cannot be read as the asked fields."""


class BudgetExceeded(RefereeError):  # noqa: N818 - it states a fact, not a fault
    """The budget of the run is spent; what is known so far is in the result."""


class ArtifactError(RefereeError):
    """A saved program cannot be used as asked."""


class ArtifactWarning(UserWarning):
    """A saved program can be used, but not as it was saved; the message says what differs."""
