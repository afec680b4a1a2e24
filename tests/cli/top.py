#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`memtracer top` on a terminal: top.py MEMTRACER

A pseudo-terminal of 80 × 24 stands for the user's. What must hold: no line is wider, no byte is
outside ASCII or colours where they are not wanted, each way of leaving gives the terminal back as
it was, a process is seen with the memory it is known to hold, and nothing is left of it.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

import run as golden

LIMIT = 20
CHILD = """
import mmap, sys
pool = mmap.mmap(-1, 64 << 20)  # shared memory, which no runtime claims
for at in range(0, len(pool), 4096): pool[at] = 1
print("ready", flush=True); sys.stdin.read()
"""


def need(truth, what, *seen):
    if not truth:
        print("not so:", what, *seen)
        sys.exit(1)


class Terminal:
    def __init__(self, command, env):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = b""
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536)

    def until(self, what):
        end = time.monotonic() + LIMIT
        while what not in self.text and time.monotonic() < end:
            self.read(0.2)
        need(what in self.text, "%r comes" % what, self.text)

    def end(self, what):
        """Exit code after a key or a signal; the terminal must be as before."""
        if isinstance(what, bytes):
            os.write(self.master, what)
        else:
            self.process.send_signal(what)
        end = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        need(self.process.poll() is not None, "it ends with %r" % what)
        for _ in range(5):
            self.read(0.05)
        need(termios.tcgetattr(self.slave) == self.before, "%r restores the terminal" % what)
        need(self.text.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"), "and what was on it", self.text)
        os.close(self.master)
        os.close(self.slave)
        return self.process.returncode


def frames(text):
    """Lists of lines without escapes."""
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", text.replace(b"\x1b[H", b"\f"))
    return [frame.decode("utf-8").replace("\r", "").split("\n")
            for frame in plain.split(b"\f")[1:]]


def cells(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c)
               for c in line)


def check_leaving(memtracer, fixture, env):
    for what in (b"q", b"\x03", signal.SIGTERM, signal.SIGINT):
        t = Terminal([memtracer, "top", fixture], env)
        t.until(b"q quits")
        mode = termios.tcgetattr(t.slave)[3]
        need(not mode & (termios.ECHO | termios.ICANON), "keys come one by one")
        need(t.end(what) == 0, "leaving by %r is no error" % what)


def check_looks(memtracer, fixture, env):
    t = Terminal([memtracer, "top", fixture], dict(env, LC_ALL="C.UTF-8"))
    t.until(b"q quits")
    t.end(b"q")
    need("▁".encode() in t.text and b"\x1b[1m" in t.text, "blocks and a bold heading", t.text)
    for frame in frames(t.text):
        need(len(frame) <= 24 and max(map(cells, frame)) <= 80, "80 × 24", frame)
    need(any(line.startswith("heap ") and "163 MiB" in line for line in frames(t.text)[0]),
         "the heap of the fixture", t.text)
    for more, extra in (({"LC_ALL": "C", "NO_COLOR": "1"}, []),
                        ({"LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, ["--ascii"])):
        t = Terminal([memtracer, "top", fixture] + extra, dict(env, **more))
        t.until(b"q quits")
        t.end(b"q")
        need(not re.search(rb"[\x80-\xff]", t.text), "ASCII alone", t.text)
        need(not re.search(rb"\x1b\[[0-9;]*m", t.text), "no colours", t.text)


def check_poor_terminals(memtracer, fixture, env):
    """Narrow ones keep the columns with numbers; where the cursor cannot be placed nothing tries."""
    t = Terminal([memtracer, "top", fixture], dict(env, COLUMNS="40"))
    t.until(b"q quits")
    t.end(b"q")
    need(max(map(cells, frames(t.text)[0])) <= 40, "40 cells", t.text)
    t = Terminal([memtracer, "top", fixture], dict(env, TERM="dumb"))
    t.until(b"\ntotal ")
    need(t.process.wait(LIMIT) == 0, "one frame is all")
    need(b"\x1b" not in t.text, "no escapes", t.text)
    os.close(t.master)
    os.close(t.slave)


def check_process(memtracer, env, folder):
    env = dict(env, TMPDIR=folder)
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        done = subprocess.run([memtracer, "top", "--json", "--interval", "100ms", str(child.pid)],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if b"ermission" in done.stderr or b"DENIED" in done.stderr:
            print("left out: this user may not look at a process")
        else:
            held = {t["type"]: t["held"] for t in json.loads(done.stdout)["types"]}
            need(64 << 20 <= held["shareable"] <= 65 << 20, "64 MiB are shareable", held)
            t = Terminal([memtracer, "top", "--interval", "100ms", str(child.pid)], env)
            t.until(b"q quits")
            need(t.end(signal.SIGTERM) == 0, "leaving a process")
        child.stdin.close()
    need(not os.listdir(folder), "nothing is left", os.listdir(folder))


def main():
    memtracer = os.path.abspath(sys.argv[1])
    env = golden.environment(memtracer)
    with tempfile.TemporaryDirectory() as folder:
        fixture = os.path.join(folder, "fixture.db")
        golden.make_fixture(memtracer, fixture)
        check_leaving(memtracer, fixture, env)
        check_looks(memtracer, fixture, env)
        check_poor_terminals(memtracer, fixture, env)
        os.mkdir(os.path.join(folder, "tmp"))
        check_process(memtracer, env, os.path.join(folder, "tmp"))


main()
