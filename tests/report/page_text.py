#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page as text: page_text.py MEMTRACER. No browser: what it could load, what names can do, the
numbers in it against SQL, thinning, and a file that is whole or not there."""
import html.parser
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "export"))

from common import LONG, ask, check, finish, make_file, skip  # noqa: E402

HOSTILE = '</script><img src=x onerror=alert(1)>&lt;"\''


class Page(html.parser.HTMLParser):
    """Elements by their tag, the text of scripts, and the rows of tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.rows = [], [], {}, {}
        self.script = self.table = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.script = attrs.get("id", len(self.scripts))
        elif tag == "table":
            self.table = self.rows.setdefault(attrs["id"], [])
        elif tag == "tr":
            self.table.append([])
        elif tag == "td" or (tag == "th" and attrs["scope"] == "row"):
            self.table[-1].append(attrs.get("data-value"))

    def handle_data(self, data):
        if self.script is not None:
            self.scripts[self.script] = self.scripts.get(self.script, "") + data
        elif self.table and self.table[-1] and self.table[-1][-1] is None and data.strip():
            self.table[-1][-1] = data

    def handle_endtag(self, tag):
        if tag == "script":
            self.script = None
        elif tag == "table":
            self.table = None


def report(memtracer, path, *options):
    done = subprocess.run([memtracer, "report", path, *options], capture_output=True)
    if b"built without" in done.stderr:
        skip("this memtracer has no report")
    check(done.returncode == 0, "report: %s" % done.stderr)
    return done.stdout.decode("utf-8")


def moments(data):
    """The levels by sample and type, decoded as the page's script does."""
    out, now, sample, t_ns = {}, {t: [None] * len(data["columns"]) for t in data["types"]}, 0, 0
    for moment in data["moments"]:
        sample, t_ns = sample + moment[0], t_ns + moment[1]
        for k, *changes in moment[2:]:
            row = now[data["types"][k]]
            for c, d in enumerate(changes):
                row[c] = None if d is None else (row[c] or 0) + d
        out[sample] = (t_ns, {t: tuple(r) for t, r in now.items()})
    return out


def check_inert(memtracer, folder):
    path = os.path.join(folder, "hostile.db")
    make_file(memtracer, path)
    db = sqlite3.connect(path)
    db.execute("UPDATE run SET label = ?1, host = ?1, name = ?1", (HOSTILE,))
    db.execute("UPDATE mark SET label = ?1", (HOSTILE,))
    db.execute("UPDATE string SET text = ?1 || id", (HOSTILE,))
    db.execute("UPDATE type SET name = ?1 WHERE id = 7", (HOSTILE,))
    db.commit()
    db.close()
    page = Page(report(memtracer, path))
    check("img" not in page.tags, "a name became an element")
    check(not any(a.startswith("on") or a in ("src", "href", "style") for a in page.attributes),
          "attributes that run or load: %s" % set(page.attributes))
    data = json.loads(page.scripts["data"])
    check(data["marks"][0]["label"] == HOSTILE, "a hostile label is still that label")


def check_numbers(memtracer, folder):
    path = os.path.join(folder, "fixture.db")
    make_file(memtracer, path)
    text = report(memtracer, path)
    page = Page(text)
    check("default-src 'none'" in text and "unsafe" not in text.split("<style>")[0], "the policy")
    check("Leak: heap" in text.split("id=\"h-vmmap\"")[0], "the verdict stands on top")
    check(set(page.tags) & {"link", "img", "iframe", "object", "embed", "base"} == set(),
          "elements that load")
    outside = re.sub(r"/\*!.*?\*/", "", text, flags=re.S).replace("http://www.w3.org/2000/svg", "")
    check("http" not in outside.replace("http-equiv", ""), "an address of another machine")
    want = [[str(v) if v is not None else "" for v in r] for r in
            ask(path, "SELECT size, committed, ws, blocks FROM vmmap WHERE type <> 'textures'")]
    got = [[r[1], r[2], r[5], r[14]] for r in page.rows["vmmap"] if r]
    check(got == want, "the table without a script: %s, SQL %s" % (got, want))
    steps = [int(r[3]) for r in page.rows["steps"] if r]
    check(steps == [b for b, in ask(path, "SELECT bytes FROM punctuated_growth")], "steps")


def check_judged_steps(memtracer, folder):
    """The steps a verdict goes by stand on the page as the verdict has them."""
    path, draw = os.path.join(folder, "noisy"), random.Random(7)
    with open(path + ".csv", "w", encoding="ascii") as f:
        f.write("t_ns,heap\n")
        for i in range(6000):
            f.write("%d,%d\n" % (i * 10**9, (80 << 20) + i // 600 * (5 << 20) + draw.randrange(6 << 20)))
    subprocess.run([memtracer, "import", "--csv", path + ".csv", "-o", path + ".db"], check=True)
    verdict = json.loads(subprocess.run([memtracer, "verdict", "--json", path + ".db"],
                                        stdout=subprocess.PIPE, check=False).stdout)
    want = [[str(s["bytes"]), str(s["kept_bytes"])] for s in verdict["types"][0]["steps"]]
    page = Page(report(memtracer, path + ".db"))
    check(abs(len(want) - 9) <= 1, "%d steps of 9" % len(want))
    check([r[2:] for r in page.rows["judged"] if r] == want, "the table of the verdict's steps")
    judged = json.loads(page.scripts["data"])["judged"]
    check([str(j["bytes"]) for j in judged] == [b for b, _ in want], "the chart's")


def check_thinning(memtracer, path):
    data = json.loads(Page(report(memtracer, path, "--run", "9")).scripts["data"])
    kept = moments(data)
    check(1000 <= len(kept) <= 8100, "100,001 moments became %d" % len(kept))
    values = dict(ask(path, "SELECT sample, ws FROM level WHERE run = 9 AND type = 4"))
    ws = data["columns"].index("ws")
    check(all(row["heap"][ws] == values[s] for s, (_, row) in kept.items()), "kept means exact")
    shown = [row["heap"][ws] for _, row in kept.values()]
    check(max(shown) == max(values.values()) and min(shown) == min(values.values()),
          "a peak of one sample survives, and so does a floor")
    full = json.loads(Page(report(memtracer, path, "--run", "9", "--full")).scripts["data"])
    check(len(full["moments"]) == len(values), "--full keeps all")


def check_whole_or_absent(memtracer, folder, path):
    out = os.path.join(folder, "page.html")
    work = subprocess.Popen([memtracer, "report", path, "--full", "--run", "9", "-o", out],
                            stderr=subprocess.PIPE, text=True)
    while work.poll() is None and not os.path.exists(out + ".part"):
        time.sleep(0.002)
    work.send_signal(signal.SIGINT)
    error = work.communicate()[1]
    check(work.returncode == 2 and "interrupted" in error, error)
    check(not os.path.exists(out) and not os.path.exists(out + ".part"), "half a page")


def main():
    memtracer = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_numbers(memtracer, folder)
        check_inert(memtracer, folder)
        check_judged_steps(memtracer, folder)
        path = os.path.join(folder, "long.db")
        make_file(memtracer, path, LONG.format(n=100000))
        check_thinning(memtracer, path)
        check_whole_or_absent(memtracer, folder, path)
    finish()


main()
