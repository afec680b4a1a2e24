#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sentences of verdict that could claim what is not so: claims.py MEMTRACER

Each series is written here, so that what may be said of it is known.
"""
import json
import os
import subprocess
import sys
import tempfile

MB = 10**6
N = 600
memtracer = sys.argv[1]


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, *seen)
        sys.exit(1)


def verdict(folder, columns, row, *options):
    path = os.path.join(folder, "series")
    with open(path + ".csv", "w", encoding="utf-8") as f:
        f.write("t_ns,%s\n" % columns)
        for i in range(N):
            f.write(",".join("%d" % v for v in ((i + 1) * 10**9, *row(i))) + "\n")
    if os.path.exists(path):
        os.remove(path)
    subprocess.run([memtracer, "import", "--csv", path + ".csv", "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    done = subprocess.run([memtracer, "verdict", path, "--json", *options], check=False,
                          capture_output=True, text=True)
    said = json.loads(done.stdout)
    return done.returncode, said, said["types"][0]


def held_is_told_by_its_own_number(folder):
    """5 MB are held while the address space grows by 300 MB."""
    for options in ((), ("--measure", "size")):
        _, _, y = verdict(folder, "private,private.size",
                          lambda i: (5 * MB, 100 * MB + i * MB // 2), *options)
        need(y["cause"] == "reservation" and y["held_last_bytes"] == 5 * MB, "held", options, y)
        need("held memory stays at 4.77 MiB" in y["sentence"], "its number", options, y)


def both_grow(folder):
    _, _, y = verdict(folder, "private,private.size",
                      lambda i: (5 * MB + i * MB // 2, 100 * MB + i * MB // 2),
                      "--measure", "size")
    need(y["leak"] and y["cause"] == "live growth", "it is no reservation", y)
    need("stays" not in y["sentence"] and "only" not in y["sentence"], "nor said to be one", y)


def unknown_free_memory(folder):
    """Heap grows, what is in use does not; free memory is in no column."""
    for used, retained in ((lambda i: 20 * MB, False), (lambda i: 20 * MB + i * MB // 10, True)):
        _, _, y = verdict(folder, "heap,=heap_in_use",
                          lambda i, used=used: (30 * MB + i * MB // 10, used(i)))
        need(("not retained" in y["sentence"]) == retained, "only where it is known", y)


def no_such_values(folder):
    code, _, y = verdict(folder, "heap", lambda i: (30 * MB + i * MB // 10,), "--measure", "size")
    need(code == 4 and y["needed_ns"] == 0, "more time cannot help", code, y)
    need("no values" in y["sentence"] and "record 9" not in y["sentence"], "and it says why", y)


def what_falls_does_not_grow(folder):
    """Up by 100 MB in 300 s, then down by 30 MB in 300 s."""
    code, said, y = verdict(folder, "heap",
                            lambda i: (50 * MB + min(i, 300) * MB // 3 - max(i - 300, 0) * MB // 10,))
    need(code != 3 and not said["leak"] and not y["growing"], "it falls lately", code, y)


with tempfile.TemporaryDirectory() as place:
    for test in (held_is_told_by_its_own_number, both_grow, unknown_free_memory, no_such_values,
                 what_falls_does_not_grow):
        test(place)
        print("ok", test.__name__)
