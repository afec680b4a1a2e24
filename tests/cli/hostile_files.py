#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damaged, foreign and malicious files in every command: hostile_files.py MEMTRACER [SEEDS]

Whatever the file is: an answer or one clear sentence that names it, a documented exit code, in
bounded time; JSON stays JSON. SEEDS (default 6) files with flipped bytes, as many cut ones, each asked by some commands; with
SEEDS given, the files with a changed schema are asked by all of them.
"""
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import run as golden

TIME_LIMIT_S = 60  # of a busy machine; alone, the slowest takes 5 s
READERS = [
    "show", "show --regions", "show --summary", "show --all --json", "show --regions --json",
    "show --summary --json", "show --at start", "timeline", "timeline --json", "steps",
    "steps --json", "verdict", "verdict --json", "check", "check --json", "marks", "marks --json",
    "events --all", "events --all --json", "types", "types --json", "info", "info --json",
    "where 0x7f0000400010", "where 0x7f0000400010 --json", "diff start end",
    "diff start end --json", "sql vmmap", "sql --list --json", "export --csv", "export --lines",
    "export --openmetrics", "export --perfetto", "export --memorytracer", "report", "merge",
]
DATA = {"export --csv"}  # names as they are, byte by byte: not for a terminal
WRITERS = ["finish", "import", "run", "record"]
EXIT_CODES = {0, 2, 3, 4}

# SQL on a sound recording, with its schema open for writing.
SCHEMAS = {
    "a view that asks itself": "DROP VIEW vmmap; CREATE VIEW vmmap AS SELECT * FROM vmmap;",
    "views in a circle": "DROP VIEW region_row; CREATE VIEW region_row AS SELECT * FROM memory_event;",
    "a view without an end": "ALTER TABLE level RENAME TO old; CREATE VIEW level AS WITH RECURSIVE"
        " x(a) AS (SELECT 1 UNION ALL SELECT a FROM x) SELECT a AS run, a AS type, a AS sample,"
        " a AS size, a AS committed, a AS ws, a AS swap FROM x;",
    "a run without an end": "ALTER TABLE run RENAME TO old; CREATE VIEW run AS WITH RECURSIVE"
        " x(a) AS (SELECT 1 UNION ALL SELECT a FROM x) SELECT a AS id FROM x WHERE a > 1;",
    "views for tables": "ALTER TABLE type RENAME TO old; CREATE VIEW type AS SELECT NULL AS id,"
        " NULL AS name, NULL AS description UNION ALL SELECT 1, x'ff00', 2.5 UNION ALL"
        " SELECT id, name, description FROM old;",
    "nothing but NULL": "ALTER TABLE sample RENAME TO old; CREATE TABLE sample(id, run, t_ns,"
        " until_ns, wall_ns, flags, ticks, missed, regions, depth, kind); INSERT INTO sample(id,"
        " run) VALUES(1, 1), (NULL, NULL), (3, 1);",
    "wrong types": "ALTER TABLE mark RENAME TO old; CREATE TABLE mark(id, run, t_ns, wall_ns,"
        " sample, label, tid); INSERT INTO mark VALUES('x', 1, 'y', x'00', 1e300, 7, -1),"
        " (NULL, 1, NULL, NULL, NULL, NULL, NULL), (2, 1, 5, 6, 1, x'ff41', 'z');",
    "negative sizes": "UPDATE level SET size = -size, ws = -ws, committed = -committed;"
        "UPDATE region SET bytes = -bytes;",
    "the largest numbers": "UPDATE level SET size = 9223372036854775807, ws ="
        " 9223372036854775807, committed = -9223372036854775808, swap = 9223372036854775807;"
        "UPDATE sample SET t_ns = 9223372036854775807 - id, until_ns = 9223372036854775807,"
        " wall_ns = -9223372036854775808 + id; UPDATE run SET start_wall_ns ="
        " -9223372036854775808, page_bytes = -9223372036854775808, interval_ms ="
        " 9223372036854775807;",
    "huge text": "UPDATE string SET text = hex(zeroblob(300000)) || id;"
        "UPDATE run SET label = hex(zeroblob(20000000));",
    "triggers": "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM sample; SELECT"
        " raise(ABORT, 'no'); END;",
    "generated columns": "ALTER TABLE mark RENAME TO old; CREATE TABLE mark(id INTEGER, run INTEGER,"
        " t_ns INTEGER, wall_ns AS (t_ns * 2), sample AS (zeroblob(9)), label AS"
        " (hex(zeroblob(t_ns))), tid); INSERT INTO mark(id, run, t_ns) VALUES(1, 1, 2000000);",
    "no tables": "DROP TABLE level; DROP TABLE sample;",
    "functions that are not allowed": "DROP VIEW vmmap; CREATE VIEW vmmap AS SELECT"
        " load_extension('x') AS type, readfile('/etc/passwd') AS size;",
    "an index that lies": "UPDATE sqlite_schema SET sql = 'CREATE INDEX x ON level(size)' WHERE"
        " type = 'index';",
    "a schema of garbage": "UPDATE sqlite_schema SET sql = 'garbage' WHERE name = 'vmmap';",
    "root pages elsewhere": "UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'level';",
    "shared root pages": "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema"
        " WHERE name = 'run') WHERE name IN ('sample', 'level', 'mark');",
}


def with_sql(base, path, sql):
    with open(path, "wb") as f:
        f.write(base)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA legacy_alter_table = ON")
    db.execute("PRAGMA writable_schema = ON")
    for statement in sql.split(";"):
        try:
            db.execute(statement)
        except sqlite3.Error as e:
            if "has no column" in str(e) or "no such" in str(e):
                raise SystemExit("the case is out of date: %s: %s" % (e, statement))
    db.close()


def flipped(base, rng):
    body = bytearray(base)
    for _ in range(rng.choice((1, 4, 40))):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body)


def files(base, path, seeds):
    """Yields the name of a case after writing it to path."""
    for name, sql in SCHEMAS.items():
        with_sql(base, path, sql)
        yield name
    foreign = base[:68] + b"\0\0\0\0" + base[72:]
    plain = {"foreign": foreign, "newer": base[:60] + b"\0\0\x27\x0f" + base[64:],
             "no version": base[:60] + b"\0\0\0\0" + base[64:], "text": b"hello\n" * 100,
             "zeros": bytes(len(base)), "only a header": base[:100]}
    rng = random.Random(1)
    for i in range(seeds):
        plain["flipped %d" % i] = flipped(base, rng)
        plain["cut %d" % i] = base[:rng.randrange(1, len(base))]
    for name, body in plain.items():
        with open(path, "wb") as f:
            f.write(body)
        yield name


def arguments(command, path, folder):
    words = command.split(" ")
    new = os.path.join(folder, "series.csv")
    return {"import": ["import", "--csv", new, "-o", path],
            "export --lines": ["export", path, "--json"],
            "export --memorytracer": ["export", path, "--memorytracer", path + ".csvs"],
            "merge": ["merge", path + ".merged", path],
            "run": ["run", "-o", path, "--", "true"],
            "record": ["record", "--pid", str(os.getpid()), "-o", path, "--duration", "1ms"],
            }.get(command, [words[0], path] + words[1:])


def complaint(command, path, done):
    """What is wrong with an answer; None = nothing."""
    err = done.stderr.decode("utf-8", "strict")
    codes = EXIT_CODES | ({1} if command.startswith("sql") else set())
    if done.returncode not in codes:
        return "exit code %d: %s" % (done.returncode, err[-1500:])
    if any(ord(c) < 32 and c != "\n" for c in err):
        return "control characters: %r" % err
    if done.returncode in (1, 2) and (path not in err or not err.startswith("memtracer: ")):
        return "no word about the file: %r" % err
    if "--json" in command and done.returncode not in (1, 2):
        json.loads(done.stdout.decode("utf-8", "strict"))
    return None


def try_one(memtracer, env, command, path, folder):
    try:
        done = subprocess.run([memtracer] + arguments(command, path, folder), env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S)
        return complaint(command, path, done)
    except subprocess.TimeoutExpired:
        return "takes more than %d s" % TIME_LIMIT_S
    except ValueError as e:
        return "its output is broken: %s" % e


def record(memtracer, env, folder):
    """A real recording, with the fixture's rows for what a short look does not see."""
    path = os.path.join(folder, "base.db")
    subprocess.run([memtracer, "record", "--pid", str(os.getpid()), "-o", path, "--duration",
                    "300ms", "--interval", "20"], check=True, capture_output=True, env=env)
    with open(path, "rb") as f:
        return f.read()


