"""Time and memory of `mine_pairs` on random unit vectors.

    python benchmarks/pair_mining.py --large 20000 --small 2000 --dims 384

Large: against the bare product of the same row blocks (upper triangle), best of the repeats, taken
in turns; peak of the memory allocated by the call (tracemalloc, numpy buffers included), without
and with `max_pairs` at a threshold that half of all pairs reach. Small: against a Python double
loop over `numpy.dot`.
"""

import os
import time
import tracemalloc

import click
import numpy as np

from referee.programs.pair_mining import mine_pairs

BLOCK = 2048
ORDERED = 1000


@click.command()
@click.option("--large", default=20_000, help="Vectors of the first measurement.")
@click.option("--small", default=2_000, help="Vectors of the second.")
@click.option("--dims", default=384)
@click.option("--threshold", default=0.2, help="Cosine of a candidate.")
@click.option("--repeats", default=3)
@click.option("--seed", default=0)
def main(large, small, dims, threshold, repeats, seed):
    print("load {:.2f} {:.2f} {:.2f}, {} cores".format(*os.getloadavg(), os.cpu_count()))
    vectors = unit_vectors(large, dims, seed)
    cases = {
        "bare product": lambda: bare_product(vectors),
        f"cosine >= {threshold}": lambda: mine_pairs(vectors, threshold),
        f"cosine >= 0, best {ORDERED}": lambda: mine_pairs(vectors, 0.0, ORDERED),
    }
    times = best_times(cases, repeats)
    for name, call in cases.items():
        megabytes, found = peak_memory(call)
        ratio = times[name] / times["bare product"]
        pairs = "" if found is None else f", {len(found[0]):,} pairs"
        line = f"{large:,} x {dims}, {name}: {times[name]:.2f} s ({ratio:.2f}x)"
        print(f"{line}, {megabytes:.0f} MB{pairs}", flush=True)
    compare_with_loop(unit_vectors(small, dims, seed), threshold)


def unit_vectors(n, dims, seed):
    vectors = np.random.default_rng(seed).standard_normal((n, dims)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bare_product(vectors):
    for top in range(0, len(vectors), BLOCK):
        for left in range(top, len(vectors), BLOCK):
            vectors[top : top + BLOCK] @ vectors[left : left + BLOCK].T


def best_times(cases, repeats):
    times = {name: [] for name in cases}
    for _ in range(repeats):
        for name, call in cases.items():
            started = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started)
    return {name: min(taken) for name, taken in times.items()}


def peak_memory(call):
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6, result


def compare_with_loop(vectors, threshold):
    started = time.perf_counter()
    looped = double_loop(vectors, threshold)
    loop = time.perf_counter() - started
    mined = best_times({"mine": lambda: mine_pairs(vectors, threshold)}, 3)["mine"]
    same = {tuple(pair) for pair in mine_pairs(vectors, threshold)[0].tolist()} == looped
    line = f"{len(vectors):,} x {vectors.shape[1]}: loop {loop:.2f} s, mine_pairs {mined:.3f} s"
    print(f"{line} ({loop / mined:.0f}x), same {len(looped):,} pairs: {same}")


def double_loop(vectors, threshold):
    n = len(vectors)
    return {
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if np.dot(vectors[i], vectors[j]) >= threshold
    }


if __name__ == "__main__":
    main()
