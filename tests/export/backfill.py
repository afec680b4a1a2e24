#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PromQL answers as SQL does: backfill.py MEMTRACER ENGINE

Prometheus or VictoriaMetrics (prometheus, victoria-metrics) takes `memtracer export --openmetrics`,
the same file, and is asked the same questions.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import servers
from common import ask, check, finish, make_file, skip


def serve(folder, port):
    with open(os.path.join(folder, "empty.yml"), "w", encoding="utf-8") as f:
        f.write("scrape_configs: []\n")
    return servers.start(
        ["prometheus", "--config.file=" + os.path.join(folder, "empty.yml"),
         "--storage.tsdb.path=" + os.path.join(folder, "data"),
         "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:%d" % port],
        "http://127.0.0.1:%d/-/ready" % port) or skip("prometheus does not start here")


def serve_victoria(folder, port, text):
    """VictoriaMetrics with the same file in it."""
    server = servers.start(
        ["victoria-metrics", "-storageDataPath=" + os.path.join(folder, "victoria"),
         "-httpListenAddr=127.0.0.1:%d" % port, "-retentionPeriod=100y",
         "-search.latencyOffset=0s"],
        "http://127.0.0.1:%d/health" % port) or skip("victoria-metrics does not start here")
    with open(text, "rb") as f:
        urllib.request.urlopen(urllib.request.Request(
            "http://127.0.0.1:%d/api/v1/import/prometheus" % port, f.read())).read()
    urllib.request.urlopen("http://127.0.0.1:%d/internal/force_flush" % port).read()
    return server


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


def needs(*programs):
    for program, package in programs:
        if not shutil.which(program):
            skip("%s is not installed (Debian package %s)" % (program, package))


def server_with(engine, folder, text, port):
    if engine == "victoria-metrics":
        return serve_victoria(folder, port, text)
    done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text,
                           os.path.join(folder, "data")], capture_output=True, text=True)
    check(done.returncode == 0, "promtool: " + done.stderr)
    return serve(folder, port)


def main():
    memtracer, engine = os.path.abspath(sys.argv[1]), sys.argv[2]
    if engine == "victoria-metrics":
        needs((engine, engine))
    else:
        needs(("promtool", engine), ("prometheus", engine))
    with tempfile.TemporaryDirectory() as folder:
        path, text = os.path.join(folder, "a.db"), os.path.join(folder, "a.om")
        make_file(memtracer, path)
        subprocess.run([memtracer, "export", path, "--openmetrics", "-o", text], check=True)
        port = servers.free_port()
        server = server_with(engine, folder, text, port)
        try:
            compare(path, port)
        finally:
            servers.stop(server)
    finish()


main()
