#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up what meson's test logs say: summary.py LOG.json...

Names the failed and skipped tests, these with their last word as the reason, then ends with `N passed, N failed, N skipped`. A log that is
not there counts as one failure: that build did not get as far as its tests. Exit 1 on failure.
"""
import json
import os
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def results(path):
    build = os.path.basename(os.path.dirname(os.path.dirname(path)))
    if not os.path.exists(path):
        yield build, "the build and its tests", "MISSING", "no log"
        return
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            said = (test.get("stdout", "") + test.get("stderr", "")).strip().splitlines()
            yield build, test["name"], test["result"], said[-1] if said else "said nothing"


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sys.argv[1:]:
        for build, name, result, said in results(path):
            kind = "passed" if result in PASSED else "skipped" if result == "SKIP" else "failed"
            count[kind] += 1
            if kind != "passed":
                print("%s: %s: %s: %s" % (kind, build, name, said))
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % count)
    sys.exit(1 if count["failed"] or not count["passed"] else 0)


main()
