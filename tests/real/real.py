#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under `memtracer run`: real.py MEMTRACER [--seconds N] [--keep DIR] [NAME...]

Each program runs twice for the same work, without and with the tracer, and must give the same
output and exit code. While it rests, its file is compared with the kernel:

- on every sample the types add up to the regions (sample.flags without bit 1);
- the sum of ws over all types equals the sum of Rss in smaps, to the page. The quiet moment is
  proven, not hoped for: smaps is read twice with the same sums, and one row of table sample,
  which says "nothing changed from t_ns to until_ns", covers both readings.

A program that is not installed is skipped with its package's name. Exit 1 on a failure, 77 when
nothing could be run.
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

JAVA = """
import java.util.*;
public class Busy {
    public static void main(String[] a) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(a[0]) * 1000, n = 0;
        Map<Integer, byte[]> live = new HashMap<>();
        Random r = new Random(1);
        while (System.currentTimeMillis() < end) {
            live.put(r.nextInt(2000), new byte[r.nextInt(8192)]);
            n += live.size();
        }
        System.out.println("done " + live.size());
        Thread.sleep(Long.parseLong(a[1]) * 1000);
        System.exit(7);
    }
}
"""

NODE = """
const [seconds, rest] = process.argv.slice(2).map(Number);
const end = Date.now() + seconds * 1000, live = new Map();
let n = 0;
function work() {
    for (let i = 0; i < 20000; i++) live.set(n++ % 5000, {s: 'x' + n, b: Buffer.alloc(n % 700)});
    if (Date.now() < end) return setImmediate(work);
    console.log('done', live.size);
    setTimeout(() => process.exit(7), rest * 1000);
}
work();
"""

PYTHON = """
import sys, time, unittest, io
import test.test_json
seconds, rest = int(sys.argv[1]), int(sys.argv[2])
end = time.monotonic() + seconds
bad = 0
while True:
    suite = unittest.defaultTestLoader.loadTestsFromName('test.test_json')
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    bad += len(result.failures) + len(result.errors)
    if time.monotonic() >= end:
        break
print('bad', bad)
sys.stdout.flush()
time.sleep(rest)
sys.exit(7)
"""

SQLITE = """
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO t SELECT i * 7919 %% 1000003, printf('row %%d', i) FROM n;
CREATE INDEX by_a ON t(a);
CREATE INDEX by_b ON t(b);
SELECT count(*), sum(a) FROM t;
.system sleep %d
SELECT count(*) FROM t WHERE a < 1000;
"""

