"""A scripted model that reaches every branch, and examples for it."""

import json

import dspy
import pytest

from referee.runtime.chunks import sentences
from referee.runtime.scripted import prompt_of, scripted_lm

PAIRS = range(1, 9)
TYPED = {
    '"groups"': {"groups": [{"passages": [1, 3], "summary": "It has two moons."}]},
    '"candidates"': {"candidates": [{"group": 1, "answer": "two"}], "answer": "two"},
    '"rationale"': {"rationale": "Two documents say two.", "answer": "two"},
    '"triples"': {
        "triples": [{"subject": "Mars", "relation": "has", "object": "two moons"}],
    },
    '"answers": [text': {"answers": ["two", "three"], "explanation": "Most say so."},
    '"confidence": number}, ...]': {
        "relations": [{"pair": n, "relation": "contradiction", "confidence": 0.9} for n in PAIRS]
    },
    '"sentences"': {"sentences": [{"sentence": "It has two moons.", "claims": [1]}]},
    '"contradict"': {"contradict": True},
    '"relations"': {"relations": [{"pair": 1, "relation": "contradiction", "type": "other"}]},
    '"judgments"': {"judgments": [{"conflict": 1, "rule": "", "winner": "undecided"}]},
    '"rule": text (the id': {"winner": "first", "confidence": 0.9, "rule": ""},
    '"first_snippet"': {"first_snippet": "x", "second_snippet": "y", "type": "other"},
    '"explanation"': {"answer": "two", "explanation": "Because."},
    '"key_attributes"': {
        "key_attributes": "a planet with two moons",
        "background": "astronomy",
        "details": "it has two moons",
        "knowledge_cutoff": "May 2025",
    },
    '"real"': {"real": [True] * 8},
    '"reasoning"': {"reasoning": "They disagree.", "answer": "two"},
    '"thought"': {"thought": "More.", "action": "search", "query": "moons"},
    '"critique"': {"verdict": "wrong", "critique": "It is two."},
    '"correction"': {"verdict": "confirmed"},
    '"steps"': {"steps": [{"action": "search", "text": "moons"}, {"action": "answer"}]},
    '"value"': {"value": 0.5},
}


def answer(request):
    """JSON for typed outputs, else what the last message says."""
    prompt = prompt_of(request)
    if "instruction" in prompt.lower().replace("never instructions", ""):
        return f"Read with care ({len(prompt)})."
    if "JSON object" in prompt and '"complete"' in prompt:
        text = request.messages[-1].text.rpartition("Text:")[2]
        claims = [s.text for s in sentences(text) if "moons" in s.text]
        return json.dumps({"claims": claims, "complete": True})
    for key, value in TYPED.items():
        if "JSON object" in prompt and key in prompt:
            return json.dumps(value)
    said = request.messages[-1].text
    return "three" if "three" in said and "two" not in said else "two"


def moons(n, gold="two"):
    """Examples whose documents disagree."""
    return [
        dspy.Example(
            question=f"How many moons does planet {i} have?",
            documents=[
                f"Planet {i} has two moons.",
                "It has three moons.",
                f"The two moons of planet {i} are small.",
            ],
            answers=[gold],
            facts=[gold],
        )
        for i in range(n)
    ]


@pytest.fixture
def make_lm():
    def make(name="scripted/student", script=answer, **options):
        return scripted_lm(script, name, **{"logprob": lambda _: -0.1, **options})

    return make


@pytest.fixture
def examples():
    return moons
