"""EM and containment of direct, icl and vote on rows of a benchmark file.

    python benchmarks/baselines.py ROWS.jsonl --lm qwen2.5-coder-0.5b --rows 30 --out results/base

Contexts are shuffled by the seed. A tie of the vote is scored in expectation over the tied answers.
Results stream to OUT/PROGRAM.jsonl; started again, finished rows are not asked again.
"""

import json
import random
import time
from pathlib import Path

import click
import dspy

from referee.data import conflicted, read_rows
from referee.metrics import bootstrap_interval, containment, exact_match
from referee.programs import PROGRAMS
from referee.programs.vote import ranked_clusters
from referee.runtime import ReplyCache, caching, connect


@click.command()
@click.argument("path")
@click.option("--lm")
@click.option("--rows", default=30)
@click.option("--seed", default=0)
@click.option("--any-answers", is_flag=True, help="Also rows with several right answers.")
@click.option("--where", default="", help="Only rows whose id holds this.")
@click.option("--programs", default="direct,icl,vote")
@click.option("--out", default="results/baselines", type=click.Path(path_type=Path))
def main(path, lm, rows, seed, any_answers, where, programs, out):
    found = [r for r in read_rows(path) if where in r.id and r.answers and r.wrong_answers]
    chosen = found if any_answers else conflicted(found)
    random.Random(seed).shuffle(chosen)
    chosen = [row.shuffled(seed) for row in chosen[:rows]]
    out.mkdir(parents=True, exist_ok=True)
    # Programs share replies: what vote has asked, macr need not pay for again.
    with dspy.context(lm=connect(lm)), caching(ReplyCache(out / "replies")):
        for name in programs.split(","):
            records = run(PROGRAMS[name](), chosen, out / f"{name}.jsonl")
            report(name, records)


def run(program, rows, path):
    done = {r["id"]: r for r in map(json.loads, path.open())} if path.exists() else {}
    with path.open("a") as file:
        for row in rows:
            if row.id in done:
                continue
            started = time.time()
            verdict = program(question=row.question, documents=list(row.documents)).verdict
            record = {"id": row.id, **score(verdict, row), "answer": verdict.answer}
            record |= {
                "gold": row.answers,
                "wrong": row.wrong_answers,
                "roles": row.roles,
                "status": verdict.status,
                "answers": [(a.text, a.status) for a in verdict.answers],
                "usage": verdict.usage.model_dump(),
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
    for measure in ("em", "containment", "some_context_right"):
        values = [r[measure] for r in records]
        low, high = bootstrap_interval(values, seed=0)[-2:]
        line.append(f"{measure} {sum(values) / len(values):.3f} [{low:.2f}, {high:.2f}]")
    failed = sum(r["status"] not in ("ok", "abstained") for r in records)
    abstained = sum(r["status"] == "abstained" for r in records)
    seconds = sum(r["seconds"] for r in records)
    line.append(f"tied {sum(r['tied'] for r in records)} abstained {abstained} failed {failed}")
    print(", ".join(line), f"{seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
