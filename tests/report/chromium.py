#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page in Chromium: chromium.py MEMTRACER NODE_MODULES [FOLDER-FOR-PICTURES]

Makes recordings, one of them with hostile names, their pages, and what SQL says of each sample;
browser.js does the rest. Skipped where Chromium, Node or playwright-core is missing.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "export"))

from common import LONG, ask, make_file, skip  # noqa: E402

HOSTILE = '</script><img src=x onerror=alert(1)><svg onload=alert(2)>&lt;"\'`${1}'


def hostile(path):
    db = sqlite3.connect(path)
    db.execute("UPDATE run SET label = ?1, host = ?1, allocator = ?1, name = ?1", (HOSTILE,))
    db.execute("UPDATE mark SET label = ?1 || id || ?2", (HOSTILE, "\u202e\x1b[31m"))
    db.execute("UPDATE string SET text = ?1 || id || '<!--<script>'", (HOSTILE,))
    db.execute("UPDATE type SET name = ?1 WHERE id = 7", (HOSTILE[:60],))
    db.commit()
    db.close()


def truth(path, run, n=8):
    """What SQL says of some samples: {sample: {type: [columns]}}."""
    columns = ("size committed charged private ws ws_private ws_shareable ws_shared pss swap locked"
               " huge lazy_free blocks largest").split()
    samples = [s for s, in ask(path, "SELECT DISTINCT sample FROM level WHERE run = ? ORDER BY 1",
                               run)]
    out = {}
    for sample in samples[::max(1, len(samples) // n)] + samples[-1:]:
        rows = ask(path, "SELECT t.name, %s FROM type t JOIN level l ON l.type = t.id AND l.run = ?1"
                         " AND l.sample = (SELECT max(k.sample) FROM level k WHERE k.run = ?1 AND"
                         " k.type = t.id AND k.sample <= ?2)" % ", ".join("l." + c for c in columns),
                   run, sample)
        out[sample] = {r[0]: ["" if v is None else str(v) for v in r[1:]] for r in rows}
    return out


def page(memtracer, folder, name, change=None, extra="", run=2):
    path, html = os.path.join(folder, name + ".db"), os.path.join(folder, name + ".html")
    make_file(memtracer, path, extra)
    if change:
        change(path)
    subprocess.run([memtracer, "report", path, "-o", html, "--run", str(run)], check=True)
    peak = ask(path, "SELECT max(ws) FROM level WHERE run = ? AND type = 4", run)[0][0]
    steps = ask(path, "SELECT type, bytes FROM punctuated_growth WHERE run = ?", run)
    return {"name": name, "html": html, "truth": truth(path, run), "peak": peak,
            "steps": [list(s) for s in steps], "hostile": change is not None}


def main():
    memtracer, modules = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    node = shutil.which("node")
    if not browser or not node:
        skip("%s is not installed" % ("node" if browser else "chromium"))
    if not os.path.exists(os.path.join(modules, "playwright-core")):
        skip("npm did not bring playwright-core")
    with tempfile.TemporaryDirectory() as folder:
        pages = [page(memtracer, folder, "plain"), page(memtracer, folder, "hostile", hostile),
                 page(memtracer, folder, "long", extra=LONG.format(n=100000), run=9)]
        plan = os.path.join(folder, "plan.json")
        with open(plan, "w", encoding="utf-8") as f:
            json.dump({"browser": browser, "pages": pages,
                       "pictures": sys.argv[3] if len(sys.argv) > 3 else folder}, f)
        env = dict(os.environ, NODE_PATH=modules, HOME=folder)
        sys.exit(subprocess.run([node, os.path.join(HERE, "browser.js"), plan],
                                env=env).returncode)


main()
