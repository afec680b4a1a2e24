#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Managed runtimes against their own reports: runtimes.py MEMTRACER [--regions] [NAME...]

Each program fills a heap, prints what its runtime says of itself as one line of JSON, and waits.
Then its recording is read. The runtime's report is the measure:

- managed    what the runtime holds for its objects and its code, resident where it knows that
- right      1 - (|managed_heap - managed| + private) / resident: what lies in the wrong type, or
             in none, counts against it. Memory of type tracer is left out.

Expected is at least 95 %. A runtime that is not installed is skipped with its package's name. A
program that links nothing dynamically (Go) is recorded from outside. ZGC of Java 17 maps its heap
three times: ws counts each mapping, pss counts each page once, so there pss is compared; it is
known in the first look of a recording, so that program is recorded from outside, too.
Exit 1 when a program falls short.
"""
import argparse
import array
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

KB = 1024
WANTED = 0.95

JAVA = """
import java.util.*;
public class Busy {
    public static void main(String[] a) throws Exception {
        Map<Integer, byte[]> live = new HashMap<>();
        Random r = new Random(1);
        for (int i = 0; i < 2000000; i++)
            live.put(r.nextInt(20000), new byte[r.nextInt(8192)]);
        System.out.println("{}");
        System.out.flush();
        System.in.read();
        System.exit(live.size() > 0 ? 0 : 1);
    }
}
"""

NODE = """
const live = new Map();
for (let i = 0; i < 400000; i++) live.set(i % 50000, {s: 'x' + i, a: [i, i + 1]});
const buffers = [];
for (let i = 0; i < 200; i++) buffers.push(Buffer.alloc(65536, 1));
globalThis.keep = [live, buffers];
setTimeout(() => {
    const s = require('v8').getHeapStatistics();
    console.log(JSON.stringify({low: s.total_physical_size, high: s.total_heap_size +
        s.total_heap_size_executable}));
}, 300);
process.stdin.on('data', () => process.exit(0));
"""

PYTHON = """
import json, os, sys, tempfile
keep = [(i, str(i), [i]) for i in range(300000)][:200000]
blocks = [bytes(100000 + i) for i in range(100)]
with tempfile.TemporaryFile() as f:
    saved = os.dup(2)
    os.dup2(f.fileno(), 2)
    sys._debugmallocstats()
    os.dup2(saved, 2)
    f.seek(0)
    text = f.read().decode()
import re
n = [int(m.replace(',', '')) for m in
     re.search(r'(\\d+) arenas \\* (\\d+) bytes/arena', text).groups()]
print(json.dumps({"managed": n[0] * n[1]}), flush=True)
sys.stdin.read(1)
"""

RUBY = """
require 'json'
keep = (0...400000).map { |i| [i, i.to_s] }
GC.start
keep = keep[0, 300000]
s = GC.stat
page = defined?(GC::INTERNAL_CONSTANTS) && GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || 65536
puts JSON.generate({managed: s[:heap_allocated_pages] * page})
STDOUT.flush
STDIN.read(1)
"""

LUA = """
local keep = {}
for i = 1, 300000 do keep[i] = {i, tostring(i)} end
local s = 0
for i = 1, 10000000 do s = s + i % 7 end
print(string.format('{"managed": %d}', collectgarbage("count") * 1024))
io.stdout:flush()
io.read(1)
"""

GO = """
package main

import (
    "fmt"
    "os"
    "runtime"
)

var keep [][]byte

