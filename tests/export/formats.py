#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden files and facts of `memtracer export`: formats.py [--update] MEMTRACER

Each format of the fixture as it was reviewed (expected.*), the numbers in it against plain SQL, and
a file that is whole or not there. --update writes what came out.
"""
import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

from common import LONG, ask, check, finish, make_file

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ("size committed charged private ws ws_private ws_shareable ws_shared pss swap locked "
           "huge lazy_free blocks largest").split()


def export(memtracer, path, *options):
    done = subprocess.run([memtracer, "export", path, *options], capture_output=True)
    check(done.returncode == 0, "export %s: %s" % (options, done.stderr))
    return done.stdout.decode("utf-8")


def check_golden(name, text, update):
    path = os.path.join(HERE, "expected." + name)
    if update:
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
    with open(path, encoding="utf-8", newline="") as f:
        check(f.read() == text, "%s is not as reviewed" % name)


def check_csv(path, text):
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    want = ask(path, "SELECT run, sample, type, t_s, until_s, %s FROM memory" % ", ".join(COLUMNS))
    got = [(int(r["run"]), int(r["sample"]), r["type"], float(r["t_s"]), float(r["until_s"]),
            *(int(r[c]) if r[c] else None for c in COLUMNS)) for r in rows]
    check(sorted(got, key=str) == sorted(want, key=str), "CSV and view memory differ")
    labels = {r["label"] for r in rows}
    check(labels == {x for x, in ask(path, "SELECT label FROM run")}, "CSV: labels survive")


def check_lines(path, text):
    records = [json.loads(line) for line in text.splitlines()]
    for record, table in (("run", "run"), ("level", "level"), ("mark", "mark"),
                          ("region", "region"), ("module", "module"),
                          ("step", "punctuated_growth")):
        n = sum(r["record"] == record for r in records)
        check(n == ask(path, "SELECT count(*) FROM " + table)[0][0], "JSON: every " + record)
    largest = max(r["ws"] or 0 for r in records if r["record"] == "level")
    check([(largest,)] == ask(path, "SELECT max(ws) FROM level"), "JSON: largest ws")


def check_perfetto(path, text):
    events = json.loads(text)["traceEvents"]
    counters = [e for e in events if e["ph"] == "C"]
    check(all(e["ts"] >= 0 and e["pid"] and e["cat"] for e in events), "trace events: ts, pid, cat")
    check(all(0 <= e["tid"] < 1 << 32 for e in events), "Perfetto keeps threads in 32 bits")
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    check({named.get(e["tid"]) for e in events if e["ph"] == "X"} == {"steps of heap"}, "tracks")
    heap = [e["args"]["ws"] for e in counters if e["name"] == "heap" and e["pid"] == 2]
    check(heap == [w for w, in ask(path, "SELECT ws FROM memory WHERE run = 2 AND type = 'heap'"
                                         " ORDER BY t_s")], "trace events: the heap's track")
    slices = [e for e in events if e["ph"] == "X"]
    check([(s["args"]["bytes"], s["args"]["mark"]) for s in slices] ==
          ask(path, "SELECT bytes, mark FROM punctuated_growth"), "trace events: steps")
    check(all(s["dur"] == 1e6 for s in slices), "a step lies between two samples 1 s apart")
    check(sum(e["ph"] == "i" for e in events) == 5, "trace events: marks")


def check_memorytracer(memtracer, path, folder, update):
    out = os.path.join(folder, "out")
    export(memtracer, path, "--memorytracer", out)
    check(sorted(os.listdir(out)) ==
          ["4242_MemState.csv", "4242_MemType.csv", "4242_PrivateByte.csv"], "three files")
    for name in os.listdir(out):
        with open(os.path.join(out, name), encoding="utf-8", newline="") as f:
            text = f.read()
        check_golden(name, text, update)
        if name == "4242_MemState.csv":
            last = list(csv.DictReader(io.StringIO(text)))[-1]
            want = ask(path, "SELECT size, committed, private, ws, blocks FROM vmmap"
                             " WHERE type = 'total'")[0]
            check(tuple(int(last["PMDT_" + c]) for c in
                        ("SIZE", "COMMITTED", "PRIVATE_BYTE", "WS_TOTAL", "BLOCKS")) == want,
                  "the last line of MemState is the total of vmmap")


def check_whole_or_absent(memtracer, folder):
    path, out = os.path.join(folder, "long.db"), os.path.join(folder, "long.out")
    make_file(memtracer, path, LONG.format(n=200000))
    for kind in ("--csv", "--json", "--openmetrics", "--perfetto", "--memorytracer"):
        words, begun = ((kind, "-o", out), out + ".part") if kind != "--memorytracer" else (
            (kind, out), os.path.join(out, "9_MemType.csv.part"))
        work = subprocess.Popen([memtracer, "export", path, *words],
                                stderr=subprocess.PIPE, text=True)
        while work.poll() is None and not os.path.exists(begun):
            time.sleep(0.002)
        work.send_signal(signal.SIGINT)
        error = work.communicate()[1]
        check(work.returncode == 2 and "interrupted" in error, "%s: %s" % (kind, error))
        check(not os.path.exists(out) and not os.path.exists(out + ".part"), kind + ": half a file")
    check(subprocess.run([memtracer, "export", path, "--csv", "-o", "/dev/full/x"],
                         capture_output=True).returncode == 2, "a place that is none")


def check_usage(memtracer, path):
    for options in ([], ["--csv", "--json"], ["--memorytracer", "x", "-o", "y"]):
        done = subprocess.run([memtracer, "export", path, *options], capture_output=True)
        check(done.returncode == 1 and not done.stdout, "usage: %s" % options)
    done = subprocess.run([memtracer, "export", path, "--csv", "--run", "7"], capture_output=True)
    check(done.returncode == 2, "a run that is not there")


def check_places(memtracer, path, folder):
    """What is there already: a file is replaced, a folder and a database are not."""
    old, place = os.path.join(folder, "old"), os.path.join(folder, "place")
    os.mkdir(place)
    with open(path, "rb") as f:
        recording = f.read()
    for command in (["export", path, "--csv"], ["export", path, "--perfetto"], ["report", path]):
        with open(old, "w", encoding="utf-8") as f:
            f.write("old")
        done = subprocess.run([memtracer, *command, "-o", old], capture_output=True, text=True)
        if "built without" in done.stderr:
            continue
        check(done.returncode == 0 and os.path.getsize(old) > 100, "%s: replaced" % command[0])
        for wrong, words in ((place, "irectory"), (path, "is a database"),
                             (os.path.join(folder, "none", "x"), "No such file")):
            done = subprocess.run([memtracer, *command, "-o", wrong], capture_output=True, text=True)
            check(done.returncode == 2 and words in done.stderr, "%s: %s" % (command, done.stderr))
        check(os.path.isdir(place), "a folder was removed")
        with open(path, "rb") as f:
            check(f.read() == recording, "the recording was replaced")
        check(not [n for n in os.listdir(folder) if n.endswith(".part")], "something is left over")
    check(subprocess.run([memtracer, "merge", place, path], capture_output=True).returncode == 2 and
          os.path.isdir(place), "merge: a folder")


def check_full(memtracer, path, folder):
    """As on a full disk: no more than 200 bytes can be written."""
    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    full = os.path.join(folder, "full")
    os.mkdir(full)
    out = os.path.join(full, "out")
    for command in (["export", path, "--json", "-o", out], ["export", path, "--openmetrics", "-o", out],
                    ["report", path, "-o", out], ["merge", out, path],
                    ["export", path, "--memorytracer", out]):
        done = subprocess.run([memtracer, *command], capture_output=True, text=True,
                              preexec_fn=little, restore_signals=False)
        check(done.returncode == 2 and done.stderr.startswith("memtracer: "),
              "%s on a full disk: %d %s" % (command, done.returncode, done.stderr))
        check(not os.listdir(full), "%s on a full disk leaves %s" % (command, os.listdir(full)))
    for name in (".", "kept"):  # a folder that was there is not the command's own
        os.makedirs(os.path.join(out, name), exist_ok=True)
        done = subprocess.run([memtracer, "export", path, "--memorytracer", out],
                              capture_output=True, text=True, preexec_fn=little,
                              restore_signals=False)
        check(done.returncode == 2 and os.listdir(out) == [name] * (name != "."),
              "a full disk: %s is left in a folder that was there" % os.listdir(out))


def main():
    update, memtracer = "--update" in sys.argv, os.path.abspath(sys.argv[-1])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fixture.db")
        make_file(memtracer, path)
        for name, look in (("csv", check_csv), ("json", check_lines), ("perfetto", check_perfetto),
                           ("openmetrics", None)):
            text = export(memtracer, path, "--" + name)
            check_golden(name, text, update)
            if look:
                look(path, text)
        check_memorytracer(memtracer, path, folder, update)
        check_usage(memtracer, path)
        check_whole_or_absent(memtracer, folder)
        check_places(memtracer, path, folder)
        check_full(memtracer, path, folder)
    finish()


main()
