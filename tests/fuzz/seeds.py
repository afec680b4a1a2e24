#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds that can be made: seeds.py [FOLDER]

Files `seed-*` below FOLDER (default: corpus beside this script), a folder a target, from tests/data
and from what is known of the formats. Files with other names were found by fuzzing and stay.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "linux")
SEED_BYTES_MOST = 3000
DB_CHANGES = {
    "sound": b"",
    "cut": struct.pack("<I", 5000)[:3] + b"\xff",
    "cut-header": struct.pack("<I", 60)[:3] + b"\xff",
    "version": struct.pack("<I", 60)[:3] + b"\x04\x00\x00\x00\x63",
    "id": struct.pack("<I", 68)[:3] + b"\x01\x00",
    "page-1": struct.pack("<I", 100)[:3] + b"\x08" + b"\xff" * 8,
    "page-9": struct.pack("<I", 9 * 1024)[:3] + b"\x08" + b"\x05" * 8,
}
DB_SQL = {
    "views": "DROP VIEW vmmap; CREATE VIEW vmmap AS SELECT * FROM memory JOIN vmmap;",
    "cyclic": "DROP VIEW memory; DROP VIEW vmmap; CREATE VIEW memory AS SELECT * FROM vmmap;"
              "CREATE VIEW vmmap AS SELECT * FROM memory;",
    "endless": "DROP VIEW memory; CREATE VIEW memory AS WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL"
               " SELECT a FROM x) SELECT a FROM x;",
    "loose": "DROP TABLE run; CREATE TABLE run(id, label, state); INSERT INTO run VALUES"
             "(NULL, x'00', 1e300), ('a', -1, NULL);",
    "null": "DROP TABLE type; CREATE TABLE type(id, name, description);"
            "INSERT INTO type VALUES(NULL, NULL, NULL), (2, NULL, 5), (3, x'ff', 5);",
    "extremes": "UPDATE level SET ws = -9223372036854775808, size = 9223372036854775807;",
    "times": "UPDATE sample SET t_ns = 9223372036854775807 - rowid, wall_ns = -rowid;",
    "trigger": "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM sample; END;",
    "marks": "UPDATE mark SET label = zeroblob(100000);",
}
ARGUMENTS = [
    "show r.db", "show r.db --json", "show r.db --regions --type heap", "show r.db --summary",
    "show r.db --at 1.5s --run 1", "timeline r.db --column ws", "timeline r.db --json",
    "steps r.db --min 1K --json", "verdict r.db --json --limit 2G", "check r.db --allow heap",
    "diff r.db 1s 2s", "diff r.db r.db --json", "marks r.db --run 1", "events r.db --all --json",
    "events r.db --type heap --bytes", "where r.db 0x7f0000400010", "types r.db", "info r.db --json",
    "sql r.db SELECT\t1", "sql r.db samples --json", "schema", "finish r.db",
    "import --csv s.csv -o n.db --measure committed", "run -o x.db -- a b", "help show",
    "record --pid 1 -o x.db --duration 1m30s --interval 5", "--version", "run --json -ox.db a",
]
HEAP = 0x7f5e40000000


def lists():
    for case in sorted(os.listdir(DATA)):
        for name in ("maps", "smaps"):
            path = os.path.join(DATA, case, name)
            if os.path.exists(path):
                with open(path, "rb") as f:
                    text = f.read()[:SEED_BYTES_MOST]
                yield "maps", case + "-" + name, (b"\xff" if name == "smaps" else b"\xfe") + text
                if name == "smaps":
                    yield "smaps", case, text.split(b"\n", 1)[-1][:1200]


def counters():
    yield "status", "status", (
        b"Name:\tx\nState:\tS (sleeping)\nPid:\t12\nVmPeak:\t  123 kB\nVmSize:\t 120 kB\n"
        b"VmLck:\t 0 kB\nVmHWM:\t 90 kB\nVmRSS:\t 80 kB\nRssAnon:\t 40 kB\nRssFile:\t 40 kB\n"
        b"RssShmem:\t 0 kB\nVmData:\t 9 kB\nVmStk:\t 8 kB\nVmPTE:\t 7 kB\nVmSwap:\t 6 kB\n"
        b"Threads:\t3\n")
    yield "status", "stat", b"12 (a) b) (c) S 1 1 1 0 -1 4194304 5 6 7 8 9 10 11 12 20 0 3 0 99 1 2"
    yield "status", "large", b"VmSize:\t18446744073709551615 kB\nVmRSS: -1 kB\nThreads:\n"


