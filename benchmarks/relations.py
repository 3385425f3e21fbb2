"""Accuracy of ArbGraph's relation verifier on labelled pairs, for several batch sizes.

    python benchmarks/relations.py relation_pairs.jsonl --lm MODEL --rows 60 --batches 1,8 --out DIR

Rows hold `claim_a`, `claim_b` and `label`; as many of each label, drawn by the seed. Code decides
nothing here: every pair goes to the model. Replies are kept in DIR, so a run goes on where it
stopped.
"""

import json
import random
import time
from collections import Counter
from pathlib import Path

import click
import dspy

from referee.metrics import wilson_interval
from referee.programs import ArbSettings
from referee.programs.base import Case
from referee.programs.steps import Clock, Driver
from referee.programs.verification import Verifier
from referee.runtime import Meter, ReplyCache, caching, connect, metered
from referee.runtime.exchange import channel

LABELS = ("support", "contradiction", "neutral")
LONGEST = 1000  # characters of a text in a prompt


@click.command()
@click.argument("path")
@click.option("--lm")
@click.option("--rows", default=60)
@click.option("--batches", default="1,8")
@click.option("--seed", default=0)
@click.option("--out", default="results/relations", type=click.Path(path_type=Path))
def main(path, lm, rows, batches, seed, out):
    chosen = balanced(
        [json.loads(line) for line in Path(path).read_text().splitlines()], rows, seed
    )
    out.mkdir(parents=True, exist_ok=True)
    with (
        dspy.context(lm=connect(lm), adapter=channel()),
        caching(ReplyCache(out / "replies")),
    ):
        for batch in map(int, batches.split(",")):
            report(chosen, *related(chosen, batch), batch)


def balanced(rows, number, seed):
    random.Random(seed).shuffle(rows)
    per = number // len(LABELS)
    return [row for label in LABELS for row in [r for r in rows if r["label"] == label][:per]]


def related(rows, batch):
    """Relations by the model, and what they took; batches mix the labels."""
    order = list(range(len(rows)))
    random.Random(batch).shuffle(order)
    texts = [text[:LONGEST] for i in order for text in (rows[i]["claim_a"], rows[i]["claim_b"])]
    pairs = [(2 * n, 2 * n + 1) for n in range(len(order))]
    meter = Meter()
    case = Case("", (), "2026-01-01", 2500, meter)
    started = time.time()
    verifier = Verifier(ask_model=True)
    settings = ArbSettings(certain=False, batch=batch)
    with metered(meter):
        found = Driver({}, Clock()).run(verifier.steps(case, texts, pairs, settings))
    said = {i: found.get(pair) for i, pair in zip(order, pairs, strict=True)}
    return [said[i] for i in range(len(rows))], meter, time.time() - started


def report(rows, found, meter, seconds, batch):
    usage = meter.usage()
    right = sum(
        f is not None and f.relation == r["label"] for f, r in zip(found, rows, strict=True)
    )
    low, high = wilson_interval(right, len(rows))[-2:]
    print(
        f"b={batch}: n={len(rows)}, accuracy {right / len(rows):.2f} [{low:.2f}, {high:.2f}], "
        f"{sum(f is None for f in found)} without relation, "
        f"{usage.requests + usage.cached} requests, {seconds:.0f} s"
    )
    for label in LABELS:
        said = [
            f.relation if f else "none"
            for f, r in zip(found, rows, strict=True)
            if r["label"] == label
        ]
        low, high = wilson_interval(said.count(label), len(said))[-2:]
        print(
            f"  {label}: {said.count(label)}/{len(said)} [{low:.2f}, {high:.2f}], "
            f"said {dict(Counter(said))}",
            flush=True,
        )


if __name__ == "__main__":
    main()
