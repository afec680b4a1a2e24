#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PostgreSQL by the shipped recipe: postgres.py MEMTRACER BENCH_FLEET SHARE-FOLDER

A merged file goes through pgloader into a server of its own, and each view there answers as the
file's own view does. Skipped without PostgreSQL or pgloader (Debian packages of these names).
"""
import glob
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from common import check, finish, make_file, skip
from servers import free_port

VIEWS = ("memory", "vmmap", "which_kind_grew", "mark_sample", "growth_between_marks", "series",
         "retained_floor", "floor_rise", "floor_step", "floor_trend", "punctuated_growth",
         "leak_suspects")
LEFT_OUT = {"time", "site", "site_percent", "site_frame"}


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


def same(what, got, want):
    got, want = normal(got), normal(want)
    check(want, what + ": nothing to compare")
    check(len(got) == len(want), "%s: %d rows, SQLite %d" % (what, len(got), len(want)))
    for g, w in zip(got, want):
        if g != w:
            check(False, "%s: %s, SQLite %s" % (what, g, w))
            return


def compare(memtracer, path, server):
    db = sqlite3.connect(path)
    for table in ("run", "sample", "level", "mark", "region", "event", "stack_frame"):
        check(server.psql("-c", "SELECT count(*) FROM " + table).strip() ==
              str(db.execute("SELECT count(*) FROM " + table).fetchone()[0]), "rows of " + table)
    for view in VIEWS:
        columns = [c for c, in db.execute("SELECT name FROM pragma_table_info(?)", (view,))
                   if c not in LEFT_OUT]
        same(view, server.ask(columns, view), db.execute(
            "SELECT %s FROM %s" % (", ".join(columns), view)).fetchall())
    db.close()
    said = json.loads(subprocess.run([memtracer, "sql", "--json", path, "release_leaks"],
                                     check=True, capture_output=True).stdout)
    same("release_leaks", server.ask(list(said[0]), "release_leaks"),
         [list(row.values()) for row in said])


def recordings(memtracer, bench_fleet, folder):
    """Long runs that leak in steps and steadily, short ones, and one with everything in it."""
    paths = [os.path.join(folder, "fixture.db")]
    make_file(memtracer, paths[0], "UPDATE level SET ws = NULL, swap = NULL WHERE type = 3;")
    for looks in ("8640", "700", "40"):
        part = os.path.join(folder, looks)
        os.mkdir(part)
        subprocess.run([bench_fleet, part, "8", looks], check=True, stdout=subprocess.DEVNULL)
        paths += glob.glob(os.path.join(part, "*.db"))
    merged = os.path.join(folder, "all.db")
    subprocess.run([memtracer, "merge", merged, *paths], check=True)
    return merged


def main():
    memtracer, bench_fleet, share = (os.path.abspath(a) for a in sys.argv[1:4])
    for name, package in (("initdb", "postgresql"), ("psql", "postgresql-client"),
                          ("pgloader", "pgloader")):
        if not program(name):
            skip("%s is not installed (Debian package %s)" % (name, package))
    with tempfile.TemporaryDirectory() as folder:
        path = recordings(memtracer, bench_fleet, folder)
        server = Server(folder)
        try:
            env = dict(os.environ, HOME=folder, MEMTRACER_FILE=path, MEMTRACER_DATABASE=server.url())
            done = subprocess.run(["pgloader", "--root-dir", folder, os.path.join(
                share, "memtracer.load")], capture_output=True, text=True, env=env)
            check(done.returncode == 0 and "ERROR" not in done.stdout, done.stdout + done.stderr)
            server.psql("-f", os.path.join(share, "memtracer.views.sql"))
            compare(memtracer, path, server)
        finally:
            server.stop()
    finish()


main()
