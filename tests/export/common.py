# SPDX-License-Identifier: MIT
"""What the tests of export, report and merge share: the fixture of tests/cli, and checks."""
import os
import sqlite3
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failures = []


def check(fact, text):
    if not fact:
        failures.append(text)
        print("FAILED: " + text)


def finish():
    print("%d failed" % len(failures))
    sys.exit(1 if failures else 0)


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def make_file(memtracer, path, extra=""):
    """The recording of tests/cli/fixture.sql, and what `extra` adds to it."""
    schema = subprocess.run([memtracer, "schema"], check=True, capture_output=True, text=True)
    with open(os.path.join(ROOT, "tests/cli/fixture.sql"), encoding="utf-8") as f:
        rows = f.read()
    db = sqlite3.connect(path)
    db.executescript(schema.stdout + rows + extra)
    db.commit()
    db.close()


# A recording that takes a while to write out: `n` samples, in each of which the heap changes.
LONG = """
INSERT INTO run SELECT 9, 'long', 'long', state, '', host, os, 9, 1, 9, NULL, exe, name, allocator,
    start_wall_ns, 1, NULL, NULL, 4096, 1000, 1000, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL,
    version, sqlite_version FROM run WHERE id = 2;
INSERT INTO sample SELECT 100 + n, 9, n * 1000000000, start_wall_ns + n * 1000000000,
    n * 1000000000, 1, 0, 4, 0, 9, 1, 1, 1 FROM run,
    (WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < {n})
     SELECT n FROM c) WHERE run.id = 9;
INSERT INTO level(run, type, sample, size, committed, ws, swap)
SELECT 9, 4, id, 1 << 30, 1 << 30, (id % 1000) * 4096 + iif(id = 12345, 1 << 29, 0), 0
FROM sample WHERE run = 9;
"""


def ask(path, sql, *args):
    db = sqlite3.connect(path)
    rows = db.execute(sql, args).fetchall()
    db.close()
    return rows
