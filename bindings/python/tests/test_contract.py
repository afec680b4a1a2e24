# SPDX-License-Identifier: MIT
"""The scenarios of bindings/contract/README.md in Python."""
import gc
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import leaker
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
        for interval in (-1, (1 << 32) + 1000):
            with self.assertRaises(memtracer.Error) as e:
                memtracer.Tracer(self.db, interval_ms=interval)
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
        return path

    def leaked(self):
        """The steps that the file has of leaker.leak()."""
        with memtracer.Recording(self.db) as r:
            grew = {row["name"]: row["grew"] for row in r.rows(r.query("heap_story"))}
            steps = [s for s in r.steps() if s["type"] == "heap"]
        self.assertAlmostEqual(grew["heap"], 24 * MIB, delta=MIB)
        self.assertAlmostEqual(grew["py_traced"], 0, delta=MIB / 2)
        self.assertEqual([s["mark"] for s in steps], ["call of C"] * 6)
        for step in steps:
            self.assertAlmostEqual(step["bytes"], 4 * MIB, delta=MIB / 2)
        return steps

    def test_320_native_leak(self):
        leaker.leak(self.extension(), self.db)
        self.leaked()

    def test_321_leak_site(self):
        if "MEMTRACER_STACKS" not in os.environ:
            self.skipTest("MEMTRACER_STACKS does not name libmemtracer-stacks")
        extension = self.extension()
        subprocess.run([sys.executable, leaker.__file__, extension, self.db,
                        str(memtracer.constants.F_STACKS)], check=True,
                       env=dict(os.environ, LD_PRELOAD=os.environ["MEMTRACER_STACKS"]))
        for step in self.leaked():
            self.assertTrue(step["site"].startswith(extension + "+0x"), step)
        if "MEMTRACER_CLI" in os.environ:
            told = subprocess.run([os.environ["MEMTRACER_CLI"], "steps", "--json", self.db],
                                  stdout=subprocess.PIPE, check=True).stdout
            for step in json.loads(told)["steps"]:
                self.assertRegex(step["site"], r"^leak |\+0x")  # names need libdw

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

    def test_501_not_a_recording(self):
        with open(self.db, "w") as f:
            f.write("a letter")
        with self.assertRaises(memtracer.Error) as e:
            memtracer.Tracer(self.db)
        self.assertEqual(e.exception.name, "TRACER_EDB")
        with self.assertRaisesRegex(ValueError, "not a memtracer file"):
            memtracer.Recording(self.db)
        with open(self.db) as f:
            self.assertEqual(f.read(), "a letter")
        with self.assertRaises(FileNotFoundError):
            memtracer.Recording(self.db + ".none")

    def refused(self, name, call, *arguments):
        with self.assertRaises(memtracer.Error) as e:
            call(*arguments)
        self.assertEqual(e.exception.name, name)

    def test_510_stop_twice(self):
        t = memtracer.Tracer(self.db)
        t.stop()
        t.stop()

    def test_511_after_stop(self):
        t = memtracer.Tracer(self.db)
        counter = t.add_counter("entries")
        t.stop()
        for call, *arguments in ((t.mark, "late"), (t.sample,), (t.flush,), (t.pause,), (t.resume,),
                                 (t.totals,), (t.stats,), (t.last_problem,), (t.add_type, "late"),
                                 (t.add_counter, "late"), (counter.set, 1),
                                 (t.claim, bytearray(9), memtracer.constants.TYPE_HEAP)):
            self.refused("TRACER_ESTATE", call, *arguments)
        self.assertEqual(self.ask("SELECT * FROM mark"), [])

    def test_520_start_twice(self):
        with memtracer.Tracer(self.db) as t:
            self.refused("TRACER_ESTATE", memtracer.Tracer, self.db)
            t.mark("goes on")
        self.assertEqual(self.ask("SELECT m.label, state FROM mark m JOIN run"),
                         [{"label": "goes on", "state": "stopped"}])

    def test_530_long_label(self):
        with memtracer.Tracer(self.db, label="€" * 1000) as t:
            t.mark("x" + "ü" * 1000)
        self.assertEqual(self.ask("SELECT label FROM mark"), [{"label": "x" + "ü" * 127}])
        label = self.ask("SELECT label FROM run")[0]["label"]
        self.assertEqual(label, "€" * len(label))

    def test_540_no_utf8(self):
        with memtracer.Tracer(self.db) as t:
            t.mark(b"a \xff\xfe b")
        label = self.ask("SELECT label FROM mark")[0]["label"]
        self.assertEqual(label, "a \udcff\udcfe b")
        with memtracer.Tracer(self.db) as t:
            t.mark(label)
        self.assertEqual(self.ask("SELECT DISTINCT hex(label) AS h FROM mark"),
                         [{"h": "6120FFFE2062"}])

    def test_550_nul_inside(self):
        with memtracer.Tracer(self.db) as t:
            self.refused("TRACER_EINVAL", t.mark, "a\0b")
            self.refused("TRACER_EINVAL", t.add_type, "a\0b")
            self.refused("TRACER_EINVAL", memtracer.Tracer, self.db + "\0b")
        self.assertEqual(self.ask("SELECT * FROM mark"), [])
        self.assertEqual(os.listdir(self.folder.name), ["t.db"])

    def test_560_forgotten(self):
        t = memtracer.Tracer(self.db, runtime_counters=True)
        t.mark("then forgotten")
        del t
        gc.collect()
        self.assertEqual(os.listdir(self.folder.name), ["t.db"])
        self.assertEqual(self.ask("SELECT m.label, state FROM mark m JOIN run"),
                         [{"label": "then forgotten", "state": "stopped"}])

    def test_561_C21_end_of_program(self):
        program = ("import memtracer, sys; t = memtracer.Tracer(sys.argv[1], runtime_counters=True);"
                   " t.mark('then the end'); sys.exit(3)")
        done = subprocess.run([sys.executable, "-c", program, self.db],
                              cwd=os.path.dirname(memtracer.__path__[0]))
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.ask("SELECT m.label, state FROM mark m JOIN run"),
                         [{"label": "then the end", "state": "stopped"}])

    def test_570_strange_values(self):
        with memtracer.Tracer(self.db) as t:
            for path in (None, 3, object()):
                self.assertRaises(TypeError, memtracer.Tracer, path)
            for label in (3, ["a"], object()):
                self.assertRaises(TypeError, t.mark, label)
            for label in (None, "", b""):
                self.refused("TRACER_EINVAL", t.mark, label)
            for memory in ((0, 0), bytearray(0), (-1, -1)):
                self.refused("TRACER_EINVAL", t.claim, memory, memtracer.constants.TYPE_HEAP)
            self.assertRaises(TypeError, t.claim, b"read-only", memtracer.constants.TYPE_HEAP)
        self.assertEqual(os.listdir(self.folder.name), ["t.db"])

    def test_610_C21_fork(self):
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

    def test_611_C21_own_in_child(self):
        t = memtracer.Tracer(self.db, runtime_counters=True)
        other = self.db + ".child"
        pid = os.fork()
        if pid == 0:
            try:
                t.stop()
                with memtracer.Tracer(other, runtime_counters=True) as own:
                    own.mark("child")
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        t.mark("parent")
        t.stop()
        for self.db, label in ((self.db, "parent"), (other, "child")):
            self.assertEqual(self.ask("SELECT m.label, state FROM mark m JOIN run"),
                             [{"label": label, "state": "stopped"}])


if __name__ == "__main__":
    unittest.main()
