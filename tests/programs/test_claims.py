"""Claims are tied to the words that state them, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.claims import Chunk, ground, rest
from referee.programs.fidelity import denies, names_stand, numbers_stand
from referee.runtime.chunks import Span
from referee.runtime.records import Document


def chunk_of(text, before="", about=""):
    document = Document(text=before + text, id="d1")
    return Chunk(document, Span(len(before), len(before) + len(text), text), about)


def evidence_of(claim, text, **where):
    """The words that state a claim; None when it is refused."""
    found = ground([claim], chunk_of(text, **where))
    assert len(found.claims) + len(found.ungrounded) == 1
    return found.claims[0].evidence.text if found.claims else None


def test_evidence_is_verbatim_with_offsets():
    chunk = chunk_of("Rain fell. Mars has two moons. Snow fell.", before="Heading here. ")
    (claim,) = ground(["Mars has two moons."], chunk).claims
    evidence = claim.evidence
    assert evidence.text == "Mars has two moons."
    assert chunk.document.text[evidence.start : evidence.end] == evidence.text


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Mars has 2 moons.", "Mars has two moons."),
        ("Mars has two moons.", "The 2 moons of Mars are small."),
        ("It opened on 4 March 1990.", "It opened on 1990-03-04."),
        ("Revenue was $1,200 million in 2020.", "Revenue in 2020 was 1.2 billion dollars."),
        ("The plant has 300 workers.", "300 people work at the plant."),
        ("One moon of Mars is Phobos.", "Phobos is a moon of Mars."),
        ("火星有两颗卫星。", "火星有两颗卫星。"),
        ("للمريخ قمران صغيران.", "للمريخ قمران صغيران."),
        ("У Марса два спутника.", "У Марса два спутника."),
    ],
)
def test_what_the_text_says_in_other_notation_is_kept(claim, text):
    assert evidence_of(claim, text) == text


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Mars has two moons in 2020.", "Mars has two moons."),
        ("Mars has three moons.", "Mars has two moons."),
        ("Mars has 3 moons.", "Mars has two moons."),
        ("It opened in March 2021.", "It opened in March 2020."),
        ("It opened on 5 March 2020.", "It opened in March 2020."),
        ("火星有三颗卫星。", "火星有两颗卫星。"),
        ("Cats sleep all day.", "Mars has two moons."),
        ("Mars has no moons.", "Mars has two moons."),
        ("Mars has rings.", "Mars has no rings."),
        ("火星没有卫星。", "火星有两颗卫星。"),
        ("", "Mars has two moons."),
        ("the of in", "Mars has two moons."),
    ],
)
def test_what_the_text_does_not_say_is_refused(claim, text):
    assert evidence_of(claim, text) is None


PRONOUNS = "Marie Curie Sklodowska studied in Paris. She liked it. She won a prize in 1903."


def test_the_subject_may_be_a_pronoun():
    won = "Marie Curie Sklodowska won a prize in 1903."
    assert evidence_of(won, PRONOUNS) == "She won a prize in 1903."
    assert evidence_of(won, "She won a prize in 1903.", about="Marie Curie Sklodowska")
    assert evidence_of(won, "She won a prize in 1903.") is None


def test_a_known_subject_alone_states_nothing():
    assert evidence_of("Marie Curie Sklodowska died.", PRONOUNS) is None
    about = "Marie Curie Sklodowska"
    assert evidence_of("Marie Curie Sklodowska died.", "She won.", about=about) is None


def test_a_pronoun_denied_is_denied():
    assert evidence_of("Mars has rings.", "It has no rings.", about="Mars") is None
    assert evidence_of("Mars has no rings.", "It has no rings.", about="Mars")


def test_two_sentences_may_state_a_claim_together():
    text = "Ann Berg built the old mill. It burned down later. Rain fell."
    found = evidence_of("The mill that Ann Berg built burned down later.", text)
    assert found == "Ann Berg built the old mill. It burned down later."


def test_equal_texts_are_one_claim():
    assert len(ground(["Mars is red."] * 3, chunk_of("Mars is red.")).claims) == 1


def test_the_rest_begins_behind_the_last_claim():
    chunk = chunk_of("Mars is red. It is cold. It is dry.", before="Title. ")
    left = rest(chunk, ground(["Mars is red."], chunk).claims)
    assert left is not None
    assert left.span.text == "It is cold. It is dry."
    assert chunk.document.text[left.span.start : left.span.end] == left.span.text
    ended = chunk_of("Mars is dry. !?")
    assert rest(ended, ground(["Mars is dry."], ended).claims) is None
    assert rest(chunk, []) is None


@pytest.mark.parametrize(
    ("text", "statement", "denied"),
    [
        ("Mars has two moons, not three.", "Mars has two moons.", False),
        ("Tesla was not founded by Musk but by Eberhard.", "Tesla was founded by Eberhard.", False),
        ("Tesla was not founded until 2003.", "Tesla was founded in 2003.", False),
        ("He was elected with no opposition.", "He was elected.", False),
        ("Mars lacks rings.", "Mars has no rings.", False),
        ("Mars has no rings.", "Mars has rings.", True),
        ("The plant did not open in Austin.", "The plant opened in Austin.", True),
        ("Mars has two moons.", "Mars does not have two moons.", True),
    ],
)
def test_negations(text, statement, denied):
    assert denies(text, statement) is denied


def test_names():
    assert names_stand("Galileo saw Mars.", "Mars was seen.")  # a capital opens every sentence
    assert not names_stand("Mars was seen by Galileo Galilei.", "Mars was seen.")
    assert names_stand("The US has 50 states.", "The United States has 50 states.")


words = st.sampled_from(
    [
        "Mars",
        "Venus",
        "has",
        "two",
        "3",
        "1990",
        "moons",
        "rings",
        "no",
        "not",
        "red",
        "火星",
        "قمر",
        "the",
        "in",
        "of",
        ".",
        "!",
        "\x00",
    ]
)
texts = st.lists(words, max_size=40).map(" ".join)


@given(texts, st.lists(texts, max_size=5), texts, texts)
def test_grounding_is_a_partition_with_verbatim_evidence(text, claims, before, about):
    chunk = chunk_of(text, before, about)
    found = ground(claims, chunk)
    told = [c.text for c in found.claims]
    assert sorted([*told, *found.ungrounded]) == sorted(set(claims))
    for claim in found.claims:
        evidence = claim.evidence
        assert chunk.document.text[evidence.start : evidence.end] == evidence.text
        assert chunk.span.start <= evidence.start < evidence.end <= chunk.span.end
        assert numbers_stand(claim.text, f"{about} {text}")
    left = rest(chunk, found.claims)
    if left is not None:  # every continuation is shorter, so reading ends
        assert left.span.start > chunk.span.start
        assert left.span.end <= chunk.span.end


@given(texts)
def test_a_text_neither_denies_itself_nor_lacks_its_own_numbers_and_names(text):
    assert numbers_stand(text, text)
    assert names_stand(text, text)
