#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prometheus takes `memtracer export --openmetrics`, and PromQL answers as SQL does."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from common import ask, check, finish, make_file, skip


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(folder, port):
    with open(os.path.join(folder, "empty.yml"), "w", encoding="utf-8") as f:
        f.write("scrape_configs: []\n")
    server = subprocess.Popen(
        ["prometheus", "--config.file=" + os.path.join(folder, "empty.yml"),
         "--storage.tsdb.path=" + os.path.join(folder, "data"),
         "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:%d" % port],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/-/ready" % port).read()
            return server
        except OSError:
            time.sleep(0.1)
    server.kill()
    skip("prometheus does not start here")


def query(port, promql, at):
    url = "http://127.0.0.1:%d/api/v1/query?" % port + urllib.parse.urlencode(
        {"query": promql, "time": "%.3f" % at})
    result = json.load(urllib.request.urlopen(url))["data"]["result"]
    return {r["metric"].get("type", ""): int(float(r["value"][1])) for r in result}


def compare(path, port):
    start = ask(path, "SELECT start_wall_ns FROM run WHERE id = 2")[0][0] / 1e9
    for t in (0, 9.9, 10, 24.5, 30.2, 31, 59.4):
        want = dict(ask(path, "SELECT type, ws FROM memory WHERE run = 2 AND t_s <= ? AND ws"
                              " IS NOT NULL GROUP BY type HAVING t_s = max(t_s)", t))
        got = query(port, 'memtracer_type_bytes{program="server",stat="ws"}', start + t)
        check(got == want, "at %s s: PromQL %s, SQL %s" % (t, got, want))
        total = query(port, 'sum(memtracer_type_bytes{program="server",stat="ws"})', start + t)
        check(total[""] == sum(want.values()), "the sum at %s s" % t)
    check(query(port, 'memtracer_marks_total{mark="command"}', start + 50) == {"": 3}, "marks")
    ticks = ask(path, "SELECT sum(ticks) FROM sample WHERE run = 2")[0][0]
    check(query(port, 'memtracer_ticks_total{program="server"}', start + 59.5) == {"": ticks},
          "ticks")


def main():
    memtracer = os.path.abspath(sys.argv[1])
    for program in ("promtool", "prometheus"):
        if not shutil.which(program):
            skip("%s is not installed (Debian package prometheus)" % program)
    with tempfile.TemporaryDirectory() as folder:
        path, text = os.path.join(folder, "a.db"), os.path.join(folder, "a.om")
        make_file(memtracer, path)
        subprocess.run([memtracer, "export", path, "--openmetrics", "-o", text], check=True)
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text,
                               os.path.join(folder, "data")], capture_output=True, text=True)
        check(done.returncode == 0, "promtool: " + done.stderr)
        port = free_port()
        server = serve(folder, port)
        try:
            compare(path, port)
        finally:
            server.terminate()
            server.wait()
    finish()


main()
