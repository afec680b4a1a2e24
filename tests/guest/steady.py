#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A22: nothing is allocated or mapped in steady state: steady.py STEADY [MEMTRACER PRIVATE]

A SQLite that the host shares takes its blocks from malloc, and nobody else does; one that is the
preload library's own (PRIVATE is 1) takes none."""
import os
import re
import subprocess
import sys
import tempfile


def counted(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=200, check=True)
    print(" ".join(command), done.stdout, done.stderr)
    return [int(n) for n in re.findall(r" (\d+)", done.stdout.splitlines()[-1])]


def main():
    steady = os.path.abspath(sys.argv[1])
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        found, _, others, maps = counted([steady, os.path.join(folder, "own.db")])
        failed |= (found, others, maps) != (1, 0, 0)
        if len(sys.argv) > 2:
            found, by_sqlite, others, maps = counted(
                [os.path.abspath(sys.argv[2]), "run", "-o", os.path.join(folder, "under.db"),
                 "--interval", "10", "--", steady])
            failed |= (found, others, maps) != (1, 0, 0) or (sys.argv[3] == "1" and by_sqlite != 0)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
