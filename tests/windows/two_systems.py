#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One file, two systems: two_systems.py MEMTRACER.EXE LEAK.EXE

A file recorded on Windows, one recorded on Linux and one with rows of every table are each read
by the command line of both systems: every command must answer alike, byte for byte but for the
ends of lines, and plain SQLite must agree with it. The textbook leak recorded on both systems is
shown in one layout by both: the same columns, rows, order and units. Exit 77 where no Linux build
is at hand: $MEMTRACER_LINUX, else build-test, build or build-native beside the Windows build.
"""
import json
import os
import re
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
OTHERS = 24 << 20        # more than all else that the example's heap ever holds
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

COMMANDS = [
    ["show"], ["show", "--json"], ["timeline"], ["timeline", "--json"], ["steps"],
    ["steps", "--json"], ["sites"], ["spikes", "--json"], ["verdict"], ["verdict", "--json"],
    ["check"], ["marks"], ["marks", "--json"], ["events"], ["events", "--json"],
    ["where", "0x7ffe0000"], ["types"], ["info"], ["info", "--json"],
]

ORDERED = re.compile(r"ORDER BY [^()]*(LIMIT[^()]*)?$")  # at the end, not within parentheses
ANSWERS = (0, 3)  # 3 = nothing of the kind was found


def linux_build():
    named = os.environ.get("MEMTRACER_LINUX")
    beside = [os.path.join(ROOT, b, "tools", "memtracer")
              for b in ("build-test", "build", "build-native")]
    return next((p for p in [named] + beside
                 if p and os.access(p, os.X_OK) and os.access(leak_beside(p), os.X_OK)), None)


def leak_beside(tool):
    build = os.path.dirname(os.path.dirname(os.path.abspath(tool)))
    return os.path.join(build, "examples", "03_punctuated_leak")


def need(truth, *what):
    if not truth:
        print("not so:", *what)
        sys.exit(1)


def run(program, arguments, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NO_COLOR", "MALLOC_"))}
    env.update(LC_ALL="C", TZ="UTC", COLUMNS="200")
    for _ in range(2):
        done = subprocess.run(program + arguments, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        # ours says why it ends with 1; without a word it is Wine that did not start it
        if done.returncode != 1 or done.stdout or done.stderr:
            break
    return done.returncode, done.stdout.replace(b"\r\n", b"\n"), done.stderr.replace(b"\r\n", b"\n")


def views(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    need(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", path, "is sound")
    names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
    counts = {n: db.execute('SELECT count(*) FROM "%s"' % n).fetchone()[0] for n in names}
    asked = [ask_in_order(db, n) for n in sorted(names)]
    db.close()
    return counts, asked


def ask_in_order(db, view):
    """A view that says no order is a set: which row comes first is each SQLite's own choice."""
    sql, = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (view,)).fetchone()
    n = len(db.execute("SELECT * FROM %s LIMIT 0" % view).description)
    order = " ORDER BY " + ", ".join(str(i + 1) for i in range(n))
    return "SELECT * FROM " + view + ("" if ORDERED.search(sql) else order)


def compare(name, folder, linux, windows):
    """Every command and every view of one file, as both see it."""
    counts, queries = views(os.path.join(folder, name))
    asked = [[c[0], name] + c[1:] for c in COMMANDS]
    asked += [["sql", name, "--json", q] for q in queries]
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
    code, _, error = run([leak_beside(linux)], ["linux.db"], folder)
    need(code == 0, leak_beside(linux), error)


def table(program, name, folder, *options):
    """Titles and cells of `show`: {type: [cell, ...]} in the order of the lines."""
    code, out, error = run(program, ["show", name] + list(options), folder)
    need(code == 0, program, error)
    lines = [re.split(r"  +", line.strip()) for line in out.decode().splitlines()]
    head = next(i for i, line in enumerate(lines) if line[0] == "Type")
    return lines[head], {line[0]: line[1:] for line in lines[head + 1:]}


def in_bytes(cell):
    number, _, unit = cell.partition(" ")
    return float(number) * UNITS[unit] if unit else float(number)


def need_same_number(cell, exact, value, where):
    """Three figures and a unit, as the system's own exact number says; - is unknown."""
    need((cell == "-") == (exact == "-") == (value is None), where, cell, exact, value)
    if value is None:
        return
    need(int(exact.replace(",", "").replace(" ", "")) == value, where, exact, value)
    need(abs(in_bytes(cell) - value) <= value * 0.005, where, cell, value)


def layout(program, name, folder):
    """What `show` looks like without its numbers, which must be those of the file."""
    titles, cells = table(program, name, folder)
    _, exact = table(program, name, folder, "--bytes")
    types = json.loads(run(program, ["show", name, "--json"], folder)[1])["types"]
    need([t["type"] for t in types] == list(cells) == list(exact), name, "rows", list(cells))
    keys = list(types[0])
    need(all(list(t) == keys for t in types), name, "columns of each row", types)
    for t in types:
        need(len(cells[t["type"]]) == len(titles) - 1, name, t["type"], cells)
        for title, key, cell, whole in zip(titles[1:], keys[1:], cells[t["type"]],
                                           exact[t["type"]]):
            need_same_number(cell, whole, t[key], (name, t["type"], title))
    view = json.loads(run(program, ["sql", name, "--json", "SELECT * FROM vmmap"], folder)[1])
    return titles, list(cells), keys, view_layout(view)


def view_layout(view):
    rows = view["rows"] if isinstance(view, dict) else view
    return [r["type"] for r in rows], [list(r) for r in rows]


def compare_layouts(folder, linux, windows):
    """The same leak, the same table: of two recordings by two command lines."""
    seen = [layout(program, name, folder)
            for program in ([linux], windows) for name in ("linux.db", "windows.db")]
    need(all(s == seen[0] for s in seen), "one layout", seen)
    for name in ("linux.db", "windows.db"):
        heap = next(t for t in json.loads(run([linux], ["show", name, "--json"], folder)[1])["types"]
                    if t["type"] == "heap")
        for column in ("size", "committed", "private", "ws"):
            need(3 * STEP <= heap[column] + 3 * 4096 <= 3 * STEP + OTHERS, name, column, heap)
        # the system puts blocks side by side, or something of another's between them
        need(STEP <= heap["largest"] + 4096 <= 3 * STEP + OTHERS, name, "largest", heap)
    return len(seen[0][0]), len(seen[0][1]), len(seen[0][2])


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
        print("no Linux build of the command line and the examples")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        record_on_windows(os.path.abspath(sys.argv[2]), folder)
        record_on_linux(linux, folder)
        make_fixture(linux, folder)
        for name in ("windows.db", "linux.db", "fixture.db"):
            print(name, compare(name, folder, linux, windows), "answers alike")
        print("one layout: %d columns, %d rows, %d columns in JSON" %
              compare_layouts(folder, linux, windows))


main()
