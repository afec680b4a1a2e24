#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`memtracer merge`: every answer about a run is the same in the merged file as in its own."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from common import LONG, ask, check, finish, make_file

# The same program, one release later: other numbers everywhere, another host, no leak.
OTHER = """
UPDATE run SET uuid = 'b' || uuid, host = 'host2', start_wall_ns = start_wall_ns - 86400000000000,
    label = 'server 1.0', stop_wall_ns = NULL;
DELETE FROM level WHERE run = 2 AND type = 4 AND sample > 3;
UPDATE type SET name = 'other_own' WHERE id = 32;
INSERT INTO type VALUES (33, 'textures', '');
INSERT INTO level(run, type, sample, ws) VALUES (2, 33, 3, 4711);
"""
EXACT = """
INSERT INTO event_kind VALUES (1, 'malloc', 'TAKE');
INSERT INTO code VALUES (1, 1, 'cc'), (2, 2, 'dd');
INSERT INTO frame VALUES (1, 1, 100), (2, {frame}, 200);
INSERT INTO stack VALUES (1, 77, 2);
INSERT INTO stack_frame VALUES (1, 0, 2), (1, 1, 1);
INSERT INTO event VALUES (1, 2, 5, 4, 1, 4242, 4096, {bytes}, NULL, NULL, NULL, NULL, 0, 1);
INSERT INTO counter_kind VALUES ({kind}, '{name}', 'bytes', ''), (9, 'shared', 'bytes', '');
INSERT INTO counter VALUES (2, {kind}, 3, {bytes}), (2, 9, 3, 1);
"""

# What is asked of a run, by its uuid, without any number that is a file's own.
QUESTIONS = (
    "SELECT m.t_s, m.type, m.ws, m.committed, m.until_s FROM memory m JOIN run r ON r.id = m.run"
    " WHERE r.uuid = ? ORDER BY 1, 2",
    "SELECT g.type, g.t_s, g.bytes, g.mark, g.site FROM punctuated_growth g JOIN run r"
    " ON r.id = g.run WHERE r.uuid = ? ORDER BY 1, 2",
    "SELECT e.t_s, e.kind, e.base_address, e.region_size, e.type, e.file_name, e.owner, e.at_start,"
    " e.source FROM memory_event e JOIN run r ON r.id = e.run WHERE r.uuid = ? ORDER BY 1, 2, 3, 4",
    "SELECT c.path, c.build_id, c.offset, e.bytes FROM event e JOIN call_site c ON c.stack = e.stack"
    " JOIN run r ON r.id = e.run WHERE r.uuid = ?",
    "SELECT f.depth, a.text, g.offset FROM event e JOIN stack_frame f ON f.stack = e.stack JOIN frame"
    " g ON g.id = f.frame JOIN code c ON c.id = g.code JOIN string a ON a.id = c.path JOIN run r"
    " ON r.id = e.run WHERE r.uuid = ? ORDER BY 1",
    "SELECT k.name, c.value, s.t_ns FROM counter c JOIN counter_kind k ON k.id = c.counter JOIN"
    " sample s ON s.id = c.sample JOIN run r ON r.id = c.run WHERE r.uuid = ? ORDER BY 1",
    "SELECT m.label, s.t_ns FROM mark m JOIN run r ON r.id = m.run LEFT JOIN sample s"
    " ON s.id = m.sample WHERE r.uuid = ? ORDER BY m.t_ns",
    "SELECT path, base_address FROM unloaded_module u JOIN run r ON r.id = u.run WHERE r.uuid = ?",
    "SELECT host, pid, start_wall_ns, label, state FROM run WHERE uuid = ?",
)


def merge(memtracer, *paths):
    return subprocess.run([memtracer, "merge", *paths], capture_output=True, text=True)


