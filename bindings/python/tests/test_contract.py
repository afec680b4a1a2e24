# SPDX-License-Identifier: MIT
"""The scenarios of bindings/contract/README.md in Python."""
import importlib.util
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tracemalloc
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import memtracer

MIB = 1 << 20


class Contract(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.db = os.path.join(self.folder.name, "t.db")

    def tearDown(self):
        self.folder.cleanup()

    def ask(self, sql):
        with memtracer.Recording(self.db) as r:
            return r.rows(sql)

    def test_010_load(self):
        header = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "../../../include/memtracer/version.h")
        with open(header, encoding="utf-8") as f:
            version = re.search('VERSION_STRING "(.*)"', f.read()).group(1)
        self.assertEqual(memtracer.version(), version)

    def test_100_start_and_stop(self):
        memtracer.Tracer(self.db).stop()
        self.assertEqual(os.listdir(self.folder.name), ["t.db"])
        self.assertEqual(self.ask("SELECT state FROM run"), [{"state": "stopped"}])

    def test_110_defaults(self):
        memtracer.Tracer(self.db).stop()
        with open("/proc/self/comm") as f:
            name = f.read().strip()
        self.assertEqual(self.ask("SELECT interval_ms, label FROM run"),
                         [{"interval_ms": 1000, "label": name}])

    def test_120_options(self):
        with self.assertRaises(memtracer.Error) as e:
            memtracer.Tracer(self.db, flags=1 << 31)
        self.assertEqual(e.exception.name, "TRACER_EINVAL")
        self.assertFalse(os.path.exists(self.db))

    def test_200_mark(self):
        label = "reload 'ü' \\ </script>"
        with memtracer.Tracer(self.db) as t:
            t.mark(label)
        self.assertEqual(self.ask("SELECT label FROM mark"), [{"label": label}])

    def resident(self, t):
        t.sample()
        return sum(row["ws"] or 0 for row in t.totals().values())

    def pool(self, n):
        pool = mmap.mmap(-1, n)
        for at in range(0, n, 4096):
            pool[at] = 1
        return pool

    def test_210_own_type(self):
        pool = bytearray(b"1") * (8 * MIB)
        with memtracer.Tracer(self.db) as t:
            number = t.add_type("pool", "of the test")
            t.claim(pool, number, "the pool")
            t.sample()
            self.assertAlmostEqual(t.totals()["pool"]["ws"], 8 * MIB, delta=8192)
            t.unclaim(pool)
            t.sample()
            self.assertEqual(t.totals()["pool"]["ws"], 0)
        self.assertEqual(number, memtracer.constants.TYPE_USER_FIRST)

    def test_220_counters(self):
        with memtracer.Tracer(self.db) as t:
            counter = t.add_counter("entries", description="of the cache")
            counter.set(3)
            t.sample()
            counter.set(-4)
            with self.assertRaises(memtracer.Error):
                t.add_counter("threads")
        self.assertEqual(self.ask("SELECT value FROM counter JOIN counter_kind k ON k.id = counter"
                                  " WHERE k.name = 'entries' AND k.unit = 'count'"
                                  " ORDER BY sample"), [{"value": 3}, {"value": -4}])

    def test_300_grow(self):
        with memtracer.Tracer(self.db) as t:
            self.resident(t)
            before = self.resident(t)
            pool = self.pool(32 * MIB)
            grown = self.resident(t)
            pool.close()
        self.assertAlmostEqual(grown - before, 32 * MIB, delta=2 * MIB)

    def test_310_shrink(self):
        with memtracer.Tracer(self.db) as t:
            self.resident(t)
            before = self.resident(t)
            self.pool(32 * MIB).close()
            after = self.resident(t)
        self.assertAlmostEqual(after, before, delta=2 * MIB)

    def extension(self):
        """The C extension, built here; skipped where Python's headers are not."""
        include = sysconfig.get_paths()["include"]
        if not os.path.exists(os.path.join(include, "Python.h")) or not shutil.which("cc"):
            self.skipTest("there is no Python.h, or no cc")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native.c")
        path = os.path.join(self.folder.name, "native.so")
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-I" + include, source, "-o", path],
                       check=True)
        spec = importlib.util.spec_from_file_location("native", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_320_native_leak(self):
        native = self.extension()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        with memtracer.Tracer(self.db, runtime_counters=True) as t:
            t.sample()
            for _ in range(6):
                t.mark("call of C")
                native.leak(4 * MIB)
                t.sample()
        with memtracer.Recording(self.db) as r:
            grew = {row["name"]: row["grew"] for row in r.rows(r.query("heap_story"))}
            steps = [s for s in r.steps() if s["type"] == "heap"]
        self.assertAlmostEqual(grew["heap"], 24 * MIB, delta=MIB)
        self.assertAlmostEqual(grew["py_traced"], 0, delta=MIB / 2)
        self.assertEqual([s["mark"] for s in steps], ["call of C"] * 6)
        for step in steps:
            self.assertAlmostEqual(step["bytes"], 4 * MIB, delta=MIB / 2)

    def test_400_read(self):
        memtracer.Tracer(self.db).stop()
        rows = self.ask("SELECT * FROM vmmap")
        self.assertEqual(rows[-1]["type"], "total")
        self.assertEqual(rows[-1]["ws"], sum(r["ws"] or 0 for r in rows[:-1]
                                             if r["type"] != "free"))
        with memtracer.Recording(self.db) as r:
            self.assertEqual(len(r.table("SELECT * FROM vmmap")["type"]), len(rows))
        if "MEMTRACER_CLI" not in os.environ:
            self.skipTest("MEMTRACER_CLI does not name the command line")
        told = subprocess.run([os.environ["MEMTRACER_CLI"], "sql", "--json", self.db,
                               "SELECT * FROM vmmap"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(rows, json.loads(told))

    def test_500_errors(self):
        path = os.path.join(self.folder.name, "none", "x.db")
        with self.assertRaises(memtracer.Error) as e:
            memtracer.Tracer(path)
        self.assertEqual(e.exception.name, "TRACER_EIO")
        self.assertIn(path, str(e.exception))

    def test_510_stop_twice(self):
        t = memtracer.Tracer(self.db)
        t.stop()
        t.stop()

    def test_610_fork(self):
        t = memtracer.Tracer(self.db)
        pid = os.fork()
        if pid == 0:
            try:
                t.mark("child")
            except memtracer.Error as e:
                os._exit(0 if e.name == "TRACER_ESTATE" else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        t.stop()


if __name__ == "__main__":
    unittest.main()