func main() {
    for i := 0; i < 200000; i++ {
        b := make([]byte, 100+i%2000)
        for j := range b {
            b[j] = 1
        }
        if i%2 == 0 {
            keep = append(keep, b)
        }
    }
    var m runtime.MemStats
    runtime.ReadMemStats(&m)
    fmt.Printf("{\\"low\\": %d, \\"high\\": %d}\\n", m.HeapInuse+m.StackInuse,
        m.Sys-m.HeapReleased)
    os.Stdin.Read(make([]byte, 1))
}
"""


def mappings(pid):
    """(base, end, resident bytes) of each mapping."""
    found = []
    with open(f"/proc/{pid}/smaps") as f:
        for line in f:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
            if m:
                found.append([int(m.group(1), 16), int(m.group(2), 16), 0])
            elif line.startswith("Rss:"):
                found[-1][2] = KB * int(line.split()[1])
    return found


def resident(pid, base, end):
    """Resident bytes of a range: the pages present, but no more than Rss, which leaves out the
    page of zeroes that memory only read from is given."""
    page, total = 4096, 0
    with open(f"/proc/{pid}/pagemap", "rb") as f:
        for low, high, rss in mappings(pid):
            low, high = max(low, base), min(high, end)
            if low < high:
                f.seek(low // page * 8)
                entries = array.array("Q", f.read((high - low) // page * 8))
                total += min(rss, page * sum(e >> 63 for e in entries))
    return total


class Program:
    column = "ws"
    outside = False

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def managed(self, said, pid):
        """Bytes the runtime says it holds, given its line; a pair where it only tells bounds."""
        return said["managed"]


class Java(Program):
    needs = ["java", "javac", "jcmd"]
    package = "openjdk-17-jdk-headless"
    flags = ["-XX:+UseG1GC"]
    kinds = ("Java Heap", "Class", "Code", "GC", "Metaspace")

    def command(self):
        source = self.write("Busy.java", JAVA)
        subprocess.run(["javac", "-d", self.folder, source], check=True)
        return ["java", "-Xmx256m", *self.flags, "-XX:NativeMemoryTracking=detail", "-cp",
                self.folder, "Busy"]

    def managed(self, said, pid):
        """Native memory tracking tells which ranges are committed for what; what is resident of
        them is counted here."""
        text = subprocess.run(["jcmd", str(pid), "VM.native_memory", "detail"],
                              capture_output=True, text=True).stdout
        kind, total = None, 0
        for line in text.splitlines():
            m = re.match(r"(\s*)\[(0x\w+) - (0x\w+)\] (reserved and committed|reserved|committed) "
                         r"\d+KB(?: for (.+?))?(?: from)?$", line.rstrip())
            if not m:
                continue
            kind = m.group(5) or kind
            if m.group(4) == "committed" and kind in self.kinds:
                total += resident(pid, int(m.group(2), 16), int(m.group(3), 16))
        return total


class Zgc(Java):
    column = "pss"
    outside = True
    flags = ["-XX:+UseZGC"]


class Node(Program):
    needs = ["node"]
    package = "nodejs"

    def command(self):
        return ["node", self.write("busy.js", NODE)]

    def managed(self, said, pid):
        """Its heap: what it touched at least, what it committed at most."""
        return said["low"], said["high"]


class Python(Program):
    needs = ["/usr/bin/python3"]
    package = "python3"

    def command(self):
        return ["/usr/bin/python3", self.write("busy.py", PYTHON)]


class Ruby(Program):
    needs = ["ruby"]
    package = "ruby"

    def command(self):
        return ["ruby", self.write("busy.rb", RUBY)]

    def managed(self, said, pid):
        """Its pages; the transient heap of Ruby up to 3.2, 32 MiB at most, is in no report."""
        return said["managed"], said["managed"] + 32 * KB * KB


class Lua(Program):
    needs = ["luajit"]
    package = "luajit"

    def command(self):
        return ["luajit", self.write("busy.lua", LUA)]

    def managed(self, said, pid):
        """What it gave out; free space in the segments of its allocator is in no report, an
        eighth is allowed for it."""
        return said["managed"], said["managed"] * 9 // 8


class Go(Program):
    needs = ["go"]
    package = "golang-go"
    outside = True

    def command(self):
        source, binary = self.write("busy.go", GO), os.path.join(self.folder, "busy")
        subprocess.run(["go", "build", "-o", binary, source], check=True,
                       env={**os.environ, "GOCACHE": os.path.join(self.folder, "cache"),
                            "GO111MODULE": "off"})
        return [binary]

    def managed(self, said, pid):
        """What is in use at least, what it has from the system and not given back at most: it does
        not know what of that was touched."""
        return said["low"], said["high"]


PROGRAMS = {"java-g1": Java, "java-zgc": Zgc, "node": Node, "go": Go, "python": Python,
            "ruby": Ruby, "luajit": Lua}


def look(db):
    return contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True))


def levels(db, column):
    with look(db) as c:
        found = dict(c.execute(f"SELECT type, coalesce({column}, 0) FROM level_now"))
    return {t: found.get(t, 0) for t in ("managed_heap", "heap", "stack", "image", "private",
                                         *found) if t != "tracer"}


def show_regions(db):
    with look(db) as c:
        for row in c.execute("""
                SELECT type, ifnull(owner, '-'), confidence, count(*), sum(bytes) / 1024,
                       sum(ws) / 1024 AS ws FROM region_now
                WHERE type NOT IN ('image', 'mapped_file', 'tracer')
                GROUP BY 1, 2, 3 ORDER BY ws DESC LIMIT 16"""):
            print("      %-13s %-26s %s %4d %8d KiB, resident %7s" % row)
        for row in c.execute("""
                SELECT base_address, end_address, protection, ws / 1024 FROM region_now
                WHERE type = 'private' AND ws > 16384 ORDER BY ws DESC LIMIT 30"""):
            print("        %s-%s %s resident %d KiB" % row)


def record(memtracer, program, db):
    """Runs the program up to its line, then records a while; returns process, recorder, line."""
    command = program.command()
    if not program.outside:
        command = [memtracer, "run", "-o", db, "--interval", "200", "--"] + command
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    line = process.stdout.readline()
    recorder = None
    if program.outside:
        recorder = subprocess.Popen([memtracer, "record", "-o", db, "--interval", "200", "--pid",
                                     str(process.pid)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
    return process, recorder, line


def finish(process, recorder):
    if recorder:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=30)
    process.stdin.write("x")
    process.stdin.close()
    process.wait(timeout=60)


def check(name, memtracer, folder, regions):
    program = PROGRAMS[name](folder)
    db = os.path.join(folder, name + ".db")
    process, recorder, line = record(memtracer, program, db)
    time.sleep(1)
    with look(db) as c:
        pid = c.execute("SELECT pid FROM run ORDER BY id DESC").fetchone()[0]
    managed = program.managed(json.loads(line[line.index("{"):]), pid)
    time.sleep(3)
    types = levels(db, program.column)
    if regions:
        show_regions(db)
    finish(process, recorder)
    total = sum(types.values())
    low, high = managed if isinstance(managed, tuple) else (managed, managed)
    managed = min(max(types["managed_heap"], low), high)
    wrong = abs(types["managed_heap"] - managed) + types["private"]
    right = 1 - wrong / total
    print("%-4s %-9s managed_heap %8d KiB, runtime says %8d; heap %7d, stack %5d, image %6d, "
          "private %5d; of %7d KiB %s right %.1f %%" %
          ("ok" if right >= WANTED else "FAIL", name, types["managed_heap"] // KB, managed // KB,
           types["heap"] // KB, types["stack"] // KB, types["image"] // KB,
           types["private"] // KB, total // KB, program.column, 100 * right), flush=True)
    return right >= WANTED


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("memtracer")
    ap.add_argument("names", nargs="*", default=list(PROGRAMS))
    ap.add_argument("--regions", action="store_true", help="list what is claimed, and by whom")
    a = ap.parse_args()
    good = True
    for name in a.names:
        missing = [n for n in PROGRAMS[name].needs if not shutil.which(n)]
        if missing:
            print(f"skip {name}: {', '.join(missing)} not found (package {PROGRAMS[name].package})")
            continue
        with tempfile.TemporaryDirectory(prefix="memtracer-runtimes-") as folder:
            good &= check(name, a.memtracer, folder, a.regions)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
