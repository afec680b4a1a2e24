#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the constants of every binding from the C headers and tables: constants.py [--check]

In: include/memtracer/*.h, lib/base/state_column.def. Out: one file a language, kept in the tree.
--check writes nothing and fails when a file is not what would be written.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ORIGIN = "Written by bindings/constants.py from the C headers; change those."
GROUPS = ("TYPE", "F", "STATE", "LOG", "COLUMN", "SHAPE", "CAUSE", "MEASURE", "LIMIT", "VALUE")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def defines(path):
    for name, value in re.findall(r"^#define TRACER_(\w+) \(?(-?(?:0x[0-9a-f]+|\d+))u?\)?(?:\s|$)",
                                  read(path), re.M):
        yield name, int(value, 0)


def collect():
    """({name without TRACER_: value}, columns in order)"""
    values = {}
    for header in ("memtracer", "reader"):
        for name, value in defines("include/memtracer/%s.h" % header):
            if name == "OK" or name.startswith("E") or name.split("_")[0] in GROUPS:
                values[name] = value
    for name, value in defines("include/memtracer/version.h"):
        if name in ("SCHEMA_VERSION", "APPLICATION_ID"):
            values[name] = value
    columns = re.findall(r"^MT_COLUMN\(\w+, \d+, (\w+),", read("lib/base/state_column.def"), re.M)
    return values, columns


def python(values, columns):
    yield "# SPDX-License-Identifier: MIT\n# %s\n" % ORIGIN
    for name, value in values.items():
        yield "%s = %d\n" % (name, value)
    yield "\nCOLUMNS = (\n" + "".join('    "%s",\n' % c for c in columns) + ")\n"


def node(values, columns):
    yield json.dumps({"//": ORIGIN, **values, "COLUMNS": columns}, indent=2) + "\n"


def rust(values, columns):
    yield "// SPDX-License-Identifier: MIT\n// %s\n\n" % ORIGIN
    for name, value in values.items():
        signed = value < 0 or name == "OK"
        yield "pub const TRACER_%s: %s = %d;\n" % (name, "i32" if signed else "u32", value)
    yield "\n/// The states of a type, in the order of `tracer_type_bytes`.\n"
    yield "pub const COLUMNS: [&str; %d] = [\n" % len(columns)
    yield "".join('    "%s",\n' % c for c in columns) + "];\n"


OUTPUTS = {
    "python/memtracer/constants.py": python,
    "node/constants.json": node,
    "rust/memtracer-sys/src/constants.rs": rust,
}


def main():
    values, columns = collect()
    stale = []
    for path, write in OUTPUTS.items():
        text = "".join(write(values, columns))
        full = os.path.join(HERE, path)
        if sys.argv[1:] != ["--check"]:
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        elif not os.path.exists(full) or open(full, encoding="utf-8").read() != text:
            stale.append(path)
    if stale:
        sys.exit("not what the headers say, run bindings/constants.py: " + ", ".join(stale))


main()
