#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs with known truth, recorded and judged: leaks.py LEAKER MEMTRACER [KIND...]

What must be said comes from leaker.c's text: what it keeps, gives back, maps and marks.
"""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
ENVIRONMENT = {n: v for n, v in os.environ.items() if n != "MALLOC_PERTURB_"}


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, json.dumps(seen, indent=1))
        sys.exit(1)


def punctuated(said, types):
    y = types["heap"]
    need(y["leak"] and y["shape"] == "punctuated", "a staircase", y)
    need(len(y["steps"]) == 6, "six steps", y)
    need(abs(y["typical_step_bytes"] - 4 * MIB) < MIB // 8, "of 4 MiB", y)
    need(said["action"] and said["action"]["mark"] == "load", "after the mark", said["action"])
    need(y["cause"] == "live growth", "in use", y)


def linear(said, types):
    y = types["heap"]
    need(said["leak"] and y["leak"] and y["shape"] == "linear", "steady growth", y)
    need(10 * MIB <= y["kept_bytes"] <= 12.5 * MIB, "300 times 40 KiB", y)


def retention(said, types):
    y = types["heap"]
    need(not y["leak"], "not the program's leak", y)
    need(y["growing"] and y["cause"] == "allocator retention", "the allocator keeps it", y)


def sawtooth(said, types):
    need(not said["leak"], "all is given back", types["heap"])


def warmup(said, types):
    need(not said["leak"], "a plateau", types["heap"])


def file_growth(said, types):
    y = types["mapped_file"]
    need(not said["leak"], "no leak", y)
    need(y["growing"] and y["cause"] == "file-backed", "reclaimable growth", y)


KINDS = (punctuated, linear, retention, sawtooth, warmup, file_growth)


def run(leaker, memtracer, kind, folder):
    path = os.path.join(folder, kind.__name__ + ".db")
    subprocess.run([leaker, kind.__name__, path], check=True, env=ENVIRONMENT, cwd=folder)
    done = subprocess.run([memtracer, "verdict", path, "--json"], stdout=subprocess.PIPE,
                          check=False)
    said = json.loads(done.stdout)
    types = {t["type"]: t for t in said["types"]}
    print("%s: %s" % (kind.__name__, types[said["type"]]["sentence"]))
    kind(said, types)


def main():
    kinds = [k for k in KINDS if not sys.argv[3:] or k.__name__ in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), kind, folder)


main()
