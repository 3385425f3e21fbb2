"""Time outside the model: per request through the whole stack, and of `referee --help`.

    python benchmarks/overhead.py

Targets: at most 2 ms per request with a scripted engine, warm; `--help` under 0.5 s.
"""

import subprocess
import sys
import time

import dspy

from referee.programs import Vote
from referee.runtime.adapter import CompactAdapter
from referee.runtime.exchange import Channel
from referee.runtime.scripted import scripted_lm
from referee.signatures import AnswerFromDocument

REQUESTS = 500


def main():
    plain = each(lambda lm: dspy.context(lm=lm))
    ours = each(lambda lm: dspy.context(lm=lm, adapter=Channel(CompactAdapter())))
    print(f"predictor, dspy alone      {1000 * plain:6.2f} ms per request")
    print(f"predictor, through referee {1000 * ours:6.2f} ms per request")
    print(f"vote, 10 documents         {1000 * vote():6.2f} ms per request")
    print(f"referee --help             {help_seconds():6.2f} s (best of 5)")


def each(context):
    chat = "[[ ## answer ## ]]\na\n\n[[ ## completed ## ]]"
    predict = dspy.Predict(AnswerFromDocument)
    with context(scripted_lm(lambda _: chat)):
        predict(document="d", question="warm")
        started = time.perf_counter()
        for i in range(REQUESTS):
            predict(document="d", question=str(i))
        return (time.perf_counter() - started) / REQUESTS


def vote():
    documents = [
        f"In town {i} the mill was built in {1800 + i}. It stands by the river." for i in range(10)
    ]
    program = Vote()
    with dspy.context(lm=scripted_lm(lambda _: "1801")):
        program(question="warm up?", documents=documents)
        started = time.perf_counter()
        rounds = 50
        for i in range(rounds):
            program(question=f"When was mill {i} built?", documents=documents)
        return (time.perf_counter() - started) / (rounds * len(documents))


def help_seconds():
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "referee", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    main()
