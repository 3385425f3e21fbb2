"""MACR's critical path: seconds on a server that answers in 200 ms, without a limit on concurrency.

    python benchmarks/waves.py

At most 7 waves of requests (8 with a fallback) and 20 % on top.
"""

import json
import time

import click
import dspy

from referee.programs import MACR, Gate
from referee.runtime import connect
from referee.runtime.capabilities import identity
from referee.runtime.fake_server import FakeServer
from referee.runtime.limits import limiter

LATENCY = 0.2
NAMES = ("Anna Berg", "Carl Dorn", "Eva Falk", "Gustav Holm")
DOCUMENTS = [f"The stone bridge of Orvel was finished by {name}." for name in NAMES]
QUESTION = "Who finished the stone bridge of Orvel?"
RECALL = dict.fromkeys(("key_attributes", "background", "details", "knowledge_cutoff"), "x")


def reply(request):
    prompt = request.prompt
    if "using only the document," in prompt:
        return next(name for name in NAMES if name in prompt)
    if "what you know that bears" in prompt:
        return json.dumps(RECALL)
    if "whether both answers" in prompt:
        pairs = [{"pair": n, "relation": "contradiction"} for n in range(1, 11)]
        return json.dumps({"relations": pairs})
    if "Settle each conflict" in prompt or "which side is true" in prompt:
        return json.dumps({"judgments": []})
    return "Ivo Kern"


@click.command()
@click.option("--rounds", default=5)
def main(rounds):
    with FakeServer(reply, latency=LATENCY) as server:
        lm = connect("openai/waves", api_base=server.url, cache=False)
        limiter(identity(lm), 100)
        with dspy.context(lm=lm):
            for n in (2, 4):
                program = MACR(gate=Gate(threshold=1.0))
                program(question=QUESTION, documents=DOCUMENTS[:n])  # opens the connections
                measure(program, n, rounds, server)
        if server.errors:
            raise click.ClickException(str(server.errors[0]))


def measure(program, n, rounds, server):
    before, times = len(server.requests), []
    for i in range(rounds):
        started = time.perf_counter()
        verdict = program(question=f"{QUESTION} ({i})", documents=DOCUMENTS[:n]).verdict
        times.append(time.perf_counter() - started)
    requests = (len(server.requests) - before) / rounds
    waves = len(verdict.timings) - 1
    best = min(times)
    print(
        f"{n} contexts: {requests:.0f} requests in {waves} waves, best {best:.2f} s = "
        f"{best / LATENCY:.1f} x 200 ms (bound {1.2 * waves:.1f})"
    )


if __name__ == "__main__":
    main()
