#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fixed parts of the report's page: assemble.py PAGE.html PAGE.css PAGE.js UPLOT OUT

page.html is cut at its lines `<!-- verdict -->` and `<!-- tables -->`. Scripts and styles go into
it, and into its policy go their hashes: nothing else is run or styled, whatever a recording holds.
"""
import base64
import hashlib
import os
import re
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def hashes(texts):
    return " ".join("'sha256-%s'" % base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()
                    for t in texts)


def element(tag, text):
    return "<%s>%s</%s>\n" % (tag, text, tag)


def main():
    page, css, js, uplot, out = sys.argv[1:]
    licence = "/*! uPlot\n%s*/\n" % read(uplot, "LICENSE").replace("*/", "* /")
    styles = [read(uplot, "dist", "uPlot.min.css"), read(css)]
    scripts = [licence + read(uplot, "dist", "uPlot.iife.min.js"), read(js)]
    for text in styles + scripts:
        if re.search(r"</(script|style)", text, re.I):
            sys.exit("a script or style would end its own element")
    text = read(page).replace("@STYLES@", "".join(element("style", s) for s in styles))
    text = text.replace("@SCRIPTS@", "".join(element("script", s) for s in scripts))
    text = text.replace("@SCRIPT-HASHES@", hashes(scripts))
    text = text.replace("@STYLE-HASHES@", hashes(styles))
    parts = re.split(r"<!-- (?:verdict|tables) -->\n", text)
    for name, part in zip(("head", "chart", "tail"), parts, strict=True):
        with open(os.path.join(out, name + ".html"), "w", encoding="utf-8") as f:
            f.write(part)


main()
