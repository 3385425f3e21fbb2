"""Documents about another thing of one abbreviation."""

import pytest

from referee.programs.homonyms import abbreviations, about_homonym
from referee.runtime.records import Document


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The East Asia Summit (EAS) met.", {"EAS": "east asia summit"}),
        ("The Bank of Upper Arburg (BUA) and more.", {"BUA": "bank of upper arburg"}),
        ("The U.S. Open (USO).", {"USO": "u s open"}),
        ("He came (see EAS) late.", {}),
        ("Nothing fits here (XYZ).", {}),
        ("(EAS)", {}),
        ("East (EAS)", {}),
        ("", {}),
    ],
)
def test_abbreviations_that_a_text_spells_out(text, found):
    assert abbreviations(text) == found


QUESTION = "Who founded the Arburg Boat Club (ABC)?"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The Alpine Bird Council (ABC) was founded in 1990.", "alpine bird council"),
        ("The Arburg Boat Club (ABC) was founded in 1990.", ""),
        ("The Alpine Bird Council (ABC) met the Arburg Boat Club.", ""),  # it names both
        ("ABC was founded in 1990.", ""),
        ("", ""),
    ],
)
def test_documents_about_a_homonym(text, other):
    assert about_homonym(QUESTION, Document(text=text)) == other


def test_a_question_without_abbreviation_leaves_all_in():
    text = "The Alpine Bird Council (ABC) was founded in 1990."
    assert about_homonym("Who founded ABC?", Document(text=text)) == ""


def test_long_texts_take_no_long_time():
    assert abbreviations("A " * 200_000 + "(AB)") == {}
    assert about_homonym(QUESTION, Document(text="(ABC) " * 50_000)) == ""
