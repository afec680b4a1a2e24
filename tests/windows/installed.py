#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `meson install` puts there for Windows is enough: installed.py BUILD EXAMPLE.C CC OBJDUMP

A program is built against the installed headers alone, once with the import library and the DLL,
once with the static library, and run. Neither they nor the command line need a DLL that Windows
has not, but for memtracer's own.
"""
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile

WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", "wine"))
SYSTEM = {"kernel32.dll", "msvcrt.dll", "advapi32.dll", "psapi.dll", "ntdll.dll", "user32.dll"}


def need(truth, *what):
    if not truth:
        print("not so:", *what)
        sys.exit(1)


def run(command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", **more)
    need(done.returncode == 0, " ".join(command), done.stdout)
    return done.stdout


def imports(objdump, path):
    lines = run([objdump, "-p", path]).splitlines()
    return {line.split()[-1].lower() for line in lines if "DLL Name:" in line}


def only(prefix, name):
    found = [os.path.join(d, f) for d, _, files in os.walk(prefix) for f in files if f == name]
    need(len(found) == 1, name, "is installed once", found)
    return found[0]


def check_program(exe, folder, objdump, own):
    need(imports(objdump, exe) <= SYSTEM | own, exe, "imports", imports(objdump, exe))
    run(WRAPPER + [exe, "made.db"], cwd=folder)
    db = sqlite3.connect(os.path.join(folder, "made.db"))
    need(db.execute("SELECT state FROM run").fetchall() == [("stopped",)], exe, "recorded")
    db.close()
    os.remove(os.path.join(folder, "made.db"))


def main():
    build, source, cc, objdump = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        run(["meson", "install", "-C", build, "--no-rebuild", "--quiet"],
            env=dict(os.environ, DESTDIR=folder))
        include = os.path.dirname(os.path.dirname(only(folder, "memtracer.h")))
        dll = only(folder, "libmemtracer-0.dll")
        os.environ["WINEPATH"] = os.path.dirname(dll)
        for name, own in (("libmemtracer.dll.a", {"libmemtracer-0.dll"}), ("libmemtracer.a", set())):
            exe = os.path.join(folder, name + ".exe")
            run([cc, "-std=c11", "-Wall", "-Werror", "-I", include, source, only(folder, name),
                 "-static-libgcc", "-lpsapi", "-o", exe])
            check_program(exe, folder, objdump, own)
        need(imports(objdump, dll) <= SYSTEM, dll, imports(objdump, dll))
        tool = only(folder, "memtracer.exe")
        need(imports(objdump, tool) <= SYSTEM, tool, imports(objdump, tool))


main()
