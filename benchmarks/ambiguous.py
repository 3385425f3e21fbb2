"""Long answers to ambiguous questions: the share of right answers stated, of rows with a wrong one.

    python benchmarks/ambiguous.py RAMDOCS.jsonl --lm qwen2.5-coder-0.5b --rows 12 --out results/amb

Rows with several right answers and at least one wrong one; contexts shuffled by the seed. An answer
is stated when it stands in the text word for word (`containment`). Results stream to
OUT/PROGRAM.jsonl; started again, finished rows are not asked again.
"""

import json
import time
from pathlib import Path

import click
import dspy

from referee.data import read_rows, sample
from referee.metrics import bootstrap_interval, containment, paired_bootstrap
from referee.programs import PROGRAMS
from referee.runtime import ReplyCache, caching, connect


@click.command()
@click.argument("path")
@click.option("--lm")
@click.option("--rows", default=12)
@click.option("--seed", default=0)
@click.option("--programs", default="rag,arbgraph")
@click.option("--out", default="results/ambiguous", type=click.Path(path_type=Path))
def main(path, lm, rows, seed, programs, out):
    found = [r for r in read_rows(path) if len(r.answers) > 1 and r.wrong_answers]
    chosen = sample(found, rows, seed)
    out.mkdir(parents=True, exist_ok=True)
    records = {name: {} for name in programs.split(",")}
    with dspy.context(lm=connect(lm)), caching(ReplyCache(out / "replies")):
        for row in chosen:  # row by row, so that an early stop leaves a paired comparison
            for name, done in records.items():
                done[row.id] = one(PROGRAMS[name], row, out / f"{name}.jsonl")
    for name, done in records.items():
        report(name, list(done.values()))
    compare(records)


def one(program, row, path):
    done = {r["id"]: r for r in map(json.loads, path.open())} if path.exists() else {}
    if row.id in done:
        return done[row.id]
    started = time.time()
    report = program()(question=row.question, documents=row.documents).report
    record = {
        "id": row.id,
        "right": [containment(report.text, [a]) for a in row.answers],
        "wrong": [containment(report.text, [a]) for a in row.wrong_answers],
        "gold": row.answers,
        "false": row.wrong_answers,
        "text": report.text,
        "status": report.status,
        "stages": dict(report.stages),
        "suppressed": [(c.text, c.reason) for c in report.suppressed],
        "validated": [(c.text, c.document_ids, c.credibility) for c in report.validated],
        "usage": report.usage.model_dump(),
        "seconds": round(time.time() - started, 1),
    }
    with path.open("a") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return record


def measures(record):
    return {
        "right answers stated": sum(record["right"]) / len(record["right"]),
        "a wrong one stated": float(any(record["wrong"])),
    }


def report(name, records):
    print(f"{name}: n={len(records)}", end="")
    for measure in measures(records[0]):
        values = [measures(r)[measure] for r in records]
        low, high = bootstrap_interval(values, seed=0)[-2:]
        print(f", {measure} {sum(values) / len(values):.2f} [{low:.2f}, {high:.2f}]", end="")
    requests = sum(r["usage"]["requests"] + r["usage"]["cached"] for r in records) / len(records)
    failed = sum(r["status"] not in ("ok", "abstained") for r in records)
    abstained = sum(r["status"] == "abstained" for r in records)
    print(f", abstained {abstained}, failed {failed}, {requests:.1f} requests a question")


def compare(records):
    if set(records) >= {"rag", "arbgraph"}:
        for measure in measures(next(iter(records["rag"].values()))):
            pair = [
                [measures(r)[measure] for r in records[n].values()] for n in ("arbgraph", "rag")
            ]
            mean, low, high = paired_bootstrap(*pair, seed=0)[:3]
            print(f"arbgraph - rag, {measure}: {mean:+.2f} [{low:+.2f}, {high:+.2f}]")


if __name__ == "__main__":
    main()
