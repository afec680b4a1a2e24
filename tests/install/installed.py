# SPDX-License-Identifier: MIT
"""What the tests of this folder share: an installed copy of a build, and skipping."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip("there is no " + tool)


def run(command, **more):
    return subprocess.run(command, check=True, encoding="utf-8", **more)


def said(command, **more):
    return run(command, stdout=subprocess.PIPE, **more).stdout


def meson():
    return shlex.split(os.environ.get("MESON", "")) or [shutil.which("meson")]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def version(source):
    return re.search(r'VERSION_STRING "(.*)"', read(source + "/include/memtracer/version.h")).group(1)


def stage(build, folder, *more):
    """Installs into the empty folder; the path of memtracer.pc in it, if any."""
    run(meson() + ["install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder, *more])
    found = glob.glob(folder + "/**/memtracer.pc", recursive=True)
    return found[0] if found else None


def prefix_of(pc, folder):
    return folder + re.search(r"^prefix=(.*)", read(pc), re.M).group(1)
