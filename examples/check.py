#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one example and asks its file what must be true: check.py PROGRAM [REPETITIONS]

The right values come from the example's own text: what it allocates, keeps, marks and claims.
"""
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile

PAGE = 4096
MIB = 1 << 20
KEPT = 0x33C4000  # what each command of 03 keeps
# Meson lets malloc fill what it hands out, and then "untouched" memory is resident.
# What was built for another system runs by Meson's wrapper (Wine).
WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}


def rows(db, sql):
    return [dict(row) for row in db.execute(sql)]


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, *seen)
        sys.exit(1)


def check_every(db):
    need(rows(db, "PRAGMA integrity_check")[0]["integrity_check"] == "ok", "the file is sound")
    need(rows(db, "PRAGMA journal_mode")[0]["journal_mode"] == "delete", "one plain file")
    runs = rows(db, "SELECT * FROM run")
    need([r["state"] for r in runs] == ["stopped"], "one run, stopped", runs)
    need(rows(db, "SELECT * FROM sample"), "there are samples")
    off = rows(db, "SELECT * FROM sample WHERE flags & 1")
    need(not off, "types add up to regions in every sample", off)


def check_01(db, _):
    need(rows(db, "SELECT * FROM vmmap WHERE type = 'heap' AND size > 0"), "there is a heap")


def check_02(db, _):
    marks = [r["label"] for r in rows(db, "SELECT label FROM mark ORDER BY id")]
    need(marks == ["load", "loaded"], "two marks", marks)
    grew = rows(db, "SELECT type, grew FROM growth_between_marks WHERE from_mark = 'load' "
                    "AND to_mark = 'loaded' ORDER BY grew DESC LIMIT 1")[0]
    need(grew["type"] == "heap", "the heap grew most", grew)
    need(24 * MIB <= grew["grew"] <= 25 * MIB, "24 MiB of heap were loaded", grew)


def check_03(db, _):
    found = rows(db, "SELECT * FROM punctuated_growth")
    need(len(found) == 3, "three steps", *found)
    for number, row in enumerate(found, 1):
        need(row["type"] == "heap", "a step of the heap", row)
        need(row["mark"] == "command %d" % number, "the command is named", row)
        mapped = KEPT + PAGE  # malloc's header takes one page more
        need(abs(row["bytes"] - mapped) <= PAGE, "the block to a page, %d" % mapped, row)


def check_04(db, printed):
    pool = rows(db, "SELECT * FROM vmmap WHERE type = 'pool'")
    need(len(pool) == 1, "a row of its own", pool)
    need(abs(pool[0]["size"] - 16 * MIB) <= PAGE, "as large as the claim", pool)
    need(8 * MIB - PAGE <= pool[0]["ws"] <= 10 * MIB, "resident: the touched half", pool)
    need("pool: %d bytes resident" % pool[0]["ws"] in printed, "totals and file agree", printed)


def check_05(db, _):
    pid = rows(db, "SELECT pid, parent_pid FROM run")[0]
    need(pid["pid"] != pid["parent_pid"], "somebody else's memory", pid)
    grew = rows(db, "SELECT sum(grew) AS grew FROM which_kind_grew "
                    "WHERE type IN ('heap', 'private')")[0]["grew"]
    need(32 * MIB <= grew <= 33 * MIB, "the child grew by 32 MiB", grew)


def check_06(db, printed):
    image = rows(db, "SELECT size FROM vmmap WHERE type = 'image'")[0]["size"]
    need("type=image  size=%d" % image in printed, "printed what the file says", printed)
    need("query: " in printed, "queries are named", printed)


def run_once(program):
    name = os.path.basename(program)[:2]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.db")
        printed = subprocess.run(WRAPPER + [program, path], check=True, stdout=subprocess.PIPE,
                                 encoding="utf-8", env=ENVIRONMENT).stdout
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        db.row_factory = sqlite3.Row
        check_every(db)
        globals()["check_" + name](db, printed)
        db.close()


def main():
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        run_once(sys.argv[1])


main()
