#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One file, two systems: two_systems.py MEMTRACER.EXE LEAK.EXE

A file recorded on Windows, one recorded on Linux and one with rows of every table are each read
by the command line of both systems: every command must answer alike, byte for byte but for the
ends of lines, and plain SQLite must agree with it. Exit 77 where no Linux build is at hand:
$MEMTRACER_LINUX, else build-test, build or build-native beside the Windows build.
"""
import json
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
STEP = 0x33C4000 + 4096  # what each command of the example keeps, with malloc's header

COMMANDS = [
    ["show"], ["show", "--json"], ["timeline"], ["timeline", "--json"], ["steps"],
    ["steps", "--json"], ["sites"], ["spikes", "--json"], ["verdict"], ["verdict", "--json"],
    ["check"], ["marks"], ["marks", "--json"], ["events"], ["events", "--json"],
    ["where", "0x7ffe0000"], ["types"], ["info"], ["info", "--json"],
]

ANSWERS = (0, 3)  # 3 = nothing of the kind was found


def linux_build():
    named = os.environ.get("MEMTRACER_LINUX")
    beside = [os.path.join(ROOT, b, "tools", "memtracer")
              for b in ("build-test", "build", "build-native")]
    return next((p for p in [named] + beside if p and os.access(p, os.X_OK)), None)


def need(truth, *what):
    if not truth:
        print("not so:", *what)
        sys.exit(1)


def run(program, arguments, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NO_COLOR", "MALLOC_"))}
    env.update(LC_ALL="C", TZ="UTC", COLUMNS="200")
    done = subprocess.run(program + arguments, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stdout.replace(b"\r\n", b"\n"), done.stderr.replace(b"\r\n", b"\n")


def views(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    need(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", path, "is sound")
    names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
    counts = {n: db.execute('SELECT count(*) FROM "%s"' % n).fetchone()[0] for n in names}
    db.close()
    return counts


def compare(name, folder, linux, windows):
    """Every command and every view of one file, as both see it."""
    counts = views(os.path.join(folder, name))
    asked = [[c[0], name] + c[1:] for c in COMMANDS]
    asked += [["sql", name, "--json", "SELECT * FROM %s" % v] for v in sorted(counts)]
    with ThreadPoolExecutor(4) as pool:
        theirs = list(pool.map(lambda a: run(windows, a, folder), asked))
    for arguments, there in zip(asked, theirs):
        here = run([linux], arguments, folder)
        need(there == here, " ".join(arguments), "Windows:", there, "Linux:", here)
        need(here[0] in ANSWERS or arguments[0] == "check", " ".join(arguments), "answers", here)
    for view, n in counts.items():
        _, out, _ = run([linux], ["sql", name, "--json", "SELECT count(*) AS n FROM " + view],
                        folder)
        need(json.loads(out.splitlines()[0] if out[:1] == b"{" else out) in
             ({"n": n}, [{"n": n}], {"rows": [{"n": n}]}), view, out, n)
    return len(asked)


def record_on_windows(recorder, folder):
    code, _, error = run(WRAPPER + [recorder], ["windows.db"], folder)
    need(code == 0, recorder, error)
    db = sqlite3.connect("file:%s?mode=ro" % os.path.join(folder, "windows.db"), uri=True)
    rows = db.execute("SELECT type, bytes, mark FROM punctuated_growth").fetchall()
    db.close()
    need(len(rows) == 3, "three steps", rows)
    for i, (kind, grew, mark) in enumerate(rows, 1):
        need(kind == "heap" and abs(grew - STEP) <= 4096 and mark == "command %d" % i, rows)


def record_on_linux(linux, folder):
    code, _, error = run([linux], ["run", "-o", "linux.db", "--interval", "50", "--",
                                   "sleep", "0.5"], folder)
    need(code == 0, "run", error)


def make_fixture(linux, folder):
    _, schema, _ = run([linux], ["schema"], folder)
    with open(os.path.join(ROOT, "tests", "cli", "fixture.sql"), encoding="utf-8") as f:
        rows = f.read()
    db = sqlite3.connect(os.path.join(folder, "fixture.db"))
    db.executescript(schema.decode() + rows)
    db.close()


def main():
    linux, windows = linux_build(), WRAPPER + [os.path.abspath(sys.argv[1])]
    if not linux:
        print("no Linux build of the command line")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        record_on_windows(os.path.abspath(sys.argv[2]), folder)
        record_on_linux(linux, folder)
        make_fixture(linux, folder)
        for name in ("windows.db", "linux.db", "fixture.db"):
            print(name, compare(name, folder, linux, windows), "answers alike")


main()
