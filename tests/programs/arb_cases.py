"""Towns, documents and a model for the tests of ArbGraph."""

import json
import re

import dspy

from referee.programs import ArbGraph
from referee.runtime.chunks import sentences
from referee.runtime.scripted import prompt_of, scripted_lm

QUESTION = "When did the bridge of Arburg open, and how long is it?"
DOCUMENTS = [
    {"text": "The bridge of Arburg opened in 1932. It is 80 m long.", "id": "a", "source": "A"},
    {"text": "The bridge of Arburg opened in 1934.", "id": "b", "source": "B"},
    {"text": "Arburg's bridge was opened in 1932 by the mayor.", "id": "c", "source": "C"},
]


def asked(request):
    """The text of a request to a scripted model or to a `FakeServer`."""
    return prompt_of(request) if hasattr(request, "model") else request.prompt


def stage_of(request):
    """Which stage asks, by the keys of its reply."""
    prompt = asked(request)
    keys = {
        '"complete"': "claims",
        '"confidence": number}, ...]': "relations",
        '"winner"': "arbitration",
        '"sentences"': "answer",
    }
    return next(stage for key, stage in keys.items() if key in prompt)


def listed(request):
    """A perfect extractor: every sentence is a claim."""
    text = asked(request).rpartition("Text:")[2].strip()
    return json.dumps({"claims": [s.text for s in sentences(text)], "complete": True})


def pairs_in(request):
    """The pairs that the verifier is asked about, as texts."""
    prompt = asked(request)
    return [(p["first"], p["second"]) for p in json.loads(prompt[prompt.rindex("[{") :])]


def relations(request, relate):
    """A verifier that applies a function to each pair."""
    said = [
        {"pair": n, "relation": relate(*pair), "confidence": 0.9}
        for n, pair in enumerate(pairs_in(request), start=1)
    ]
    return json.dumps({"relations": said})


def numbered(request):
    """The claims that the writer sees."""
    prompt = asked(request).rpartition("Claims:")[2].partition("Question:")[0]
    return [line.partition(". ")[2] for line in prompt.splitlines() if re.match(r"\s*\d+\. ", line)]


def written(request):
    """A writer that copies the claims."""
    shown = enumerate(numbered(request), start=1)
    told = [{"sentence": text.partition(" (disputed")[0], "claims": [n]} for n, text in shown]
    return json.dumps({"sentences": told})


def neutral(one, other):
    return "neutral"


def contradiction(one, other):
    return "contradiction"


def model(relate=neutral, winner="first", confidence=0.9, **stages):
    """A scripted model; ``stages`` replaces the reply of single stages."""
    replies = {
        "claims": listed,
        "relations": lambda r: relations(r, relate),
        "arbitration": lambda r: json.dumps({"winner": winner, "confidence": confidence}),
        "answer": written,
        **stages,
    }
    return scripted_lm(lambda request: replies[stage_of(request)](request))


def replying(**stages):
    """The reply function of `model`, for a `FakeServer`."""
    return model(**stages).engine.script


def stages_of(lm):
    """The stages of the requests that a model got, in order."""
    return [stage_of(request) for request in lm.engine.requests]


def write(documents=DOCUMENTS, lm=None, program=None, question=QUESTION, **options):
    """A report."""
    with dspy.context(lm=lm or model()):
        program = program or ArbGraph(ask_model=True)
        return program(question=question, documents=documents, **options).report
