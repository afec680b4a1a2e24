#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cost of --stacks as ratios: stacks.py MEMTRACER BENCH_STACKS [ROUNDS [WHAT...]]. The variants take
turns in random order; a ratio is of the CPU time of the host's thread in one round."""
import os
import random
import subprocess
import sys
import tempfile

import paired


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
        for what in sys.argv[4:] or ("malloc", "threaded", "map", "touch"):
            variants = {"plain": None, "run": [], "stacks": ["--stacks"]}
            times = {name: [] for name in variants}
            for _ in range(rounds):
                for name, options in random.sample(sorted(variants.items()), len(variants)):
                    times[name].append(run(options, what))
            paired.tell(what + " run", times["run"], times["plain"])
            paired.tell(what + " stacks", times["stacks"], times["plain"])
            paired.tell(what + " stacks to run", times["stacks"], times["run"])


if __name__ == "__main__":
    main()
