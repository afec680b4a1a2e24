#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exact events of a program are the calls it made: truth.py MEMTRACER TRUTH_HOST [CALLS [THREADS
[PACE [LD_PRELOAD]]]]

The host writes down what it did; each thread's events in the file must be the same list, none
missing, none more, and no address may be taken twice without being given back between."""
import os
import sqlite3
import subprocess
import sys
import tempfile

MIN = 131072
# An allocator that is preloaded maps memory by calls of its own: they are no calls of the host.
HOSTS = """(SELECT f.stack FROM stack_frame f JOIN frame n ON n.id = f.frame JOIN code c ON c.id = n.code
 JOIN string s ON s.id = c.path WHERE f.depth = 0 AND s.text LIKE '%truth_host')"""
EVENTS = """SELECT e.tid, k.name, e.address, e.bytes, ifnull(e.old_address, 0),
 ifnull(e.old_bytes, 0), ifnull(e.protection, 0) FROM event e JOIN event_kind k ON k.id = e.kind
 WHERE NOT e.flags & 1 AND e.stack IN """ + HOSTS + " ORDER BY e.id"


def expected(path):
    lists = {}
    with open(path, encoding="ascii") as log:
        for line in log:
            tid, name, address, size, old, old_size, rights = line.split()
            lists.setdefault(int(tid), []).append(
                (name, int(address, 16), int(size), int(old, 16), int(old_size), int(rights)))
    return lists


def recorded(db, tids):
    lists = {tid: [] for tid in tids}
    for row in db.execute(EVENTS):
        if row[0] in lists:
            lists[row[0]].append(tuple(row[1:]))
    return lists


def check_order(db):
    """In order of time an address is given back before it is taken again, whatever the thread."""
    taken, wrong = set(), 0
    moments = []
    query = """SELECT t_ns, began_ns, effect, address, bytes, old_address, old_bytes
               FROM event e JOIN event_kind k ON k.id = e.kind WHERE NOT flags & 1
               AND stack IN """ + HOSTS
    for t_ns, began_ns, effect, address, size, old, old_size in db.execute(query):
        if effect == "TAKE" or effect == "MOVE":
            moments.append((t_ns, 1, address))
        if effect == "GIVE":
            moments.append((t_ns, 0, address))
        if effect == "MOVE" and old_size:
            moments.append((began_ns, 0, old))
    for _, takes, address in sorted(moments):
        if takes:
            wrong += address in taken
            taken.add(address)
        else:
            taken.discard(address)
    return wrong


def main():
    memtracer, host = (os.path.abspath(a) for a in sys.argv[1:3])
    calls, threads, pace = (sys.argv[3:6] + ["20000", "4", "10000"][len(sys.argv[3:6]):])
    env = dict(os.environ, LD_PRELOAD=sys.argv[6] if len(sys.argv) > 6 else "")
    with tempfile.TemporaryDirectory() as folder:
        log, file = os.path.join(folder, "log"), os.path.join(folder, "truth.db")
        subprocess.run([memtracer, "run", "--stacks=%d" % MIN, "-o", file, "--interval", "200", "--",
                        host, log, str(int(calls) // int(threads)), threads, pace, str(MIN)],
                       check=True, env=env)
        db = sqlite3.connect(file)
        want = expected(log)
        got = recorded(db, want)
        lost = db.execute("SELECT ifnull(sum(events), 0) FROM event_loss").fetchone()[0]
        cut = db.execute("SELECT count(*) FROM event WHERE stack IS NULL").fetchone()[0]
        total, same = sum(map(len, want.values())), 0
        for tid, rows in want.items():
            if rows == got[tid]:
                same += len(rows)
                continue
            at = next((i for i, (a, b) in enumerate(zip(rows, got[tid])) if a != b),
                      min(len(rows), len(got[tid])))
            print("thread %d differs at %d: %s, not %s" % (
                tid, at, rows[at:at + 1], got[tid][at:at + 1]))
        wrong = check_order(db)
        print("%d calls, %d in equal lists, %d lost, %d without a stack, %d out of order" %
              (total, same, lost, cut, wrong))
    sys.exit(0 if same == total and not lost and not cut and not wrong else 1)


if __name__ == "__main__":
    main()
