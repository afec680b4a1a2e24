#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cost of --stacks as ratios: stacks.py MEMTRACER BENCH_STACKS [ROUNDS [WHAT...]]. The variants take turns;
each ratio is the middle one of the rounds' own ratios of the CPU time of the host's thread, with its 95 %
interval by the ranks (no distribution assumed), and the ratio of the least times."""
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile


def rank_interval(values):
    """The ranks between which the true median lies with 95 %."""
    v, n = sorted(values), len(values)
    below, k = 0.5 ** n, 0
    while k < n // 2 and below <= 0.025:
        k += 1
        below += math.comb(n, k) * 0.5 ** n
    return v[max(k - 1, 0)], v[n - 1 - max(k - 1, 0)]


def tell(what, name, times, base):
    ratios = [a / b for a, b in zip(times[name], times[base])]
    print("%-6s %-6s to %-5s median %.3fx (95 %%: %.3f to %.3f) least %.3fx, %d rounds" % (
        what, name, base, statistics.median(ratios), *rank_interval(ratios),
        min(times[name]) / min(times[base]), len(ratios)))


def main():
    memtracer, bench = (os.path.abspath(a) for a in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    with tempfile.TemporaryDirectory() as folder:
        def run(options, what):
            file = os.path.join(folder, "bench.db")
            for name in (file, file + "-wal", file + "-shm"):
                if os.path.exists(name):
                    os.remove(name)
            before = [] if options is None else [memtracer, "run", "-o", file] + options + ["--"]
            return int(subprocess.run(before + [bench, what], check=True, stdout=subprocess.PIPE).stdout)
        for what in sys.argv[4:] or ("malloc", "map", "touch"):
            variants = {"plain": None, "run": [], "stacks": ["--stacks"]}
            times = {name: [] for name in variants}
            for _ in range(rounds):
                for name, options in random.sample(sorted(variants.items()), len(variants)):
                    times[name].append(run(options, what))
            tell(what, "run", times, "plain")
            tell(what, "stacks", times, "plain")
            tell(what, "stacks", times, "run")


if __name__ == "__main__":
    main()
