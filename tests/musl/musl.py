#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds musl_claims.c with musl-gcc and runs it: musl.py SOURCE_ROOT. Exit 77 without musl-gcc."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SOURCES = ['lib/base/*.c', 'lib/base/os/posix/*.c', 'lib/claim/*.c', 'lib/claim/linux/*.c',
           'tests/musl/musl_claims.c']


def main():
    root = sys.argv[1]
    if not shutil.which('musl-gcc'):
        print('skipped: no musl-gcc (Debian: musl-tools)')
        return 77
    sources = [f for pattern in SOURCES for f in sorted(glob.glob(os.path.join(root, pattern)))]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'musl_claims')
        subprocess.run(['musl-gcc', '-std=c11', '-O1', '-Wall', '-I' + root + '/lib',
                        '-I' + root + '/include', '-I' + root + '/tests', '-o', program, *sources],
                       check=True)
        return subprocess.run([program], check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
