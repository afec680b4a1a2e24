# SPDX-License-Identifier: MIT
"""Installs the package by pip without an index, and compares its type stubs with what it has:
test_package.py. Environment: MEMTRACER_LIBRARY. Exit 77 = skipped, there is no pip."""
import ast
import importlib
import inspect
import os
import shutil
import subprocess
import sys
import tempfile

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STUBS = {"__init__": "memtracer", "recording": "memtracer.recording"}


def install(folder):
    source = os.path.join(folder, "source")  # pip may write beside it
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build"))
    target = os.path.join(folder, "installed")
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q",
                    "--no-index", "--no-cache-dir", "--no-warn-script-location",
                    "--root-user-action=ignore", "--target", target, source], check=True,
                   env=dict(os.environ, PIP_CONFIG_FILE=os.devnull))
    return target


def arguments(function):
    """Names of parameters with their kinds and whether they have a default."""
    a = function.args
    plain = a.posonlyargs + a.args
    optional = len(plain) - len(a.defaults)
    names = [(p.arg, "plain", i >= optional) for i, p in enumerate(plain)]
    names += [(a.vararg.arg, "*", False)] if a.vararg else []
    return names + [(p.arg, "keyword", d is not None)
                    for p, d in zip(a.kwonlyargs, a.kw_defaults)]


def real_arguments(function):
    kinds = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return [(p.name, kinds.get(p.kind, "plain"), p.default is not p.empty)
            for p in inspect.signature(function).parameters.values()]


def functions(nodes):
    return {n.name: arguments(n) for n in nodes if isinstance(n, ast.FunctionDef)}


def real_functions(thing, owner):
    return {name: real_arguments(f) for name, f in vars(thing).items()
            for f in [getattr(f, "__func__", f)]
            if inspect.isfunction(f) and f.__module__ == owner and
            (not name.startswith("_") or name in ("__init__", "__enter__", "__exit__"))}


def compare(where, told, real):
    if told != real:
        sys.exit("%s: the stub says\n%s\nand the code\n%s" % (where, told, real))


def check_stub(folder, name, module):
    with open(os.path.join(folder, "memtracer", name + ".pyi"), encoding="utf-8") as f:
        tree = ast.parse(f.read())
    compare(module.__name__, functions(tree.body), real_functions(module, module.__name__))
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    real = {n: c for n, c in vars(module).items() if inspect.isclass(c) and
            c.__module__ == module.__name__ and not n.startswith("_")}
    compare(module.__name__, sorted(classes), sorted(real))
    for class_name, node in classes.items():
        compare(class_name, functions(node.body), real_functions(real[class_name], module.__name__))


def main():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        print("skipped: there is no pip")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        target = install(folder)
        sys.path.insert(0, target)
        for stub, name in STUBS.items():
            module = importlib.import_module(name)
            if not module.__file__.startswith(target):
                sys.exit("%s was imported from %s" % (name, module.__file__))
            check_stub(target, stub, module)
        if not os.path.exists(os.path.join(target, "memtracer", "py.typed")):
            sys.exit("py.typed was not installed: the stubs would not be read")
        memtracer = importlib.import_module("memtracer")
        db = os.path.join(folder, "t.db")
        with memtracer.Tracer(db) as t:
            t.mark("installed")
        with memtracer.Recording(db) as r:
            if [row["label"] for row in r.rows("SELECT label FROM mark")] != ["installed"]:
                sys.exit("the installed package did not record its mark")


main()
