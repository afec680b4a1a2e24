#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The alert rules on exported recordings: alerts.py MEMTRACER RULES

Series of known shape go through import and export into `promtool test rules`. Skipped without
promtool (Debian package prometheus).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import check, finish, skip

MIB = 1 << 20
STEP = 0x33c4000  # what a command of the textbook leak keeps


def churn(minute):
    """What comes and goes: 27 MiB in two looks out of three."""
    return 27 * MIB if minute % 3 else 0


def leak(minute):
    return 8 * MIB + churn(minute) + STEP * sum(minute >= m for m in range(40, 400, 30))


def slow_leak(minute):
    return 8 * MIB + churn(minute) + STEP * sum(minute >= m for m in range(300, 9000, 360))


def cache_fill(minute):
    return 8 * MIB + churn(minute) + min(400 * MIB, minute * 4 * MIB)


def slow_cache(minute):
    """Fills ever more slowly."""
    return int(8 * MIB + churn(minute) + 400 * MIB * (1 - 0.985 ** minute))


def start_up(minute):
    """Three large steps within twenty minutes, then nothing."""
    return 8 * MIB + churn(minute) + STEP * sum(minute >= m for m in (20, 30, 38))


def sawtooth(minute):
    return 8 * MIB + STEP * (minute // 30 % 4)


# shape, minutes, the alert, from when on it must be there (None: never)
CASES = (
    (leak, 300, "MemtracerPunctuatedGrowth", 170),
    (slow_leak, 2400, "MemtracerPunctuatedGrowthSlow", 1800),
    (cache_fill, 300, None, None), (slow_cache, 600, None, None), (start_up, 300, None, None),
    (sawtooth, 300, None, None),
)


def exported(memtracer, folder, shape, minutes):
    """Lines `labels → values a minute` of the recording of a shape."""
    path = os.path.join(folder, shape.__name__)
    with open(path + ".csv", "w", encoding="utf-8") as f:
        f.write("t_ns,heap,stack\n")
        for minute in range(minutes):
            f.write("%d,%d,%d\n" % (minute * 60 * 10 ** 9, shape(minute), 65536))
    subprocess.run([memtracer, "import", "--csv", path + ".csv", "-o", path + ".db", "--label",
                    shape.__name__], check=True)
    text = subprocess.run([memtracer, "export", path + ".db", "--openmetrics"], check=True,
                          capture_output=True, text=True).stdout
    series = {}
    for labels, value, seconds in re.findall(
            r'^(memtracer_type_bytes\{.*stat="ws"\}) (\d+) ([\d.]+)$', text, re.M):
        series.setdefault(labels, {})[round(float(seconds)) // 60] = value
    for labels, values in series.items():
        first = min(values)
        yield labels, " ".join(values.get(first + m, "_") for m in range(minutes))


def test_of(memtracer, folder, case):
    shape, minutes, alert, since = case
    lines = ["- interval: 1m", "  input_series:"]
    for labels, values in exported(memtracer, folder, shape, minutes):
        lines += ["  - series: '%s'" % labels, "    values: '%s'" % values]
    lines.append("  promql_expr_test:")
    for at in range(0, minutes, 10):
        lines += ["  - expr: count by (alertname, program, type) (ALERTS{alertstate=\"firing\"})",
                  "    eval_time: %dm" % at]
        if alert and at >= since:
            lines += ["    exp_samples:",
                      "    - labels: '{alertname=\"%s\",program=\"%s\",type=\"heap\"}'"
                      % (alert, shape.__name__), "      value: 1"]
        elif alert and at > since - minutes // 4:
            del lines[-2:]  # it may come a little earlier
    return lines


def main():
    memtracer, rules = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if not shutil.which("promtool"):
        skip("promtool is not installed (Debian package prometheus)")
    done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True)
    check(done.returncode == 0, "check rules: " + done.stdout + done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = os.path.join(folder, "test.yml")
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(["rule_files: ['%s']" % rules, "evaluation_interval: 1m",
                                   "tests:"] + test_of(memtracer, folder, case)) + "\n")
            done = subprocess.run(["promtool", "test", "rules", path], capture_output=True,
                                  text=True)
            check(done.returncode == 0, "%s: %s" % (case[0].__name__, (done.stdout + done.stderr)[-1500:]))
    finish()


main()
