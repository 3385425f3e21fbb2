"""MACR on written cases: temporal conflicts, compatible shapes, hostile documents.

    python benchmarks/macr_cases.py temporal --lm qwen2.5-coder-1.5b --out results/temporal
    python benchmarks/macr_cases.py shapes --model-alone --lm qwen2.5-coder-1.5b --out results/sh
    python benchmarks/macr_cases.py hostile --lm qwen2.5-coder-1.5b --out results/hostile

It prints the share flagged as a conflict, with the tests in code and (`--model-alone`) without.
Results stream to OUT.jsonl; started again, finished cases are not asked again.
"""

import json
from pathlib import Path

import click
import dspy

from referee.metrics import containment, wilson_interval
from referee.programs import MACR, PROGRAMS, Gate
from referee.programs import analyzer as analyzer_module
from referee.runtime import ReplyCache, caching, connect

FEW = Gate(k=2)  # samples decide nothing here, so two will do
HERE = Path(__file__).parent / "cases"


@click.command()
@click.argument(
    "kind",
    type=click.Choice(
        ["temporal", "temporal_held_out", "temporal_third", "temporal_fresh", "shapes", "hostile"]
    ),
)
@click.option("--lm")
@click.option("--programs", default="macr")
@click.option("--model-alone", is_flag=True, help="Also with every pair put to the model.")
@click.option("--out", default="results/cases", type=click.Path(path_type=Path))
def main(kind, lm, programs, model_alone, out):
    cases = [json.loads(line) for line in (HERE / f"{kind}.jsonl").open()]
    out.mkdir(parents=True, exist_ok=True)
    with dspy.context(lm=connect(lm)), caching(ReplyCache(out / "replies")):
        for name in programs.split(","):
            program = MACR(gate=FEW) if kind == "shapes" else PROGRAMS[name]()
            run(name, program, cases, out / f"{kind}-{name}.jsonl")
        if model_alone:
            # Before: every pair is put to the model, as if code could tell nothing.
            known = analyzer_module.relate
            analyzer_module.relate = lambda *_: None
            run("model alone", MACR(gate=FEW, ask_model=True), cases, out / f"{kind}-model.jsonl")
            analyzer_module.relate = known


def run(name, program, cases, path):
    done = {r["id"]: r for r in map(json.loads, path.open())} if path.exists() else {}
    with path.open("a") as file:
        for case in cases:
            if case["id"] not in done:
                done[case["id"]] = record = answer(program, case)
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                file.flush()
    report(name, [done[c["id"]] for c in cases])


def answer(program, case):
    verdict = program(
        question=case["question"], documents=case["documents"], date=case.get("as_of")
    ).verdict
    return {
        "id": case["id"],
        "answer": verdict.answer,
        "right": bool(containment(verdict.answer, case["answers"])) if verdict.answer else False,
        "wrong": bool(containment(verdict.answer, case.get("wrong_answers") or ["\0"])),
        "flagged": bool(verdict.conflicts),
        "rules": verdict.rules_used,
        "types": [c["type"] for c in verdict.conflicts],
        "answers": [a.text for a in verdict.answers],
        "explanation": verdict.explanation,
        "requests": verdict.usage.requests + verdict.usage.cached,
        "seconds": verdict.timings["total"],
    }


def report(name, records):
    n = len(records)
    right = sum(r["right"] and not r["wrong"] for r in records)
    flagged = sum(r["flagged"] for r in records)
    for label, count in (("right", right), ("flagged as conflict", flagged)):
        low, high = wilson_interval(count, n)
        print(f"{name}: {label} {count}/{n} [{low:.2f}, {high:.2f}]", flush=True)
    for r in records:
        mark = "ok " if r["right"] and not r["wrong"] else "NOT"
        print(f"  {mark} {r['id']:22} {r['answer'][:40]!r} {r['answers']} {r['rules']}", flush=True)


if __name__ == "__main__":
    main()
