#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does completion offer what the program itself says it takes? run.py bash|zsh FILE MEMTRACER

The right values are those of `memtracer help` and of each command's --help. bash: its function is
called as the shell would; zsh: the options are read from the file, which zsh must be able to parse.
"""
import re
import shutil
import subprocess
import sys

SCRIPT = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memtracer
printf '%s\\n' "${COMPREPLY[@]}"
"""


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def bash(path, *words):
    return {w for w in said("bash", "-c", SCRIPT, "bash", path, *words).split("\n") if w}


def zsh_commands(text):
    return set(re.findall(r"^        '(\w+):", text, re.M))


def zsh_options(text, command):
    block = re.search(r"^    %s\)\n(.*?);;" % command, text, re.M | re.S).group(1)
    return set(re.findall(r"'--([a-z-]+)", block))


def listed(help_text):
    """The options of the list in --help."""
    return set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", help_text, re.M))


def named(help_text):
    """Those of its sentences and those that it calls by their letter, too."""
    letters = {"o": "output", "p": "pid", "c": "column"}
    return set(re.findall(r"--([a-z][a-z-]+)", help_text)) | {"help", "json"} | {
        letters[c] for c in re.findall(r"(?<![-\w])-([opc])\b", help_text)}


def need(found, wanted, what, known=None):
    if wanted - found or found - (known or wanted):
        sys.exit("%s: offered %s, wanted %s" % (what, sorted(found - (known or wanted)),
                                                sorted(wanted - found)))


def main():
    shell, path, memtracer = sys.argv[1:]
    if not shutil.which(shell):
        print("skipped: there is no", shell)
        sys.exit(77)
    overview = said(memtracer, "help").split("A first look")[0]
    commands = set(re.findall(r"^  (\w+)  ", overview, re.M))
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if shell == "zsh":
        said("zsh", "-n", path)
        need(zsh_commands(text), commands, "zsh: commands")
    else:
        need(bash(path, "memtracer", "") - {"--version"}, commands, "bash: commands")
        need(bash(path, "memtracer", "timeline", "--column", "ws_s"),
             {"ws_shareable", "ws_shared"}, "bash: columns")
        need(bash(path, "memtracer", "show", path[:-1]) & {path}, {path}, "bash: files")
    for command in sorted(commands - {"help"}):
        found = zsh_options(text, command) if shell == "zsh" else \
            {w[2:] for w in bash(path, "memtracer", command, "--")}
        text_of = said(memtracer, command, "--help")
        need(found, listed(text_of) | {"help"}, "%s: options of %s" % (shell, command),
             named(text_of))


main()
