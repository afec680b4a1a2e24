#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every query that is printed somewhere runs: check_queries.py ROOT

Takes the SELECTs out of memtracer(7), README.md, the examples' opening comments, scripts/demo and
the comments of the views, and prepares each against the schema. Exit 77 = SQLite is too old.
"""
import os
import re
import sqlite3
import sys

SCHEMA = ("tables", "views")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def from_manual(text):
    """Queries of .Dl lines, where a line that begins with a blank goes on, and of literals."""
    lines = re.sub(r"\n\.Dl \\ ", " ", text)
    yield from re.findall(r"^\.Dl (SELECT .*?);?$", lines, re.M)
    for block in re.findall(r"^\.Bd -literal.*?\n(SELECT.*?);?\n\.Ed$", text, re.M | re.S):
        yield block


def from_comments(text):
    """Queries quoted behind `sqlite3 … file.db`, also over two lines of a C comment."""
    text = re.sub(r"\n \*? +", " ", text)
    for _, query in re.findall(r"sqlite3 (?:-box )?\S+ (['\"])(SELECT .*?)\1(?:\s|$)", text):
        yield query


def from_views(text):
    text = re.sub(r"\n--    *(?=\w)", " ", text.replace("\n--   SELECT", "\n@SELECT"))
    yield from re.findall(r"^@(SELECT [^;]*);", text, re.M)


def queries(root):
    for query in from_manual(read(root, "man/memtracer.7")):
        yield "man/memtracer.7", query
    examples = [n for n in os.listdir(os.path.join(root, "examples")) if n.endswith(".c")]
    for path in ["README.md"] + ["examples/" + n for n in sorted(examples)]:
        for query in from_comments(read(root, path)):
            yield path, query
    for query in re.findall(r"^    (SELECT [^;]*);", read(root, "README.md"), re.M):
        yield "README.md", query
    for query in re.findall(r'^ask "(SELECT .*)"', read(root, "scripts/demo"), re.M):
        yield "scripts/demo", query
    for query in from_views(read(root, "lib/record/schema/views.sql")):
        yield "lib/record/schema/views.sql", query


def main():
    root = sys.argv[1]
    if sqlite3.sqlite_version_info < (3, 37):
        print("skipped: SQLite", sqlite3.sqlite_version)
        sys.exit(77)
    db = sqlite3.connect(":memory:")
    for name in SCHEMA:
        db.executescript(read(root, "lib/record/schema/%s.sql" % name))
    count = failed = 0
    for path, query in queries(root):
        count += 1
        try:
            db.execute(query).fetchall()
        except sqlite3.Error as error:
            failed += 1
            print("%s: %s: %s" % (path, error, query))
    print("%d queries, %d do not run" % (count, failed))
    sys.exit(1 if failed or not count else 0)


main()
