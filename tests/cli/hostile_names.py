#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names made by others, in every command: hostile_names.py MEMTRACER

Each name of a table takes the place of every path, label, description, thread, module and mark of
the fixture. No byte of it reaches a terminal that could move its cursor; JSON is UTF-8 and JSON,
and gives the name back; the same words go for a name in the arguments and in the file's own path.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import hostile_files
import run as golden

NAMES = {
    "ANSI": b"\x1b[2J\x1b]0;owned\x07\x9b31m",
    "control characters": bytes(range(1, 32)) + b"\x7f",
    "newline": b"one\nmemtracer: forged sentence\r\n",
    "quotes": b"'; DROP TABLE run; --\"\\",
    "markup": b"</script><script>alert(1)</script>&<!--",
    "invalid UTF-8": b"a\xff\xfe\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80z\xe2\x82",
    "C1 and bidi": "a\u0085\u009b\u202e\u2066\u200f\ufeff\U000e0041z".encode(),
    "formats": b"%s%n%p%1000000d{0}$(id)`id`",
    "very long": b"x" * 5000,
    "empty": b"",
}
COLUMNS = {"run": ("label", "exe", "name", "host", "state_detail"), "mark": ("label",),
           "type": ("description",), "string": ("text",), "thread": ("name",)}
# A file name holds 255 on Linux.
PATH_BYTES_MOST = 200


def columns_of(db):
    for table, names in COLUMNS.items():
        have = {row[1]: row[2] for row in db.execute("PRAGMA table_info(%s)" % table)}
        for name in names:
            if have.get(name) == "TEXT":
                yield table, name


def rename(base, path, name):
    with open(path, "wb") as f:
        f.write(base)
    db = sqlite3.connect(path)
    for table, column in columns_of(db):
        unique = table == "string"  # they are told apart by their text
        db.execute("UPDATE OR IGNORE %s SET %s = CAST(? AS TEXT) %s" %
                   (table, column, "|| id" if unique else ""), (name,))
    db.commit()
    db.close()


def terminal_is_safe(out):
    """Without a byte of a control, C1 or bidi character; bytes that are no UTF-8 are none."""
    text = out.decode("utf-8", "strict")
    wrong = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or
             0x200b <= ord(c) <= 0x200f or 0x2028 <= ord(c) <= 0x202e or
             0x2060 <= ord(c) <= 0x206f or ord(c) == 0xfeff or ord(c) >= 0xe0000]
    return not wrong and "\nmemtracer: forged" not in text


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def ask(memtracer, env, arguments):
    done = subprocess.run([memtracer] + arguments, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=hostile_files.TIME_LIMIT_S)
    try:
        if done.returncode not in (0, 1, 2, 3, 4):
            return "exit code %d" % done.returncode
        if not terminal_is_safe(done.stdout + done.stderr):
            return "a terminal would obey: %r" % (done.stdout + done.stderr)[:300]
        if b"--json" in arguments and arguments[0] != b"export" and done.returncode not in (1, 2):
            json.loads(done.stdout.decode("utf-8", "strict"))
    except ValueError as e:
        return "its output is broken: %s" % e
    return None


def questions(name, path):
    """Arguments, with the name in the file, then in their own words."""
    for command in hostile_files.READERS:
        if command not in hostile_files.DATA:
            yield [os.fsencode(w) for w in hostile_files.arguments(command, os.fsdecode(path), "")]
    for words in ([b"show", name], [b"show", path, b"--at", name], [b"show", path, b"--type", name],
                  [b"timeline", path, b"--column", name], [b"check", path, b"--allow", name],
                  [b"sql", path, name], [b"where", path, name], [b"diff", path, name], [name],
                  [b"help", name], [b"show", path, b"--" + name], [b"events", path, b"--type", name],
                  [b"import", b"--csv", name, b"-o", path + b"2"], [b"finish", name],
                  [b"run", b"-o", path + b"2", b"--", b"./" + name], [b"marks", path, name]):
        if b"\0" not in name:
            yield words


def gives_names_back(memtracer, env, name, path):
    done = subprocess.run([memtracer, b"marks", path, b"--json"], env=env, capture_output=True)
    got = set(strings(json.loads(done.stdout.decode("utf-8", "strict"))))
    return name.decode("utf-8", "replace") in got


def try_name(memtracer, env, base, case, folder):
    name = NAMES[case]
    part = name.replace(b"/", b"_")[:PATH_BYTES_MOST]
    path = os.path.join(os.fsencode(folder), b"x" + part + os.fsencode("%d.db" % len(case)))
    rename(base, os.path.join(folder, case + ".made"), name)
    os.rename(os.path.join(folder, case + ".made"), path)
    n = wrong = 0
    for arguments in questions(name, path):
        problem = ask(memtracer, env, arguments)
        n += 1
        if problem:
            wrong += 1
            print("%s: %r: %s" % (case, arguments[:4], problem), flush=True)
    if case != "invalid UTF-8" and not gives_names_back(memtracer, env, name, path):
        wrong += 1
        print("%s: marks --json does not give the name back" % case, flush=True)
    return n, wrong


def main():
    memtracer = os.path.abspath(sys.argv[1])
    env = golden.environment(memtracer)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        golden.make_fixture(memtracer, os.path.join(folder, "fixture.db"))
        with open(os.path.join(folder, "fixture.db"), "rb") as f:
            base = f.read()
        env["LC_ALL"] = "C.UTF-8"
        jobs = [pool.submit(try_name, memtracer, env, base, case, folder) for case in NAMES]
        n, wrong = (sum(numbers) for numbers in zip(*(job.result() for job in jobs)))
    print("%d answers, %d wrong" % (n, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
