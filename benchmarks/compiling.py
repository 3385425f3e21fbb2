"""What compiling is worth: a program bare, with rules, demonstrations, thresholds, all of them.

    python benchmarks/compiling.py NAME|FILE --lm MODEL --rows 100 --out DIR

The rows are drawn by the seed and split 20/40/40: demonstrations, validation, test. Rules are
induced on the first and verified on the second; demonstrations are collected on the first and
chosen by the second; thresholds are chosen on the second; only test rows are reported. Replies and
records stay in OUT: started again, nothing is asked twice.
"""

import json
import logging
import time
from pathlib import Path

import click
import dspy

from referee import InduceRules, TuneThresholds, compile_program, evaluate
from referee.data import load, split
from referee.programs import PROGRAMS
from referee.runtime import ReplyCache, caching, connect


@click.command()
@click.argument("data")
@click.option("--program", default="macr", type=click.Choice(["macr", "macr-paper", "arbgraph"]))
@click.option("--lm")
@click.option("--metric", default="em", type=click.Choice(["em", "fact_recall"]))
@click.option("--rows", default=100)
@click.option("--trials", default=60)
@click.option("--seed", default=0)
@click.option("--out", required=True, type=click.Path(path_type=Path))
def main(data, program, lm, metric, rows, trials, seed, out):
    logging.getLogger("dspy").setLevel(logging.ERROR)
    parts = split(load(data, seed=seed).rows, seed=seed, size=rows, shares=(1, 2, 2))
    out.mkdir(parents=True, exist_ok=True)
    backbone = connect(lm)
    cache = ReplyCache(out / "replies")
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with dspy.context(lm=backbone), caching(cache):
        bare = PROGRAMS[program]()
        programs = {"bare": bare}
        show(programs, parts, backbone, out)  # first, so that a short run has something to show
        train = [row.as_example() for row in parts.demonstration]
        val = [row.as_example() for row in parts.validation]
        induction = timed(
            "rules", InduceRules(metric, own="keep", seed=seed).induce, bare, train, val
        )
        (out / "rules.json").write_text(json.dumps(induction.record, indent=1, ensure_ascii=False))
        print_rules(induction)
        programs["rules"] = bare.with_rules(induction.rules)
        show(programs, parts, backbone, out)

        def compiled(rules):
            found = compile_program(
                bare, train, val, metric=metric, rules=rules, seed=seed, tell=click.echo
            )
            click.echo(f"validation {found.before} -> {found.after}, improved {found.improved}")
            return found.program

        programs["demonstrations"] = timed("demonstrations", compiled, False)
        show(programs, parts, backbone, out)
        tuner = TuneThresholds(metric, trials=trials, seed=seed)
        programs["thresholds"] = timed("thresholds", tuned, tuner, bare, val)
        whole = timed("rules and demonstrations", compiled, True)
        programs["all"] = timed("thresholds of all", tuned, tuner, whole, val)
        programs["all"].save_artifact(out / "artifact")
        show(programs, parts, backbone, out)


def timed(what, run, *args):
    started = time.perf_counter()
    found = run(*args)
    click.echo(f"{what}: {time.perf_counter() - started:.0f} s")
    return found


def tuned(tuner, program, val):
    found = tuner.tune(program, val)
    click.echo(
        f"tuned: default {found.default.score:.3f}, best {found.best.score:.3f} "
        f"{dict(found.best.values)}; {found.usage.requests} requests, first {found.first_pass}"
    )
    return found.program


def show(programs, parts, backbone, out):
    """Score on the test rows."""
    for name, program in programs.items():
        found = evaluate({name: program}, parts.test, lm=backbone, out=out / "runs" / name)
        for summary in found.summaries:
            click.echo(f"{name:<16} {summary}")
    if len(programs) > 1:
        found = evaluate(programs, parts.test, lm=backbone)
        for pair in found.comparisons:
            if "bare" in (pair.a, pair.b):
                click.echo(str(pair))


def print_rules(induction):
    for rule in induction.table():
        click.echo(
            f"{'kept' if rule['kept'] else '    '} {rule['id']:<8} {rule['type']:<14} "
            f"Cov {rule['coverage']} Sup {rule['support']} {rule['interval']}  "
            f"if {rule['condition']} then {rule['resolution']} ({rule['operator'] or 'in words'})"
        )


if __name__ == "__main__":
    main()
