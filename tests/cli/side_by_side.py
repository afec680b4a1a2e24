#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs in one file that ran side by side, or one after another: side_by_side.py MEMTRACER

Series whose truth is written here are imported, merged and judged: what ran side by side is judged
apart, what followed is judged together.
"""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
N = 400
memtracer = sys.argv[1]


def ask(*args):
    done = subprocess.run([memtracer, *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, *seen)
        sys.exit(1)


def record(path, start_s, bytes_at, label="server"):
    with open(path + ".csv", "w", encoding="utf-8") as f:
        f.write("t_ns,heap\n")
        for i in range(N):
            f.write("%d,%d\n" % ((start_s + i) * 10**9, bytes_at(i)))
    code, _, said = ask("import", "--csv", path + ".csv", "-o", path, "--label", label)
    need(code == 0, "the series is imported", said)


def merged(folder, *runs):
    paths = [os.path.join(folder, "%d.db" % k) for k in range(len(runs))]
    for path, (start_s, bytes_at) in zip(paths, runs):
        if os.path.exists(path):
            os.remove(path)
        record(path, start_s, bytes_at)
    out = os.path.join(folder, "all.db")
    if os.path.exists(out):
        os.remove(out)
    code, _, said = ask("merge", out, *paths)
    need(code == 0, "the files are merged", said)
    return out


def flat(i):
    return 50 * MIB + (i * 7919 % 13) * 4096


def leak(i):
    return 50 * MIB + i * MIB // 4


def one_of_three_leaks(folder):
    path = merged(folder, (1000, flat), (1050, leak), (1100, flat))
    code, said, _ = ask("verdict", path)
    need(code == 3, "a run leaks", code, said)
    for run in ("run 1 (server", "run 2 (server", "run 3 (server"):
        need(run in said, "each run is named", run, said)
    code, said, _ = ask("verdict", path, "--json")
    said = json.loads(said)
    need(code == 3 and said["leak"] and said["verdict"] == "leak", "the whole", said["verdict"])
    need([r["leak"] for r in said["runs"]] == [False, True, False], "only the second", said)
    need([r["lives"] for r in said["runs"]] == [1, 1, 1], "none is joined", said)
    kept = said["runs"][1]["types"][0]["kept_bytes"]
    need(abs(kept - N * MIB / 4) < 0.05 * N * MIB / 4, "what it kept", kept)
    code, said, _ = ask("check", path, "--allow", "heap<1MiB")
    need(code == 3 and said.count("\n") == 1 and said.startswith("run 2 ("), "one finding", said)
    need(ask("check", path, "--allow", "heap<1GiB")[0] == 0, "all is allowed")
    need(ask("verdict", path, "--run", "1")[0] == 0, "a run that was named", said)


def none_leaks(folder):
    path = merged(folder, (1000, flat), (1050, flat))
    need(ask("verdict", path)[0] == 0 and ask("check", path)[0] == 0, "no leak at all")


def all_are_too_short(folder):
    """Seven samples of each say nothing."""
    path = merged(folder, (1000, leak), (1000, leak))
    code, said, _ = ask("verdict", path, "--until", "6")
    need(code == 4, "too short, every run", code, said)
    need(ask("check", path, "--until", "6")[0] == 4, "check says so, too")


def restarts_stay_joined(folder):
    """The second begins when the first has a sample to go: less than one interval."""
    for start in (1000 + N, 1000 + N - 1.5):
        path = merged(folder, (1000, leak), (start, leak))
        code, said, _ = ask("verdict", path, "--json")
        said = json.loads(said)
        need(code == 3 and said["lives"] == 2, "two lives of one program", start, said)
        need(said["hidden_by_restarts"], "the restart took the growth away", said)


def nothing_lies_between(folder):
    path = merged(folder, (1000, flat))
    code, _, said = ask("verdict", path, "--since", "40", "--until", "31")
    need(code == 1 and "--since 40 is after --until 31" in said, "a usage error", code, said)


with tempfile.TemporaryDirectory() as place:
    for test in (one_of_three_leaks, none_leaks, all_are_too_short, restarts_stay_joined,
                 nothing_lies_between):
        test(place)
        print("ok", test.__name__)
