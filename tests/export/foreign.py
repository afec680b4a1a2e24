#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`memtracer import` of what other tools write: foreign.py MEMTRACER

Files as psrecord, prmon and mprof document them, with known numbers; mprof itself where it is
installed (Debian package python3-memory-profiler); files that are wrong; an interrupt.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import ask, check, finish

MIB = 1 << 20
STEP = 52


def held(minute):
    """MiB of a process that keeps STEP at each twentieth minute."""
    return 100 + minute % 3 + minute // 20 * STEP


def psrecord(f, uss=False):
    names = ["Elapsed time", "CPU (%)", "Real (MB)", "Virtual (MB)"] + ["USS (MB)"] * uss
    f.write("# " + " ".join(n.center(12) for n in names) + "\n")
    for i in range(120):
        values = [i * 60 + 0.004, 3.5, held(i) + 0.25, 900 + i] + [held(i)] * uss
        f.write(" ".join("%12.3f" % v for v in values) + "\n")


def prmon(f):
    f.write("Time\tnprocs\tnthreads\tgpufbmem\tpss\trss\tswap\tvmem\twtime\n")
    for i in range(120):
        f.write("\t".join(str(v) for v in (1527669447 + i * 60, 2, 7, 0, held(i) * 1000,
                                            held(i) * 1024, 4, 1 << 20, i * 60)) + "\n")


def mprof(f):
    f.write("CMDLINE python3 server.py\n")
    for i in range(120):
        f.write("MEM %.6f %.4f\n" % (held(i) + 0.5, 1527669447 + i * 60))
        f.write("CHLD 0 %.6f %.4f\n" % (i, 1527669447 + i * 60 + 0.5))
    f.write("FUNC load data %.4f %.4f %.4f %.4f 0\n" % (100, 1527669447 + 30, 101, 1527669447 + 95))


def run(memtracer, *options):
    return subprocess.run([memtracer, *options], capture_output=True, text=True)


def take(memtracer, folder, kind, write):
    text, db = os.path.join(folder, kind + ".txt"), os.path.join(folder, write.__name__ + ".db")
    with open(text, "w", encoding="utf-8") as f:
        write(f)
    done = run(memtracer, "import", "--" + kind, text, "-o", db, "--label", kind)
    check(done.returncode == 0, kind + ": " + done.stderr)
    said = run(memtracer, "verdict", db)
    check(said.returncode == 3 and "process grows in steps of 52" in said.stdout,
          kind + ": " + said.stdout)
    done = run(memtracer, "report", db, "-o", db + ".html")
    check(done.returncode == 0 or "built without" in done.stderr, kind + ": " + done.stderr)
    return db


def levels(db, columns, kind="process"):
    return ask(db, "SELECT t_s, %s FROM memory WHERE type = ? ORDER BY t_s" % columns, kind)


def known_files(memtracer, folder):
    db = take(memtracer, folder, "psrecord", psrecord)
    check(levels(db, "ws, size, private") == [
        (i * 60.0, int((held(i) + 0.25) * MIB), (900 + i) * MIB, None) for i in range(120)],
        "psrecord: %s" % levels(db, "ws, size, private")[:3])

    def with_uss(f):
        psrecord(f, True)
    db = take(memtracer, folder, "psrecord", with_uss)
    check(levels(db, "private")[59] == (59 * 60.0, held(59) * MIB), "psrecord --include-uss")
    db = take(memtracer, folder, "prmon", prmon)
    check(levels(db, "ws, pss, swap, size")[30] == (
        1800.0, held(30) * MIB, held(30) * 1024000, 4096, 1 << 30), "prmon")
    check(ask(db, "SELECT start_wall_ns FROM run") == [(1527669447 * 10 ** 9,)], "prmon: the start")
    check(ask(db, "SELECT value FROM counter c JOIN counter_kind k ON k.id = c.counter"
                  " WHERE k.name = 'threads'") == [(7,)], "prmon: threads")
    db = take(memtracer, folder, "mprof", mprof)
    check(levels(db, "ws")[100] == (6000.0, int((held(100) + 0.5) * MIB)), "mprof")
    check(levels(db, "ws", "child_0")[5] == (300.0, 5 * MIB), "mprof: a child")
    check(ask(db, "SELECT label, t_ns / 1e9 FROM mark ORDER BY t_ns") == [
        ("load data begins", 30.0), ("load data ends", 95.0)], "mprof: calls")


