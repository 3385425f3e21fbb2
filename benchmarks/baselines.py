"""EM and containment of programs on rows of a benchmark file.

    python benchmarks/baselines.py ROWS.jsonl --lm qwen2.5-coder-0.5b --rows 30 --out results/base

Contexts are shuffled by the seed. A tie is scored in expectation over the tied answers. With
`--external pool` all programs get the same outside knowledge: the passage nearest to the question
among the correct passages of the whole file, as C_ext of macr, as one more document of the others.
Results stream to OUT/PROGRAM.jsonl; started again, finished rows are not asked again.
"""

import json
import random
import time
from pathlib import Path

import click
import dspy

from referee.data import conflicted, read_rows
from referee.metrics import (
    answer_similarity,
    auroc,
    bootstrap_interval,
    containment,
    exact_match,
    paired_bootstrap,
    relevant_snne,
    rouge_l,
    snne,
)
from referee.metrics.refusal import is_no_answer
from referee.programs import PROGRAMS
from referee.programs.vote import ranked_clusters
from referee.runtime import ReplyCache, caching, connect
from referee.runtime.retrieval import CorpusRetriever


@click.command()
@click.argument("path")
@click.option("--lm")
@click.option("--rows", default=30)
@click.option("--seed", default=0)
@click.option("--any-answers", is_flag=True, help="Also rows with several right answers.")
@click.option("--where", default="", help="Only rows whose id holds this.")
@click.option("--external", type=click.Choice(["none", "pool"]), default="none")
@click.option("--programs", default="direct,icl,vote,macr")
@click.option("--out", default="results/baselines", type=click.Path(path_type=Path))
def main(path, lm, rows, seed, any_answers, where, external, programs, out):
    found = [r for r in read_rows(path) if where in r.id and r.answers and r.wrong_answers]
    chosen = found if any_answers else conflicted(found)
    random.Random(seed).shuffle(chosen)
    chosen = [row.shuffled(seed) for row in chosen[:rows]]
    out.mkdir(parents=True, exist_ok=True)
    retriever = pool(path) if external == "pool" else None
    records = {}
    # Programs share replies: what vote has asked, macr need not pay for again.
    with dspy.context(lm=connect(lm)), caching(ReplyCache(out / "replies")):
        for name in programs.split(","):
            program = PROGRAMS[name](**({"retriever": retriever} if name == "macr" else {}))
            added = None if name in ("macr", "direct") else retriever
            records[name] = run(program, chosen, out / f"{name}.jsonl", added)
            report(name, records[name])
    compare(records)
    gate(records)


def pool(path):
    texts = [
        d.text
        for r in read_rows(path)
        for d, role in zip(r.documents, r.roles, strict=True)
        if role == "correct"
    ]
    return CorpusRetriever(list(dict.fromkeys(texts)))


def run(program, rows, path, added):
    done = {r["id"]: r for r in map(json.loads, path.open())} if path.exists() else {}
    with path.open("a") as file:
        for row in rows:
            if row.id in done:
                continue
            started = time.time()
            documents = [
                *row.documents,
                *(p.text for p in (added(row.question, 1) if added else ())),
            ]
            verdict = program(question=row.question, documents=documents).verdict
            record = {"id": row.id, **score(verdict, row), "answer": verdict.answer}
            record |= {
                "gold": row.answers,
                "wrong": row.wrong_answers,
                "roles": row.roles,
                "status": verdict.status,
                "answers": [(a.text, a.status) for a in verdict.answers],
                "usage": verdict.usage.model_dump(),
                "samples": verdict.stages.get("samples"),
                "question": row.question,
                "rules": verdict.rules_used,
                "branch": verdict.branch,
                "seconds": round(time.time() - started, 2),
            }
            done[row.id] = record
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
    return [done[row.id] for row in rows]


