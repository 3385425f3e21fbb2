"""How often each judge is right, with one and with several items in a request.

    python benchmarks/judges.py relation   relation_pairs.jsonl       --lm MODEL --rows 60 --out DIR
    python benchmarks/judges.py entailment relation_pairs.jsonl       --lm MODEL --rows 60 --out DIR
    python benchmarks/judges.py facts      factscore_labeled.jsonl    --lm MODEL --rows 10 --out DIR
    python benchmarks/judges.py claims     factscore_labeled.jsonl    --lm MODEL --rows 10 --out DIR
    python benchmarks/judges.py preference ragchecker_meta_eval.jsonl --lm MODEL --rows 20 --out DIR

- relation, entailment: the label of a pair against the human one; for `relation` with and without
  the swap check.
- facts, claims: a biography states the facts that annotators drew from it (whether or not they are
  true), and not those of another person put under its name. `claims` asks the same of the
  entailment judge: supported or not.
- preference: of two responses, the one with the higher fact recall of the reference, against the
  human preference for completeness; beside it what word recall and length predict.

Results stream to OUT/KIND.jsonl; started again, finished rows are not asked again.
"""

import json
import random
import time
from collections import Counter
from pathlib import Path

import click
import dspy

from referee.metrics import fact_recall, mean_measured, unicode_tokens, wilson_interval
from referee.metrics.judges import EntailmentJudge, FactJudge, FactLister, RelationJudge
from referee.runtime import ReplyCache, caching, connect

HUMAN = {"support": "supported", "contradiction": "contradicted", "neutral": "insufficient"}
EACH = 8  # facts of a biography that are stated, and as many that are not


@click.command()
@click.argument(
    "kind", type=click.Choice(["relation", "entailment", "facts", "claims", "preference"])
)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--lm")
@click.option("--rows", default=60)
@click.option("--seed", default=0)
@click.option("--batches", default="1,5", help="Items in a request.")
@click.option("--out", default="results/judges", type=click.Path(path_type=Path))
def main(kind, path, lm, rows, seed, batches, out):
    found = [json.loads(line) for line in path.open(encoding="utf-8")]
    random.Random(seed).shuffle(found)
    out.mkdir(parents=True, exist_ok=True)
    with dspy.context(lm=connect(lm)), caching(ReplyCache(out / "replies")):
        for batch in map(int, batches.split(",")):
            for swap in (False, True) if kind == "relation" else (False,):
                name = f"{kind}, {batch} a request" + (", swap-checked" if swap else "")
                file = out / f"{kind}-{batch}{'-swap' if swap else ''}.jsonl"
                tasks = TASKS[kind](found, rows, batch, swap, seed)
                report(name, kind, run(tasks, file))


def run(tasks, path):
    """Records of the tasks, (id, function) each; those in the file are not run again."""
    done = {r["id"]: r for r in map(json.loads, path.open())} if path.exists() else {}
    wanted = []
    with path.open("a", encoding="utf-8") as file:
        for key, judge in tasks:
            wanted.append(key)
            if key in done:
                continue
            started = time.perf_counter()
            done[key] = {"id": key, **judge(), "seconds": time.perf_counter() - started}
            file.write(json.dumps(done[key], ensure_ascii=False) + "\n")
            file.flush()
    return [done[key] for key in wanted]


def relation(rows, count, batch, swap, seed):
    judge = RelationJudge(per_request=batch, swap=swap)
    rows = even(rows, count)
    for start in range(0, len(rows), batch):
        group = rows[start : start + batch]

        def ask(group=group):
            judged = judge(pairs=[(r["claim_a"], r["claim_b"]) for r in group])
            return record([HUMAN[r["label"]] for r in group], judged.relations, judged)

        yield "+".join(r["id"] for r in group), ask


def entailment(rows, count, batch, swap, seed):
    judge = EntailmentJudge(per_request=batch)
    by_evidence = {}
    for row in even(rows, count):
        by_evidence.setdefault(row["claim_a"], []).append(row)
    for evidence, group in by_evidence.items():

        def ask(evidence=evidence, group=group):
            judged = judge(documents=[evidence], claims=[r["claim_b"] for r in group])
            labels = [row[0] for row in judged.relations]
            return record([HUMAN[r["label"]] for r in group], labels, judged)

        yield "+".join(r["id"] for r in group), ask


def facts(rows, count, batch, swap, seed):
    judge = FactJudge(per_request=batch)
    for row, other in pairs(rows, count):
        items = stated_or_not(row, other, seed)

        def ask(row=row, items=items):
            judged = judge(text=row["extra"]["response"], facts=list(items))
            labels = [NAMES.get(stated) for stated in judged.stated]
            return record([NAMES[stated] for stated in items.values()], labels, judged)

        yield row["id"], ask


