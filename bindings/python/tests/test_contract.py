# SPDX-License-Identifier: MIT
"""The scenarios of bindings/contract/README.md in Python."""
import mmap
import os
import sys
import tempfile
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

    def test_300_grow_and_310_shrink(self):
        with memtracer.Tracer(self.db) as t:
            self.resident(t)
            before = self.resident(t)
            pool = mmap.mmap(-1, 32 * MIB)
            for at in range(0, 32 * MIB, 4096):
                pool[at] = 1
            grown = self.resident(t)
            pool.close()
            after = self.resident(t)
        self.assertAlmostEqual(grown - before, 32 * MIB, delta=2 * MIB)
        self.assertAlmostEqual(after, before, delta=2 * MIB)

    def test_400_read(self):
        memtracer.Tracer(self.db).stop()
        rows = self.ask("SELECT * FROM vmmap")
        self.assertEqual(rows[-1]["type"], "total")
        self.assertEqual(rows[-1]["ws"], sum(r["ws"] or 0 for r in rows[:-1]
                                             if r["type"] != "free"))
        with memtracer.Recording(self.db) as r:
            self.assertEqual(len(r.table("SELECT * FROM vmmap")["type"]), len(rows))

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
