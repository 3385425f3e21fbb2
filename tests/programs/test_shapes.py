# ruff: noqa: E501 - one case a line
import time

import pytest

from referee.programs.conflicts import SHAPES, Side
from referee.programs.shapes import asks_for_time, questions_list, relate
from referee.runtime.records import Document, Evidence


def side(answer, *texts, date="", title="", whole="", **fields):
    documents = tuple(Document(text=f"{t} {whole}".strip(), date=date, title=title) for t in texts)
    snippets = tuple(Evidence(text=t, start=0, end=len(t)) for t in texts)
    return Side(answer=answer, documents=documents, snippets=snippets, sources=len(texts), **fields)


HQ = "What city is the headquarters of Tesla located in?"
SPRINGFIELD = "Who is the mayor of Springfield, Illinois?"

# (question, first, second, expected): a shape, a type of contradiction, or None.
CASES = {
    # list
    "plural question": ("Which languages does the tool support?", side("Python", "It supports Python."), side("Java", "It supports Java."), "list"),
    "who are": ("Who are the founders of Acme?", side("Ann", "Ann founded Acme."), side("Bob", "Bob founded Acme."), "list"),
    "part of a list": ("Name the members of the band.", side("Ann", "Ann sings."), side("Ann and Bob", "Ann and Bob play."), "list"),
    "one text lists both": ("What language is spoken in Belgium?", side("Dutch", "The languages spoken in Belgium are Dutch, French and German."), side("French", "French is spoken in Belgium."), "list"),
    "only": ("Which languages does the tool support?", side("Python", "It supports only Python."), side("Java", "It supports Java."), None),
    "not": ("Which languages does the tool support?", side("Python", "It does not support Java but Python."), side("Java", "It supports Java."), None),
    "lists that clash": ("Which teams played?", side("Ajax and Bonn", "Ajax and Bonn played."), side("Ajax and Rome", "Ajax and Rome played."), None),
    "a closed number": ("Which two teams played the final?", side("Ajax", "Ajax played."), side("Bonn", "Bonn played."), None),
    "parents": ("Who are the parents of Kim?", side("Ann", "Ann."), side("Bob", "Bob."), None),
    "one value although listed": (HQ, side("Palo Alto", "Tesla has headquarters offices in Palo Alto, Austin and Bonn."), side("Austin", "Tesla is in Austin."), None),
    "moved is no list": ("Where does Kim work?", side("Bonn", "Kim moved from Bonn to Rome."), side("Rome", "Kim works in Rome."), "temporal"),
    # refinement and granularity
    "place": ("Where was Kim born?", side("Germany"), side("Munich, Germany"), "refinement"),
    "place by a snippet": ("Where does the firm sit?", side("Munich", "It sits in Munich, Germany."), side("Germany", "It sits in Germany."), "refinement"),
    "date": ("When was Kim born?", side("1990"), side("4 March 1990"), "refinement"),
    "kind": ("What does Kim play?", side("guitar"), side("electric guitar"), "refinement"),
    "level asked": ("Which city was Kim born in?", side("Germany"), side("Munich, Germany"), "granularity"),
    "year asked": ("What year was Kim born?", side("1990"), side("4 March 1990"), "granularity"),
    "two places": ("Where was Kim born?", side("Germany"), side("France"), None),
    "another name": ("Where was Kim born?", side("York"), side("New York"), None),
    # scope
    "group and division": ("How many people work at Acme?", side("9,000", "The group employs 9,000 people worldwide."), side("400", "The division employs 400 people."), "scope"),
    "two regions": ("How many shops does Acme have?", side("300", "Acme has 300 shops in France."), side("80", "Acme has 80 shops in Japan."), "scope"),
    "city and metropolitan area": ("What is the population of Bonn?", side("330,000", "The city proper has 330,000 people."), side("900,000", "The metropolitan area has 900,000 people."), "scope"),
    "region asked": ("How many shops does Acme have in France?", side("300", "Acme has 300 shops in France."), side("80", "Acme has 80 shops in Japan."), "misinformation"),
    "one scope only": ("How many people work at Acme?", side("9,000", "The group employs 9,000 people worldwide."), side("400", "Acme employs 400 people."), None),
    "same region": ("How many shops does Acme have?", side("300", "Acme has 300 shops in France."), side("80", "Acme has 80 shops in France."), "misinformation"),
    "the answer is the region": ("Where does Acme sell most?", side("France", "Acme sells most in France."), side("Japan", "Acme sells most in Japan."), None),
    # namesake and semantic
    "births": ("What does John Smith do?", side("law", "John Smith (born 1950) practises law."), side("music", "John Smith (born 1972) makes music."), "namesake"),
    "lives": ("What does John Smith do?", side("law", "John Smith (1850–1901) practised law."), side("music", "John Smith (1912–1990) made music."), "namesake"),
    "kinds": ("What is Mercury made of?", side("rock", "Mercury is a small planet of rock."), side("atoms", "Mercury is a metal element of atoms."), "namesake"),
    "kinds by the opening": ("Who made Titanic?", side("Ann", "It was made by Ann.", whole="Titanic is a film about love."), side("Bob", "Bob made it.", whole="Titanic, a ship of the White Star Line."), "namesake"),
    "remarks in brackets": ("Who sang Blue Sky?", side("Ann", "Blue Sky (Ann album) is by Ann."), side("Bob", "Blue Sky (Bob album) is by Bob."), "namesake"),
    "one remark": ("Who sang Blue Sky?", side("Ann", "Blue Sky (Ann album) is by Ann."), side("Bob", "Blue Sky is by Bob."), None),
    "same birth": ("What does John Smith do?", side("law", "John Smith (born 1950) practises law."), side("music", "John Smith (born 1950) makes music."), None),
    "birth asked": ("When was John Smith born?", side("1950", "John Smith (born 1950) is a lawyer."), side("1972", "John Smith (born 1972) is a lawyer."), "misinformation"),
    "two trades of one person": ("Where does Kim Lee live?", side("Bonn", "Kim Lee is an actor in Bonn."), side("Rome", "Kim Lee is a singer in Rome."), None),
    "qualifier asked": (SPRINGFIELD, side("Ann", "Ann is the mayor of Springfield, Illinois."), side("Bob", "Bob is the mayor of Springfield, Massachusetts."), "semantic"),
    "kind asked": ("How large is the planet Mercury?", side("4,879 km", "Mercury is a planet of 4,879 km."), side("80", "Mercury is an element with 80 protons."), "semantic"),
    # plan and conditional
    "plan": ("Where is the plant of Acme?", side("Bonn", "Acme plans to build the plant in Bonn."), side("Rome", "The plant of Acme is in Rome."), "plan"),
    "forecast": ("How many people came?", side("500", "The town expects to see 500 people."), side("700", "700 people came."), "plan"),
    "rumour": ("Who leads Acme?", side("Ann", "Reportedly Ann leads Acme."), side("Bob", "Bob leads Acme."), "plan"),
    "two plans": ("Where is the plant of Acme?", side("Bonn", "The plant will be in Bonn."), side("Rome", "The plant will be in Rome."), None),
    "the fact is not read": ("Where is the plant of Acme?", side("Bonn", "Acme plans to build the plant in Bonn."), side("Rome", "The plant stands there."), None),
    "planned and built": ("Where is the plant of Acme?", side("Bonn", "Acme plans to build the plant in Bonn."), side("Rome", "The plant is in Rome.", "The plant will be in Rome."), None),
    "plan asked": ("Where will the plant of Acme be?", side("Bonn", "The plant will be in Bonn."), side("Rome", "The plant is in Rome."), None),
    "a name like a plan": ("Who leads Acme?", side("Will Ray", "Will Ray leads Acme."), side("Bob", "In May Bob leads Acme."), "misinformation"),
    "plan confirmed in the sentence": ("Where is the plant of Acme?", side("Bonn", "Acme planned to build in Bonn and has since completed it."), side("Rome", "The plant is in Rome."), None),
    "condition": ("What is the fee?", side("10 euros", "The fee is 10 euros if you are a member."), side("20 euros", "The fee is 20 euros."), "conditional"),
    "condition first": ("What does the tool return?", side("an error", "If the file is missing, the tool returns an error."), side("a table", "The tool returns a table."), "conditional"),
    "two conditions": ("What does the tool return?", side("an error", "It returns an error if it fails."), side("a table", "It returns a table unless it fails."), None),
    "condition asked": ("What does the tool return if it fails?", side("an error", "It returns an error if it fails."), side("a table", "It returns a table."), None),
    "condition elsewhere": ("What colour is it?", side("red", "It is red, and you may ask if you like."), side("blue", "It is blue."), None),
    # retold
    "retold": ("Where did Tesla go?", side("Austin", "In 2021 Tesla moved from Palo Alto to Austin."), side("from Palo Alto to Austin", "In 2021, Tesla moved from Palo Alto to Austin."), "retold"),
    "same words": ("Who won?", side("The Rolling Stones", "x"), side("Rolling Stones", "y"), "retold"),
    "retold with another number": ("Where did Tesla go?", side("Austin", "In 2021 Tesla moved from Palo Alto to Austin."), side("from Palo Alto to Austin", "In 2022 Tesla moved from Palo Alto to Austin."), None),
    "retold with a negation": ("Where did Tesla go?", side("Austin", "Tesla moved from Palo Alto to Austin in a hurry."), side("Palo Alto to Austin", "Tesla never moved from Palo Alto to Austin in a hurry."), None),
    "words in another order": ("Who won?", side("Ajax beat Bonn", "Ajax beat Bonn."), side("Bonn beat Ajax", "Bonn beat Ajax."), None),
    # notation
    "units": ("How long is it?", side("1,500 m"), side("1.5 km"), "notation"),
    "scale": ("How many people live there?", side("1.5 million"), side("1,500,000"), "notation"),
    "date notation": ("When was it?", side("4 March 1990"), side("1990-03-04"), "notation"),
    "other quantity": ("How long is it?", side("1,500 m", "The wall is 1,500 m long."), side("1.6 km", "The wall is 1.6 km long."), "misinformation"),
    "other unit": ("How much is it?", side("5 dollars"), side("5 euros"), None),
    # identifier
    "two systems": ("What is the code of the airport?", side("CGN", "The IATA code is CGN."), side("EDDK", "The ICAO code is EDDK."), "identifier"),
    "two isbn": ("What is the ISBN of the book?", side("3-16-148410-0", "ISBN-10 3-16-148410-0"), side("978-3-16-148410-0", "ISBN-13 978-3-16-148410-0"), "identifier"),
    "one isbn asked": ("What is the ISBN-13 of the book?", side("3-16-148410-0", "ISBN-10 3-16-148410-0"), side("978-3-16-148410-0", "ISBN-13 978-3-16-148410-0"), "semantic"),
    "book number": ("What is the identifier of the book?", side("3-16-148410-0", "ISBN-10: 3-16-148410-0"), side("978-3-16-148410-0", "ISBN-13: 978-3-16-148410-0"), "identifier"),
    "same system": ("What is the code of the airport?", side("CGN", "The IATA code is CGN."), side("BNJ", "The IATA code is BNJ."), None),
    "no label": ("What is the code of the airport?", side("CGN", "The code is CGN."), side("EDDK", "The ICAO code is EDDK."), None),
    "no identifier asked": ("What is the airport called?", side("CGN", "The IATA code is CGN."), side("EDDK", "The ICAO code is EDDK."), None),
    # agreeing negations
    "no and not": ("Is it open?", side("No", "It is not open."), side("It is not", "It is not."), "agreeing negations"),
    "never and not": ("Did Kim go there?", side("never", "Kim never went."), side("did not", "Kim did not."), "agreeing negations"),
    "not what was asked": ("Is it open?", side("No", "No."), side("It is not open", "It is not open."), "agreeing negations"),
    "no and not only": ("Is it open?", side("No", "No."), side("not only on Monday", "Not only on Monday."), None),
    "yes and no": ("Is it open?", side("No", "No."), side("Yes", "Yes."), "misinformation"),
    # no answer
    "unknown": ("Who leads Acme?", side("unknown", "x"), side("Bob", "Bob leads Acme."), "no answer"),
    "empty": ("Who leads Acme?", side(""), side("Bob", "Bob leads Acme."), "no answer"),
    "not mentioned": ("Wer führt Acme?", side("not mentioned in the text"), side("Bob"), "no answer"),
    "a name that sounds like it": ("Which album is it?", side("Unknown Pleasures", "Unknown Pleasures is the album."), side("Closer", "Closer is it."), None),
    # temporal
    "Tesla": (HQ, side("Palo Alto", "Tesla has moved its headquarters from San Carlos, CA to Palo Alto."), side("Austin", "Tesla’s headquarters is located at 1 Tesla Road, Austin, Texas since 2021."), "temporal"),
    "documents dated apart": (HQ, side("Palo Alto", "Tesla is in Palo Alto.", date="2010-02-12"), side("Austin", "Tesla is in Austin.", date="2022-03-01"), "temporal"),
    "documents dated together": (HQ, side("Palo Alto", "Tesla is in Palo Alto.", date="2022-02-12"), side("Austin", "Tesla is in Austin.", date="2022-03-01"), "misinformation"),
    "ended": ("Where is Acme based?", side("Bonn", "Acme was formerly based in Bonn."), side("Rome", "Acme is based in Rome."), "temporal"),
    "a number that grew": ("How many people work at Acme?", side("300", "300 people work at Acme.", date="2010"), side("500", "500 people work at Acme.", date="2020"), "temporal"),
    "the past": ("Where was Kim born?", side("Bonn", "Kim was born in Bonn.", date="2010"), side("Rome", "Kim was born in Rome.", date="2020"), None),
    "an event": ("The 8th Army was raised in which year?", side("1793", "The army was raised in 1793.", date="2010"), side("1758", "A man raised it in 1758.", date="2020"), None),
    "a work": ("Who is the director of the film Blue?", side("Ann", "In 2010 Ann became director of Blue."), side("Bob", "Bob is the director of Blue."), "misinformation"),
    "not one value": ("What does Kim like?", side("tea", "Kim likes tea.", date="2010"), side("coffee", "Kim likes coffee.", date="2020"), None),
    # misinformation and not sure
    "dates": ("When did it open?", side("4 March 1990", "It opened on 4 March 1990."), side("5 March 1990", "It opened on 5 March 1990."), "misinformation"),
    "dates in another wording": ("When did it open?", side("4 March 1990", "The plant opened on 4 March 1990."), side("5 March 1990", "Guests came on 5 March 1990."), None),
    "numbers": ("How many legs has it?", side("6", "6 legs."), side("8", "8 legs."), "misinformation"),
    "about": ("How many people came?", side("about 300", "About 300 people came."), side("320", "320 people came."), None),
    "capital": ("Which city is the capital of Nigeria?", side("Lagos", "The capital is Lagos."), side("Abuja", "The capital is Abuja."), "misinformation"),
    "a common word": ("Who is the president?", side("Ann Lee", "Ann Lee is the president of Bonn."), side("Bob Lee", "Bob Lee is the president of Bonn."), None),
    "names without one value": ("Who plays there?", side("Ann", "Ann plays."), side("Bob", "Bob plays."), None),
    "German": ("Wer ist der CEO von Acme?", side("Ann", "Ann ist CEO.", date="2010"), side("Bob", "Bob ist CEO.", date="2020"), None),
    "Spanish": ("¿Qué idiomas se hablan en España?", side("catalán"), side("vasco"), None),
    "Chinese": ("比利时说什么语言？", side("荷兰语"), side("法语"), None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("swapped", [False, True])
def test_relate(case, swapped):
    question, first, second, expected = case
    found = relate(question, *((second, first) if swapped else (first, second)))
    shown = found and (found.type if found.contradiction else found.shape)
    assert shown == expected, found
    if found:
        assert found.by == "code"
        assert found.reason
        assert (found.shape is None) == found.contradiction


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_order_of_the_sides_does_not_matter(case):
    question, a, b, _ = case
    one, other = relate(question, a, b), relate(question, b, a)
    assert (one and (one.contradiction, one.type, one.shape)) == (
        other and (other.contradiction, other.type, other.shape)
    )


def test_every_shape_and_type_has_cases():
    expected = {case[3] for case in CASES.values()}
    types = {"temporal", "misinformation", "semantic", "granularity"}
    assert expected == {*SHAPES, *types, None}


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Which languages does it support?", True),
        ("Who are the founders of Acme?", True),
        ("Name the members of the band.", True),
        ("List all films by Kim.", True),
        ("Which language does it support?", False),
        ("Who is the founder of Acme?", False),
        ("How many languages does it support?", False),
        ("What are the largest cities?", False),
        ("Which of the songs is the longest?", False),
    ],
)
def test_questions_list(question, wanted):
    assert questions_list(question) is wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("When was it built?", True),
        ("In what year did it open?", True),
        ("What is the exact date?", False),
        ("Who was there when it opened?", False),
        ("What year is it?", True),
    ],
)
def test_asks_for_time(question, wanted):
    assert asks_for_time(question) is wanted


HOSTILE = {
    "letters": "a" * 200_000,
    "capitals": "Tesla and " * 20_000,
    "commas": "Tesla, Bonn, " * 15_000,
    "dates": "since 2021 in France, " * 9_000,
    "brackets": "Tesla (born " * 16_000,
    "conditions": "if will may formerly moved from Tesla to Bonn unless " * 4_000,
    "spaces": "Tesla" + " " * 200_000 + "Bonn",
    "negations": "not no never " * 15_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_takes_no_long_time(text):
    started = time.process_time()
    a, b = side("Tesla", text), side("Bonn", text + " Bonn")
    for question in (HQ, "Which cities are they?", "Where is it?", text):
        relate(question, a, b)
        relate(question, Side(answer=text), b)
    assert time.process_time() - started < 8