def claims(rows, count, batch, swap, seed):
    judge = EntailmentJudge(per_request=batch)
    for row, other in pairs(rows, count):
        items = stated_or_not(row, other, seed)

        def ask(row=row, items=items):
            judged = judge(documents=[row["extra"]["response"]], claims=list(items))
            labels = [None if r is None else NAMES[r == "supported"] for (r,) in judged.relations]
            return record([NAMES[stated] for stated in items.values()], labels, judged)

        yield row["id"], ask


def preference(rows, count, batch, swap, seed):
    lister, judge = FactLister(per_request=batch), FactJudge(per_request=batch)
    for row in [r for r in rows if human(r)][:count]:

        def ask(row=row):
            listed = lister(text=row["answers"][0], question=row["question"])
            responses = [row["extra"]["pairs"][0][m]["response"] for m in ("model1", "model2")]
            judged = [judge(text=text, facts=listed.facts) for text in responses]
            scores = [recall(j) for j in judged]
            first, second = (word_recall(text, row["answers"][0]) for text in responses)
            return {
                "gold": [sign(human(row))],
                "said": [None if None in scores else sign(scores[1] - scores[0])],
                "recalls": scores,
                "facts": len(listed.facts),
                "words": sign(second - first),
                "length": sign(len(responses[1]) - len(responses[0])),
                "requests": sum(j.usage.requests for j in (listed, *judged)),
                "notes": [*listed.notes, *(note for j in judged for note in j.notes)],
            }

        yield row["id"], ask


TASKS = {
    "relation": relation,
    "entailment": entailment,
    "facts": facts,
    "claims": claims,
    "preference": preference,
}
NAMES = {True: "stated", False: "not stated"}


def even(rows, count):
    """As many rows of each label, in turns."""
    by_label = {name: [r for r in rows if r["label"] == name] for name in HUMAN}
    turns = [row for group in zip(*by_label.values(), strict=False) for row in group]
    return turns[:count]


def pairs(rows, count):
    """Each of the first rows with the next one, whose facts are not stated in its text."""
    return list(zip(rows, [*rows[1:], rows[0]], strict=True))[:count]


def stated_or_not(row, other, seed):
    """Facts of the text, and facts of another text under the same name: fact -> stated."""
    rng = random.Random(f"{seed}:{row['id']}")
    own = [f["text"] for f in row["extra"]["atomic_facts"]]
    mine, theirs = row["meta"]["topic"], other["meta"]["topic"]
    foreign = []
    for fact in other["extra"]["atomic_facts"]:
        text = fact["text"].replace(theirs, mine).replace(theirs.split()[-1], mine.split()[-1])
        foreign.append(text)
    items = dict.fromkeys(rng.sample(own, min(EACH, len(own))), True)
    others = [text for text in dict.fromkeys(foreign) if text not in own]
    items |= dict.fromkeys(rng.sample(others, min(EACH, len(others))), False)
    order = list(items)
    rng.shuffle(order)
    return {fact: items[fact] for fact in order}


def human(row):
    """Summed labels for completeness; above 0 the second response is preferred."""
    return sum(pair["completeness_label"] for pair in row["extra"]["pairs"])


def recall(judged):
    return fact_recall([s for s in judged.stated if s is not None])


def word_recall(text, reference):
    wanted = set(unicode_tokens(reference))
    return len(wanted & set(unicode_tokens(text))) / len(wanted)


def sign(value):
    return (value > 0) - (value < 0)


def record(gold, said, judged):
    usage = judged.usage
    return {"gold": gold, "said": said, "requests": usage.requests, "notes": judged.notes}


def report(name, kind, records):
    gold = [label for r in records for label in r["gold"]]
    said = [label for r in records for label in r["said"]]
    scored = [(g, s) for g, s in zip(gold, said, strict=True) if s is not None]
    requests = sum(r["requests"] for r in records)
    seconds = sum(r["seconds"] for r in records)
    print(f"\n{name}: {len(gold)} items, {len(gold) - len(scored)} unscored,", end=" ")
    print(f"{requests} requests, {seconds:.0f} s")
    if kind == "preference":
        preferences(records, scored)
        return
    line("all", scored)
    for label in sorted(set(gold)):
        line(label, [pair for pair in scored if pair[0] == label])
    for (g, s), count in sorted(Counter(scored).items()):
        print(f"  {g:13} judged {s:13} {count}")


def preferences(records, scored):
    decided = [(g, s) for g, s in scored if s]
    line("where the recalls differ", decided)
    half = (sum(g == s for g, s in decided) + (len(scored) - len(decided)) / 2) / len(scored)
    print(f"  {len(scored) - len(decided)} equal recalls; counted as one half each: {half:.2f}")
    for name in ("words", "length"):
        line(f"{name} alone", [(r["gold"][0], r[name]) for r in records])
    print(f"  mean fact recall {mean_measured(x for r in records for x in r['recalls']):.2f}")


def line(name, pairs):
    right = sum(g == s for g, s in pairs)
    low, high = wilson_interval(right, len(pairs))
    share = f"{right / len(pairs):.2f}" if pairs else "none"
    print(f"  {name:24} right {right}/{len(pairs)} = {share} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
