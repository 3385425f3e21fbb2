"""What tuning costs: requests of one pass and of all trials, and machine time beyond the requests.

    python benchmarks/tuning.py

A scripted server plays every role; the rows are invented. Bounds: 200 trials over 100 rows take at
most 1.5 times the requests of one full pass, and under 60 s beyond it; the same seed finds the same
trial.
"""

import json
import random
import re
import tempfile
import time

import click
import dspy

from referee.optimizers import RuleMatrix, TuneThresholds
from referee.programs import MACR, ArbGraph, Gate, RuleBase
from referee.programs.rules import Rule
from referee.runtime import connect
from referee.runtime.fake_server import FakeServer
from referee.runtime.scripted import WordEncoder

MACR_PARAMETERS = ("gate_threshold", "samples", "min_coverage", "min_support")
ARBGRAPH_PARAMETERS = ("step_size", "accept", "pairs_per_round", "rounds")
PLACES = ("Arvel", "Bromm", "Casten", "Dorvik", "Ellund", "Farrow", "Gastor", "Hemmel")
EVENTS = (
    "The foundations of the {} were laid",
    "A second wheel was added to the {}",
    "The {} burned down to its walls",
    "The roof of the {} was rebuilt in slate",
    "The last miller of the {} retired",
    "A turbine replaced the wheels of the {}",
    "The {} was bought by the county",
    "The {} opened as a museum",
)
FILLER = (
    "The road to it follows the river for two miles and is closed in winter.",
    "Visitors are asked to leave their dogs at the gate.",
    "A small fair is held in the meadow behind it every other summer.",
)
YEAR = re.compile(r"\b1[6-9]\d\d\b")


def short_rows(n):
    """Who disagrees: none, one source against two, or an old state against a new one."""
    return [short_row(i, random.Random(i)) for i in range(n)]


def short_row(i, draw):
    name = f"{PLACES[i % 8]} mill {i}"
    right, wrong = draw.sample(range(1600, 1990), 2)
    stated = draw.choice([[right] * 3, [right, wrong], [right, wrong, wrong], [wrong, right, 1599]])
    documents = [
        {
            "text": f"{draw.choice(FILLER)} The {name} was built in {year}. {draw.choice(FILLER)}",
            "date": f"{2000 + draw.randrange(20)}-0{draw.randrange(1, 9)}-01",
        }
        for year in stated
    ]
    return dspy.Example(
        question=f"In which year was the {name} built?",
        documents=documents,
        date="2026-01-01",
        answers=[str(right)],
    ).with_inputs("question", "documents", "date")


def long_rows(n):
    """Five documents; two of eight facts are contested: one document or two state another year."""
    return [long_row(i, random.Random(i)) for i in range(n)]


def long_row(i, draw):
    name = f"{PLACES[i % 8]} mill {i}"
    years = draw.sample(range(1600, 1990), len(EVENTS))
    facts = [f"{event.format(name)} in {year}." for event, year in zip(EVENTS, years, strict=True)]
    contested = draw.sample(range(len(facts)), 2)
    false = {n: set(draw.sample(range(5), draw.choice([1, 1, 2]))) for n in contested}
    documents = []
    for d in range(5):
        said = [
            fact.replace(str(year), str(year + 7)) if d in false.get(n, ()) else fact
            for n, (fact, year) in enumerate(zip(facts, years, strict=True))
            if n in contested or draw.random() < 0.6
        ]
        date = f"{2000 + draw.randrange(20)}-01-01"
        documents.append({"text": " ".join([*said, draw.choice(FILLER)]), "date": date})
    return dspy.Example(
        question=f"What is the history of the {name}?",
        documents=documents,
        date="2026-01-01",
        facts=facts,
    ).with_inputs("question", "documents", "date")


def reply(request):
    """Every role of both programs; equal requests get equal replies."""
    prompt, seed = request.prompt, request.body.get("seed", 0)
    for key, answer in ROLES:
        if key in prompt:
            said = answer(prompt, seed)
            return said if isinstance(said, str) else json.dumps(said)
    raise LookupError(prompt[:200])


def memory(prompt, seed):
    """Knows some mills well, some hardly and some not at all."""
    number = int(re.findall(r"mill (\d+)", prompt)[-1])
    draw = random.Random(f"{number}:{seed}")
    sure = (number % 5) / 4
    return str(1600 + number) if draw.random() < sure else str(draw.randrange(1600, 1990))


def recalled(prompt, seed):
    facts = f"The mill was built in {memory(prompt, 0)}."
    return {"key_attributes": facts, "background": "", "details": "", "knowledge_cutoff": ""}


def read(prompt, seed):
    return (YEAR.findall(prompt.split("Question:")[0].rsplit("Document:", 1)[-1]) or ["1700"])[0]


def related(prompt, seed):
    pairs = [int(n) for n in re.findall(r'"pair": ?(\d+)', prompt)]
    kinds = {"relation": "contradiction", "type": "misinformation"}
    return {"relations": [{"pair": n, **kinds} for n in pairs]}


def claims_related(prompt, seed):
    found = json.loads(prompt[prompt.rindex("Pairs:") + 6 :])
    return {"relations": [{"pair": p["pair"], **relation(p)} for p in found]}


def relation(pair):
    same = YEAR.sub("", pair["first"]) == YEAR.sub("", pair["second"])
    return {"relation": "contradiction" if same else "neutral", "confidence": 0.9}


