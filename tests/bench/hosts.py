#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast a host runs with ten looks a second: hosts.py MEMTRACER BENCH_STACKS [ROUNDS]

Each round runs a malloc benchmark, alone and beside a thread that sleeps (from the second thread on
the C library takes locks, whoever made it), and redis-benchmark (where installed) without and with
`memtracer run --interval 100`, in turns. Speed is untraced time divided by traced time: 1 is no
loss. cpu is CPU time of the host's own main thread for the same work, wall (of redis, once it has
started) what a user waits for.
Printed are the median of the rounds and its 95 % confidence interval (bootstrap), as JSON lines.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REQUESTS = 60000


def traced(memtracer, folder):
    return [memtracer, "run", "-o", os.path.join(folder, "%p.db"), "--interval", "100", "--"]


def run_blocks(bench, what, before):
    """Neither trims its heap: any block at its top, as the preload's, would keep it from that."""
    out = subprocess.run(before + [bench, what], check=True, stdout=subprocess.PIPE,
                         env=dict(os.environ, MALLOC_TRIM_THRESHOLD_="1073741824")).stdout
    return {"cpu": int(out)}


def run_malloc(bench, before, _folder):
    return run_blocks(bench, "malloc", before)


def run_threaded(bench, before, _folder):
    return run_blocks(bench, "threaded", before)


def thread_cpu(pid):
    with open("/proc/%d/task/%d/schedstat" % (pid, pid), encoding="ascii") as f:
        return int(f.read().split()[0])


def redis_pid(socket):
    out = ""
    while "process_id:" not in out:
        time.sleep(0.05)
        out = subprocess.run(["redis-cli", "-s", socket, "info", "server"], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8").stdout
    return int(out.split("process_id:")[1].split()[0])


def run_redis(_bench, before, folder):
    socket = os.path.join(folder, "redis.sock")
    server = subprocess.Popen(before + ["redis-server", "--port", "0", "--unixsocket", socket,
                                        "--save", ""], stdout=subprocess.DEVNULL)
    pid = redis_pid(socket)
    cpu, begun = thread_cpu(pid), time.monotonic()
    subprocess.run(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", str(REQUESTS),
                    "-r", "20000", "-d", "256", "-q"], check=True, stdout=subprocess.DEVNULL)
    result = {"cpu": thread_cpu(pid) - cpu, "wall": time.monotonic() - begun}
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.wait()
    return result


def interval(values):
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return [round(medians[50], 4), round(medians[1949], 4)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    memtracer, bench = (os.path.abspath(a) for a in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    hosts = {"malloc": run_malloc, "malloc threaded": run_threaded}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        hosts["redis"] = run_redis
    with tempfile.TemporaryDirectory() as folder:
        for name, run in hosts.items():
            speeds = {}
            for i in range(rounds):
                order = [[], traced(memtracer, folder)]
                results = [run(bench, before, folder) for before in (order if i % 2 else order[::-1])]
                plain, with_it = results if i % 2 else results[::-1]
                for what, value in plain.items():
                    speeds.setdefault(what, []).append(value / with_it[what])
            for what, values in speeds.items():
                print(json.dumps({"host": name, "of": what, "rounds": rounds,
                                  "speed": round(statistics.median(values), 4),
                                  "ci95": interval(values)}), flush=True)


main()