def try_all(memtracer, env, case, commands, path, folder):
    """How many went wrong. Last comes the one that writes."""
    wrong = 0
    for command in commands:
        problem = try_one(memtracer, env, command, path, folder)
        if problem:
            wrong += 1
            print("%s: %s: %s" % (case, command, problem), flush=True)
    return wrong


def ask_about(memtracer, env, base, seeds, everything):
    """Answers asked for and those that were wrong."""
    rng, jobs = random.Random(2), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        with open(os.path.join(folder, "series.csv"), "w", encoding="utf-8") as f:
            f.write("t_ns,heap\n1,1\n2,2\n")
        made = os.path.join(folder, "made.db")
        for i, case in enumerate(files(base, made, seeds)):
            path = os.path.join(folder, "hostile%d.db" % i)
            os.rename(made, path)
            chosen = READERS if case in SCHEMAS and everything else rng.sample(READERS, 3)
            commands = chosen + [rng.choice(WRITERS)]
            jobs.append((len(commands), pool.submit(try_all, memtracer, env, case, commands, path,
                                                    folder)))
        return sum(n for n, _ in jobs), sum(job.result() for _, job in jobs)


def main():
    memtracer, seeds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    env = golden.environment(memtracer)
    with tempfile.TemporaryDirectory() as folder:
        golden.make_fixture(memtracer, os.path.join(folder, "fixture.db"))
        with open(os.path.join(folder, "fixture.db"), "rb") as f:
            bases = [record(memtracer, env, folder), f.read()]
    asked = [ask_about(memtracer, env, base, seeds, len(sys.argv) > 2) for base in bases]
    n, wrong = (sum(numbers) for numbers in zip(*asked))
    print("%d answers, %d wrong" % (n, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
