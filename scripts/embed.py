#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns text files into C: embed.py [--header=H] OUT.c SYMBOL FILE...

Writes `const struct mt_text SYMBOL[]` with a name (the file's base name without its ending)
and the text of each file, ended by a row of NULLs. The struct is in base/text.h,
or in the header H.
"""
import os
import sys


def numbers(text):
    """The bytes: a compiler need not take string literals of more than 4,095."""
    codes = ["%d" % b if b < 128 else "'\\x%02x'" % b for b in text] + ["0"]
    for i in range(0, len(codes), 20):
        yield "    " + ", ".join(codes[i:i + 20]) + ",\n"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--header=")]
    headers = [a[9:] for a in sys.argv[1:] if a.startswith("--header=")]
    out, symbol, files = arguments[0], arguments[1], arguments[2:]
    with open(out, "w", encoding="utf-8") as c:
        c.write('#include "%s"\n\n' % (headers + ["base/text.h"])[0])
        for number, path in enumerate(files):
            with open(path, "rb") as f:
                c.write("static const char text_%d[] = {\n" % number)
                c.writelines(numbers(f.read().replace(b"\r\n", b"\n")))
                c.write("};\n")
        c.write("\nconst struct mt_text %s[] = {\n" % symbol)
        for number, path in enumerate(files):
            name = os.path.splitext(os.path.basename(path))[0]
            c.write('    {"%s", text_%d},\n' % (name, number))
        c.write("    {0, 0}};\n")


main()
