#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time and memory for a long series: million.py MEMTRACER [--samples N]

Writes N samples of six types, imports and judges them, reads all of each view, and prints what
that took (of views what took a tenth of a second). Nothing is asserted but that the leak which is
in them is found: times belong to the machine.
"""
import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

TYPES = ("heap", "private", "stack", "image", "mapped_file", "shareable")


def write_series(path, n):
    """The heap keeps a page or two a sample; the others come and go."""
    r = random.Random(1).random
    heap = 10 << 20
    with open(path, "w", encoding="utf-8") as f:
        f.write("t_ns," + ",".join(TYPES) + "\n")
        for i in range(n):
            heap += int(r() * 3) * 4096
            f.write("%d,%d,%d,%d,%d,%d,%d\n" % (
                i * 10**9, heap, (5 << 20) + int(r() * 50) * 4096, 65536 + int(r() * 2) * 4096,
                3 << 20, (1 << 20) + int(r() * 20) * 4096, int(r() * 9) * 4096))


def measure(what, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    print("%-8s %6.2f s of CPU, %4.0f MiB at most" % (
        what, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))
    return os.waitstatus_to_exitcode(status)


def read_views(db):
    file = sqlite3.connect(db)
    for (view,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        begun, n = time.process_time(), sum(1 for _ in file.execute("SELECT * FROM " + view))
        used = time.process_time() - begun
        if used >= 0.1:
            print("%-20s %6.2f s of CPU, %d rows" % (view, used, n))
    file.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memtracer")
    parser.add_argument("--samples", type=int, default=1000000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        series, db = os.path.join(folder, "series.csv"), os.path.join(folder, "series.db")
        write_series(series, args.samples)
        good = measure("import", args.memtracer, "import", "--csv", series, "-o", db) == 0
        good = measure("verdict", args.memtracer, "verdict", db) == 3 and good
        read_views(db)
    sys.exit(0 if good else 1)


main()
