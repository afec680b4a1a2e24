#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet in one file: fleet.py MEMTRACER BENCH_FLEET [--runs N] [--samples N] [--folder DIR]

Makes the recordings of N processes, a day at 10 s each, merges them, asks which release started to
leak, and writes the pages of the ten runs that grew most. Prints what each took; times belong to
the machine. Asserted is that the answer names the releases that leak, and no other.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

LEAKS = {"server 1.4": "steps", "server 1.5": "steps", "server 1.6": "steady"}


def measure(what, *command, rows=0, out=subprocess.DEVNULL):
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=out)
    _, status, used = os.wait4(process.pid, 0)
    seconds, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    print("%-22s %7.1f s, %7.1f s of CPU, %4.0f MiB at most%s" % (
        what, seconds, cpu, used.ru_maxrss / 1024,
        ", %.0f rows/s" % (rows / seconds) if rows else ""), flush=True)
    if os.waitstatus_to_exitcode(status):
        sys.exit(what + " failed")


def rows_of(memtracer, path):
    sql = "SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM level) AS n"
    done = subprocess.run([memtracer, "sql", "--json", path, sql], check=True, capture_output=True)
    return json.loads(done.stdout)[0]["n"]


def which_release(memtracer, path, folder):
    answer = os.path.join(folder, "answer.json")
    with open(answer, "w", encoding="utf-8") as f:
        measure("which release leaks", memtracer, "sql", "--json", path, "release_leaks", "server*",
                out=f)
    with open(answer, encoding="utf-8") as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memtracer")
    parser.add_argument("bench_fleet")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=8640)
    parser.add_argument("--folder", help="keeps the files there, and takes those that are there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        files = sorted(glob.glob(os.path.join(folder, "[0-9]*.db")))
        if not files:
            measure("%d recordings" % args.runs, args.bench_fleet, folder, str(args.runs),
                    str(args.samples))
            files = sorted(glob.glob(os.path.join(folder, "[0-9]*.db")))
        merged = os.path.join(folder, "all.db")
        if os.path.exists(merged):
            os.remove(merged)
        rows = rows_of(args.memtracer, files[0]) * len(files)
        measure("merge", args.memtracer, "merge", merged, *files, rows=rows)
        print("%d files, %.0f MB; merged %.0f MB, %.0f bytes a row" % (
            len(files), sum(map(os.path.getsize, files)) / 1e6, os.path.getsize(merged) / 1e6,
            os.path.getsize(merged) / rows_of(args.memtracer, merged)))
        answer = which_release(args.memtracer, merged, folder)
        said = {(a["label"], a["shape"]) for a in answer if a["type"]}
        wrong = [a for a in answer if LEAKS.get(a["label"]) != a["shape"]]
        print("%d of %d runs leak: %s" % (sum(a["type"] is not None for a in answer), len(answer),
                                          ", ".join("%s %s" % s for s in sorted(said))))
        worst = sorted((a for a in answer if a["grew"]), key=lambda a: -a["grew"])[:10]
        for a in worst:
            page = os.path.join(folder, "worst-%d.html" % a["run"])
            measure("report of run %d" % a["run"], args.memtracer, "report", merged, "--run",
                    str(a["run"]), "-o", page)
        sys.exit("wrong: %s" % wrong[:3] if wrong else 0)


main()