def judged(prompt, seed):
    """Half of the rules fit a conflict, and who wins does not depend on the rules offered."""
    conflicts = json.loads(prompt[prompt.rindex("Conflicts:") + 10 :])
    return {"judgments": [{"conflict": c["conflict"], **judgment(c)} for c in conflicts]}


def judgment(conflict):
    sides = sorted((conflict["first"], conflict["second"]))
    winner = random.Random(str(sides)).choice(sides)
    said = {"winner": "first" if conflict["first"] == winner else "second"}
    for rule in conflict.get("rules", ()):
        if random.Random(f"{sides}{rule}").random() < 0.5:
            return {"rule": rule.partition(":")[0], **said}
    return {"winner": "undecided"} if conflict.get("rules") else said


def listed(prompt, seed):
    text = prompt.rsplit("Text:", 1)[1]
    claims = [s.strip() + "." for s in text.split(".") if YEAR.search(s)]
    return {"claims": claims, "complete": True}


def weighed(prompt, seed):
    draw = random.Random(prompt)
    said = draw.choices(["first", "second", "undecided"], [5, 3, 2])[0]
    return {"winner": said, "confidence": round(draw.uniform(0.4, 1.0), 2)}


def composed(prompt, seed):
    lines = re.findall(r"^(\d+)\. ([^(\n]*)", prompt, re.M)
    return {"sentences": [{"sentence": text, "claims": [int(n)]} for n, text in lines]}


ROLES = (
    ("using only the document,", read),
    ("what the question is about", lambda prompt, seed: "a mill"),
    ("training data may not", memory),
    ("what you know that bears", recalled),
    ("strictly from the notes", lambda prompt, seed: YEAR.findall(prompt)[0]),
    ("whether both answers", related),
    ("Settle each conflict", judged),
    ("which side is true", judged),
    ("facts in the text that bear", listed),
    ("what its two claims say", claims_related),
    ("which one is more credible", weighed),
    ("from the numbered claims", composed),
)


def matrix(rows):
    """Six measured rules, two of them in words; what fires where is drawn."""
    draw = random.Random(0)
    kinds = [
        ("R1", "temporal", "latest_date", "The later report is right."),
        ("R2", "any", "most_independent_sources", "The larger number of sources is right."),
        ("R3", "any", "statement_over_plan", "A fact comes before a plan."),
        ("R4", "granularity", "most_specific", "The more precise statement is right."),
        ("R5", "any", "", "Believe the text that gives a reason."),
        ("R6", "misinformation", "", "Believe the text that names its source."),
    ]
    rules = tuple(
        Rule(id=id, type=type, operator=op, condition="The texts differ.", resolution=text)
        for id, type, op, text in kinds
    )
    shares = (0.3, 0.5, 0.04, 0.1, 0.2, 0.4)
    fired = tuple(tuple(draw.random() < share for _ in range(rows)) for share in shares)
    correct = tuple(tuple(draw.random() < 0.65 for _ in range(rows)) for _ in rules)
    return RuleMatrix(
        rules=rules,
        examples=tuple(map(str, range(rows))),
        fired=fired,
        correct=correct,
        baseline=tuple(draw.random() < 0.5 for _ in range(rows)),
    )


def tuned(program, rows, parameters, metric, trials, seed):
    """Tune once on a server of its own; what came of it, what was asked, and how long it took."""
    with FakeServer(reply) as server, tempfile.TemporaryDirectory() as folder:
        lm = connect("openai/tuning", api_base=server.url, cache=False)
        tuner = TuneThresholds(
            metric,
            parameters=parameters,
            trials=trials,
            matrix=matrix(len(rows)),
            folder=folder,
            seed=seed,
        )
        started, busy = time.perf_counter(), time.process_time()
        with dspy.context(lm=lm):
            found = tuner.tune(program, rows)
        seconds = time.perf_counter() - started, time.process_time() - busy
        if server.errors:
            raise click.ClickException(str(server.errors[0]))
        return found, len(server.requests), seconds


@click.command()
@click.option("--rows", default=100, show_default=True)
@click.option("--trials", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--only", type=click.Choice(("macr", "arbgraph")))
def main(rows, trials, seed, only):
    base = RuleBase(matrix(rows).select(0.05, 0.6))
    runs = {
        "macr": (MACR(gate=Gate(), rules=base), short_rows(rows), MACR_PARAMETERS, "em"),
        "arbgraph": (
            ArbGraph(rules=RuleBase([]), encoder=WordEncoder()),  # the model decides everything
            long_rows(rows),
            ARBGRAPH_PARAMETERS,
            "fact_recall",
        ),
    }
    for name, run in runs.items():
        if only in (None, name):
            report(name, *(tuned(*run, trials, seed) for _ in range(2)))


def report(name, first, second):
    found, asked, seconds = first
    share = asked / found.first_pass
    default = found.trials[0]
    wall, busy = seconds
    beyond = wall - default.seconds
    print(f"{name}: {len(found.trials)} trials over {found.rows} rows")
    print(f"  requests: {found.first_pass} in the first pass, {asked} in all, {share:.2f} passes")
    print(f"  seconds:  {default.seconds:.1f} for the first pass, {beyond:.1f} for everything else")
    print(f"  CPU:      {busy:.1f} s in all, first pass and scripted server included")
    print(f"  score:    {default.score:.3f} -> {found.best.score:.3f} (trial {found.best.number})")
    same = first[0].best.values == second[0].best.values
    print(f"  again:    the same best trial: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
