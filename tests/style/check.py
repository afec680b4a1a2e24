#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""House style, as far as a script can see it: check.py [--functions] ROOT

Without an option: files, names, includes, banned calls, platform ifdefs, agreement of header,
map, tables, manual and changelog. With --functions: length and complexity by pmccabe (exit 77 =
skipped, there is no pmccabe). Prints one line a finding, `file:line: what`; exit 1 when there is any.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

MAX_FUNCTION_LINES = 60
MAX_COMPLEXITY = 15
MAX_FILE_LINES = 400
MAX_TEST_LINES = 600  # a test file is a list of facts about one file
MAX_COLUMNS = 100

# The room table of DESIGN: what a room of lib/ may include beside its own files.
ROOMS = {
    "base": set(),
    "source": {"base"},
    "claim": {"base"},
    "classify": {"base"},
    "trace": {"base"},
    "record": {"base"},
    "read": {"base"},
    "sampler": {"base", "source", "claim", "classify", "record", "trace"},
    "api": {"base", "source", "claim", "classify", "record", "read", "sampler", "trace"},
}
# The thin layer on SQLite is written once, in record/.
SHARED = {("read", "record/file.h"), ("read", "record/db.h")}
PURE = re.compile(r"lib/(classify/|sampler/plan\.)")
SQL_ROOMS = re.compile(r"lib/(record|read)/|tools/|tests/|bindings/")
OS_ROOMS = re.compile(r"lib/(base/os|source/\w+|claim/\w+|trace/\w+|record/(posix|windows))/")
OS_HEADERS = re.compile(
    r"(sys|linux|asm|netinet)/|(unistd|pthread|fcntl|dlfcn|link|elf|signal|sched|poll|dirent|"
    r"windows|psapi|tlhelp32|winternl|mman|malloc|time|threads)\.h$")

EVERYWHERE = r"sprintf|vsprintf|strcpy|strcat|strtok|atoi|gets|system|alloca"
ALLOCATION = r"malloc|calloc|realloc|free|strdup|strndup|asprintf|aligned_alloc|posix_memalign"
PLATFORM = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(_WIN32|_WIN64|WIN32|__MINGW\w*|__CYGWIN__|_MSC_VER|"
    r"__linux__|__linux|__unix__|__APPLE__|__FreeBSD__|__ANDROID__|__GLIBC__|__x86_64__|__i386__|"
    r"__aarch64__|__arm__|__riscv|SYS_\w+|__NR_\w+)")
# Values reach SQL as parameters only; a statement made by printf is an invitation.
SQL_FROM_STRINGS = re.compile(
    r'\bsqlite3_\w*printf\b|\b\w*printf\s*\((?!\x27)[^;]*?"\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|PRAGMA|'
    r'CREATE|DROP|ALTER|ATTACH|WITH|VACUUM|BEGIN|SAVEPOINT)\s')
OPEN_ENDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$})*])/(?:work|root)/|(?<![\w.$})*])/home/\w")

findings = []


def report(path, line, what):
    findings.append("%s:%d: %s" % (path, line, what))


