#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What other tools cost on the same process: peers.py BENCH_HOLD MEMTRACER [ROUNDS [SPACE...]]

Each number is CPU time, user and system, divided by that of one raw read of smaps of the same
process in the same round; the median of all rounds with its quartiles. A command pays for its own
start, a call of psutil is made inside a running interpreter. What is not installed is left out:
Debian has pmap in procps, smem in smem, psutil in python3-psutil. One JSON object a space.
"""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

try:
    import psutil
except ImportError:
    psutil = None


def read_file(path):
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 65536):
        pass
    os.close(fd)


def own_cost(work):
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def child_cost(command):
    def used():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime

    begun = used()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return used() - begun


def methods(pid, memtracer):
    found = {
        "smaps_rollup": lambda: own_cost(lambda: read_file("/proc/%d/smaps_rollup" % pid)),
        "memtracer show PID": lambda: child_cost([memtracer, "show", str(pid)]),
    }
    if psutil:
        process = psutil.Process(pid)
        found["psutil memory_maps"] = lambda: own_cost(lambda: process.memory_maps(grouped=False))
        found["psutil memory_full_info"] = lambda: own_cost(process.memory_full_info)
    if shutil.which("pmap"):
        found["pmap -X"] = lambda: child_cost(["pmap", "-X", str(pid)])
    if shutil.which("smem"):
        found["smem -P"] = lambda: child_cost(["smem", "-P", "^[^ ]*bench_hold"])
    return found


def measure(hold, memtracer, space, rounds):
    held = subprocess.Popen([hold, space], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(held.stdout.readline())
    ratios = {}
    for _ in range(rounds):
        raw = own_cost(lambda: read_file("/proc/%d/smaps" % pid))
        for name, cost in methods(pid, memtracer).items():
            ratios.setdefault(name, []).append(cost() / raw)
    held.stdin.close()
    held.wait()
    result = {"space": space, "rounds": rounds}
    for name, values in ratios.items():
        quartiles = statistics.quantiles(values, n=4)
        result[name] = {"ratio": round(statistics.median(values), 3),
                        "p25": round(quartiles[0], 3), "p75": round(quartiles[2], 3)}
    return result


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    for space in sys.argv[4:] or ["a", "b", "c", "g"]:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], space, rounds)), flush=True)


main()
