#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PostgreSQL by the shipped recipe: postgres.py MEMTRACER BENCH_FLEET SHARE-FOLDER [LEAK]

A merged file goes through pgloader into a server of its own, and each view there answers as the
file's own view does; of recordings whose steps are known (one of them by the program LEAK, an
example) it says what they are. Skipped without PostgreSQL or pgloader (Debian packages of these
names).
"""
import datetime
import glob
import json
import os
import pwd
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from common import check, finish, make_file, skip
from servers import free_port

VIEWS = ("latest", "level_now", "memory", "vmmap", "which_kind_grew", "mark_sample",
         "growth_between_marks", "series", "retained_floor", "floor_rise", "floor_step",
         "floor_trend", "punctuated_growth", "leak_suspects")
COMMANDS = ["command 1", "command 2", "command 3"]
KEPT = 54280192  # of each command, as in examples/03_punctuated_leak.c
# Of calls, and the number of a type beside its name, which SQLite calls so.
LEFT_OUT = {"site", "site_percent", "site_frame", "type:1"}


def program(name):
    """Debian keeps a server's programs out of PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name))
    return shutil.which(name) or (found[-1] if found else None)


class Server:
    """A cluster of its own. PostgreSQL does not run as root."""

    def __init__(self, folder):
        self.data, self.port = os.path.join(folder, "data"), free_port()
        self.who = {}
        if os.geteuid() == 0:
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                skip("there is no user postgres, and PostgreSQL does not run as root")
            os.mkdir(self.data, 0o700)
            os.chown(self.data, user.pw_uid, user.pw_gid)
            os.chmod(folder, 0o711)
            self.who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.run(program("initdb"), "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync",
                 "-E", "UTF8", "--locale=C")
        self.run(program("pg_ctl"), "-D", self.data, "-w", "-l", os.path.join(self.data, "log"),
                 "-o", "-p %d -k '%s' -c listen_addresses=127.0.0.1 -c fsync=off -c jit=off"
                 % (self.port, self.data), "start")

    def run(self, *command):
        done = subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, **self.who)
        if done.returncode:
            raise SystemExit("%s: %s" % (command[0], done.stderr))

    def stop(self):
        self.run(program("pg_ctl"), "-D", self.data, "-m", "immediate", "stop")

    def url(self):
        return "postgresql://postgres@127.0.0.1:%d/postgres" % self.port

    def psql(self, *options):
        return subprocess.run([program("psql"), "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1",
                               self.url(), *options], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def ask(self, columns, view):
        return json.loads(self.psql("-c", "SELECT coalesce(json_agg(json_build_array(%s)), '[]') "
                                          "FROM %s x" % (", ".join(columns), view)))


def plain(value):
    return float("%.9g" % value) if isinstance(value, (int, float)) and not (
        isinstance(value, int) and not isinstance(value, bool)) else value


def normal(rows):
    return sorted(([int(v) if isinstance(v, bool) else plain(v) for v in row] for row in rows),
                  key=lambda row: json.dumps(row))


def alike(a, b):
    """SQLite rounds a time as a number of days in ms, of which a half is not always one."""
    if a == b or not (isinstance(a, str) and isinstance(b, str)):
        return a == b
    try:
        a, b = datetime.datetime.fromisoformat(a), datetime.datetime.fromisoformat(b)
    except ValueError:
        return False
    return abs(a - b) <= datetime.timedelta(milliseconds=1)


def same(what, got, want):
    got, want = normal(got), normal(want)
    check(want, what + ": nothing to compare")
    check(len(got) == len(want), "%s: %d rows, SQLite %d" % (what, len(got), len(want)))
    for g, w in zip(got, want):
        if len(g) != len(w) or not all(map(alike, g, w)):
            check(False, "%s: %s, SQLite %s" % (what, g, w))
            return


def compare(memtracer, path, server):
    db = sqlite3.connect(path)
    for table in ("run", "sample", "level", "mark", "region", "event", "stack_frame"):
        check(server.psql("-c", "SELECT count(*) FROM " + table).strip() ==
              str(db.execute("SELECT count(*) FROM " + table).fetchone()[0]), "rows of " + table)
    there = set(server.psql("-c", "SELECT viewname FROM pg_views WHERE schemaname = 'public'").split())
    check(there == {*VIEWS, "release_leaks"}, "views that are not compared: %s" % there)
    for view in VIEWS:
        columns = [c for c, in db.execute("SELECT name FROM pragma_table_info(?)", (view,))
                   if c not in LEFT_OUT]
        check(set(columns) == set(server.psql(
            "-c", "SELECT column_name FROM information_schema.columns WHERE table_name = '%s'"
                  % view).split()), view + ": columns")
        same(view, server.ask(columns, view), db.execute(
            "SELECT %s FROM %s" % (", ".join(columns), view)).fetchall())
    db.close()
    said = json.loads(subprocess.run([memtracer, "sql", "--json", path, "release_leaks"],
                                     check=True, capture_output=True).stdout)
    same("release_leaks", server.ask(list(said[0]), "release_leaks"),
         [list(row.values()) for row in said])


def write_series(memtracer, folder, name, levels, marks):
    """levels: the heap, second by second; marks: (second, label)."""
    path = os.path.join(folder, name + ".db")
    for ending, head, lines in ((".csv", "t_ns,heap", [(i * 10 ** 9, b) for i, b in enumerate(levels)]),
                                (".marks", "t_ns,label", [(int(t * 1e9), m) for t, m in marks])):
        with open(path + ending, "w", encoding="utf-8") as f:
            f.write("\n".join([head] + ["%d,%s" % line for line in lines]) + "\n")
    subprocess.run([memtracer, "import", "--csv", path + ".csv", "--markers", path + ".marks",
                    "--label", name, "-o", path], check=True)
    return path


def textbook(memtracer, folder):
    """Three commands that each keep a block, and much that comes and goes around them."""
    levels = [10 ** 7 + i * 7919 % 13 * 400000 + sum(i >= t for t in (40, 80, 120)) * KEPT
              for i in range(160)]
    return write_series(memtracer, folder, "textbook", levels,
                        list(zip((39.5, 79.5, 119.5), COMMANDS)))


def drawn(memtracer, folder, seed):
    """Steps that take one sample or some, after marks or not; samples that were asked for (512) or
    partial (16), as nobody would choose them."""
    r = random.Random(seed)
    n = r.choice((r.randrange(4, 12), r.randrange(8, 160)))
    size, take, before = r.choice((2, 40)) * 10 ** 6, r.choice((1, 1, 2, 5)), r.choice((0.3, 1.5, 3.5))
    at = sorted(r.sample(range(n), min(n * 2 // 3, r.randrange(2, 7))))
    noise = r.choice((0, 10 ** 4, 10 ** 6))
    levels = [10 ** 7 + r.randrange(noise + 1) + sum(
        size * min(max(i - t + 1, 0), take) // take for t in at) for i in range(n)]
    marks = [(max(t - before, 0.1), "step %d" % k) for k, t in enumerate(at) if r.random() < 0.9]
    path = write_series(memtracer, folder, "drawn %d" % seed, levels, sorted(marks))
    db = sqlite3.connect(path)
    bit = r.choice((0, 16, 512))
    for id, in db.execute("SELECT id FROM sample").fetchall():
        near = any(abs(id - 1 - t) <= take for t in at)
        db.execute("UPDATE sample SET flags = ? WHERE id = ?",
                   (bit if near or r.random() < 0.1 else 0, id))
    db.commit()
    db.close()
    return path


def check_steps(server, label, least, most):
    """That of each command its step is told, and nothing else."""
    told = json.loads(server.psql("-c", "SELECT coalesce(json_agg(json_build_array(g.mark, g.bytes)"
                                  " ORDER BY g.t_s), '[]') FROM punctuated_growth g JOIN run r ON r.id = g.run"
                                  " WHERE r.label = '%s'" % label))
    check([mark for mark, _ in told] == COMMANDS, "%s: %s" % (label, told))
    check(all(least <= size <= most for _, size in told), "%s: %s" % (label, told))


def recordings(memtracer, bench_fleet, leak, folder):
    """Long runs that leak in steps and steadily, short ones, one with everything in it, and ones
    with marks and steps."""
    paths = [os.path.join(folder, "fixture.db")]
    make_file(memtracer, paths[0], "UPDATE level SET ws = NULL, swap = NULL WHERE type = 3;")
    for looks in ("8640", "700", "40"):
        part = os.path.join(folder, looks)
        os.mkdir(part)
        subprocess.run([bench_fleet, part, "8", looks], check=True, stdout=subprocess.DEVNULL)
        paths += glob.glob(os.path.join(part, "*.db"))
    paths += [textbook(memtracer, folder)] + [drawn(memtracer, folder, k) for k in range(60)]
    if leak:
        paths.append(os.path.join(folder, "leak.db"))
        subprocess.run([leak, paths[-1]], check=True, stdout=subprocess.DEVNULL)
    merged = os.path.join(folder, "all.db")
    subprocess.run([memtracer, "merge", merged, *paths], check=True)
    return merged


def main():
    memtracer, bench_fleet, share, *leak = (os.path.abspath(a) for a in sys.argv[1:5])
    for name, package in (("initdb", "postgresql"), ("psql", "postgresql-client"),
                          ("pgloader", "pgloader")):
        if not program(name):
            skip("%s is not installed (Debian package %s)" % (name, package))
    with tempfile.TemporaryDirectory() as folder:
        path = recordings(memtracer, bench_fleet, leak[0] if leak else None, folder)
        server = Server(folder)
        try:
            env = dict(os.environ, HOME=folder, MEMTRACER_FILE=path, MEMTRACER_DATABASE=server.url())
            done = subprocess.run(["pgloader", "--root-dir", folder, os.path.join(
                share, "memtracer.load")], capture_output=True, text=True, env=env)
            check(done.returncode == 0 and "ERROR" not in done.stdout, done.stdout + done.stderr)
            server.psql("-f", os.path.join(share, "memtracer.views.sql"))
            compare(memtracer, path, server)
            check_steps(server, "textbook", KEPT - 5000000, KEPT + 5000000)
            if leak:
                comm = os.path.basename(leak[0])[:15]  # as the kernel keeps a program's name
                check_steps(server, comm, KEPT, KEPT + (1 << 20))
        finally:
            server.stop()
    finish()


main()
