#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is what gets installed enough for a program elsewhere?
consume.py BUILD SOURCE shared|static|cmake|subproject CC...

Builds and runs consumer.c against an installed copy of BUILD, found by pkg-config or CMake alone,
or against SOURCE as a subproject of Meson. With shared: what the library exports is exactly what
memtracer.map lists. Exit 77 = skipped (a tool or this kind of library is not there).
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from installed import meson, need, prefix_of, read, run, said, skip, stage, version


def flags(pc, folder, kind):
    command = ["pkg-config", "--define-variable=prefix=" + prefix_of(pc, folder), "--cflags",
               "--libs"]
    if kind == "static":
        command.append("--static")
    env = dict(os.environ)
    env["PKG_CONFIG_PATH"] = os.path.dirname(pc) + ":" + env.get("PKG_CONFIG_PATH", "")
    return shlex.split(said(command + ["memtracer"], env=env))


def check_exports(source, library):
    listed = set(re.findall(r"^\s*(tracer_\w+);", read(source + "/lib/memtracer.map"), re.M))
    out = said(["nm", "-D", "--defined-only", library])
    exported = {row.split()[-1].split("@")[0] for row in out.splitlines() if " A " not in row}
    if exported != listed:
        sys.exit("exported and listed differ: %s" % sorted(exported ^ listed))


def by_pkg_config(build, source, folder, kind, cc):
    need("pkg-config")
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
    run([program, os.path.join(folder, "consumer.db")], env=dict(os.environ, LD_LIBRARY_PATH=lib))
    if kind == "shared":
        check_exports(source, os.path.join(lib, name))


def by_cmake(build, source, folder, _, cc):
    """The tree is moved after it was installed: nothing may remember where it was."""
    need("cmake")
    pc = stage(build, os.path.join(folder, "first"))
    first, prefix = prefix_of(pc, os.path.join(folder, "first")), os.path.join(folder, "moved")
    lib = os.path.relpath(os.path.dirname(os.path.dirname(pc)), first)
    os.rename(first, prefix)
    archive = os.path.join(prefix, lib, "libmemtracer.a")
    out = os.path.join(folder, "build")
    has_archive = os.path.exists(archive)
    run(["cmake", "-S", source + "/tests/install/cmake", "-B", out, "-DCMAKE_C_COMPILER=" + cc[-1],
         "-DCMAKE_PREFIX_PATH=" + prefix, "-DWANTED=" + version(source),
         "-DCONSUMER=%s/tests/install/consumer.c" % source, "-DWANT_STATIC=%d" % has_archive])
    run(["cmake", "--build", out])
    for program in ["consumer"] + ["consumer_static"] * has_archive:
        run([os.path.join(out, program), os.path.join(folder, program + ".db")])


def by_subproject(_, source, folder, __, cc):
    project = os.path.join(folder, "project")
    shutil.copytree(source + "/tests/install/subproject", project)
    shutil.copy(source + "/tests/install/consumer.c", project)
    os.mkdir(os.path.join(project, "subprojects"))
    os.symlink(source, os.path.join(project, "subprojects", "memtracer"))
    out = os.path.join(folder, "build")
    run(meson() + ["setup", out, project, "--buildtype=plain", "-Ddefault_library=shared",
                   "--wrap-mode=default", "--force-fallback-for=memtracer"],
        env=dict(os.environ, CC=shlex.join(cc)))
    targets = said(["ninja", "-C", out, "-t", "targets", "all"])
    extra = re.findall(r"^\S*subprojects/memtracer/(?:tests|tools|examples)/\S+", targets, re.M)
    if extra:
        sys.exit("a subproject builds %s" % extra[:3])
    run(["ninja", "-C", out, "--quiet"])
    run(meson() + ["test", "-C", out, "--no-rebuild", "--print-errorlogs"])


KINDS = {"shared": by_pkg_config, "static": by_pkg_config, "cmake": by_cmake,
         "subproject": by_subproject}


def main():
    build, source, kind, cc = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            KINDS[kind](build, os.path.abspath(source), folder, kind, cc)
        except subprocess.CalledProcessError as e:
            sys.exit("failed: %s" % e)


main()
