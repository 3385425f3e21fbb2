"""AUROC of MACR's uncertainty for "the model knows this", from the records of an evaluation.

    referee evaluate direct,macr --data ROWS.jsonl --lm qwen2.5-coder-0.5b --out results/run
    python benchmarks/gate.py results/run --data ROWS.jsonl

The model knows what its direct answer gets right, by containment. Nothing is asked.
"""

import json
from pathlib import Path

import click

from referee.metrics import answer_similarity, auroc, containment, relevant_snne, rouge_l, snne
from referee.metrics.refusal import is_no_answer


def eq3(samples, relevance):
    return relevant_snne(answer_similarity(samples), relevance)


MEASURES = {
    "plain SNNE (Eq. 2)": lambda s, q: snne(answer_similarity(s)),
    "Eq. 3, ROUGE-L relevance (paper)": lambda s, q: eq3(s, [rouge_l(t, [q]) for t in s]),
    "Eq. 3, relevance in code (default)": lambda s, q: eq3(
        s, [float(not is_no_answer(t)) for t in s]
    ),
}


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--data", required=True, help="The rows that were asked, for their right answers.")
def main(run, data):
    gold = {r["id"]: r["answers"] for r in map(json.loads, Path(data).read_text().splitlines())}
    direct, macr = (results(run / f"{name}.jsonl") for name in ("direct", "macr"))
    knows = {i: containment(v["answer"], gold[i]) > 0 for i, v in direct.items() if i in gold}
    sampled = {i: v for i, v in macr.items() if v["stages"].get("samples") and i in knows}
    print(f"{len(sampled)} questions sampled, {sum(knows[i] for i in sampled)} known")
    if len({knows[i] for i in sampled}) < 2:
        return
    for name, measure in MEASURES.items():
        unsure = [measure(v["stages"]["samples"], v["question"]) for v in sampled.values()]
        print(f"{name}: AUROC {auroc(unsure, [knows[i] for i in sampled]):.2f}")


def results(path):
    """The finished records of a program, by row."""
    records = {r["id"]: r for r in map(json.loads, path.read_text().splitlines())}
    return {i: r["result"] for i, r in records.items() if r["status"] in ("ok", "abstained")}


if __name__ == "__main__":
    main()
