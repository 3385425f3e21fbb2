"""The long answer: every sentence rests on claims, whatever the writer does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.programs.composition import as_list, composed, fitting, rests_on
from referee.runtime.records import Claim, Evidence, Mention
from referee.signatures.arbgraph import CitedSentence, CitedSentences


def claim(number, text, sources=1, credibility=0.5, said=""):
    said = said or text
    mention = Mention(
        document_id=f"d{number}", evidence=Evidence(text=said, start=0, end=len(said))
    )
    return Claim(
        id=f"c{number}",
        text=text,
        mentions=(mention,),
        sources=sources,
        credibility=credibility,
        relevance=0.5,
    )


CLAIMS = [
    claim(1, "Mars has two moons."),
    claim(2, "Tesla was founded in 2003."),
    claim(3, "SpaceX was founded in 2002."),
    claim(4, "Mars has no rings."),
]


def compose(*sentences):
    """Sentences as (text, claim numbers)."""
    said = [CitedSentence(sentence=text, claims=numbers) for text, numbers in sentences]
    return composed(said, CLAIMS)


def kept(text, *numbers):
    """Whether a sentence gets into the text, and on which claims."""
    found = compose((text, numbers))
    return None if found.extractive else found.citations[0].claim_ids


@pytest.mark.parametrize(
    ("text", "cited", "basis"),
    [
        ("Mars has two moons.", [1], ("c1",)),
        ("Mars has 2 moons", [1], ("c1",)),
        ("Mars has two moons but no rings.", [1, 4], ("c1", "c4")),
        ("Mars lacks rings.", [4], ("c4",)),
        ("Tesla was founded in 2003 and SpaceX in 2002.", [2, 3], ("c2", "c3")),
        ("Mars has two moons [1].", [1], ("c1",)),
        ("Mars has two moons [claims 1, 4].", [], ("c1",)),
    ],
)
def test_sentences_that_rest_on_their_claims(text, cited, basis):
    assert kept(text, *cited) == basis


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Mars has three moons.", [1]),
        ("Mars has two moons since 1877.", [1]),
        ("Mars does not have two moons.", [1]),
        ("Mars has rings.", [4]),
        ("Mars has two moons, and Tesla was not founded in 2003.", [1, 2]),
        ("Tesla was founded in 2002.", [2, 3]),
        ("Mars has two moons, seen by Galileo Galilei.", [1]),
        ("Cats sleep all day.", [1]),
        ("   ", [1]),
        ("[1]", [1]),
        ("...", []),
    ],
)
def test_sentences_that_say_something_else_do_not_pass(text, cited):
    assert kept(text, *cited) is None
    assert compose((text, cited)).dropped


@pytest.mark.parametrize("numbers", [[9], [0], [-1], [99, 100], []])
def test_claims_that_do_not_exist_are_replaced_by_those_that_hold_it(numbers):
    found = compose(("Mars has two moons.", numbers))
    assert (found.citations[0].claim_ids, found.repaired) == (("c1",), 1)


def test_what_exists_among_the_cited_stays():
    assert kept("Mars has two moons.", 1, 42) == ("c1",)


def test_a_wrong_citation_is_mended():
    found = compose(("Tesla was founded in 2003.", [1]))
    assert (found.citations[0].claim_ids, found.repaired) == (("c2",), 1)


def test_repetitions_are_dropped():
    found = compose(*[("Mars has two moons.", [1])] * 3, ("mars has two moons", [4]))
    assert found.text == "Mars has two moons."
    assert len(found.dropped) == 3


def test_without_a_usable_sentence_the_claims_are_shown():
    found = compose(("Cats sleep.", [1]))
    assert found.extractive
    assert found.text == " ".join(c.text for c in CLAIMS)
    assert [c.claim_ids for c in found.citations] == [("c1",), ("c2",), ("c3",), ("c4",)]
    assert composed([], []).text == ""


def test_the_sentence_of_the_source_counts_as_stated():
    (told,) = [claim(1, "Mars has two moons.", said="Mars, seen in 1877, has two moons.")]
    assert rests_on("Mars has two moons, seen in 1877.", [told])


def test_the_best_claims_fit_first():
    weak, strong = claim(1, "Weak words.", credibility=0.4), claim(2, "Strong words.", sources=3)
    assert fitting([weak, strong], 1000) == ([strong, weak], 0)
    assert fitting([weak, strong], 12) == ([strong], 1)
    assert fitting([weak], 0) == ([], 1)


def test_disputed_claims_are_marked_by_number():
    shown = as_list(CLAIMS[:2], {"c1": "c2", "c2": "c1"})
    assert shown.splitlines() == [
        "1. Mars has two moons. (disputed by 2)",
        "2. Tesla was founded in 2003. (disputed by 1)",
    ]
    assert as_list(CLAIMS[:1], {"c1": "c9"}) == "1. Mars has two moons."


@pytest.mark.parametrize(
    ("written", "numbers"),
    [("1, 2", [1, 2]), (["c1", "2"], [1, 2]), (None, []), (3, [3]), ([1, None, 2.0], [1, 2])],
)
def test_citations_are_read_in_every_notation(written, numbers):
    (found,) = CitedSentences.model_validate([{"sentence": "X.", "claims": written}]).root
    assert found.claims == numbers


def test_broken_sentences_do_not_cost_the_good_ones():
    said = [{"sentence": "A."}, {"sentence": ""}, {"text": "B"}, None, "C", {"sentence": "D."}]
    assert [s.sentence for s in CitedSentences.model_validate(said).root] == ["A.", "D."]


def test_a_claim_that_only_gives_the_number_stays_cited():
    claims = [claim(1, "Mars has moons of its own."), claim(2, "They are 2.")]
    found = composed(
        [CitedSentence(sentence="Mars has two moons of its own.", claims=[1, 2])], claims
    )
    assert found.citations[0].claim_ids == ("c1", "c2")


words = st.sampled_from(["Mars", "Venus", "has", "no", "two", "three", "moons", "3", "1990", "[1]"])
sentence = st.lists(words, min_size=1, max_size=8).map(" ".join)
cited = st.builds(CitedSentence, sentence=sentence, claims=st.lists(st.integers(-1, 6), max_size=3))


@given(st.lists(cited, max_size=6), st.lists(sentence, min_size=1, max_size=4))
def test_whatever_is_written_rests_on_claims(sentences, told):
    claims = [claim(n, text) for n, text in enumerate(told, start=1)]
    by_id = {c.id: c for c in claims}
    found = composed(sentences, claims)
    parts = [found.text[c.start : c.end] for c in found.citations]
    assert " ".join(parts) == found.text
    for part, citation in zip(parts, found.citations, strict=True):
        basis = [by_id[id] for id in citation.claim_ids]
        assert basis
        assert set(citation.document_ids) == {d for c in basis for d in c.document_ids}
        assert found.extractive or rests_on(part, basis)
    if not found.extractive:
        assert len(parts) + len(found.dropped) == len(sentences)
        assert len({re.sub(r"\W", "", part) for part in parts}) == len(parts)
    assert composed(sentences, claims) == found
