"""What compiling is worth: a program bare, with rules, demonstrations, thresholds, all of them.

    python benchmarks/compiling.py NAME|FILE --lm MODEL --rows 100 --out DIR

The rows that have an answer are drawn by the seed and split 20/40/40: demonstrations, validation,
test. Rules are induced on the first and verified on the second: `rules` keeps the program's own as
they are, `rules-verified` verifies those too;
demonstrations are collected on the first and chosen by the second; thresholds, those of the
verified rules too, are chosen on the second; only test rows are reported. Replies and records stay
in OUT: started again, nothing is asked twice.
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
    labelled = [row for row in load(data, seed=seed).rows if row.answers]
    parts = split(labelled, seed=seed, size=rows, shares=(1, 2, 2))
    out.mkdir(parents=True, exist_ok=True)
    backbone = connect(lm)
    cache = ReplyCache(out / "replies")
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with dspy.context(lm=backbone), caching(cache):
        bare = PROGRAMS[program]()
        programs = {"bare": bare}
        show(
            programs, parts, backbone, out, metric
        )  # first, so that a short run has something to show
        train = [row.as_example() for row in parts.demonstration]
        val = [row.as_example() for row in parts.validation]
        keeping = InduceRules(metric, own="keep", seed=seed)
        induction = timed("rules", keeping.induce, bare, train, val)
        verifying = InduceRules(metric, own="verify", seed=seed)
        verified = timed("rules, all verified", verifying.induce, bare, train, val)
        (out / "rules.json").write_text(json.dumps(verified.record, indent=1, ensure_ascii=False))
        print_rules(verified)
        programs["rules"] = bare.with_rules(induction.rules)
        programs["rules-verified"] = bare.with_rules(verified.rules)
        show(programs, parts, backbone, out, metric)

        def compiled(rules):
            found = compile_program(
                bare, train, val, metric=metric, rules=rules, seed=seed, tell=click.echo
            )
            click.echo(f"validation {found.before} -> {found.after}, improved {found.improved}")
            click.echo(f"without demonstrations: {found.without_demonstrations}")
            return found

        programs["demonstrations"] = timed("demonstrations", compiled, False).program
        show(programs, parts, backbone, out, metric)

        def tuner(found):
            return TuneThresholds(metric, trials=trials, seed=seed, matrix=found.matrix)

        programs["thresholds"] = timed("thresholds", tuned, tuner(verified), bare, val)
        show(programs, parts, backbone, out, metric)
        whole = timed("rules and demonstrations", compiled, True)
        programs["all"] = timed("its thresholds", tuned, tuner(whole.induction), whole.program, val)
        programs["all"].save_artifact(out / "artifact")
        show(programs, parts, backbone, out, metric)


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


def show(programs, parts, backbone, out, measure):
    """Score on the test rows."""
    for name, program in programs.items():
        found = evaluate({name: program}, parts.test, lm=backbone, out=out / "runs" / name)
        for summary in found.summaries:
            em = summary.measures[measure]
            click.echo(
                f"{name:<16} {measure} {em.mean:.3f} [{em.low:.3f}, {em.high:.3f}] n={em.n} "
                f"abstained {summary.abstained} failed {summary.failed}; "
                f"{summary.usage.requests} new requests, {summary.usage.cached} cached"
            )
    if len(programs) > 1:
        found = evaluate(programs, parts.test, lm=backbone)
        for pair in found.comparisons:
            if pair.measure == measure and pair.a == "bare":
                click.echo(
                    f"  bare - {pair.b:<16} {pair.difference:+.3f} [{pair.low:+.3f}, "
                    f"{pair.high:+.3f}], {pair.differ} rows differ, {pair.better} better bare"
                )


def print_rules(induction):
    for rule in induction.table():
        if not rule["fired"]:
            continue
        click.echo(
            f"{'kept' if rule['kept'] else '    '} {rule['id']:<8} {rule['type']:<14} "
            f"Cov {rule['coverage']} Sup {rule['support']} {rule['interval']}  "
            f"if {rule['condition']} then {rule['resolution']} ({rule['operator'] or 'in words'})"
        )


if __name__ == "__main__":
    main()
