# SPDX-License-Identifier: MIT
"""Writes the manual page of each public function from the headers' comments.

functions.py --list HEADER...           the names, one a line
functions.py OUTDIR DATE-PAGE HEADER... NAME.3 of each; the date is that of DATE-PAGE's .Dd

A comment that stands over several declarations describes them all. What stands in the opening
comment of a header is common to its functions; the block in it is the example.
"""
import os
import re
import sys
import textwrap

COMMENT = r"/\*((?:[^*]|\*(?!/))*)\*/"
DECLARATION = re.compile(r"TRACER_API\s+([^;(]*?)(\w+)\(([^;]*)\);")


def plain(comment):
    """The text of a comment without its stars."""
    return "\n".join(re.sub(r"^ ?\* ?", "", line) for line in comment.strip().split("\n"))


class Header:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.name = "memtracer/" + os.path.basename(path)
        opening = plain(re.findall(COMMENT, self.text)[1])
        self.example = re.findall(r"^    (.*)$", opening, re.M)
        self.common = re.sub(r"(?m)^    .*\n?", "", opening)
        self.structs = dict((m[1], m[0]) for m in re.findall(
            r"(typedef struct (?:\w+) \{.*?\} (\w+);)", self.text, re.S))
        self.errors = dict(re.findall(r"#define TRACER_(E\w+) \S+\s+/\* (.*?) \*/", self.text))

    def functions(self):
        """(names of a group, their declarations, the comment over them)"""
        group = re.compile(COMMENT + r"\s*((?:TRACER_API[^;]*;\s*)+)")
        for comment, declarations in group.findall(self.text):
            found = DECLARATION.findall(declarations)
            yield [name for _, name, _ in found], found, plain(comment)


def escape(text):
    text = text.replace("\\", "\\e").replace("`", "")
    return "".join(c if ord(c) < 128 else "\\[u%04X]" % ord(c) for c in text)


def literal(lines):
    yield ".Bd -literal -compact"
    for line in lines:
        yield ("\\&" if line[:1] in (".", "'") else "") + escape(line)
    yield ".Ed"


def prose(text):
    """Lines of mdoc: a sentence a line, an empty line a paragraph, `- ` an item of a list."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text.strip())
    in_list, first = False, True
    for block in blocks:
        item = block.startswith("- ")
        if item and not in_list:
            yield ".Bl -dash"
        elif in_list and not item:
            yield ".El"
        if item:
            yield ".It"
            block = block[2:]
        elif not first and not in_list:
            yield ".Pp"
        in_list, first = item, False
        flat = re.sub(r"\s+", " ", block).strip()
        for sentence in re.split(r"(?<=[.:;]) (?=[A-Z`])", flat):
            for line in textwrap.wrap(sentence, 76, break_long_words=False):
                line = escape(line)
                yield "\\&" + line if line[0] in ".'" else line
    if in_list:
        yield ".El"


def synopsis(header, found):
    yield ".In " + header.name
    for result, name, arguments in found:
        yield ".Ft " + result.strip()
        yield ".Fo " + name
        for argument in re.sub(r"\s+", " ", arguments).split(", "):
            yield '.Fa "%s"' % argument
        yield ".Fc"


def described_structs(header, found):
    for name, text in header.structs.items():
        if any(re.search(r"\b%s \*" % name, arguments) for _, _, arguments in found):
            yield ".Pp"
            yield from literal(text.split("\n"))


def errors(known, comment):
    named = [e for e in known if re.search(r"\b(TRACER_)?%s\b" % e, comment)]
    if not named:
        return
    yield ".Sh ERRORS"
    yield ".Bl -tag -width TRACER_EUNSUPPORTED"
    for name in named:
        yield ".It Dv TRACER_" + name
        yield escape(known[name])
    yield ".El"


def returned(found):
    result = found[0][0].strip()
    if result == "int":
        return ["0 on success, else a negative code;",
                ".Fn tracer_last_error", "tells what failed."]
    if "char *" in result:
        return ["A string that is not to be freed."]
    return ["Nothing."] if result == "void" else ["A number."]


def summary_of(text):
    """The first sentence, without what it has in brackets, cut at a comma where it is long."""
    flat = re.sub(r"\s*\([^)]*[^)(]\)", "", re.sub(r"\s+", " ", text))
    first = re.split(r"[.;](?: |$)", flat)[0]
    if first.startswith('"') and ": " in first:
        first = first.split(": ", 1)[1]
    first = re.split(r"(?<!\"): ", first)[0]
    if len(first) > 70:
        first = re.split(r", | into ", first)[0]
    return first if first[1:2].isupper() else first[:1].lower() + first[1:]


def page(header, date, names, found, comment, known):
    since = re.search(r"Since (\d+\.\d+)\.?", comment)
    body = re.sub(r"\s*Since \d+\.\d+\.?", "", comment)
    yield '.\\" SPDX-License-Identifier: MIT'
    yield '.\\" Written by man/functions.py from %s; change that.' % header.name
    yield ".Dd " + date
    yield ".Dt %s 3" % names[0].upper()
    yield ".Os"
    yield ".Sh NAME"
    for i, name in enumerate(names):
        yield ".Nm %s%s" % (name, " ," if i + 1 < len(names) else "")
    yield ".Nd " + escape(summary_of(body))
    yield ".Sh SYNOPSIS"
    yield from synopsis(header, found)
    yield ".Sh DESCRIPTION"
    yield from prose(body)
    yield from described_structs(header, found)
    yield ".Ss Common to all functions of this header"
    yield from prose(header.common)
    yield ".Sh RETURN VALUES"
    yield from returned(found)
    if header.example:
        yield ".Sh EXAMPLES"
        yield from literal(header.example)
    yield from errors(known, comment)
    yield ".Sh SEE ALSO"
    yield ".Xr memtracer 1 ,"
    yield ".Xr memtracer 7"
    if since:
        yield ".Sh HISTORY"
        yield ", ".join(names) + " appeared in memtracer %s." % since.group(1)


def main():
    if sys.argv[1] == "--list":
        for path in sys.argv[2:]:
            for names, _, _ in Header(path).functions():
                print("\n".join(names))
        return
    folder, dated, headers = sys.argv[1], sys.argv[2], [Header(p) for p in sys.argv[3:]]
    with open(dated, encoding="utf-8") as f:
        date = re.search(r"^\.Dd (.*)", f.read(), re.M).group(1)
    known = {name: text for h in headers for name, text in h.errors.items()}
    for header in headers:
        for names, found, comment in header.functions():
            text = "\n".join(page(header, date, names, found, comment, known)) + "\n"
            for name in names:
                with open(os.path.join(folder, name + ".3"), "w", encoding="ascii") as f:
                    f.write(text)


main()
