#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs with known truth, recorded and compared: differences.py LEAKER MEMTRACER

`memtracer diff` of two runs, and of two moments of one; what must be said comes from leaker.c's
text: what it takes, keeps and gives back.
"""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
ENVIRONMENT = {n: v for n, v in os.environ.items() if n != "MALLOC_PERTURB_"}
RUNS = {"steady": "steady", "again": "steady", "more": "steady_more", "leaking": "linear",
        "saw": "sawtooth", "saw again": "sawtooth"}


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, json.dumps(seen, indent=1))
        sys.exit(1)


def diff(memtracer, folder, *words):
    done = subprocess.run([memtracer, "diff", *words, "--json"], stdout=subprocess.PIPE, cwd=folder,
                          check=False)
    said = json.loads(done.stdout)
    print("%s: %s" % (", ".join(words), said["sentence"]))
    need(done.returncode == (3 if said["differs"] else 0), "the exit code says it too", words)
    return said, {t["type"]: t for t in said["types"]}


def same(memtracer, folder, *words):
    said, types = diff(memtracer, folder, *words)
    need(not said["differs"], "no difference", words, [t for t in types.values()
                                                       if t["beyond_noise"]])


def differs(memtracer, folder, wanted, *words):
    said, types = diff(memtracer, folder, *words)
    heap = types["heap"]
    need(said["differs"] and heap["beyond_noise"], "a difference", words, heap)
    need(wanted[0] <= heap["grew"] <= wanted[1], "as much as was taken", wanted, heap["grew"])
    others = [t for n, t in types.items() if n not in ("heap", "tracer") and t["beyond_noise"]]
    need(not others, "of the heap alone", words, others)
    need(said["sentence"].startswith("heap grew by " if heap["grew"] > 0 else "heap shrank by "),
         "in words", said["sentence"])


def main():
    leaker, memtracer = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        running = [subprocess.Popen([leaker, kind, name + ".db"], env=ENVIRONMENT, cwd=folder)
                   for name, kind in RUNS.items()]
        for process in running:
            need(process.wait() == 0, "recorded", process.args)
        same(memtracer, folder, "steady.db", "again.db")
        same(memtracer, folder, "saw.db", "saw again.db")
        same(memtracer, folder, "steady.db", "1.0", "2.55")
        same(memtracer, folder, "saw.db", "1.0", "2.55")
        # at the end steady keeps its 8 MiB, and of a wave at most 1.1 MiB
        differs(memtracer, folder, (2.8 * MIB, 5.3 * MIB), "steady.db", "more.db")
        differs(memtracer, folder, (-5.3 * MIB, -2.8 * MIB), "more.db", "steady.db")
        # 300 times 40 KiB against those 8 MiB
        differs(memtracer, folder, (2.4 * MIB, 4 * MIB), "steady.db", "leaking.db")
        # in the first half second pages of images are still read in, that is a difference, too
        differs(memtracer, folder, (8 * MIB, 12.5 * MIB), "leaking.db", "0.5", "end")


main()