def pages():
    interval = lambda hole, n, name, flags: struct.pack("<BHBB", hole, n - 1, name, flags)
    for how in (0, 1):
        for name in range(5):
            body = bytes([how, 3]) + interval(1, 100, name, 0) + interval(0, 20, 2, 0) + \
                interval(63, 64, 1, 1)
            body += b"\x80\x40\x00\xa1\x04" * 48 + b"\x00\x04\x08\x00\x02\x03\x10\x00" * 12
            yield "pagemap", "%d-%d" % (how, name), body


def heaps():
    region = lambda name, rights, gap, n: struct.pack("<BBHH", name, rights, gap, n - 1)
    word = lambda at, value: b"\xf0" + struct.pack("<Q", at) + b"\x00" + struct.pack("<Q", value)
    arena = bytes([1, 0, 2]) + region(0, 3, 0, 0x21) + region(0, 0, 0, 0x4000 - 0x21)
    for i, value in enumerate((HEAP + 0x30, 0, 0x21000, 0x21000, 0x1000)):
        arena += word(HEAP + 8 * i, value)
    yield "heaps", "arena", arena
    chunks = bytes([1, 0, 1]) + region(0, 3, 0, 0x100)
    for at, value in ((0, 0), (8, 0x40002), (0x40000, 1), (0x40008, 0xbfff2)):
        chunks += word(HEAP + at, value)
    yield "heaps", "chunks", chunks
    for runtime in range(6):
        yield "heaps", "runtime-%d" % runtime, bytes([2, 1 << runtime]) + chunks[2:]
    image = bytes([1, 0, 2]) + region(4, 5, 0, 16) + region(4, 3, 0, 4)
    for i, value in enumerate((0x00010102464c457f, 0, 0x00000001003e0003, 0, 64, 0, 0x38004000000000,
                               1, 0x500000001, 0, 0, 0, 0x4000, 0x4000, 0x1000)):
        image += word(HEAP + 8 * i, value)
    yield "heaps", "image", image


def options():
    fields = struct.pack("<IIII QQ QQQ II", 72, 0, 1000, 1000, 0, 0, 0, 0, 0, 0, 0)
    yield "options", "defaults", struct.pack("<H", 72) + b"label\0app-%p.db\0" + fields
    yield "options", "short", struct.pack("<H", 8) + b"\0a%%b\0" + fields
    yield "options", "newer", struct.pack("<H", 100) + b"x\0%q\0" + fields + b"\0" * 20 + b"\1"
    yield "options", "wrong", struct.pack("<H", 72) + b"\0\0" + b"\xff" * 72


def series():
    yield "series", "plain", b"t_ns,heap,stack\n1,100,200\n2,,300\n5,300,300\n"
    yield "series", "marks", (b"t_ns,heap,heap.swap,regions,=heap_in_use,own\n1000,1,2,3,4,5\n"
                              b"2000000000,2,3,4,5,6\n3000000000,7,8,9,9,9\n\x00"
                              b"1500,reload\n2500000000,\"x\"\n\x002000000000\n")
    yield "series", "wrong", b"t_ns,heap\nx,1\n\0,\n\0-1\n"
    yield "series", "extremes", (b"t_ns,heap\n-9223372036854775808,9223372036854775807\n"
                                 b"9223372036854775807,0\n")


def files():
    for name, body in DB_CHANGES.items():
        yield "file", name, body + b"\0"
    for name, sql in DB_SQL.items():
        yield "file", "sql-" + name, b"\0\0\0\xfe" + struct.pack("<H", len(sql)) + sql.encode()


def arguments():
    for i, line in enumerate(ARGUMENTS):
        words = [w.replace("\t", " ") for w in line.split(" ")]
        yield "arguments", "%02d" % i, "\n".join(words).encode()


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
    for make in (lists, counters, pages, heaps, options, series, files, arguments):
        for target, name, body in make():
            folder = os.path.join(top, target)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "seed-" + name), "wb") as f:
                f.write(body)


if __name__ == "__main__":
    main()
