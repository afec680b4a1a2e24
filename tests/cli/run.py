#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden tests of the command line: run.py [--update] MEMTRACER [CASE...]

A case is a folder with `cmd`, a line for sh in which `memtracer` is the program under test, and
what must come out: files `stdout`, `stderr` and `exit`, each missing when empty or 0. It runs in
a folder of its own with fixture.db, made from `memtracer schema` and fixture.sql. --update
writes what came out; read the difference before it is committed. `skip` in a folder is a line
for sh: the case is left out when it fails.
"""
import argparse
import difflib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUTS = ("stdout", "stderr", "exit")


def make_fixture(memtracer, path):
    schema = subprocess.run([memtracer, "schema"], check=True, capture_output=True, text=True)
    with open(os.path.join(HERE, "fixture.sql"), encoding="utf-8") as f:
        rows = f.read()
    db = sqlite3.connect(path)
    db.executescript(schema.stdout + rows)
    db.commit()
    db.close()


def environment(memtracer):
    env = {k: v for k, v in os.environ.items()
           if k not in ("NO_COLOR", "COLUMNS", "LD_PRELOAD") and not k.startswith("MEMTRACER")}
    env["PATH"] = os.path.dirname(os.path.abspath(memtracer)) + os.pathsep + env["PATH"]
    env.update(LC_ALL="C", TZ="UTC", TERM="xterm", PYTHON=sys.executable)
    return env


def run_case(case, fixture, env):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(fixture, os.path.join(folder, "fixture.db"))
        skip = os.path.join(HERE, case, "skip")
        if os.path.exists(skip) and subprocess.run(["sh", skip], cwd=folder, env=env).returncode:
            return None
        done = subprocess.run(["sh", os.path.join(HERE, case, "cmd")], cwd=folder, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return {"stdout": done.stdout, "stderr": done.stderr,
            "exit": b"%d\n" % done.returncode if done.returncode else b""}


def expected(case, name):
    path = os.path.join(HERE, case, name)
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def update(case, got):
    for name in OUTPUTS:
        path = os.path.join(HERE, case, name)
        if got[name]:
            with open(path, "wb") as f:
                f.write(got[name])
        elif os.path.exists(path):
            os.remove(path)


def differences(case, got):
    text = []
    for name in OUTPUTS:
        want = expected(case, name)
        if got[name] != want:
            lines = [t.decode("utf-8", "backslashreplace").splitlines() for t in (want, got[name])]
            text += difflib.unified_diff(*lines, "%s/%s" % (case, name), "got", lineterm="")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("memtracer")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    cases = options.cases or sorted(os.path.basename(os.path.dirname(p)) for p in
                                    (os.path.join(HERE, d, "cmd") for d in os.listdir(HERE))
                                    if os.path.exists(p))
    env = environment(options.memtracer)
    failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        fixture = os.path.join(folder, "fixture.db")
        make_fixture(options.memtracer, fixture)
        for case in cases:
            got = run_case(case, fixture, env)
            if got is None:
                skipped += 1
                continue
            if options.update:
                update(case, got)
            text = differences(case, got)
            failed += bool(text)
            print("\n".join(text), end="\n" if text else "")
    print("%d cases, %d failed, %d skipped" % (len(cases), failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
