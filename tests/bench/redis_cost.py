#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs a Redis server: redis_cost.py MEMTRACER [PAIRS [--stacks]]. Exit 77 = there
is no Redis.

Two servers, one of them recorded, share a core; a client on another core asks each in turn, in
slices of pipelined SETs or GETs of random keys. Servers differ by where their memory happens to
lie, so there are many such pairs. The ratio is that of the CPU time a request of the
server's own thread; what the sampler used beside it is told as its share of a core, since it works
by the clock, not by the request. Where a server is as fast as its core lets it, throughput is the
inverse of both. The client's own figure is printed too; other load blurs it."""
import os
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import paired

REQUESTS = 200000
SLICES = 5


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(before, core, folder):
    port = free_port()
    server = subprocess.Popen(
        ["taskset", "-c", core] + before + ["redis-server", "--port", str(port), "--save", "",
                                            "--appendonly", "no", "--dir", folder],
        stdout=subprocess.DEVNULL)
    for _ in range(100):
        done = subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True,
                              check=False)
        if done.stdout.strip() == b"PONG":
            return server, port
        time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def cpu_seconds(port):
    """Of the thread that serves."""
    text = subprocess.run(["redis-cli", "-p", str(port), "info", "cpu"], check=True,
                          capture_output=True, encoding="ascii").stdout
    return sum(float(x) for x in re.findall(r"^used_cpu_(?:user|sys)_main_thread:([\d.]+)", text, re.M))


def one_slice(port, core, what):
    """CPU time of the server in this slice, and the client's seconds a request."""
    before = cpu_seconds(port)
    out = subprocess.run(["taskset", "-c", core, "redis-benchmark", "-p", str(port), "-P", "32", "-q",
                          "-n", str(REQUESTS), "-r", "100000", "-d", "64", "-t", what, "--csv"],
                         check=True, capture_output=True, encoding="ascii").stdout
    rate = float(out.strip().splitlines()[-1].split(",")[1].strip('"'))
    return cpu_seconds(port) - before, 1 / rate


def one_pair(memtracer, options, what, turn):
    """Sums of CPU time and client's seconds of both servers, and the sampler's share in percent."""
    cores = sorted(os.sched_getaffinity(0))
    sums = {"plain": [0, 0], "traced": [0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        run = [memtracer, "run", "-o", folder + "/redis.db"] + options + ["--"]
        before = {"plain": [], "traced": run}
        names = sorted(before, reverse=turn % 2)
        servers = {name: start(before[name], str(cores[0]), folder) for name in names}
        for name in names:
            one_slice(servers[name][1], str(cores[-1]), "set")
        for _ in range(SLICES):
            for name in names:
                for i, value in enumerate(one_slice(servers[name][1], str(cores[-1]), what)):
                    sums[name][i] += value
            names.reverse()
        for server, _ in servers.values():
            server.terminate()
            server.wait()
        db = sqlite3.connect(folder + "/redis.db")
        return sums, db.execute("SELECT cpu_percent FROM self_cost").fetchone()[0]


def main():
    if not shutil.which("redis-benchmark") or not shutil.which("redis-server"):
        print("skipped: there is no redis-server")
        sys.exit(77)
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    for what in ("set", "get"):
        told = [one_pair(os.path.abspath(sys.argv[1]), sys.argv[3:], what, i) for i in range(pairs)]
        for i, name in ((0, "CPU a request"), (1, "client's time")):
            paired.tell("%s %s" % (what, name), [s["traced"][i] for s, _ in told],
                        [s["plain"][i] for s, _ in told])
        print("%-28s %.3f %% of a core" % (what + " sampler",
                                          statistics.median(share for _, share in told)), flush=True)


if __name__ == "__main__":
    main()
