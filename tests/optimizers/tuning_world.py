"""Mills with contested dates, and a model that plays every role of MACR and ArbGraph by script."""

import json
import random
import re
from collections import Counter

import dspy

from referee.runtime.scripted import prompt_of

YEAR = re.compile(r"\b1[6-9]\d\d\b")


def short(n):
    """The two documents disagree, and nothing in them tells who is right."""
    name = f"mill {n} of Arvel"
    return dspy.Example(
        question=f"In which year was {name} built?",
        documents=[
            f"Sources date {name}: it was built in {year}." for year in (1700 + n, 1800 + n)
        ],
        date="2026-01-01",
        answers=[str(1650 + n) if n % 3 == 0 else str(1700 + n)],
    ).with_inputs("question", "documents", "date")


def long(n):
    """Three documents; one contests the first fact."""
    name = f"mill {n} of Arvel"
    facts = [f"The wheel of {name} was made in {1700 + n}.", f"Fire took {name} in {1750 + n}."]
    false = facts[0].replace(str(1700 + n), str(1790 + n))
    documents = [f"{facts[0]} {facts[1]}", f"{false} {facts[1]}", facts[1]]
    return dspy.Example(
        question=f"What is the history of {name}?",
        documents=documents,
        date="2026-01-01",
        facts=facts,
    ).with_inputs("question", "documents", "date")


class Model:
    """`asked` counts requests by part."""

    def __init__(self):
        self.asked = Counter()

    def __call__(self, request):
        prompt = getattr(request, "prompt", None) or prompt_of(request)
        part = next(name for key, name in self.PARTS if key in prompt)
        self.asked[part] += 1
        body = getattr(request, "body", None)
        seed = body.get("seed", 0) if body else request.config.seed or 0
        said = getattr(self, part)(prompt, seed)
        return said if isinstance(said, str) else json.dumps(said)

    PARTS = (
        ("using only the document,", "read"),
        ("what the question is about", "subject"),
        ("training data may not", "sample"),
        ("what you know that bears", "recall"),
        ("strictly from the notes", "year"),
        ("whether both answers", "types"),
        ("Settle each conflict", "nothing"),
        ("which side is true", "nothing"),
        ("facts in the text that bear", "claims"),
        ("what its two claims say", "relations"),
        ("which one is more credible", "weigh"),
        ("from the numbered claims", "compose"),
    )

    def read(self, prompt, seed):
        return YEAR.findall(prompt.rsplit("Document:", 1)[1].split("Question:")[0])[0]

    def subject(self, prompt, seed):
        return "a mill"

    def sample(self, prompt, seed):
        """Every third mill is known, to two draws in three; of the others nothing is."""
        n = int(re.findall(r"mill (\d+)", prompt)[-1])
        if n % 3 == 0 and seed % 4 != 3:
            return str(1650 + n)
        return str(random.Random(f"{n}:{seed}").randrange(1600, 1999))

    def recall(self, prompt, seed):
        n = int(re.findall(r"mill (\d+)", prompt)[-1])
        notes = f"It was built in {1650 + n}."
        return {"key_attributes": notes, "background": "", "details": "", "knowledge_cutoff": ""}

    def year(self, prompt, seed):
        return YEAR.findall(prompt.split("Notes:", 1)[1])[0]

    def types(self, prompt, seed):
        pairs = range(1, 1 + prompt.count('"pair":'))
        kind = {"relation": "contradiction", "type": "misinformation"}
        return {"relations": [{"pair": n, **kind} for n in pairs]}

    def nothing(self, prompt, seed):
        """A conflict with the memory on one side is decided for it; the others stay open."""
        conflicts = json.loads(prompt[prompt.rindex("Conflicts:") + 10 :])
        return {"judgments": [{"conflict": c["conflict"], "winner": older(c)} for c in conflicts]}

    def claims(self, prompt, seed):
        text = prompt.rsplit("Text:", 1)[1]
        return {
            "claims": [s.strip() + "." for s in text.split(".") if YEAR.search(s)],
            "complete": True,
        }

    def relations(self, prompt, seed):
        pairs = json.loads(prompt[prompt.rindex("Pairs:") + 6 :])
        same = [YEAR.sub("", p["first"]) == YEAR.sub("", p["second"]) for p in pairs]
        kinds = ["contradiction" if s else "neutral" for s in same]
        return {
            "relations": [
                {"pair": p["pair"], "relation": kind, "confidence": 0.9}
                for p, kind in zip(pairs, kinds, strict=True)
            ]
        }

    def weigh(self, prompt, seed):
        """The older date is right."""
        first, second = (int(YEAR.findall(part)[0]) for part in prompt.split("Second:"))
        return {"winner": "first" if first < second else "second", "confidence": 0.9}

    def compose(self, prompt, seed):
        lines = re.findall(r"^(\d+)\. ([^(\n]*)", prompt, re.M)
        return {"sentences": [{"sentence": text, "claims": [int(n)]} for n, text in lines]}


def older(conflict):
    first, second = int(conflict["first"]), int(conflict["second"])
    if min(first, second) >= 1700:
        return "undecided"
    return "first" if first < second else "second"
