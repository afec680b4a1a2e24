#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `import`, `merge` and `report` say under --json: written.py MEMTRACER

One JSON object on stdout, whose numbers are those of the files that were handed over and of the one
that is there now, counted here. What failed says nothing on stdout.
"""
import json
import os
import subprocess
import sys
import tempfile

from common import ask, check, finish, make_file


def say(memtracer, folder, *words):
    done = subprocess.run([memtracer, *words, "--json"], capture_output=True, text=True, cwd=folder)
    return done, json.loads(done.stdout) if done.returncode == 0 else None


def told(memtracer, folder, wanted, *words):
    """The object is `wanted` and the size of the file that it names."""
    done, said = say(memtracer, folder, *words)
    check(done.returncode == 0 and not done.stderr, "%s: %s" % (words, done.stderr))
    wanted["bytes"] = os.path.getsize(os.path.join(folder, wanted["file"]))
    check(said == wanted, "%s: said %s, is %s" % (words, said, wanted))


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)


def import_series(memtracer, folder):
    """30 looks at a heap that changes in each, in two lives, then 5 looks more into the same file."""
    write(folder, "s.csv", ["t_ns,heap"] + ["%d,%d" % (i * 10 ** 9, i * 4096) for i in range(30)])
    write(folder, "m.csv", ["%d,mark %d" % (i * 10 ** 10 + 5, i) for i in range(3)])
    write(folder, "l.csv", ["0", "15000000000"])
    told(memtracer, folder, {"file": "s.db", "files": 3, "runs": 2, "samples": 30, "ticks": 30,
                             "marks": 3}, "import", "--csv", "s.csv", "--markers", "m.csv",
         "--sessions", "l.csv", "-o", "s.db")
    write(folder, "five.csv", ["t_ns,stack"] + ["%d,%d" % (i, i * 4096) for i in range(5)])
    told(memtracer, folder, {"file": "s.db", "files": 1, "runs": 1, "samples": 5, "ticks": 5,
                             "marks": 0}, "import", "--csv", "five.csv", "-o", "s.db")
    check(ask(os.path.join(folder, "s.db"), "SELECT count(*) FROM run") == [(3,)], "further runs")


def merge_files(memtracer, folder):
    make_file(memtracer, os.path.join(folder, "fixture.db"))
    wanted = {"file": "all.db", "files": 2}
    for name, sql in (("runs", "count(*) FROM run"), ("samples", "count(*) FROM sample"),
                      ("ticks", "sum(ticks) FROM sample"), ("marks", "count(*) FROM mark")):
        wanted[name] = sum(ask(os.path.join(folder, path), "SELECT " + sql)[0][0]
                           for path in ("s.db", "fixture.db"))
    told(memtracer, folder, wanted, "merge", "all.db", "s.db", "fixture.db")


def report_run(memtracer, folder):
    done, _ = say(memtracer, folder, "report", "s.db", "-o", "s.html")
    if "built without the report" in done.stderr:
        print("without the report")
        return
    told(memtracer, folder, {"file": "s.html", "run": 1, "samples": 15, "ticks": 15, "marks": 2},
         "report", "s.db", "--run", "1", "-o", "s.html")
    done, said = say(memtracer, folder, "report", "s.db", "-o", "/dev/null")
    check(done.returncode == 0 and said["bytes"] is None, "the size of a device")


def failures_are_silent(memtracer, folder):
    for code, words in ((2, ("import", "--csv", "nowhere.csv", "-o", "n.db")),
                        (2, ("merge", "all.db", "s.db")), (2, ("merge", "n.db", "s.db", "s.csv")),
                        (1, ("report", "s.db")), (2, ("report", "s.db", "-o", "s.db"))):
        done, _ = say(memtracer, folder, *words)
        check(done.returncode == code and not done.stdout and done.stderr, "%s: %d %s" % (
            words, done.returncode, done.stdout))
    check(not os.path.exists(os.path.join(folder, "n.db")), "a file of what failed")


def main():
    memtracer = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        import_series(memtracer, folder)
        merge_files(memtracer, folder)
        report_run(memtracer, folder)
        failures_are_silent(memtracer, folder)
    finish()


main()