REST = 6  # seconds of rest at the end of the work, for the comparison


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Program:
    """What to run, how to load it, how it ends."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def load(self):
        """Keeps the program busy, then leaves it at rest; returns text to compare."""
        time.sleep(self.seconds + 1)
        return ""

    def finish(self, process):
        pass

    def input(self):
        return None

    @classmethod
    def missing(cls):
        return [n for n in cls.needs
                if not shutil.which(n) and not os.access("/usr/sbin/" + n, os.X_OK)]


class Redis(Program):
    needs = ["redis-server", "redis-benchmark", "redis-cli"]
    package = "redis-server redis-tools"

    def command(self):
        self.port = str(free_port())
        return ["redis-server", "--port", self.port, "--save", "", "--bind", "127.0.0.1",
                "--daemonize", "no", "--loglevel", "warning", "--hz", "1", "--activerehashing", "no"]

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", self.port, *words], capture_output=True,
                              text=True).stdout.strip()

    def load(self):
        for _ in range(50):
            if self.cli("ping") == "PONG":
                break
            time.sleep(0.1)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            subprocess.run(["redis-benchmark", "-p", self.port, "-q", "-n", "20000", "-r", "20000",
                            "-t", "set,get,lpush,lpop"], stdout=subprocess.DEVNULL)
        self.cli("flushall")
        for i in range(100):
            self.cli("set", f"k{i}", "v")
        return self.cli("dbsize")

    def finish(self, process):
        self.cli("shutdown", "nosave")


class Nginx(Program):
    needs = ["nginx", "ab"]
    package = "nginx-light apache2-utils"

    def command(self):
        self.port = str(free_port())
        self.write("page.html", "x" * 4096)
        conf = self.write("nginx.conf", f"""
            worker_processes 1; daemon off; master_process off; error_log /dev/null;
            pid {self.path('pid')}; user root;
            events {{ worker_connections 256; }}
            http {{ access_log off; client_body_temp_path {self.path('b')};
                proxy_temp_path {self.path('p')}; fastcgi_temp_path {self.path('f')};
                uwsgi_temp_path {self.path('u')}; scgi_temp_path {self.path('s')};
                server {{ listen 127.0.0.1:{self.port}; root {self.folder}; }} }}""")
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", conf]

    def load(self):
        time.sleep(1)
        end = time.monotonic() + self.seconds
        failed = "?"
        while time.monotonic() < end:
            out = subprocess.run(["ab", "-q", "-n", "20000", "-c", "20",
                                  f"http://127.0.0.1:{self.port}/page.html"],
                                 capture_output=True, text=True).stdout
            failed = re.search(r"Failed requests:\s+(\d+)", out)
        return failed.group(0) if failed else "no answer"

    def finish(self, process):
        os.kill(int(open(self.path("pid")).read()), signal.SIGQUIT)


class Python(Program):
    needs = ["/usr/bin/python3"]
    package = "libpython%d.%d-testsuite" % sys.version_info[:2]

    @classmethod
    def missing(cls):
        probe = [cls.needs[0], "-c", "import test.test_json"]
        return super().missing() or (
            ["test.test_json"] if subprocess.run(probe, capture_output=True).returncode else [])

    def command(self):
        return ["/usr/bin/python3", self.write("busy.py", PYTHON), str(self.seconds), str(REST)]


class Node(Program):
    needs = ["node"]
    package = "nodejs"

    def command(self):
        return ["node", self.write("busy.js", NODE), str(self.seconds), str(REST)]


class Jvm(Program):
    needs = ["java", "javac"]
    package = "openjdk-17-jdk-headless"

    def command(self):
        self.write("Busy.java", JAVA)
        subprocess.run(["javac", "-d", self.folder, self.path("Busy.java")], check=True)
        return ["java", "-Xmx128m", "-cp", self.folder, "Busy", str(self.seconds), str(REST)]


class Sqlite(Program):
    needs = ["sqlite3"]
    package = "sqlite3"

    def command(self):
        if os.path.exists(self.path("rows.db")):
            os.unlink(self.path("rows.db"))
        return ["sqlite3", self.path("rows.db")]

    def input(self):
        return SQLITE % (1000000, REST + self.seconds)

    def load(self):
        time.sleep(max(6, self.seconds))
        return ""


PROGRAMS = {"redis": Redis, "python": Python, "nginx": Nginx, "sqlite": Sqlite, "node": Node,
            "jvm": Jvm}


def read_smaps(pid):
    """Σ Rss and Σ hugetlb of a process in bytes, None when it is gone."""
    try:
        with open(f"/proc/{pid}/smaps") as f:
            text = f.read()
    except OSError:
        return None
    return sum(1024 * int(n) for n in re.findall(r"^(?:Rss|\w+_Hugetlb):\s+(\d+) kB", text, re.M))


def look(db):
    return contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True))


def traced_pid(db):
    with look(db) as c:
        return c.execute("SELECT pid, start_monotonic_ns FROM run ORDER BY id DESC").fetchone()


def quiet_readings(db, patience=20, wanted=3):
    """[(t1, t2, resident)]: times between which smaps did not change."""
    end, readings = time.monotonic() + patience, []
    while time.monotonic() < end and len(readings) < wanted:
        try:
            pid, start = traced_pid(db)
        except (sqlite3.Error, TypeError):
            time.sleep(0.5)
            continue
        t1, before = time.monotonic_ns() - start, read_smaps(pid)
        time.sleep(1.3)
        after, t2 = read_smaps(pid), time.monotonic_ns() - start
        if before is None or after is None:
            break
        if before == after:
            readings.append((t1, t2, before))
    return readings


def compare(db, readings):
    """(smaps, file) of the first reading that one row of the file covers, or None. Rows of a quiet
    process are brought up to date when something changes, at the latest at the end."""
    with look(db) as c:
        for t1, t2, resident in readings:
            row = c.execute("SELECT id FROM sample WHERE t_ns <= ? AND until_ns >= ?",
                            (t1, t2)).fetchone()
            if row:
                ws = c.execute("""SELECT sum((SELECT ws FROM level l WHERE l.run = t.run AND
                    l.type = t.type AND l.sample <= ?1 ORDER BY sample DESC LIMIT 1))
                    FROM (SELECT DISTINCT run, type FROM level WHERE run =
                          (SELECT run FROM sample WHERE id = ?1)) t""", row).fetchone()[0]
                return resident, ws
    return None


def comparable(text):
    """The output without what differs between two runs anyway: process ids, ports, dates."""
    return re.sub(r"\d{1,2} \w{3} \d{4} [\d:.]+|\b\d{3,5}\b", "#", text)


def run(program, command):
    """Output, exit code, what load said, the comparison."""
    traced = "run" in command[1:2]
    stdin = program.input()
    out = tempfile.TemporaryFile("w+")
    process = subprocess.Popen(command, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                               stdout=out, stderr=subprocess.STDOUT, text=True)
    if stdin:
        process.stdin.write(stdin)
        process.stdin.close()
    said = program.load()
    readings = quiet_readings(command[command.index("-o") + 1]) if traced else []
    program.finish(process)
    code = process.wait(timeout=300)
    out.seek(0)
    compared = compare(command[command.index("-o") + 1], readings) if traced else None
    return comparable(out.read()), code, said, compared


def check(name, memtracer, seconds, folder):
    program = PROGRAMS[name](folder, min(seconds, 3))
    db = os.path.join(folder, name + ".db")
    plain = run(program, program.command())
    program = PROGRAMS[name](folder, seconds)
    traced = run(program, [memtracer, "run", "-o", db, "--interval", "200", "--"] +
                 program.command())
    problems = []
    for what, a, b in zip(("output", "exit code", "load's answer"), plain, traced):
        if a != b:
            problems.append(f"{what} differs: {a!r} without, {b!r} with the tracer")
    with look(db) as c:
        samples, off, ticks, failed = c.execute(
            "SELECT count(*), sum(flags & 1), sum(ticks), sum(flags >> 6 & 1) FROM sample").fetchone()
        cpu, wall = c.execute("SELECT sum(cost_cpu_ns), max(until_ns) FROM sample").fetchone()
    if off:
        problems.append(f"{off} of {samples} samples do not add up")
    if failed:
        problems.append(f"{failed} samples failed")
    if not traced[3]:
        problems.append("no quiet moment was found")
    elif traced[3][0] != traced[3][1]:
        problems.append(f"smaps says {traced[3][0]}, the file {traced[3][1]} bytes resident")
    rss = f"{traced[3][0]} = {traced[3][1]}" if traced[3] else "-"
    print(f"{'FAIL' if problems else 'ok':4} {name:7} exit {traced[1]}, {ticks} ticks in {samples} "
          f"rows, resident {rss}, sampler {100 * cpu / wall:.2f} % of a core, "
          f"file {os.path.getsize(db)} bytes", flush=True)
    for p in problems:
        print("     ", p[:2000])
    return not problems


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("memtracer")
    ap.add_argument("names", nargs="*", default=list(PROGRAMS))
    ap.add_argument("--seconds", type=int, default=60)
    ap.add_argument("--keep", help="keep the files in this folder")
    a = ap.parse_args()
    good, n_run = True, 0
    for name in a.names:
        missing = PROGRAMS[name].missing()
        if missing:
            print(f"skip {name}: {', '.join(missing)} not found (package {PROGRAMS[name].package})")
            continue
        folder = a.keep or tempfile.mkdtemp(prefix="memtracer-real-")
        os.makedirs(folder, exist_ok=True)
        try:
            n_run += 1
            good &= check(name, a.memtracer, a.seconds, folder)
        finally:
            if not a.keep:
                shutil.rmtree(folder, ignore_errors=True)
    sys.exit(77 if not n_run else 0 if good else 1)


if __name__ == "__main__":
    main()
