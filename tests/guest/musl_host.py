#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the library, SQLite and musl_host.c with musl-gcc and runs it:
musl_host.py SOURCE_ROOT BUILD_ROOT. Exit 77 without musl-gcc or SQLite's sources in subprojects/
(meson subprojects download sqlite3)."""
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOMS = ['base', 'base/os/posix', 'source/linux', 'claim', 'claim/linux', 'classify',
         'record', 'record/posix', 'read', 'read/verdict', 'sampler', 'api']


def sources(root):
    found = [os.path.join(root, 'lib/trace/linux/find_port.c')]
    for room in ROOMS:
        found += sorted(glob.glob(os.path.join(root, 'lib', room, '*.c')))
    return [f for f in found if not f.endswith('private_memory.c')]


def main():
    root, build = (os.path.abspath(p) for p in sys.argv[1:3])
    amalgamation = glob.glob(root + '/subprojects/sqlite-amalgamation-*/sqlite3.c')
    if not shutil.which('musl-gcc') or not amalgamation:
        print('skipped: no musl-gcc, or no sources of SQLite')
        return 77
    generated = glob.glob(build + '/lib/*.c') + glob.glob(build + '/lib/*/*.c')
    include = os.path.dirname(amalgamation[0])
    with tempfile.TemporaryDirectory() as folder:
        program, db = os.path.join(folder, 'musl_host'), os.path.join(folder, 'musl.db')
        subprocess.run(['musl-gcc', '-std=gnu11', '-O1', '-D_FILE_OFFSET_BITS=64',
                        '-DSQLITE_OMIT_LOAD_EXTENSION', '-I' + root + '/lib',
                        '-I' + root + '/include', '-I' + include, '-o', program,
                        root + '/tests/guest/musl_host.c', amalgamation[0]] + sources(root) +
                       generated, check=True)
        code = subprocess.run([program, db], check=False, timeout=100).returncode
        if code == 0:
            rows = sqlite3.connect(db).execute('PRAGMA integrity_check').fetchall()
            code = 0 if rows == [('ok',)] else 1
        return code


if __name__ == '__main__':
    sys.exit(main())
