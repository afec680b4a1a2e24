#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is what the documents show true? run.py lint|sql|columns|commands|c MEMTRACER SOURCE PAGES [CC...]

lint      mandoc finds no error or warning in any page; each function has one
sql       each SELECT of the READMEs, the pages and the examples runs on a recording and is one
          statement
columns   the table of the columns of memory_event has each column of the view, and those that an
          event tracer's users know
commands  each `memtracer …` they show has a command and options that exist
c         each piece of C compiles, links and runs
Exit 77 = skipped, a tool is missing.
"""
import glob
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import run as golden


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def blocks(path):
    """What stands apart from the prose: displays of mdoc, indented blocks of Markdown (readme.py has
    those between fences) and of comments."""
    text = read(path)
    if path.endswith(".c"):
        found = re.findall(r"(?:^ \*     .*\n)+", text, re.M)
        return [re.sub(r"(?m)^ \*     (sqlite3|memtracer)?", lambda m: "$ " + m[1] if m[1] else "", b)
                for b in found]
    if path.endswith(".md"):
        text = re.sub(r"(?ms)^```.*?^```$", "", text)
        found = re.findall(r"(?:^(?:    .*)?\n)+", text, re.M)
        return [re.sub(r"(?m)^    ", "", b).strip("\n") for b in found if b.strip()]
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S)
    found += ["\n".join(re.sub(r"^\.Dl ", "", line) for line in run.strip().split("\n"))
              for run in re.findall(r"((?:^\.Dl .*\n)+)", text, re.M)]
    return [re.sub(r"\\&", "", re.sub(r"\\ ", " ", b.replace("\\e", "\\"))).strip("\n")
            for b in found]


def statements(text):
    """SELECTs on lines of their own, and those handed to sqlite3 or memtracer sql."""
    found = re.findall(r"^SELECT .*?;$", text, re.M | re.S)
    for line in re.findall(r"^\$ ((?:sqlite3|memtracer sql) [^$]*)", text, re.M):
        found += [w for w in shlex.split(line) if w.startswith("SELECT")]
    return found


def check_sql(paths, memtracer, *_):
    with tempfile.TemporaryDirectory() as folder:
        golden.make_fixture(memtracer, folder + "/fixture.db")
        db = sqlite3.connect(folder + "/fixture.db")
        n = 0
        for path in paths:
            for block in blocks(path):
                for sql in statements(block):
                    try:
                        db.execute(sql, ("heap",) if "?1" in sql else ()).fetchall()
                    except (sqlite3.Error, sqlite3.Warning) as e:
                        sys.exit("%s: %s\n%s" % (path, e, sql))
                    n += 1
    return n


EVENT_COLUMNS = set("""time base_address region_size alloc_type page_type protection protection_mask
 file_key file_name offset section_type view_base view_size pid name exe type owner thread
 kind""".split())


def check_columns(paths, memtracer, *_):
    text = next(read(p) for p in paths if p.endswith("memtracer.7"))
    table = text[text.index("\n.Ss memory_event\n"):]
    told = re.findall(r"^\.It Va (\w+) Ta (.+?) Ta (.+)$", table[:table.index("\n.El\n")], re.M)
    with tempfile.TemporaryDirectory() as folder:
        golden.make_fixture(memtracer, folder + "/fixture.db")
        db = sqlite3.connect(folder + "/fixture.db")
        view = [c[0] for c in db.execute("SELECT * FROM memory_event LIMIT 0").description]
    if sorted(name for name, _, _ in told) != sorted(view):
        sys.exit("the page and the view differ: %s" % sorted({t[0] for t in told} ^ set(view)))
    if EVENT_COLUMNS - set(view):
        sys.exit("the view has no %s" % sorted(EVENT_COLUMNS - set(view)))
    return len(told)


def shown_commands(path):
    text = "\n".join(blocks(path)) if path.endswith(".c") else read(path)
    found = re.findall(r"^\s*(?:\.Dl )?\$ (memtracer .*)$", text, re.M)
    if path.endswith(".md"):
        found += re.findall(r"`(memtracer [a-z].*?)`", text.replace("\n", " "))
    return found


def check_commands(paths, memtracer, *_):
    n = 0
    for path in paths:
        for line in shown_commands(path):
            words = shlex.split(line.replace("\\e", "\\"))
            help_text = subprocess.run([memtracer, words[1], "--help"], stdout=subprocess.PIPE,
                                       encoding="utf-8")
            if help_text.returncode:
                sys.exit("%s: there is no command: %s" % (path, line))
            mine = words[2:words.index("--")] if "--" in words else words[2:]
            for option in (w.split("=")[0] for w in mine if re.match(r"--?[a-z]", w)):
                if not re.search(r"(?<![\w-])%s\b" % re.escape(option), help_text.stdout):
                    sys.exit("%s: no option %s: %s" % (path, option, line))
            n += 1
    return n


def as_program(code):
    lines = code.split("\n")
    includes = [line for line in lines if line.startswith("#include")]
    body = [re.sub(r"^(\s*)\.\.\.\s*(/\*)", r"\1\2", line) for line in lines
            if not line.startswith("#include")]
    body = [line for line in body if not line.lstrip().startswith("...")]
    types = "".join("    uint32_t %s = 0; (void)%s;\n" % (name, name) for name in
                    sorted(set(re.findall(r'_type\(\w+, "\w+", &(\w+)\)', code))))
    return "".join(i + "\n" for i in includes) + \
        "#include <memtracer/memtracer.h>\n#include <memtracer/import.h>\n" \
        "#include <memtracer/reader.h>\nint main(void)\n{\n" + types + \
        "\n".join(body) + "\n    return 0;\n}\n"


def check_c(paths, _, source, cc):
    build = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[2])))
    pieces = {b for p in paths for b in blocks(p) if re.search(r"^tracer\w* \*\w+;$", b, re.M)}
    with tempfile.TemporaryDirectory() as folder:
        for piece in pieces:
            with open(folder + "/piece.c", "w", encoding="utf-8") as f:
                f.write(as_program(piece))
            subprocess.run(cc + ["-std=c99", "-Wall", "-Werror", "-I" + source + "/include",
                                 "-o", folder + "/piece", folder + "/piece.c",
                                 "-L" + build + "/lib", "-lmemtracer"], check=True)
            subprocess.run([folder + "/piece"], cwd=folder, check=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=build + "/lib"))
            if "tracer_start" in piece and not glob.glob(folder + "/*.db"):
                sys.exit("no file was recorded by\n" + piece)
            for name in glob.glob(folder + "/*.db*"):
                os.remove(name)
    return len(pieces)


def check_lint(paths, _, source, __):
    pages = [p for p in paths if not p.endswith((".md", ".c"))]
    names = set(re.findall(r"^\s*(tracer_\w+);", read(source + "/lib/memtracer.map"), re.M))
    found = {os.path.basename(p)[:-2] for p in pages if p.endswith(".3")}
    if names != found:
        sys.exit("functions and pages differ: %s" % sorted(names ^ found))
    if not shutil.which("mandoc"):
        print("skipped: there is no mandoc")
        sys.exit(77)
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"] + pages,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    if done.returncode:
        sys.exit(done.stdout)
    return len(pages)


def main():
    kind, memtracer, source, pages, cc = (*sys.argv[1:5], sys.argv[5:])
    paths = [source + "/README.md", source + "/man/memtracer.1", source + "/man/memtracer.7"]
    paths += sorted(glob.glob(pages + "/tracer_*.3") + glob.glob(source + "/examples/*.c") +
                    glob.glob(source + "/bindings/*/README.md"))
    check = {"lint": check_lint, "sql": check_sql, "columns": check_columns,
             "commands": check_commands, "c": check_c}[kind]
    n = check(paths, os.path.abspath(memtracer), os.path.abspath(source), cc)
    print("%d looked at" % n)
    if not n:
        sys.exit("nothing was found to look at")


main()
