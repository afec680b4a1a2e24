#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Series from reported cases, imported and judged: series.py MEMTRACER [CASE...]

tests/data/series/CASE.series.csv is what somebody saw; CASE.expected.json says what must be
answered. The columns are renamed to memory types and scaled to bytes; the facts come from the
case, never from what memtracer said.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "series")
MB = 1e6
MIB = 1 << 20
# column of the case → column of the import, and its unit
COLUMNS = {
    "F01": {"regions": ("regions", 1), "size_mb": ("private.size", MIB),
            "resident_mb": ("private", MIB)},
    "F02": {"anon_kb": ("heap", 1024)},
    "F05": {"anon_mb": ("private", MIB)},
    "F06": {"anon_mb": ("heap", MIB)},
    "F08": {"script_heap_mb": ("managed_heap", MIB), "outside_mb": ("private", MIB)},
    "F09": {"live_threads": ("=threads", 1), "stack_like_size_mb": ("stack.size", MIB),
            "resident_mb": ("stack", MIB)},
    "F10": {"resident_mb": ("heap", MIB)},
    "F12": {"anon_gb": ("private", 1 << 30), "file_gb": ("mapped_file", 1 << 30)},
}


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, *seen)
        sys.exit(1)


def near(value, wanted, part):
    return abs(value - wanted) <= part * abs(wanted)


def convert(case, path, out):
    with open(path, encoding="utf-8") as f, open(out, "w", encoding="utf-8") as g:
        rows = list(csv.DictReader(f))
        names = [n for n in rows[0] if n in COLUMNS[case]]
        extra = ",private.blocks" if case == "F01" else ""
        g.write("t_ns," + ",".join(COLUMNS[case][n][0] for n in names) + extra + "\n")
        for row in rows:
            values = [str(round(float(row[n]) * COLUMNS[case][n][1])) for n in names]
            values += [row["regions"]] if extra else []
            g.write(",".join([str(round(float(row["t_s"]) * 1e9))] + values) + "\n")


def check_f01(facts, said, heap):
    need(said["leak"], "it does not say that there is no leak", said)
    need(heap("private")["measure"] == "size", "the address space of private grows")
    need(heap("private")["cause"] == "growth of regions", "in new regions", heap("private"))
    need(said["regions_growing"], "the number of regions is warned of")
    need(said["limit"]["name"] == "max_map_count", "which limit is reached", said["limit"])
    hours = said["limit"]["wall_ns"] / 3600e9  # the series begins at 0
    need(near(hours, facts["hours_to_65530_regions"], 0.05), "when", hours)
    rate = heap("private")["bytes_per_s"] * 3600 / MIB
    need(near(rate, facts["address_space_growth_mb_per_h"], 0.1), "rate of address space", rate)


def check_f02(facts, said, heap):
    y = heap("heap")
    need(y["leak"] and y["shape"] == "punctuated", "a staircase", y)
    need(len(y["steps"]) == facts["steps"], "every step", len(y["steps"]))
    need(near(y["typical_step_bytes"], facts["step_kb"] * 1024, 0.02), "size of a step", y)
    need(near(y["typical_interval_ns"], facts["event_period_s"] * 1e9, 0.02), "the event's period")


def check_f05(facts, said, heap):
    y = heap("private")
    need(y["leak"] and y["shape"] == "linear", "steady growth", y)
    need(near(y["bytes_per_s"] * 86400 / (1 << 30), facts["slope_gib_per_day"], 0.05), "slope", y)


def check_f06(facts, said, heap):
    y = heap("heap")
    need(y["leak"], "it goes on after the warm-up", y)
    need(near(y["late_bytes_per_s"] * 60 / MIB, facts["slope_mb_per_min"], 0.1), "slope", y)


def check_f08(facts, said, heap):
    y = heap("private")
    need(said["leak"] and said["type"] == "private", "outside the script heap", said)
    need(y["shape"] == "linear" and y["leak"], "it grows", y)
    need(not heap("managed_heap")["growing"], "the script heap does not", heap("managed_heap"))
    total = y["last_bytes"] + heap("managed_heap")["last_bytes"]
    need(near(total, facts["resident_mb"] * MIB, 0.01), "all that is resident", total)
    need(near(y["kept_bytes"] / 86400 / facts["days"], y["bytes_per_s"], 0.05), "over the days", y)


def check_f09(facts, said, heap):
    y = heap("stack")
    need(y["leak"] and y["cause"] == "stacks", "stacks without threads", y)
    need(y["grew_threads"] == 0, "the number of threads is constant", y)
    per_stack = y["grew_size"] / MIB / facts["regions_without_thread_at_end"]
    need(near(per_stack, facts["step_mb"], 0.1), "8 MB of address space each", per_stack)


def check_f10(facts, said, heap):
    y = heap("heap")
    need(not said["leak"] and said["verdict"] == "no_leak", "memory was given back", said)
    need(y["peak_bytes"] == facts["peak_mb"] * MIB, "the peak is told", y)
    need(y["last_bytes"] == facts["final_mb"] * MIB, "the end is told", y)


def check_f12(facts, said, heap):
    y = heap("mapped_file")
    need(y["growing"] and not y["leak"] and y["cause"] == "file-backed", "reclaimable", y)
    need(near(y["kept_bytes"] / (1 << 30), facts["file_growth_gb"], 0.05), "size of it", y)
    leaked = sum(t["kept_bytes"] for t in said["types"] if t["leak"])
    need(leaked / (1 << 30) <= facts["anon_growth_gb"] * 1.1, "95 GB are not a leak", leaked)


def run_case(memtracer, path, folder):
    case = os.path.basename(path).split("-")[0]
    with open(path.replace(".series.csv", ".expected.json"), encoding="utf-8") as f:
        facts = json.load(f)["facts"]
    csv_path, db = os.path.join(folder, case + ".csv"), os.path.join(folder, case + ".db")
    convert(case, path, csv_path)
    subprocess.run([memtracer, "import", "--csv", csv_path, "-o", db,
                    "--max-regions", "65530"], check=True)
    done = subprocess.run([memtracer, "verdict", db, "--json"], stdout=subprocess.PIPE, check=False)
    said = json.loads(done.stdout)
    need(done.returncode == {"leak": 3, "no_leak": 0, "too_short": 4}[said["verdict"]], "exit code")
    types = {t["type"]: t for t in said["types"]}
    globals()["check_" + case.lower()](facts, said, types.get)
    print("%s: %s" % (case, types[said["type"]]["sentence"]))


def main():
    paths = sorted(glob.glob(os.path.join(DATA, "*.series.csv")))
    paths = [p for p in paths if not sys.argv[2:] or os.path.basename(p)[:3] in sys.argv[2:]]
    need(paths, "there are cases")
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            run_case(sys.argv[1], path, folder)


main()
