#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The events between two samples are what two snapshots can know: diff.py DIFF_HOST [RUNS [ROUNDS
[CALLS]]]

The host writes /proc/self/maps around each sample, and where malloc's own blocks are. From two of
these lists alone, byte by byte, follows what memory_event must say between the two samples: not a
row more, not one less. The definition is in memtracer(7)."""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple

Thing = namedtuple("Thing", "base end rights shared device inode offset name block")
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (...)(.) ([0-9a-f]+) (\S+) (\d+) *(.*)")
QUERY = """SELECT e.sample, e.kind, e.base_address, e.region_size, e.protection_mask, e.file_key,
 e.offset FROM memory_event e WHERE NOT e.at_start AND e.source = 'diff'"""
OWN = """SELECT base, base + bytes FROM region r JOIN type t ON t.id = r.type
 LEFT JOIN string s ON s.id = r.file WHERE (t.name = 'tracer' OR s.text LIKE '%.db%')
 AND first_sample <= ?1 AND ifnull(last_sample >= ?2, 1)"""


def things_of(lines, blocks):
    """The mappings, cut where malloc has a block of its own."""
    found = []
    for base, end, rights, sharing, offset, device, inode, name in lines:
        at, shared = base, sharing == "s"
        for low, high in sorted(b for b in blocks if base <= b[0] < end) + [(end, end)]:
            if at < low:
                found.append(Thing(at, low, rights, shared, device, inode, offset + at - base, name,
                                   False))
            if low < high:
                found.append(Thing(low, high, rights, shared, device, inode, 0, name, True))
            at = high
    return found


def read_log(path):
    """Of each round the times around the sample, the mappings before and after it, the blocks."""
    rounds = []
    with open(path, encoding="utf-8") as log:
        for line in log:
            words = line.split()
            if words[0] == "round":
                times, lists, blocks = [], ([], []), []
                rounds.append((times, lists, blocks))
            elif words[0] == "time":
                times.append(int(words[1]))
            elif words[0] == "block":
                blocks.append((int(words[1], 16), int(words[2], 16)))
            elif not line.startswith("ffffffff"):
                m = LINE.match(line)
                lists[len(times) // 2].append((int(m[1], 16), int(m[2], 16), m[3], m[4],
                                               int(m[5], 16), m[6], int(m[7]), m[8]))
    return rounds


def same(a, b):
    """Is what both hold at an address the same thing?"""
    if not a or not b or a.shared != b.shared:
        return False
    if a.inode or b.inode:
        return (a.device, a.inode, a.offset - a.base) == (b.device, b.inode, b.offset - b.base)
    return (a.base, a.end) == (b.base, b.end) or (a.name, a.block) == (b.name, b.block)


def usable(thing):
    return thing.rights != "---"


def at(things, address):
    return next((t for t in things if t.base <= address < t.end), None)


def shrank(t, before, after):
    """Has what lay beyond a border of `t`, and belonged to the same region, left it?"""
    for inside, outside in ((t.base, t.base - 1), (t.end - 1, t.end)):
        old, beyond = at(before, inside), at(after, outside)
        if not same(old, t) or not old.base <= outside < old.end:
            continue
        if not same(old, beyond) or (usable(old) == usable(t) != usable(beyond)):
            return True
    return False


def changes(t, before, after):
    """What happened to the thing `t` of the later snapshot."""
    pieces = [(b, min(b.end, t.end) - max(b.base, t.base)) for b in before
              if b.base < t.end and t.base < b.end and same(b, t)]
    if not pieces:
        return ["MapViewFile" if t.inode or t.shared else "VirtualAlloc"]
    here = sum(n for _, n in pieces)
    kept = sum(n for b, n in pieces if usable(b) == usable(t))
    found = ["Shrink"] if shrank(t, before, after) else []
    if here < t.end - t.base or 0 < kept < here:
        found.append("Grow")
    if not kept or any(usable(b) == usable(t) and b.rights != t.rights for b, _ in pieces):
        found.append("Protect")
    return found


def expected(before, after):
    rows = []
    before_set, after_set = set(before), set(after)
    for t in after:
        if t not in before_set:
            rows += [(kind, t) for kind in changes(t, before, after)]
    for t in before:
        if t not in after_set and not any(b.base < t.end and t.base < b.end and same(t, b)
                                          for b in after):
            rows.append(("UnmapViewFile" if t.inode or t.shared else "VirtualFree", t))
    return rows


def as_row(kind, t):
    mask = "".join(r.upper() if r != "-" else "-" for r in t.rights)
    return (kind, "0x%012x" % t.base, t.end - t.base, mask, "%x" % t.inode if t.inode else None,
            t.offset if t.inode else None)


def as_told(kind, base, size, mask, key, offset):
    """Memory of no file right behind a library's data may be called that library's."""
    if not key:
        kind = {"MapViewFile": "VirtualAlloc", "UnmapViewFile": "VirtualFree"}.get(kind, kind)
    return (kind, base, size, mask, key, offset)


def overlaps(base, end, spans):
    return any(low < end and base < high for low, high in spans)


def compare(db, samples, rounds, told):
    """Rounds that were equal, differed, could not be compared; and events in all."""
    result, kinds = Counter(), Counter()
    for i in range(1, len(rounds)):
        own = db.execute(OWN, (samples[i], samples[i - 1])).fetchall()
        states = []
        for _, lists, blocks in rounds[i - 1:i + 1]:
            both = [[x for x in part if not overlaps(x[0], x[1], own)] for part in lists]
            states.append(things_of(both[0], blocks) if both[0] == both[1] else None)
        if None in states:
            result["unknown"] += 1
            continue
        want = Counter(as_row(k, t) for k, t in expected(*states))
        got = Counter(as_told(*r[1:]) for r in told.get(samples[i], [])
                      if not overlaps(int(r[2], 16), int(r[2], 16) + r[3], own))
        kinds.update(r[0] for r in want.elements())
        result["equal" if want == got else "different"] += 1
        if want != got and result["different"] <= 3:
            print("round %d\n  missing %s\n  too much %s" % (i, sorted((want - got).elements()),
                                                            sorted((got - want).elements())))
    return result, kinds


def one_run(host, rounds, calls, seed, folder):
    file, log = os.path.join(folder, "diff.db"), os.path.join(folder, "log")
    if os.path.exists(file):
        os.remove(file)
    subprocess.run([host, file, log, os.path.join(folder, "data"), rounds, calls, str(seed)],
                   check=True)
    db = sqlite3.connect(file)
    begun = db.execute("SELECT start_monotonic_ns FROM run").fetchone()[0]
    moments = db.execute("SELECT id, t_ns FROM sample").fetchall()
    told = {}
    for row in db.execute(QUERY):
        told.setdefault(row[0], []).append(row)
    states = read_log(log)
    samples = [next(s for s, t in moments if times[0] <= begun + t <= times[1])
               for times, _, _ in states]
    return compare(db, samples, states, told)


def main():
    host = os.path.abspath(sys.argv[1])
    runs, rounds, calls = sys.argv[2:5] + ["1", "200", "100"][len(sys.argv[2:5]):]
    result, kinds = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(runs)):
            found = one_run(host, rounds, calls, seed, folder)
            result += found[0]
            kinds += found[1]
    print("%d rounds equal, %d different, %d not comparable; %s" % (
        result["equal"], result["different"], result["unknown"],
        ", ".join("%s %d" % k for k in sorted(kinds.items()))))
    sys.exit(0 if not result["different"] and result["equal"] > 9 * result["unknown"] and
             len(kinds) == 7 else 1)


if __name__ == "__main__":
    main()