def tree(root):
    """Paths below root, with slashes, of what belongs to the project."""
    for folder, folders, files in os.walk(root):
        folders[:] = [d for d in folders
                      if not d.startswith(("build", ".git")) and
                      d not in ("subprojects", "node_modules", "__pycache__", "target") and
                      not os.path.exists(os.path.join(folder, d, "meson-private"))]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def code_only(text):
    """The text with comments and literals blanked, lines kept; include lines stay."""
    def blank(match):
        token = match.group(0)
        if token.startswith("#"):
            return token
        return re.sub(r"[^\n]", " ", token)
    return re.sub(r'^[ \t]*#[ \t]*include[^\n]*|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S | re.M)


def each_match(pattern, text):
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match


def check_opening(path, lines):
    if not lines or "SPDX-License-Identifier: MIT" not in lines[0]:
        report(path, 1, "the first line is not the SPDX line")
    if path.endswith(".c") and not (len(lines) > 1 and re.match(r"/\* \S", lines[1])):
        report(path, 2, "no role comment under the SPDX line")


def check_lengths(path, lines):
    most = MAX_TEST_LINES if path.startswith("tests/") else MAX_FILE_LINES
    if len(lines) > most:
        report(path, len(lines), "%d lines, at most %d" % (len(lines), most))
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and "──" not in line:  # the drawn pipeline
            report(path, number, "%d columns, at most %d" % (len(line), MAX_COLUMNS))
        if "\t" in line or line != line.rstrip():
            report(path, number, "a tab, or blanks at the end")


def check_exists(root, path, line, name):
    folders = ("lib", "include", "tests", path.split("/")[0], os.path.dirname(path))
    if not any(os.path.exists(os.path.join(root, f, name)) for f in folders):
        report(path, line, "there is no %s" % name)


def check_one_include(path, line, name):
    room = path.split("/")[1] if path.startswith("lib/") else None
    other = name.split("/")[0]
    if other == "sqlite3.h" and not SQL_ROOMS.match(path):
        report(path, line, "sqlite3.h outside record/ and read/")
    if room is None:
        if path.startswith(("tools/", "examples/", "include/", "bindings/")) and other in ROOMS:
            report(path, line, "%s: only include/ may be used here" % name)
        return
    if other in ROOMS and other != room and other not in ROOMS.get(room, set()) and \
            (room, name) not in SHARED:
        report(path, line, "%s: room %s must not use %s" % (name, room, other))
    if path.startswith("lib/sampler/plan.") and other in ROOMS and other != "base" \
            and name != "sampler/plan.h":
        report(path, line, "%s: the planner uses base only" % name)
    if PURE.match(path) and (OS_HEADERS.match(name) or name == "base/os/os.h"):
        report(path, line, "%s: this is pure, without OS and clock" % name)
    if room not in ("source", "claim") and not OS_ROOMS.match(path) and OS_HEADERS.match(name):
        report(path, line, "%s: the OS is for source/, claim/ and base/os/" % name)


def check_code(root, path, text):
    code = code_only(text)
    for line, m in each_match(r'(?m)^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', code):
        check_one_include(path, line, m.group(2))
        if m.group(1) == '"':
            check_exists(root, path, line, m.group(2))
    for line, m in each_match(r"\b(%s)\s*\(" % EVERYWHERE, code):
        report(path, line, "%s is banned" % m.group(1))
    if path.startswith("lib/") and not path.startswith(("lib/base/", "lib/trace/linux/")):
        for line, m in each_match(r"(?<![.>])\b(%s)\s*\(" % ALLOCATION, code):
            report(path, line, "%s: memory comes from base/memory.h" % m.group(1))
    if path.startswith(("lib/", "tools/")):
        for line, _ in each_match(SQL_FROM_STRINGS, text):
            report(path, line, "SQL built from strings: bind parameters")
    if not SQL_ROOMS.match(path):
        for line, m in each_match(r"\bsqlite3_\w+", code):
            report(path, line, "%s outside record/ and read/" % m.group(0))
    if path.startswith(("lib/", "include/", "tools/", "examples/")) and not OS_ROOMS.match(path):
        check_platform(path, text)


def check_platform(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if PLATFORM.match(line) and "TRACER_BUILD_SHARED" not in line:
            report(path, number, "a platform #if outside os/, source/<os>/, claim/<os>/")


def check_words(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if OPEN_ENDS.search(line):
            report(path, number, "an open end: do it, or leave it out")
        found = MACHINE_PATHS.search(line)
        if found and not (path.startswith("tests/") and "/home/" in found.group(0)):
            report(path, number, "a path of one machine")


def check_names(paths):
    by_name = collections.defaultdict(list)
    for path in paths:
        if re.match(r"(lib|include|tools|examples|tests)/.*\.[ch]$", path):
            by_name[os.path.basename(path)].append(path)
    for twins in by_name.values():
        for path in twins[1:]:
            report(path, 1, "has the base name of %s" % twins[0])


def check_unit_tests(root, paths):
    subjects = {os.path.splitext(os.path.basename(p))[0] for p in paths
                if re.match(r"lib/.*\.(c|sql)$", p)}
    listed = read(root, "tests/unit/meson.build")
    for path in paths:
        match = re.match(r"tests/unit/test_(\w+)\.c$", path)
        if not match:
            continue
        words = match.group(1).split("_")
        if not any("_".join(words[:n]) in subjects for n in range(len(words), 0, -1)):
            report(path, 1, "names no file of lib/")
        if "'%s'" % match.group(1) not in listed and "test_%s.c" % match.group(1) not in listed:
            report(path, 1, "is not in tests/unit/meson.build")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def compare(path, what, here, there):
    for name in sorted(here ^ there):
        report(path, 1, "%s: %s" % (what, name))


def check_map(root, headers):
    declared = set()
    for path in headers:
        declared |= set(re.findall(r"TRACER_API[^;{]*?\b(tracer_\w+)\s*\(",
                                   code_only(read(root, path))))
    listed = set(re.findall(r"^\s*(tracer_\w+);", read(root, "lib/memtracer.map"), re.M))
    compare("lib/memtracer.map", "in only one of map and headers", declared, listed)


def check_version(root):
    text = read(root, "include/memtracer/version.h")
    part = dict(re.findall(r"#define TRACER_VERSION_(MAJOR|MINOR|PATCH) (\d+)", text))
    version = ".".join(part[p] for p in ("MAJOR", "MINOR", "PATCH"))
    packed = int(part["MAJOR"]) << 16 | int(part["MINOR"]) << 8 | int(part["PATCH"])
    if 'VERSION_STRING "%s"' % version not in text or "0x%06x" % packed not in text:
        report("include/memtracer/version.h", 1, "the parts and the whole disagree")
    newest = re.search(r"^## (.*)", read(root, "CHANGELOG.md"), re.M)
    if not newest or version not in newest.group(1):
        report("CHANGELOG.md", 1, "the newest heading does not name %s" % version)
    nodes = re.findall(r"^MEMTRACER_([\d.]+)", read(root, "lib/memtracer.map"), re.M)
    if not nodes or nodes[-1] != version.rsplit(".", 1)[0]:
        report("lib/memtracer.map", 1, "the newest node is not that of %s" % version)
    schema = re.search(r"TRACER_SCHEMA_VERSION (\d+)", text).group(1)
    if "schema %s." % schema not in read(root, "lib/record/schema/tables.sql").splitlines()[0]:
        report("lib/record/schema/tables.sql", 1, "does not name schema %s" % schema)


def check_tables(root):
    """The X-macro tables and the public constants of the same name."""
    header = read(root, "include/memtracer/memtracer.h")
    pairs = (("error.def", r"MT_ERROR\((E\w+), (-?\d+)", r"#define TRACER_(E\w+) \((-\d+)\)"),
             ("memory_type.def", r"MT_TYPE\((\w+), (\d+), ",
              r"#define TRACER_TYPE_((?!USER_FIRST|CAPACITY)\w+) (\d+)u"),
             ("state_column.def", r"MT_COLUMN\((\w+), (\d+), ",
              r"#define TRACER_COLUMN_(\w+) (\d+)"))
    for name, row, constant in pairs:
        path = "lib/base/" + name
        compare(path, "in only one of table and memtracer.h",
                set(re.findall("^" + row, read(root, path), re.M)),
                set(re.findall(constant, header)))


def check_manual(root):
    """Every table, view and column of the schema has its word in memtracer(7)."""
    path = "man/memtracer.7"
    words = set(re.findall(r"\w+", read(root, path)))
    names = set()
    for name in ("tables", "views"):
        if os.path.exists(os.path.join(root, "lib/record/schema/%s.sql" % name)):
            sql = re.sub(r"--[^\n]*", "", read(root, "lib/record/schema/%s.sql" % name))
            names |= set(re.findall(r"CREATE (?:TABLE|VIEW) (\w+)", sql))
            names |= set(re.findall(r"^    (\w+) (?:INTEGER|TEXT|REAL)", sql, re.M))
    for name in sorted(names - words):
        report(path, 1, "does not say what %s is" % name)


def check_functions(root, paths):
    if not shutil.which("pmccabe"):
        print("skipped: pmccabe is not installed")
        sys.exit(77)
    files = [p for p in paths if p.endswith(".c")]
    out = subprocess.run(["pmccabe"] + files, cwd=root, check=False, stdout=subprocess.PIPE,
                         encoding="utf-8", errors="replace").stdout
    for row in out.splitlines():
        fields = row.split("\t")
        if len(fields) < 6:
            continue
        where, function = fields[5].split(": ", 1)
        path, line = re.match(r"(.*)\((\d+)\)$", where).groups()
        if int(fields[4]) > MAX_FUNCTION_LINES:
            report(path, int(line), "%s has %s lines, at most %d"
                   % (function, fields[4], MAX_FUNCTION_LINES))
        if int(fields[0]) > MAX_COMPLEXITY:
            report(path, int(line), "%s has complexity %s, at most %d"
                   % (function, fields[0], MAX_COMPLEXITY))


def check_files(root, paths):
    this = "tests/style/check.py"
    for path in paths:
        is_code = bool(re.search(r"\.(c|h|hpp)$", path))
        is_script = bool(re.search(r"\.py$|meson\.build$|\.sh$", path))
        is_prose = bool(re.search(r"\.(md|sql|def|map|yml|[137])$|meson_options\.txt$", path))
        if not (is_code or is_script or is_prose) or path.startswith("tests/data/"):
            continue
        text = read(root, path)
        if path != this:
            check_words(path, text)
        if is_code:
            check_opening(path, text.splitlines())
            check_lengths(path, text.splitlines())
            check_code(root, path, text)
        elif is_script and "SPDX-License-Identifier: MIT" not in text[:120]:
            report(path, 1, "no SPDX line at the top")


def main():
    root = os.path.abspath(sys.argv[-1])
    paths = sorted(tree(root))
    if "--functions" in sys.argv:
        check_functions(root, paths)
    else:
        check_files(root, paths)
        check_names(paths)
        check_unit_tests(root, paths)
        check_map(root, [p for p in paths if re.match(r"include/memtracer/.*\.h$", p)])
        check_version(root)
        check_tables(root)
        check_manual(root)
    for finding in findings:
        print(finding)
    print("%d findings in %d files" % (len(findings), len(paths)))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
