# SPDX-License-Identifier: MIT
"""Writes what completes `memtracer` in a shell: completion.py bash|zsh MAIN.C FILE... > OUT

In: the command table of main.c, of each cmd_*.c its summary and its table of options, and the headers
with the options that commands share, macros X_OPTIONS.
"""
import re
import sys

VALUES = {"measure": "held committed size"}
FILES = ("output", "csv", "markers", "sessions")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def options(text):
    """[(name, letter or None, takes a value, its words or None)]"""
    columns = re.search(r"columns\[\] = \{(.*?)\};", text, re.S)
    found = []
    for name, letter, kind in re.findall(r'\{\s*"([a-z-]+)", (0|\'.\'), OPTION_(\w+),', text):
        words = VALUES.get(name)
        if name == "column" and columns:
            words = " ".join(re.findall(r'"(\w+)"', columns.group(1)))
        found.append((name, letter.strip("'") if letter != "0" else None,
                      kind not in ("FLAG", "MAYBE_BYTES"), words))
    return found + [("help", "h", False, None)]


def shared(files):
    """{macro: the options it stands for}"""
    text = "\n".join(files).replace("\\\n", " ")
    return dict(re.findall(r"^#define (\w+_OPTIONS)\(.*?\) (.*)$", text, re.M))


def commands(main, files):
    macros = shared(files)
    order = re.findall(r"&command_(\w+)", re.search(r"commands\[\] = \{(.*?)\};", main, re.S)[1])
    found = {}
    for text in files:
        m = re.search(r'const struct command command_(\w+) = \{\s*"(\w+)",\s*"([^"]*)"', text)
        if m:
            text = re.sub(r"(\w+_OPTIONS)\(.*?\)", lambda use: macros[use.group(1)], text)
            found[m.group(1)] = (m.group(3), options(text))
    return [(name, *found[name]) for name in order]


def spelled(opts):
    return " ".join("--" + o[0] for o in opts) + "".join(" -" + o[1] for o in opts if o[1])


def bash(table):
    yield "# SPDX-License-Identifier: MIT\n# bash completion of memtracer, written by the build.\n"
    yield "_memtracer()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    yield "    local options=\n    COMPREPLY=()\n"
    yield "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && [ \"$before\" = help ]; }; then\n"
    yield "        COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n        return\n    fi\n" % \
        " ".join([t[0] for t in table] + ["help", "--version"])
    yield "    case ${COMP_WORDS[1]}:$before in\n"
    for name, _, opts in table:
        for option, _, takes, words in opts:
            if words:
                yield "    %s:--%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n" % (
                    name, option, words)
            elif takes and option not in FILES:
                yield "    %s:--%s) return ;;\n" % (name, option)
    yield "    esac\n    case ${COMP_WORDS[1]} in\n"
    for name, _, opts in table:
        yield "    %s) options='%s' ;;\n" % (name, spelled(opts))
    yield "    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
    yield "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
    yield "complete -o filenames -F _memtracer memtracer\n"


def zsh_option(name, letter, takes, words):
    value = "" if not takes else ":%s:(%s)" % (name, words) if words else \
        ":%s:_files" % name if name in FILES else ":%s: " % name
    result = "'--%s%s[%s]%s'" % (name, "=" if takes else "", name, value)
    return result + (" '-%s[%s]%s'" % (letter, name, value) if letter else "")


def zsh(table):
    yield "#compdef memtracer\n# SPDX-License-Identifier: MIT\n"
    yield "# zsh completion of memtracer, written by the build.\n"
    yield "_memtracer() {\n    local -a commands\n    commands=(\n"
    for name, summary, _ in table:
        yield "        '%s:%s'\n" % (name, summary.replace("'", "'\\''"))
    yield "        'help:a command'\\''s options'\n    )\n"
    yield "    if (( CURRENT == 2 )) || [[ $CURRENT == 3 && $words[2] == help ]]; then\n"
    yield "        _describe command commands\n        return\n    fi\n"
    yield "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n"
    for name, _, opts in table:
        yield "    %s)\n        _arguments -s %s '*:file:_files' ;;\n" % (
            name, " \\\n            ".join(zsh_option(*o) for o in opts))
    yield "    esac\n}\n_memtracer \"$@\"\n"


def main():
    table = commands(read(sys.argv[2]), [read(p) for p in sys.argv[3:]])
    sys.stdout.write("".join({"bash": bash, "zsh": zsh}[sys.argv[1]](table)))


main()
