#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the scenarios of README.md in a language, or in all: run.py BUILD SOURCE [LANGUAGE]

Builds the binding against BUILD, below BUILD/contract, and runs its tests. Fails when a scenario
fails or has no test. Exit 77 = skipped, a tool is missing. Without LANGUAGE: all, as a table.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BINDINGS = os.path.dirname(HERE)


class Missing(Exception):
    """A tool that a language needs is not there."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing("there is no " + tool)


def environment(build, source, scratch):
    env = dict(os.environ)
    lib = os.path.join(build, "lib")
    env.update(
        C_INCLUDE_PATH=source + "/include", CPLUS_INCLUDE_PATH=source + "/include",
        PKG_CONFIG_PATH=os.path.join(build, "meson-uninstalled"), LIBRARY_PATH=lib,
        LD_LIBRARY_PATH=lib, MEMTRACER_LIBRARY=os.path.join(lib, "libmemtracer.so"),
        CARGO_TARGET_DIR=os.path.join(scratch, "rust"))
    # malloc raises this limit when a large block is freed, and then serves a leak from memory that
    # it had kept: nothing would grow. Set, it stays.
    env["MALLOC_MMAP_THRESHOLD_"] = "131072"
    for name, path in (("MEMTRACER_CLI", os.path.join(build, "tools", "memtracer")),
                       ("MEMTRACER_STACKS", os.path.join(lib, "libmemtracer-stacks.so"))):
        if os.path.exists(path):
            env[name] = path
    return env


def run(command, env, folder):
    done = subprocess.run(command, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    return done.returncode, done.stdout


def node(env, scratch):
    need("node", "pkg-config", "cc")
    folder = os.path.join(BINDINGS, "node")
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, encoding="utf-8").stdout
    if int(re.match(r"v(\d+)", version).group(1)) < 20:
        raise Missing("the tests need Node 20, this is " + version.strip())
    for out, sources in (("memtracer", ["src/addon.c", "src/addon_reader.c"]),
                         ("native", ["test/native.c"])):
        path = os.path.join(scratch, out + ".node")
        code, said = run(["node", "build.js", *sources, "-o", path], env, folder)
        if "node_api.h is in none of" in said:
            raise Missing("there are no headers of Node-API")
        if code:
            return code, said
    env["MEMTRACER_ADDON"] = os.path.join(scratch, "memtracer.node")
    env["MEMTRACER_TEST_ADDON"] = os.path.join(scratch, "native.node")
    return run(["node", "--expose-gc", "--test-reporter=tap", "--test", "test/contract.test.mjs",
                "test/hostile.test.mjs"], env, folder)


def plugin(env, scratch):
    """A library of C that leaks, for languages that load such."""
    path = os.path.join(scratch, "leak.so")
    done = run(["cc", "-O2", "-fPIC", "-shared", "leak.c", "-o", path], env, HERE)
    env["MEMTRACER_TEST_PLUGIN"] = path
    return done


def rust(env, scratch):
    need("cargo", "pkg-config", "cc")
    code, said = plugin(env, scratch)
    if code:
        return code, said
    return run(["cargo", "test", "--offline", "--", "--test-threads=1"], env,
               os.path.join(BINDINGS, "rust"))


def python(env, scratch):
    need("cc")
    return run([sys.executable, "tests/test_contract.py", "-v"], env,
               os.path.join(BINDINGS, "python"))


def go(env, scratch):
    need("go", "pkg-config", "cc")
    env.update(GOPROXY="off", GOFLAGS="-mod=mod", CGO_ENABLED="1",
               GOCACHE=os.path.join(scratch, "cache"), GOPATH=os.path.join(scratch, "path"))
    return run(["go", "test", "-count=1", "-v", "."], env, os.path.join(BINDINGS, "go"))


def cpp(env, scratch):
    need("c++", "pkg-config", "cc")
    code, said = plugin(env, scratch)
    if code:
        return code, said
    program, folder = os.path.join(scratch, "contract"), os.path.join(BINDINGS, "cpp")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "memtracer"], env=env, check=True,
                           stdout=subprocess.PIPE, encoding="utf-8").stdout.split()
    code, said = run(["c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1",
                      "-Iposix", "contract.cpp", "-o", program, "-ldl"] + flags, env, folder)
    return (code, said) if code else run([program], env, folder)


LANGUAGES = {"cpp": cpp, "python": python, "rust": rust, "node": node, "go": go}
OUTCOMES = [  # tap, cargo, unittest, go
    re.compile(r"^--- (?:PASS|(?P<skip>SKIP)|(?P<bad>FAIL)): Test_(?P<n>\d{3})_\w+ ", re.M),
    re.compile(r"^\s*(?P<bad>not )?ok \d+ - test_(?P<n>\d{3})_\w+(?P<skip> # SKIP.*)?$", re.M),
    re.compile(r"^test test_(?P<n>\d{3})_\w+ \.\.\. (?:ok|(?P<bad>FAILED))$", re.M),
    re.compile(r"^test_(?P<n>\d{3})_\w+ .*\.\.\. (?:ok|(?P<skip>skipped.*)|(?P<bad>FAIL|ERROR))$",
               re.M),
]


def numbers():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        return re.findall(r"^\| (\d{3}) \|", f.read(), re.M)


def outcomes(said):
    result = {}
    for pattern in OUTCOMES:
        for m in pattern.finditer(said):
            found = m.groupdict()
            result[m.group("n")] = "FAILED" if found.get("bad") else \
                "skipped" if found.get("skip") else "ok"
    return result


def try_language(name, build, source):
    """(outcome of each scenario, output, exit code)"""
    scratch = os.path.join(build, "contract", name)
    os.makedirs(scratch, exist_ok=True)
    code, said = LANGUAGES[name](environment(build, source, scratch), scratch)
    return outcomes(said), said, code


def one(name, build, source):
    try:
        found, said, code = try_language(name, build, source)
    except Missing as e:
        print("skipped:", e)
        return 77
    lacking = [n for n in numbers() if n not in found]
    print(said)
    if lacking:
        print("no test of", ", ".join(lacking))
    return 1 if code or lacking or "FAILED" in found.values() else 0


def table(build, source):
    columns, bad = {}, False
    for name in LANGUAGES:
        try:
            columns[name], _, code = try_language(name, build, source)
            bad = bad or code != 0
        except Missing as e:
            columns[name] = {}
            print("%s: skipped, %s" % (name, e))
    print("| scenario | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for n in numbers():
        row = [c.get(n, "–") for c in columns.values()]
        bad = bad or "FAILED" in row
        print("| %s | %s |" % (n, " | ".join(row)))
    return 1 if bad else 0


def main():
    build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    sys.exit(one(sys.argv[3], build, source) if len(sys.argv) > 3 else table(build, source))


main()