def score(verdict, row):
    shown = candidates(verdict)
    best = max(1, len(shown))
    some = [a.text for a in verdict.answers if a.document_id and a.text]
    return {
        "em": sum(exact_match(a, row.answers) for a in shown) / best,
        "containment": sum(containment(a, row.answers) for a in shown) / best,
        # For gold answers that are sentences: the answer stands in one of them.
        "inside": sum(exact_match(a, row.answers, style="faithful_rag") for a in shown) / best,
        "tied": len(shown) > 1,
        "some_context_right": float(any(containment(a, row.answers) for a in some)),
    }


def candidates(verdict):
    """The answer, or all that tie with it."""
    if verdict.program == "macr":
        # What a conflict without a judgment leaves open beside the answer.
        undecided = [c["answers"] for c in verdict.conflicts if c["judgment"] is None]
        rivals = [a for pair in undecided if verdict.answer in pair for a in pair]
        return list(dict.fromkeys([verdict.answer, *rivals]))
    if verdict.program != "vote" or not verdict.answer:
        return [verdict.answer]
    clusters = ranked_clusters(verdict.answers, verdict.documents)
    return [c.text for c in clusters if c.sources == clusters[0].sources]


def report(name, records):
    line = [f"{name:8} n={len(records)}"]
    for measure in ("em", "containment", "inside", "some_context_right"):
        values = [r[measure] for r in records]
        low, high = bootstrap_interval(values, seed=0)[-2:]
        line.append(f"{measure} {sum(values) / len(values):.3f} [{low:.2f}, {high:.2f}]")
    failed = sum(r["status"] not in ("ok", "abstained") for r in records)
    abstained = sum(r["status"] == "abstained" for r in records)
    seconds = sum(r["seconds"] for r in records)
    line.append(f"tied {sum(r['tied'] for r in records)} abstained {abstained} failed {failed}")
    print(", ".join(line), f"{seconds:.0f} s", flush=True)


def compare(records):
    """Paired differences, and how often macr overrides the vote, and how often rightly."""
    for base in ("vote", "icl"):
        if base in records and "macr" in records:
            for measure in ("em", "containment", "inside"):
                pair = [[r[measure] for r in records[n]] for n in ("macr", base)]
                result = paired_bootstrap(*pair, seed=0)
                print(
                    f"macr - {base}, {measure}:",
                    f"{result[0]:+.3f} [{result[1]:+.2f}, {result[2]:+.2f}]",
                )
    if "vote" in records and "macr" in records:
        both = list(zip(records["macr"], records["vote"], strict=True))
        other = [(m, v) for m, v in both if m["containment"] != v["containment"]]
        better = sum(m["containment"] > v["containment"] for m, v in other)
        print(
            f"macr scores other than vote in {len(other)} of {len(both)} rows, better in {better}"
        )


def gate(records):
    """AUROC of the uncertainty for "the model knows this" (direct answer right, by containment)."""
    if not {"direct", "macr"} <= records.keys():
        return
    knows = {r["id"]: r["containment"] > 0 for r in records["direct"]}
    rows = [r for r in records["macr"] if r["samples"]]
    print(f"gate: {len(rows)} questions sampled, {sum(knows[r['id']] for r in rows)} known")
    if len({knows[r["id"]] for r in rows}) < 2:
        return
    for name, measure in MEASURES.items():
        unsure = [measure(r["samples"], r["question"]) for r in rows]
        print(f"gate: {name} AUROC {auroc(unsure, [knows[r['id']] for r in rows]):.2f}")


def eq3(samples, relevance):
    return relevant_snne(answer_similarity(samples), relevance)


MEASURES = {
    "plain SNNE (Eq. 2)": lambda s, q: snne(answer_similarity(s)),
    "Eq. 3, ROUGE-L relevance (paper)": lambda s, q: eq3(s, [rouge_l(t, [q]) for t in s]),
    "Eq. 3, relevance in code (default)": lambda s, q: eq3(
        s, [float(not is_no_answer(t)) for t in s]
    ),
}


if __name__ == "__main__":
    main()
