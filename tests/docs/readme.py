#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the lines of a README work as they stand?

readme.py run BUILD SOURCE README   here, against an installed copy of BUILD, but for apt-get
readme.py write FOLDER README...    as FOLDER/NAME/run.sh with its files, for another system
readme.py look FOLDER               is each file *.db of FOLDER a recording that was stopped?

A fenced block of sh is what one types; it is run under its heading. One of another language says on
its first line, in a comment, which file it is. A fenced block that is neither is an error.
Exit 77 = skipped, a tool is missing.
"""
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "install"))
from installed import need, prefix_of, read, skip, stage, version



def parts(path):
    """({file: content}, [(name, script)]) of a README."""
    files, sessions, heading, block = {}, [], "", None
    for number, line in enumerate(read(path).split("\n"), 1):
        if block is not None and line.strip() == "```":
            language, text = block[0], "\n".join(block[1:]) + "\n"
            named = re.match(r"(?://|#|/\*) (\S+\.\w+)", text)
            if language == "sh":
                sessions.append((re.sub(r"\W+", "-", heading.lower().replace("+", "p")).strip("-"), text))
            elif named:
                files[named.group(1)] = text
            else:
                sys.exit("%s:%d: this block is neither sh nor a file with a name" % (path, number))
            block = None
        elif block is not None:
            block.append(line)
        elif line.lstrip().startswith("```"):
            block = [line.strip()[3:].strip()]
        elif line.startswith("#"):
            heading = line.lstrip("#").strip()
    if block is not None:
        sys.exit("%s: a block has no end" % path)
    return files, sessions


def put(folder, files, script):
    os.makedirs(folder)
    for name, text in dict(files, **{"run.sh": script}).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def look(folder):
    found = glob.glob(folder + "/*.db")
    if not found:
        sys.exit("no file was recorded")
    for path in found:
        db = sqlite3.connect(path)
        told = db.execute("SELECT DISTINCT state FROM run").fetchall()
        db.close()
        if told != [("stopped",)]:
            sys.exit("%s: %s" % (path, told))


def environment(build, pc, prefix):
    """As if what lies below `prefix` were installed in the system."""
    with open(pc, "r+", encoding="utf-8") as f:
        text = re.sub(r"(?m)^prefix=.*", "prefix=" + prefix, f.read())
        f.seek(0)
        f.write(text)
        f.truncate()
    lib = os.path.dirname(os.path.dirname(pc))
    env = dict(os.environ, CMAKE_PREFIX_PATH=prefix, GOPROXY="off", GOFLAGS="-mod=mod",
               PYTHONPATH=prefix + "/share/memtracer/bindings/python",
               GOCACHE=os.path.join(build, "contract", "go", "cache"))
    for name, first in (("PATH", prefix + "/bin"), ("LD_LIBRARY_PATH", lib),
                        ("PKG_CONFIG_PATH", os.path.dirname(pc))):
        env[name] = ":".join(filter(None, [first, env.get(name)]))
    return env


def run(build, source, readme):
    files, sessions = parts(os.path.join(source, readme))
    if not sessions:
        sys.exit("%s shows nothing to type" % readme)
    if not os.path.exists(os.path.join(build, "lib", "libmemtracer.so." + version(source))):
        skip("this build has no shared library")
    with tempfile.TemporaryDirectory() as folder:
        pc = stage(build, folder + "/installed")
        env = environment(build, pc, prefix_of(pc, folder + "/installed"))
        for name, script in sessions:
            script = re.sub(r"(?m)^apt-get .*\n", "", script)
            for tool in re.findall(r"(?m)^([a-z+]+) ", script):
                shutil.which(tool, path=env["PATH"]) or need(tool)
            put(folder + "/" + name, files, script)
            done = subprocess.run(["sh", "-eux", "run.sh"], cwd=folder + "/" + name, env=env,
                                  stdin=subprocess.DEVNULL)
            if done.returncode:
                sys.exit("%s, %s: exit %d" % (readme, name, done.returncode))
            look(folder + "/" + name)


def write(folder, readmes):
    for readme in readmes:
        files, sessions = parts(readme)
        for name, script in sessions:
            put(os.path.join(folder, name), files, script)


def main():
    if sys.argv[1] == "run":
        run(*sys.argv[2:5])
    elif sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3:])
    else:
        look(sys.argv[2])


main()
