#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Description: run.allocator of programs that are watched from outside, linked with glibc and musl,
dynamically, statically, and stripped: allocator.py MEMTRACER. What cannot be built is left out."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char *p = malloc(1000);
    puts(p ? "ready" : "");
    fflush(stdout);
    for (;;)
        pause();
}
'''

# compiler and its options, what is linked, what memtracer must say
CASES = [
    (['cc'], 'glibc'),
    (['cc', '-static'], 'glibc'),
    (['cc', '-static', '-s'], 'glibc'),
    (['cc', '-static-pie'], 'glibc'),
    (['musl-gcc'], 'musl'),
    (['musl-gcc', '-static'], 'musl'),
    (['musl-gcc', '-static', '-s'], ''),  # nothing in it tells: unknown, not wrong
]


def is_glibc():
    return b'GLIBC' in subprocess.run(['ldd', '--version'], capture_output=True, check=False).stdout


def build(command, folder):
    if not shutil.which(command[0]) or (command[0] == 'cc' and not is_glibc()):
        return None
    program = os.path.join(folder, 'program')
    done = subprocess.run(command + ['-o', program, os.path.join(folder, 'program.c')],
                          capture_output=True, check=False)
    return None if done.returncode else program


def allocator_of(memtracer, program, folder):
    file = os.path.join(folder, 'a.db')
    with subprocess.Popen([program], stdout=subprocess.PIPE) as host:
        try:
            host.stdout.readline()
            subprocess.run([memtracer, 'record', '-o', file, '--pid', str(host.pid), '--interval',
                            '20', '--duration', '0.2'], check=True, stdout=subprocess.DEVNULL)
        finally:
            host.kill()
    with sqlite3.connect(file) as db:
        return db.execute('SELECT allocator FROM run').fetchone()[0]


def main():
    failed = 0
    for command, right in CASES:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'program.c'), 'w', encoding='utf-8') as f:
                f.write(SOURCE)
            program = build(command, folder)
            said = allocator_of(sys.argv[1], program, folder) if program else None
        print(f'{" ".join(command)}: {said!r}, right is {right!r}' if program else
              f'{" ".join(command)}: cannot be built here')
        failed += program is not None and said != right
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
