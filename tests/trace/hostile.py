#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large calls in signal handlers, children, constructors: hostile.py MEMTRACER HOSTILE_HOST

With each allocator that is there: the host must end well, the file must be whole, and no event may
be a child's. The ring may be too small for it: then what is missing is counted."""
import ctypes.util
import os
import sqlite3
import subprocess
import sys
import tempfile

ALLOCATORS = ("jemalloc", "tcmalloc_minimal", "mimalloc")


def check(memtracer, host, allocator):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "hostile.db")
        env = dict(os.environ, LD_PRELOAD=allocator or "")
        subprocess.run([memtracer, "run", "--stacks", "-o", file, "--interval", "50", "--", host],
                       check=True, env=env, timeout=100)
        db = sqlite3.connect(file)
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        events, tids = db.execute("SELECT count(*), count(DISTINCT tid) FROM event").fetchone()
        lost = db.execute("SELECT ifnull(sum(events), 0) FROM event_loss").fetchone()[0]
        state = db.execute("SELECT state FROM run").fetchone()[0]
        print("%s: %d events of %d threads, %d lost, %s" %
              (allocator or "C library", events, tids, lost, state))
        assert events > 10000 and tids <= 5 and state in ("stopped", "degraded"), state


def main():
    memtracer, host = (os.path.abspath(a) for a in sys.argv[1:3])
    check(memtracer, host, None)
    for name in ALLOCATORS:
        library = ctypes.util.find_library(name)
        if library:
            check(memtracer, host, library)


if __name__ == "__main__":
    main()
