#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an installed library promises: promises.py BUILD SOURCE soname|tags|abi|same [--update]

soname  the names in the file are those of version.h, memtracer.map and CHANGELOG.md
tags    each installed file has the tag of its package, and none is left out
abi     types and functions are those of abi/*.abi, or more; --update writes that file anew
same    two builds in folders of different names and depths are the same bytes
Exit 77 = skipped, with the reason.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from installed import meson, need, read, run, said, skip, stage, version

HERE = os.path.dirname(os.path.abspath(__file__))


def shared_library(build, source):
    path = os.path.join(build, "lib", "libmemtracer.so." + version(source))
    if not os.path.exists(path):
        skip("this build has no " + os.path.basename(path))
    return path


def soname(build, source, _):
    need("readelf")
    library, major = shared_library(build, source), version(source).split(".")[0]
    dynamic = said(["readelf", "-dW", library])
    name = re.search(r"SONAME.*\[(.*)\]", dynamic).group(1)
    if name != "libmemtracer.so." + major:
        sys.exit("the SONAME is %s" % name)
    nodes = set(re.findall(r"^(MEMTRACER_[\d.]+)", read(source + "/lib/memtracer.map"), re.M))
    symbols = said(["readelf", "--dyn-syms", "-W", library])
    found = set(re.findall(r" tracer_\w+@@(\S+)", symbols))
    if found != nodes:
        sys.exit("the versions of symbols are %s, the map has %s" % (found, nodes))
    plain = re.findall(r" GLOBAL +DEFAULT +\d+ (\w+)$", symbols, re.M)
    if plain:
        sys.exit("exported without a version: %s" % plain)
    newest = "MEMTRACER_" + version(source).rsplit(".", 1)[0]
    if newest not in nodes:
        sys.exit("the map has no %s" % newest)
    if newest not in read(source + "/CHANGELOG.md"):
        sys.exit("CHANGELOG.md does not name %s" % newest)


EXPECTED = {
    "runtime": r"lib/.*libmemtracer\.so\.\d+(\.\d+\.\d+)?$",
    "devel": r"include/memtracer/\w+\.hp?p?$|lib/.*libmemtracer\.(a|so)$|"
             r"lib/.*memtracer\.pc$|lib/.*cmake/memtracer/\w+\.cmake$|share/man/man3/\w+\.3$|share/memtracer/schema\.sql$|"
             r"share/memtracer/bindings/.*\.(go|mod|js|mjs|json|ts|c|h|pyi?|typed|toml|rs)$",
    "tools": r"bin/memtracer$|lib/.*libmemtracer-(preload|stacks)\.so$|"
             r"share/man/man[17]/memtracer\.[17]$|share/(bash-completion|zsh|doc|memtracer/(postgresql|prometheus))/.*$",
}


def files(folder):
    return {os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names}


def tags(build, _, folder):
    stage(build, os.path.join(folder, "all"))
    left = files(os.path.join(folder, "all"))
    for tag, pattern in EXPECTED.items():
        stage(build, os.path.join(folder, tag), "--tags", tag)
        found = files(os.path.join(folder, tag))
        strangers = [f for f in found if not re.search("/(%s)" % pattern, "/" + f)]
        if strangers or not found:
            sys.exit("tag %s has %s" % (tag, strangers or "nothing"))
        left -= found
    if left:
        sys.exit("in no package: %s" % sorted(left))


def abi(build, source, folder):
    need("abidw", "abidiff")
    library = shared_library(build, source)
    if ".debug_info" not in said(["readelf", "-SW", library]):
        skip("the library has no debug information")
    kept = os.path.join(HERE, "abi", "memtracer-%s.abi" % version(source).rsplit(".", 1)[0])
    headers = os.path.join(source, "include", "memtracer")
    now = kept if "--update" in sys.argv else os.path.join(folder, "now.abi")
    run(["abidw", "--headers-dir", headers, "--drop-private-types", "--exported-interfaces-only", "--no-corpus-path",
         "--no-comp-dir-path", "--no-show-locs", "--no-architecture", "--out-file", now, library])
    done = subprocess.run(["abidiff", "--no-added-syms", "--no-architecture", kept, now],
                          stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        print(done.stdout)
        sys.exit("the ABI is another one; when that is meant: promises.py BUILD SOURCE abi --update")


def one_build(source, at):
    """{name: hash} of the libraries, built from a copy of the source at another place."""
    os.makedirs(os.path.dirname(at[0]), exist_ok=True)
    shutil.copytree(source, at[0], ignore=lambda folder, names: [
        n for n in names if os.path.isdir(os.path.join(folder, n)) and (
            n.startswith((".git", "build", "target", "node_modules"))
            or os.path.exists(os.path.join(folder, n, "meson-private")))])
    run(meson() + ["setup", at[1], at[0], "-Dtests=disabled", "-Dtools=disabled",
                   "-Dexamples=disabled"], stdout=subprocess.DEVNULL)
    names = ["lib/libmemtracer.so." + version(source), "lib/libmemtracer.a"]
    run(["ninja", "-C", at[1], "--quiet"] + names)
    hashes = {}
    for name in names:
        with open(os.path.join(at[1], name), "rb") as f:
            data = f.read()
        if at[0].encode() in data or at[1].encode() in data:
            sys.exit("%s names the folder it was built in" % name)
        hashes[name] = hashlib.sha256(data).hexdigest()
    return hashes


def same(_, source, folder):
    first = one_build(source, [folder + "/a", folder + "/a/build"])
    second = one_build(source, [folder + "/deeper/in/another", folder + "/b-of-it"])
    print(first)
    if first != second:
        sys.exit("the second build is another one: %s" % second)


CHECKS = {"soname": soname, "tags": tags, "abi": abi, "same": same}


def main():
    with tempfile.TemporaryDirectory() as folder:
        CHECKS[sys.argv[3]](sys.argv[1], os.path.abspath(sys.argv[2]), folder)


main()
