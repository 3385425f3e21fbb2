import pytest

from referee.programs.quotes import locate

TEXT = (
    "News of the day.\n  The seat is in Austin,\nTexas. It opened late in 2021. "
    "İstanbul waits. The end."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The seat is in Austin, Texas.", "The seat is in Austin,\nTexas."),
        ("“the SEAT is in austin”", "The seat is in Austin"),
        ("İstanbul waits", "İstanbul waits"),
        ("It opened rather late in the year 2021.", "It opened late in 2021."),
    ],
)
def test_quotations_are_mended_to_verbatim_spans(quote, found):
    evidence = locate(quote, TEXT)
    assert evidence.text == found
    assert TEXT[evidence.start : evidence.end] == evidence.text


@pytest.mark.parametrize("quote", ["", "  ", "Tesla moved to Mars in 2050", "…"])
def test_inventions_are_not_found(quote):
    assert locate(quote, TEXT) is None
