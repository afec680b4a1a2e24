#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs with a known behaviour, recorded and judged: one sentence each.

  real_verdicts.py MEMTRACER [--seconds 240] [--keep DIR] [NAME...]

Stands for an hour at one sample a second: 3,600 samples each, taken the faster the shorter
--seconds is, and the load quicker by as much. All programs run side by side. What must be said
comes from what each program does; a program that is not installed is skipped with its package's
name. Exit 1 when a sentence is wrong, 77 when nothing could be run. Not a part of any suite: it
takes minutes.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SAMPLES = 3600
MIB = 1 << 20

PYTHON_LIST = """
import sys, time
seconds, kept = float(sys.argv[1]), []
end, n = time.monotonic() + seconds, 0
while time.monotonic() < end:
    kept.extend("row %d of a list that nobody empties" % i for i in range(n, n + 100))
    n += 100
    sorted(str(i) for i in range(3000))
    time.sleep(seconds / 3600)
"""

PYTHON_BUFFER = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
seconds = float(sys.argv[1])
end = time.monotonic() + seconds
while time.monotonic() < end:
    ctypes.memset(libc.malloc(20000), 1, 20000)
    sorted(str(i) for i in range(3000))
    time.sleep(seconds / 3600)
"""

JAVA = """
import java.util.*;
public class Bounded {
    public static void main(String[] a) throws Exception {
        long end = System.currentTimeMillis() + (long) (1000 * Double.parseDouble(a[0]));
        Map<Integer, byte[]> cache = new HashMap<>();
        Random r = new Random(1);
        while (System.currentTimeMillis() < end) {
            for (int i = 0; i < 300; i++) cache.put(r.nextInt(4000), new byte[r.nextInt(8192)]);
            Thread.sleep(5);
        }
    }
}
"""

NODE = """
const seconds = Number(process.argv[2]), kept = [], end = Date.now() + 1000 * seconds;
(function work() {
    kept.push(Buffer.alloc(30000, 1));
    let s = '';
    for (let i = 0; i < 2000; i++) s += i;
    if (Date.now() < end) setTimeout(work, 1000 * seconds / 3600);
})();
"""

# 64 threads, an arena each. One after another takes 2 MiB in small blocks, then one more on top,
# and gives all but that one back: in use is nothing, the arenas stay.
ARENAS = """
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define N 2048
static double seconds;
static void *work(void *arg)
{
    static __thread char *p[N];
    long k = (long)arg;
    free(malloc(100));
    usleep((useconds_t)(seconds * 1e6 * (0.02 + 0.96 * (double)k / 64)));
    for (int i = 0; i < N; i++) memset(p[i] = malloc(1000), 1, 1000);
    char *top = malloc(1000);
    for (int i = 0; i < N; i++) free(p[i]);
    usleep((useconds_t)(seconds * 1e6 * (0.98 - 0.96 * (double)k / 64)));
    free(top);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t t[64];
    seconds = argc > 1 ? atof(argv[1]) : 1;
    mallopt(M_ARENA_MAX, 64);
    for (long k = 0; k < 64; k++) pthread_create(&t[k], NULL, work, (void *)k);
    for (int k = 0; k < 64; k++) pthread_join(t[k], NULL);
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Program:
    """What to run, how to load it, and what must be said of it."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def load(self, process):
        """Keeps the program busy until its time is over, then ends it."""
        process.wait()

    def problems(self, said, types):
        """Sentences on what is wrong with the answer."""
        out = ["nothing leaks here"] if said["leak"] else []
        return out + (["it is long enough to say"] if said["verdict"] == "too_short" else [])


class Leaks(Program):
    shapes = ("linear",)
    types = ("heap", "private")

    def problems(self, said, types):
        t = types[said["type"]]
        grown = self.bytes_taken()
        return [what for ok, what in (
            (said["leak"], "it leaks"),
            (said["type"] in self.types, "of one of the types " + ", ".join(self.types)),
            (t["shape"] in self.shapes, "in the shape " + " or ".join(self.shapes)),
            (t.get("cause") == "live growth", "and it is in use"),
            (0.7 * grown <= t.get("kept_bytes", 0) <= 2.5 * grown, "about %d bytes" % grown),
        ) if not ok]


class Redis(Program):
    needs, package = ["redis-server"], "redis-server"

    def command(self):
        self.port = free_port()
        return ["redis-server", "--port", str(self.port), "--save", "", "--bind", "127.0.0.1",
                "--loglevel", "warning"]

    def key(self, n):
        return n * 7919 % 2000

    def load(self, process):
        time.sleep(0.03 * self.seconds)
        end, n = time.monotonic() + 0.95 * self.seconds, 0
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            while time.monotonic() < end:
                lines = ["SET key:%d %s" % (self.key(n + i), "v" * 500) for i in range(20)]
                n += 20
                s.sendall(("\r\n".join(lines) + "\r\n").encode())
                left = 20 * len("+OK\r\n")
                while left > 0:
                    left -= len(s.recv(left))
                time.sleep(self.seconds / SAMPLES)
        self.n = n
        process.terminate()
        process.wait()


class RedisGrowing(Redis, Leaks):
    def key(self, n):
        return n

    def bytes_taken(self):
        return self.n * 600

    problems = Leaks.problems


class PythonList(Leaks):
    types = ("managed_heap",)
    needs, package = ["/usr/bin/python3"], "python3"

    def command(self):
        return ["/usr/bin/python3", self.write("list.py", PYTHON_LIST), str(self.seconds)]

    def load(self, process):
        process.wait()

    def bytes_taken(self):  # loops of 100 strings of 90 bytes; a loop takes longer than its sleep
        return 0.6 * SAMPLES * 100 * 90


class PythonBuffer(PythonList):
    types = ("heap",)

    def command(self):
        return ["/usr/bin/python3", self.write("buffer.py", PYTHON_BUFFER), str(self.seconds)]

    def bytes_taken(self):
        return 0.6 * SAMPLES * 20000


class Nginx(Program):
    needs, package = ["nginx"], "nginx-light"

    def command(self):
        self.port = free_port()
        self.write("page.html", "x" * 4096)
        at = self.folder
        conf = self.write("nginx.conf", f"""
            worker_processes 2; daemon off; error_log /dev/null; pid {at}/nginx.pid; user root;
            events {{ worker_connections 256; }}
            http {{ access_log off; client_body_temp_path {at}/b; proxy_temp_path {at}/p;
                fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
                server {{ listen 127.0.0.1:{self.port}; root {at}; }} }}""")
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", conf]

    def load(self, process):
        time.sleep(0.02 * self.seconds)
        with open(os.path.join(self.folder, "nginx.pid"), encoding="utf-8") as f:
            master = int(f.read())
        reload_s = self.seconds / 12
        end, turn = time.monotonic() + 0.97 * self.seconds, time.monotonic() + reload_s
        while time.monotonic() < end:
            if time.monotonic() > turn:
                os.kill(master, signal.SIGHUP)
                turn += reload_s
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
                    s.sendall(b"GET /page.html HTTP/1.0\r\n\r\n")
                    while s.recv(65536):
                        pass
            except OSError:
                pass
            time.sleep(self.seconds / SAMPLES)
        os.kill(master, signal.SIGQUIT)
        process.wait()


class Jvm(Program):
    needs, package = ["java", "javac"], "openjdk-17-jdk-headless"

    def command(self):
        path = self.write("Bounded.java", JAVA)
        subprocess.run(["javac", "-d", self.folder, path], check=True)
        return ["java", "-Xmx96m", "-cp", self.folder, "Bounded", str(self.seconds)]


class NodeBuffers(Leaks):
    needs, package = ["node"], "nodejs"
    shapes = ("linear", "punctuated")

    def command(self):
        return ["node", self.write("buffers.js", NODE), str(self.seconds)]

    def load(self, process):
        process.wait()

    def bytes_taken(self):
        return 0.8 * SAMPLES * 30000


class Arenas(Program):
    needs, package = ["cc"], "gcc"

    def command(self):
        exe = os.path.join(self.folder, "arenas")
        source = self.write("arenas.c", ARENAS)
        subprocess.run(["cc", "-O1", "-o", exe, source, "-pthread"], check=True)
        return [exe, str(self.seconds)]

    def problems(self, said, types):
        t = types["heap"]
        right = t["growing"] and t["cause"] == "allocator retention"
        return super().problems(said, types) + ([] if right else ["the allocator keeps it"])


PROGRAMS = {"redis": Redis, "redis-growing": RedisGrowing, "python-list": PythonList,
            "python-buffer": PythonBuffer, "nginx-reloads": Nginx, "jvm-bounded": Jvm,
            "node-buffers": NodeBuffers, "arenas-64": Arenas}


def record(memtracer, name, program, db):
    interval = max(10, round(1000 * program.seconds / SAMPLES))
    command = [memtracer, "run", "-o", db, "--interval", str(interval), "--label", name, "--"]
    program.load(subprocess.Popen(command + program.command(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def judge(memtracer, name, program, db):
    done = subprocess.run([memtracer, "verdict", db, "--json"], stdout=subprocess.PIPE, check=False)
    said = json.loads(done.stdout)
    types = {t["type"]: t for t in said["types"]}
    wrong = program.problems(said, types)
    print("%-4s %-13s %s: %s" % ("FAIL" if wrong else "ok", name, said["verdict"],
                                 types[said["type"]]["sentence"]))
    for t in said["types"]:
        if t["growing"] and t["type"] != said["type"]:
            print("                   ", t["sentence"])
    for what in wrong:
        print("                    not said:", what)
    return not wrong


def missing(program):
    return [n for n in program.needs
            if not shutil.which(n) and not os.access("/usr/sbin/" + n, os.X_OK)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("memtracer")
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--keep", help="keep the files in this folder")
    args = parser.parse_args()
    root = args.keep or tempfile.mkdtemp(prefix="memtracer-verdicts-")
    running = []
    for name in args.names:
        lacks = missing(PROGRAMS[name])
        if lacks:
            print("skip %s: %s not found (package %s)" % (name, ", ".join(lacks),
                                                         PROGRAMS[name].package))
            continue
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        program, db = PROGRAMS[name](folder, args.seconds), os.path.join(root, name + ".db")
        thread = threading.Thread(target=record, args=(args.memtracer, name, program, db))
        thread.start()
        running.append((thread, name, program, db))
    good = True
    for thread, name, program, db in running:
        thread.join()
        good = judge(args.memtracer, name, program, db) and good
    if not args.keep:
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(77 if not running else 0 if good else 1)


if __name__ == "__main__":
    main()
