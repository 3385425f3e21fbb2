"""How often a model keeps to its memory against a context that says otherwise."""

from ..errors import InputError


def memorization_ratio(memory: float, context: float) -> float | None:
    """Return the share of memory answers among the answers that follow memory or context.

    M_R of ConFiQA (P_o against P_s) and of ConflictBank (correct against replaced).

    Args:
        memory: Count or rate of answers that follow the memory, not negative.
        context: Count or rate of answers that follow the context, in the same unit.

    Returns:
        A number in [0, 1], or None when neither occurs (the published scripts give 0).

    Raises:
        ValueError: A rate is negative or not finite.
    """
    for name, value in (("memory", memory), ("context", context)):
        if not 0 <= value < float("inf"):
            raise InputError(f"{name} is {value!r}: pass a finite number that is not negative.")
    followed = memory + context
    return memory / followed if followed else None