def real_mprof(memtracer, folder):
    """A program that takes 64 MiB after a second."""
    tool = shutil.which("python3-mprof") or shutil.which("mprof")
    if not tool:
        print("mprof is not installed (Debian package python3-memory-profiler): by its format only")
        return
    program, out = os.path.join(folder, "program.py"), os.path.join(folder, "real.dat")
    with open(program, "w", encoding="utf-8") as f:
        f.write("import time\ntime.sleep(1)\nkept = bytearray(b'x') * (64 << 20)\ntime.sleep(1)\n")
    done = subprocess.run([tool, "run", "--interval", "0.1", "--output", out, sys.executable,
                           program], capture_output=True, text=True, cwd=folder)
    check(done.returncode == 0 and os.path.exists(out), "mprof: " + done.stdout + done.stderr)
    db = os.path.join(folder, "real.db")
    done = run(memtracer, "import", "--mprof", out, "-o", db)
    check(done.returncode == 0, "real mprof: " + done.stderr)
    grew = [b - a for a, b in ask(db, "SELECT min(ws), max(ws) FROM level")]
    check(grew and 64 * MIB <= grew[0] < 90 * MIB, "real mprof: grew by %s" % grew)


def wrong_files(memtracer, folder):
    path, db = os.path.join(folder, "wrong"), os.path.join(folder, "wrong.db")
    head = "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB) \n"
    for kind, text, words in (
            ("psrecord", "", "no log of psrecord"), ("psrecord", "Time\trss\n1\t2\n", "no log"),
            ("psrecord", head + "0 0 1\n", "line 2"), ("psrecord", head + "0 0 nan 1\n", "line 2"),
            ("psrecord", head + "5 0 1 1\n4 0 1 1\n", "in order of time"),
            ("psrecord", head + "0 0 1e300 1\n", "line 2"), ("prmon", "Time\tpss\n1\t2\n", "rss"),
            ("prmon", "Time\trss\n1\n", "line 2"), ("prmon", "Time\trss\n1\t-2\n", "line 2"),
            ("mprof", "CMDLINE x\n", "no line MEM"), ("mprof", "MEM x\n", "line 1"),
            ("mprof", "FUNC f 1 2\n", "line 1"), ("mprof", "MEM 1 1\nCHLD x\n", "line 2"),
            ("psrecord", head, "nothing follows"), ("prmon", "Time\trss\n", "nothing follows"),
            ("csv", "\n\nt_ns,heap\n\n", "nothing follows"),
            ("mprof", "\x00\x01\n", "no line MEM"), ("csv", "t_ns,heap\n1,2\nx\n", "line 3")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = run(memtracer, "import", "--" + kind, path, "-o", db)
        check(done.returncode == 2 and words in done.stderr and "\x01" not in done.stderr,
              "%s %r: %d %s" % (kind, text, done.returncode, done.stderr))
        check(not os.path.exists(db), "%s %r: half a file" % (kind, text))
    check(run(memtracer, "import", "--csv", path, "--mprof", path, "-o", db).returncode == 1, "two")
    check(run(memtracer, "import", "--mprof", path, "--markers", path, "-o", db).returncode == 1,
          "marks of its own")


def interrupt(memtracer, folder):
    path, db = os.path.join(folder, "long.csv"), os.path.join(folder, "long.db")
    with open(path, "w", encoding="utf-8") as f:
        f.write("t_ns,heap\n" + "".join("%d,%d\n" % (i, i % 977 * 4096) for i in range(1000000)))
    work = subprocess.Popen([memtracer, "import", "--csv", path, "-o", db], stderr=subprocess.PIPE,
                            text=True)
    while work.poll() is None and not os.path.exists(db + ".part"):
        time.sleep(0.002)
    work.send_signal(signal.SIGINT)
    error = work.communicate()[1]
    check(work.returncode == 2 and "interrupted" in error, "interrupt: " + error)
    check(not [n for n in os.listdir(folder) if n.startswith("long.db")], "half a file")


def main():
    memtracer = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        known_files(memtracer, folder)
        real_mprof(memtracer, folder)
        wrong_files(memtracer, folder)
        interrupt(memtracer, folder)
    finish()


main()
