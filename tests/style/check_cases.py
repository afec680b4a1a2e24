#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each case in the tables of tests/README.md has a test of its name, or says why not:
check_cases.py ROOT

A name is a function of a test, a test of a meson.build or a folder of tests/data/linux.
"""
import os
import re
import sys

ENDINGS = (".c", ".py", ".mjs", "meson.build")


def named(root):
    for top in ("tests", "bindings"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if not name.endswith(ENDINGS):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    yield from re.findall(r"(?:static void |def test_|scenario\('test_|test\('[a-z ]*)"
                                          r"([A-Za-z0-9_]+)", f.read())
    yield from (n.replace("-", "_") for n in os.listdir(os.path.join(root, "tests/data/linux")))


def main():
    root = sys.argv[1]
    carried = {i for name in named(root) for i in name.split("_") if re.fullmatch(r"[A-G]\d\d", i)}
    with open(os.path.join(root, "tests/README.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| ([A-G]\d\d(?: [A-G]\d\d)*) \| (.*)", f.read(), re.M)
    listed = [i for ids, said in rows if not said.startswith("none") for i in ids.split()]
    for lacking in sorted(set(listed) - carried):
        print("tests/README.md: no test is named", lacking)
    print("%d cases, %d without a test of their name" % (len(listed), len(set(listed) - carried)))
    sys.exit(not listed or bool(set(listed) - carried))


main()