def check_answers(memtracer, folder):
    a, b, out = (os.path.join(folder, n) for n in ("a.db", "b ?#%.db", "out.db"))
    make_file(memtracer, a, EXACT.format(frame=2, bytes=111, kind=5, name="only_a"))
    make_file(memtracer, b, OTHER + EXACT.format(frame=1, bytes=222, kind=5, name="only_b"))
    done = merge(memtracer, out, a, b)
    check(done.returncode == 0, "merge: " + done.stderr)
    uuids = [(p, u) for p in (a, b) for u, in ask(p, "SELECT uuid FROM run")]
    check(ask(out, "SELECT count(*) FROM run") == [(len(uuids),)], "runs stay apart")
    for path, uuid in uuids:
        for question in QUESTIONS:
            check(ask(path, question, uuid) == ask(out, question, uuid),
                  "%s of %s: %s" % (uuid, path, question))
    judged = 0
    for run, in ask(out, "SELECT id FROM run"):
        done = subprocess.run([memtracer, "steps", "--json", "--run", str(run), out],
                              capture_output=True, text=True)
        said = json.loads(done.stdout)
        steps = [(s["type"], s["t_s"], s["bytes"], s["mark"]) for s in said["steps"]]
        judged += len(steps)
        check(steps == ask(out, "SELECT type, t_s, bytes, mark FROM punctuated_growth WHERE run = ?",
                           run), "run %d alone: %s" % (run, steps))
        check([(s["type"], s["grew"]) for s in said["suspects"]] == ask(
            out, "SELECT type, grew FROM leak_suspects WHERE run = ?", run), "suspects of %d" % run)
    check(judged, "some steps are in the merged file")
    check(ask(out, "PRAGMA integrity_check") == [("ok",)], "integrity")
    check(ask(out, "PRAGMA foreign_key_check") == [], "every number points to something")
    check(ask(out, "SELECT label FROM run ORDER BY id LIMIT 2")[1] == ("server 1.0",), "oldest first")
    rows = subprocess.run([memtracer, "sql", "--json", out, "release_leaks", "server*"],
                          capture_output=True, text=True).stdout
    check(rows.index('"server 1.0"') < rows.index('"server"') and '"starts": 1' in rows.split(
        '"server"')[1] and '"starts": null' in rows.split('"server"')[0], "which release: " + rows)
    return a, b, out


def check_refusals(memtracer, folder, a, b, out):
    new = os.path.join(folder, "new.db")
    done = merge(memtracer, new, a, a)
    check(done.returncode == 2 and "already there" in done.stderr, "twice: " + done.stderr)
    check(merge(memtracer, new, out, b).returncode == 2, "merged before")
    check(merge(memtracer, out, a).returncode == 2, "a file that is there")
    check(merge(memtracer, new, a, __file__).returncode == 2, "no memtracer file")
    check(merge(memtracer, new).returncode == 1, "nothing to merge")
    evil = os.path.join(folder, "evil.db")
    make_file(memtracer, evil, "DROP TABLE tier; ALTER TABLE mark RENAME TO kept;"
                               "CREATE VIEW mark AS SELECT * FROM kept;"
              if sqlite3.sqlite_version_info < (3, 25) else
              "PRAGMA legacy_alter_table = ON; ALTER TABLE mark RENAME TO kept;"
              "CREATE VIEW mark AS SELECT * FROM kept;")
    done = merge(memtracer, new, evil)
    check(done.returncode == 2 and "no table" in done.stderr, "a view for a table: " + done.stderr)
    check(not os.path.exists(new) and not os.path.exists(new + ".part"), "refused and yet written")


def check_imports(memtracer, folder):
    """Series of other tools are of no process, and may all begin at 0."""
    paths = []
    for name in ("one", "two"):
        paths.append(os.path.join(folder, name + ".db"))
        with open(paths[-1] + ".csv", "w", encoding="utf-8") as f:
            f.write("t_ns,heap\n0,1\n1000000000,2\n")
        subprocess.run([memtracer, "import", "--csv", paths[-1] + ".csv", "-o", paths[-1],
                        "--label", name], check=True)
    done = merge(memtracer, os.path.join(folder, "imports.db"), *paths)
    check(done.returncode == 0, "two series: " + done.stderr)
    check(merge(memtracer, os.path.join(folder, "n.db"), paths[0], paths[0]).returncode == 2, "twice")


def check_interrupt(memtracer, folder):
    path, new = os.path.join(folder, "long.db"), os.path.join(folder, "new.db")
    make_file(memtracer, path, LONG.format(n=300000))
    work = subprocess.Popen([memtracer, "merge", new, path], stderr=subprocess.PIPE, text=True)
    while work.poll() is None and not os.path.exists(new + ".part"):
        time.sleep(0.002)
    work.send_signal(signal.SIGINT)
    error = work.communicate()[1]
    check(work.returncode == 2 and "interrupted" in error, "interrupt: " + error)
    check(not os.path.exists(new) and not os.path.exists(new + ".part"), "half a file")


def main():
    memtracer = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(memtracer, folder, *check_answers(memtracer, folder))
        check_imports(memtracer, folder)
        check_interrupt(memtracer, folder)
    finish()


main()
