"""Rows a second of an evaluation against a server of 200 ms, and what it holds in memory.

    python benchmarks/throughput.py                       # 1,000 rows of direct, 100 of macr
    python benchmarks/throughput.py --cpus 1,0            # the server on core 1, the client on 0

The server-bound rate is what 64 requests in flight can get from a server that takes 200 ms each.
The server runs in a process of its own. Memory is the growth of the client's peak from the end of
a warm-up to the end of the run.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import click
import dspy

from referee.data import Row
from referee.evaluation import evaluate
from referee.runtime import Document, ReplyCache, caching, connect

LATENCY = 0.2
IN_FLIGHT = 64
LINE = (
    "{program:6} {rows} rows: {rate:.1f} rows/s, {requests} requests, {share:.1%} of the "
    "server-bound rate, at most {in_flight} in flight, {cpu_ms:.2f} ms of CPU each, peak memory "
    "+{grown_mb:.1f} MB"
)
SERVER = """
import json, sys
from referee.runtime.fake_server import FakeServer
TYPED = {
    '"relations"': {"relations": [{"pair": 1, "relation": "contradiction", "type": "other"}]},
    '"judgments"': {"judgments": [{"conflict": 1, "rule": "", "winner": "undecided"}]},
}
def reply(request):
    for key, value in TYPED.items():
        if request.schema and key in request.prompt:
            return json.dumps(value)
    return "three" if "three" in request.user else "two"
with FakeServer(reply, latency=float(sys.argv[1])) as server:
    print(server.url, flush=True)
    for line in sys.stdin:
        print(len(server.requests), server.max_in_flight, len(server.errors), flush=True)
"""


class Server:
    """A `FakeServer` in a process of its own, so that it takes no time from the client."""

    def __init__(self, latency=LATENCY, cpu=None):
        pin = [] if cpu is None else ["taskset", "-c", cpu]
        self.process = subprocess.Popen(
            [*pin, sys.executable, "-c", SERVER, str(latency)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().strip()

    def counts(self):
        """Requests so far, the most in flight at once, and errors."""
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return tuple(map(int, self.process.stdout.readline().split()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


def rows(number, first=0):
    """Questions whose two sources disagree."""
    return [
        Row(
            f"r{i}",
            f"How many moons does planet {i} have?",
            (
                Document(text=f"Planet {i} has two moons. It was seen in {1800 + i}."),
                Document(text=f"Planet {i} has three moons, say people of town {i}."),
            ),
            ("two",),
        )
        for i in range(first, first + number)
    ]


def measure(program, number, server, latency, concurrency=IN_FLIGHT):
    """Rows/s, share of the server-bound rate, CPU ms a request, growth in MB."""
    lm = connect("openai/tiny", api_base=server.url)
    evaluate(program, rows(2 * concurrency, 10**6), lm=lm, concurrency=concurrency)
    sent, before = server.counts()[0], peak()
    started, spent = time.perf_counter(), time.process_time()
    done = evaluate(program, rows(number), lm=lm, concurrency=concurrency, before=lambda _: None)
    seconds, spent = time.perf_counter() - started, time.process_time() - spent
    requests = server.counts()[0] - sent
    if done.summaries[0].failed or requests != done.summaries[0].usage.requests:
        raise SystemExit(f"{requests} requests reached the server, but: {done.summaries[0]}")
    return {
        "program": program,
        "rows": number,
        "rate": number / seconds,
        "share": requests / seconds / (concurrency / latency),
        "requests": requests,
        "cpu_ms": 1000 * spent / requests,
        "grown_mb": peak() - before,
    }


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@click.command()
@click.option("--cpus", help="Cores of server and client, such as 0,1.")
@click.option("--cache", is_flag=True, help="Keep replies on disk, as the command line does.")
@click.option("--times", default=3)
@click.option("--latency", default=LATENCY, help="Seconds that the server takes.")
@click.option("--json", "as_json", is_flag=True)
def main(cpus, cache, times, latency, as_json):
    server_cpu, client_cpu = cpus.split(",") if cpus else (None, None)
    if client_cpu is not None:
        os.sched_setaffinity(0, {int(client_cpu)})
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    for program, number in (("direct", 1000), ("macr", 100)):
        for _ in range(times):
            with Server(latency, cpu=server_cpu) as server, tempfile.TemporaryDirectory() as folder:
                # A cache of its own: a hit would be no request.
                with caching(ReplyCache(folder) if cache else None):
                    found = measure(program, number, server, latency)
                found["in_flight"] = server.counts()[1]
            print(json.dumps(found) if as_json else LINE.format(**found), flush=True)


if __name__ == "__main__":
    main()
