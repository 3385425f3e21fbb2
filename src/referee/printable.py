"""Foreign text on a terminal: what would steer the terminal is shown, not obeyed."""

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""A text whose control and direction characters are written as escapes.

    Example:
        >>> printable("a\x1b[2Jb")
        'a\\x1b[2Jb'
    """
    return _STEERING.sub(lambda m: m[0].encode("unicode_escape").decode(), text)
