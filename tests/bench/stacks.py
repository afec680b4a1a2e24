#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cost of --stacks as ratios: stacks.py MEMTRACER BENCH_STACKS [ROUNDS]. The variants take turns;
each ratio is of the least CPU time of the host's thread, and of the medians."""
import os
import statistics
import subprocess
import sys
import tempfile


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
        for what in ("malloc", "map", "touch"):
            variants = {"plain": None, "run": [], "stacks": ["--stacks"]}
            times = {name: [] for name in variants}
            for _ in range(rounds):
                for name, options in variants.items():
                    times[name].append(run(options, what))
            for name in ("run", "stacks"):
                print("%-6s %-6s least %.3fx median %.3fx" % (
                    what, name, min(times[name]) / min(times["plain"]),
                    statistics.median(times[name]) / statistics.median(times["plain"])))
            print("%-6s stacks to run: least %.3fx median %.3fx" % (
                what, min(times["stacks"]) / min(times["run"]),
                statistics.median(times["stacks"]) / statistics.median(times["run"])))


if __name__ == "__main__":
    main()
