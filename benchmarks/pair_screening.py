"""Calibrate ArbGraph's cosine thresholds, and count what code decides about pairs.

    python benchmarks/pair_screening.py --pairs relation_pairs.jsonl --questions ramdocs.jsonl

`--pairs` holds claim_a, claim_b, label; `--questions` question and contexts (text, gold.role,
gold.answer). The pairs of `benchmarks/cases/claim_pairs.tsv` are ours.
"""

import collections
import json
import re
from pathlib import Path

import click
import numpy as np

from referee.programs.agreement import agrees
from referee.programs.certain_relations import certain_relation
from referee.programs.pair_rules import entity_pairs
from referee.runtime.embedder import default_encoder

OURS = Path(__file__).parent / "cases" / "claim_pairs.tsv"
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])")


@click.command()
@click.option("--pairs", type=click.Path(exists=True), required=True)
@click.option("--questions", type=click.Path(exists=True), required=True)
def main(pairs, questions):
    encoder = default_encoder()
    print(f"encoder {encoder.name}")
    public = [(r["label"], r["claim_a"], r["claim_b"]) for r in records(pairs)]
    ours = [tuple(line.split("\t")) for line in OURS.read_text().splitlines()]
    screen(public, encoder)
    filter_by_question(records(questions), encoder)
    for name, rows in (("public", public), ("ours", ours)):
        merging(name, rows, encoder)
        certain(name, rows)


def records(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def cosines(rows, encoder):
    return (encoder.encode([a for _, a, _ in rows]) * encoder.encode([b for *_, b in rows])).sum(1)


def screen(rows, encoder):
    """Recall of contradictions, and the share of all unpaired claims that would be verified."""
    texts = [text for _, *both in rows for text in both]
    vectors = encoder.encode(texts)
    table = vectors @ vectors.T
    rule = np.zeros(table.shape, bool)
    rule[tuple(entity_pairs(texts, vectors)[0].T)] = True
    i, j = np.triu_indices(len(texts), 1)
    pool = i // 2 != j // 2
    at = 2 * np.array([k for k, row in enumerate(rows) if row[0] == "contradiction"])
    mine, named = table[at, at + 1], rule[at, at + 1]
    print("tau_sim  recall  cost   with the second rule: recall  cost")
    for tau in (0.2, 0.3, 0.35, 0.38, 0.4, 0.45, 0.5, 0.6, 0.75, 2.0):
        near, passed = mine >= tau, table[i, j][pool] >= tau
        both = (near | named).mean(), (passed | rule[i, j][pool]).mean()
        print(f"{tau:.2f}  {near.mean():.3f}  {passed.mean():.4f}  {both[0]:.3f}  {both[1]:.4f}")


def filter_by_question(rows, encoder):
    """Sentences with the answer that stay, and sentences of noise documents that go."""
    kept, noise = [], []
    for row in rows:
        asked = encoder.encode([row["question"]])[0]
        for context in row["contexts"]:
            role, answer = context["gold"]["role"], context["gold"]["answer"].lower()
            said = [s for s in SENTENCE.split(context["text"]) if len(s) > 20]
            if role == "correct":
                said = [s for s in said if answer in s.lower()]
            if said and role in ("correct", "noise"):
                (kept if role == "correct" else noise).extend(encoder.encode(said) @ asked)
    print(f"tau_q  kept of {len(kept)} with the answer  removed of {len(noise)} of noise")
    for tau in (0.0, 0.1, 0.15, 0.2, 0.22, 0.25, 0.28, 0.3, 0.35, 0.4, 0.5):
        print(
            f"{tau:.2f}  {np.mean(np.array(kept) >= tau):.3f}  {np.mean(np.array(noise) < tau):.3f}"
        )


def merging(name, rows, encoder):
    near = cosines(rows, encoder)
    agree = np.array([agrees(a, b) for _, a, b in rows])
    labels = np.array([label for label, *_ in rows])
    print(f"{name}: merged per label, with cosine alone and with agreement")
    for tau in (0.7, 0.75, 0.8, 0.83, 0.85, 0.88, 0.9, 0.95):
        counts = [
            f"{label} {(near[own] >= tau).sum()} {((near >= tau) & agree)[own].sum()}/{own.sum()}"
            for label in ("support", "contradiction", "neutral")
            for own in [labels == label]
        ]
        print(f"{tau:.2f}  " + ", ".join(counts))


def certain(name, rows):
    spoken, right = collections.Counter(), collections.Counter()
    for label, a, b in rows:
        found = certain_relation(a, b)
        if found:
            spoken[found.case] += 1
            right[found.case] += found.label == label
            if found.label != label:
                print(f"  wrong ({found.case}, is {label}): {a[:90]} | {b[:90]}")
    print(f"{name}: certain of {spoken.total()}/{len(rows)}, right {right.total()}:", dict(spoken))


if __name__ == "__main__":
    main()
