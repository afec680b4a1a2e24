#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sentence about a file names it once: named_once.py MEMTRACER

Each command with a file that is not there, is foreign, cut off, newer, a folder or empty, called by
several names. What the file is called is known here; how often it stands on stderr is counted.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "export"))
from common import check, finish, make_file

# {} is the odd file. Writers make one that is missing or empty.
READERS = ("info {}", "show {}", "show {} --summary", "show {} --regions", "timeline {}", "steps {}",
           "sites {}", "spikes {}", "verdict {}", "check {}", "marks {}", "events {}", "types {}",
           "top {}", "diff {} start end", "diff fixture.db {}", "diff {} fixture.db",
           "where {} 0x7f00", "sql {} runs", "sql {} --list", "finish {}", "export {} --csv",
           "export {} --json -o out", "export {} --memorytracer out", "report {} -o out",
           "merge new.db {}", "merge new.db fixture.db {}")
WRITERS = ("import --csv s.csv -o {}", "import --csv s.csv -o {} --json", "run -o {} -- true",
           "record --pid %d --duration 1ms -o {}" % os.getpid())
SERIES = ("import --csv {} -o new.db", "import --prmon {} -o new.db", "import --psrecord {} -o new.db",
          "import --mprof {} -o new.db", "import --csv s.csv --markers {} -o new.db",
          "import --csv s.csv --sessions {} -o new.db", "run -o new.db -- {}")
# By other names than the plain one, one command of each way to a file.
FEW = ("info {}", "finish {}", "merge new.db {}", "diff fixture.db {}", *WRITERS, SERIES[0])
NAMES = ("./odd.db", "folder/../odd.db", "o\x01odd.db", "o odd.db", "a:odd.db")


def sql(path, script):
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()


def lay(kind, path, sound):
    """The odd file."""
    if kind == "folder":
        os.mkdir(path)
    elif kind == "other program":
        sql(path, "CREATE TABLE t(a);")
    elif kind != "missing":
        with open(path, "wb") as f:
            f.write({"text": b"hello\n" * 50, "empty": b"", "cut": sound[:len(sound) // 2],
                     "cut header": sound[:3000], "newer": sound}[kind])
        if kind == "newer":
            sql(path, "PRAGMA user_version = 99")


def clear(path):
    for name in (path, "new.db", "out"):
        if os.path.isdir(name):
            os.rmdir(name)
        elif os.path.exists(name):
            os.remove(name)


def ask(memtracer, kind, name, command):
    words = [name if w == "{}" else w for w in command.split()]
    done = subprocess.run([memtracer, *words], capture_output=True, text=True, errors="replace")
    if "may not be looked at" in done.stderr or "built without the report" in done.stderr:
        return
    check(done.returncode == 2, "%s: %s: exit %d" % (kind, words, done.returncode))
    check(done.stderr.count("odd.db") == 1, "%s: %s: %s" % (kind, words, done.stderr))


def ask_all(memtracer, commands, name, sound):
    for kind in ("missing", "text", "other program", "cut", "cut header", "newer", "folder", "empty"):
        for command in commands:
            if kind == "empty" and command in WRITERS + SERIES:
                continue
            if kind == "missing" and command in WRITERS:
                continue
            clear(name)
            lay(kind, name, sound)
            ask(memtracer, kind, name, command)
    clear(name)


def main():
    memtracer = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("folder")
        make_file(memtracer, "fixture.db")
        with open("s.csv", "w", encoding="utf-8") as f:
            f.write("t_ns,heap\n1,2\n")
        with open("fixture.db", "rb") as f:
            sound = f.read()
        ask_all(memtracer, READERS + WRITERS + SERIES, "odd.db", sound)
        for name in NAMES + (os.path.join(folder, "odd.db"),):
            ask_all(memtracer, FEW, name, sound)
        os.chdir("/")
    finish()


main()
