#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fetches what package-lock.json pins: fetch.py SOURCE-FOLDER BUILD-FOLDER

Asks npm, once for a lock file; scripts of packages are not run. Exit 1 with a reason on stderr when
that cannot be done.
"""
import hashlib
import os
import shutil
import subprocess
import sys


def main():
    source, build = sys.argv[1], sys.argv[2]
    npm = shutil.which("npm")
    with open(os.path.join(source, "package-lock.json"), "rb") as f:
        wanted = hashlib.sha256(f.read()).hexdigest()
    stamp = os.path.join(build, "node_modules", ".memtracer")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as f:
            if f.read() == wanted:
                return None
    if not npm:
        return "npm is not installed"
    os.makedirs(build, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(source, name), build)
    try:
        done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                               "--prefer-offline", "--fetch-retries=0", "--fetch-timeout=20000"],
                              cwd=build, stdin=subprocess.DEVNULL, capture_output=True, timeout=90)
    except subprocess.TimeoutExpired:
        return "npm ci took too long"
    if done.returncode:
        return "npm ci failed: is this machine offline?"
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(wanted)
    return None


reason = main()
if reason:
    sys.exit(reason)
