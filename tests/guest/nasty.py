#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host cannot tell whether it is recorded: nasty.py NASTY MEMTRACER [PRELOAD]

Runs the program alone, with a tracer of its own, and under `memtracer run`; output and exit code
must be the same. The recordings must be whole and have seen it."""
import os
import subprocess
import sys
import tempfile


# A program that gave up its rights cannot be searched for leaks.
ENVIRONMENT = dict(os.environ,
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")


def run(command, folder):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, cwd=folder, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


def whole(memtracer, path):
    subprocess.run([memtracer, "finish", path], check=True, capture_output=True)
    ask = "SELECT sum(ticks) > 20, (SELECT count(*) FROM run) FROM sample"
    done = subprocess.run([memtracer, "sql", path, ask], check=True, capture_output=True, text=True)
    check = subprocess.run([memtracer, "sql", path, "PRAGMA integrity_check"], check=True,
                           capture_output=True, text=True)
    return done.stdout.split()[-2:] == ["1", "1"] and check.stdout.split()[-1] == "ok"


def main():
    nasty, memtracer = (os.path.abspath(p) for p in sys.argv[1:3])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        inside, own, under = (os.path.join(folder, n) for n in ("inside", "own.db", "under.db"))
        os.mkdir(inside)
        os.chmod(folder, 0o755)
        os.chmod(inside, 0o777)
        ways = [("alone", [nasty, inside], None), ("recorded", [nasty, inside, own], own)]
        if len(sys.argv) > 3:
            ways.append(("run", [memtracer, "run", "-o", under, "--interval", "10", "--", nasty,
                                 inside], under))
        expected = None
        for name, command, path in ways:
            got = run(command, folder)
            print("== %s: exit %d\n%s%s" % ((name,) + got))
            expected = expected or got
            if got != expected:
                print("FAILED: %s differs from alone" % name)
                failed += 1
            if path and not whole(memtracer, path):
                print("FAILED: %s is not whole" % path)
                failed += 1
    return 1 if failed or expected[0] != 42 else 0


if __name__ == "__main__":
    sys.exit(main())
