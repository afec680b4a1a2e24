#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A leak in a plugin that is unloaded at once: plugin.py MEMTRACER PLUGIN_HOST PLUGIN

Each step must name the plugin by its path, its build-id and an offset inside plugin_keeps, as the
plugin's own symbol table says; and the function, where memtracer was built with libdw."""
import json
import os
import re
import subprocess
import sys
import tempfile


def text_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def main():
    memtracer, host, plugin = (os.path.realpath(a) for a in sys.argv[1:4])
    notes = text_of("readelf", "-n", plugin)
    build_id = re.search(r"Build ID: (\w+)", notes).group(1)
    symbol = re.search(r"(\w+)\s+(\d+) FUNC .* plugin_keeps$", text_of("readelf", "-sW", plugin), re.M)
    first, size = int(symbol.group(1), 16), int(symbol.group(2))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plugin.db")
        subprocess.run([memtracer, "run", "--stacks", "-o", file, "--interval", "20", "--", host, plugin],
                       check=True)
        steps = json.loads(text_of(memtracer, "steps", file, "--json"))["steps"]
        print(json.dumps(steps[:1], indent=1))
    assert len(steps) >= 3, steps
    for step in steps:
        assert step["site_path"] == plugin, step
        assert step["site_build_id"] == build_id, step
        assert first < step["site_offset"] <= first + size, (step, first, size)
        assert step["site"].startswith("plugin_keeps ") or "+0x" in step["site"], step
    print("%d steps by %s" % (len(steps), steps[0]["site"]))


if __name__ == "__main__":
    main()
