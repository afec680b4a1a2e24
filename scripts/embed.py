#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns text files into C: embed.py OUT.c SYMBOL FILE...

Writes `const struct mt_text SYMBOL[]` with a name (the file's base name without its ending)
and the text of each file, ended by a row of NULLs. The struct is in base/text.h.
"""
import os
import sys


def literal(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"\n'


def main():
    out, symbol, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(out, "w", encoding="utf-8") as c:
        c.write('#include "base/text.h"\n\nconst struct mt_text %s[] = {\n' % symbol)
        for path in files:
            name = os.path.splitext(os.path.basename(path))[0]
            c.write('    {"%s",\n' % name)
            with open(path, encoding="utf-8") as f:
                c.writelines(literal(line.rstrip("\n")) for line in f)
            c.write("    },\n")
        c.write("    {0, 0}};\n")


main()
