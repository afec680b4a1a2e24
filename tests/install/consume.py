#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is what gets installed enough for a program elsewhere? consume.py BUILD SOURCE shared|static CC...

Installs BUILD into an empty folder, finds the library there by pkg-config alone, builds and runs
consumer.c. With shared: what the library exports is exactly what memtracer.map lists.
Exit 77 = skipped (a tool or this kind of library is not there).
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(command, **more):
    return subprocess.run(command, check=True, encoding="utf-8", **more)


def stage(build, folder):
    meson = shlex.split(os.environ.get("MESON", "")) or [shutil.which("meson")]
    run(meson + ["install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder])
    found = glob.glob(folder + "/**/memtracer.pc", recursive=True)
    if not found:
        sys.exit("no memtracer.pc was installed")
    return found[0]


def flags(pc, folder, kind):
    with open(pc, encoding="utf-8") as f:
        prefix = re.search(r"^prefix=(.*)", f.read(), re.M).group(1)
    command = ["pkg-config", "--define-variable=prefix=" + folder + prefix, "--cflags", "--libs"]
    if kind == "static":
        command.append("--static")
    env = dict(os.environ)
    env["PKG_CONFIG_PATH"] = os.path.dirname(pc) + ":" + env.get("PKG_CONFIG_PATH", "")
    return shlex.split(run(command + ["memtracer"], env=env, stdout=subprocess.PIPE).stdout)


def check_exports(source, library):
    with open(source + "/lib/memtracer.map", encoding="utf-8") as f:
        listed = set(re.findall(r"^\s*(tracer_\w+);", f.read(), re.M))
    out = run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE).stdout
    exported = {row.split()[-1].split("@")[0] for row in out.splitlines() if " A " not in row}
    if exported != listed:
        sys.exit("exported and listed differ: %s" % sorted(exported ^ listed))


def main():
    build, source, kind, cc = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")
    with tempfile.TemporaryDirectory() as folder:
        pc = stage(build, folder)
        lib = os.path.dirname(os.path.dirname(pc))
        name = "libmemtracer.a" if kind == "static" else "libmemtracer.so"
        if not os.path.exists(os.path.join(lib, name)):
            skip("this build has no " + name)
        found = flags(pc, folder, kind)
        if kind == "static":
            found = ["-l:libmemtracer.a" if f == "-lmemtracer" else f for f in found]
        program = os.path.join(folder, "consumer")
        run(cc + ["-std=c99", "-Wall", "-Werror", source + "/tests/install/consumer.c",
                  "-o", program] + found)
        run([program, os.path.join(folder, "consumer.db")],
            env=dict(os.environ, LD_LIBRARY_PATH=lib))
        if kind == "shared":
            check_exports(source, os.path.join(lib, name))


main()
