"""Invented conflicts with known answers, and a model that plays every role by script."""

import json
from collections import Counter
from typing import ClassVar

import dspy

from referee.runtime.scripted import prompt_of

FIRMS = ("Vandel", "Korrin", "Ostmark", "Pelluna", "Tarvik", "Wexley", "Zandora", "Lumbrec")
PLACES = ("Brenford", "Caltrice", "Dorvale", "Elmgard", "Fenwyck", "Gralton", "Holmere", "Istrand")


def example(question, documents, answer, **labels):
    return dspy.Example(
        question=question, documents=documents, date="2026-01-01", answers=[answer], **labels
    ).with_inputs("question", "documents", "date")


def moved(n):
    """A firm that has moved: the later report is right."""
    firm, old, new = FIRMS[n % 8], PLACES[n % 8], PLACES[(n + 3) % 8]
    documents = [
        {"text": f"The headquarters of {firm} is in {old}.", "date": "2010-02-12"},
        {
            "text": f"The headquarters of {firm} has been in {new} since 2021.",
            "date": "2022-03-01",
        },
    ]
    question = f"In which city is the headquarters of {firm} located?"
    return example(question, documents[:: -1 if n % 2 else 1], new)


def copied(n):
    """A bridge with one true report and a false one: more sources are right."""
    place, wrong, right = PLACES[n % 8], FIRMS[n % 8], FIRMS[(n + 2) % 8]
    documents = [
        f"The stone bridge of {place} was built by {wrong} himself.",
        f"Everyone in {place} knows that {right} built the stone bridge.",
        f"It was {right} who had the bridge made, as a plaque on its pier tells visitors.",
    ]
    return example(f"Who built the stone bridge of {place}?", documents, right)


LATEST = {
    "rules": [
        {
            "type": "temporal",
            "condition": "The texts have different dates.",
            "resolution": "Believe the statement with the later date.",
            "operator": "latest_date",
        }
    ]
}


class Model:
    """`says` overrides a part; `asked` counts requests by part."""

    PARTS: ClassVar = (
        ("using only the document,", "read"),
        ("what the question is about", "subject"),
        ("training data may not", "sample"),
        ("whether both answers", "analyzer"),
        ("Settle each conflict", "reasoner"),
        ("which side is true", "fallback"),
        ("general rules", "observer"),
        ("combining facts", "compose"),
    )

    def __init__(self, **says):
        self.says, self.asked, self.prompts = says, Counter(), []

    def __call__(self, request):
        prompt = getattr(request, "prompt", None) or prompt_of(request)
        part = next(name for key, name in self.PARTS if key in prompt)
        self.asked[part] += 1
        self.prompts.append((part, prompt))
        said = self.says.get(part, getattr(self, part, "unknown"))
        said = said(prompt) if callable(said) else said
        return said if isinstance(said, str) else json.dumps(said)

    def read(self, prompt):
        text = prompt.split("Document:", 1)[1].split("Question:", 1)[0]
        question = prompt.rsplit("Question:", 1)[1]
        names = PLACES if "headquarters" in question else FIRMS
        return next((name for name in names if name in text), "no answer")

    sample = "unknown"
    subject = "a firm"
    compose = "no answer"
    analyzer: ClassVar = {
        "relations": [{"pair": 1, "relation": "contradiction", "type": "misinformation"}]
    }
    reasoner: ClassVar = {"judgments": []}
    fallback: ClassVar = {"judgments": []}

    def observer(self, prompt):
        return LATEST if "Type: temporal" in prompt else {"rules": []}
