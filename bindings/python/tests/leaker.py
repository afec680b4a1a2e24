# SPDX-License-Identifier: MIT
"""Leaks six times in a C extension, each after a mark: leaker.py EXTENSION DB FLAGS"""
import importlib.util
import os
import sys
import tracemalloc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import memtracer


def leak(extension, db, flags=0):
    spec = importlib.util.spec_from_file_location("native", extension)
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    tracemalloc.start()
    try:
        with memtracer.Tracer(db, flags=flags, runtime_counters=True) as t:
            t.pause()  # no tick of the timer falls into a leak
            t.sample()
            for _ in range(6):
                t.mark("call of C")
                native.leak(4 << 20)
                t.sample()
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    leak(sys.argv[1], sys.argv[2], int(sys.argv[3]))
