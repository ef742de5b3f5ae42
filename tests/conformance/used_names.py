"""How many files of a package have all the names of MindSpore that they use.

    python -m tests.conformance.used_names FOLDER [FOLDER ...]

Each folder is a package's source. Its files are parsed, not imported; what they import or use
inside of `try` and `if` isn't counted, since they do without. Missing names follow, the most used
first. A name that is there may still not work: that is for programs to show.
"""

from __future__ import annotations

import ast
import collections
import importlib
import sys
import types
from pathlib import Path


def used_names(tree: ast.AST) -> set[str]:
    """The dotted names of ``mindspore`` in a file."""
    optional = {id(part) for node in ast.walk(tree) if isinstance(node, (ast.Try, ast.If))
                for part in ast.walk(node)}
    bound, found = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(a.name, a.asname, a.name if a.asname else "mindspore") for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [(node.module if a.name == "*" else f"{node.module}.{a.name}",
                      a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
        else:
            continue
        for name, local, meant in names:
            if name.split(".")[0] == "mindspore":
                bound[local or "mindspore"] = meant
                if id(node) not in optional:
                    found.add(name)
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not {id(node)} & (inner | optional):
            name, _, rest = ast.unparse(node).partition(".")
            if name in bound and rest.replace(".", "").isidentifier():
                found.add(f"{bound[name]}.{rest}")
    return found


def missing(name: str) -> str | None:
    """The part of a dotted name that isn't there; None if all of it is.

    Attributes of objects other than modules and classes aren't looked up.
    """
    parts, thing = name.split("."), importlib.import_module("mindspore")
    for count, part in enumerate(parts[1:], 2):
        if not isinstance(thing, (types.ModuleType, type)):
            return None
        if not hasattr(thing, part):
            try:
                importlib.import_module(".".join(parts[:count]))
            except ImportError:
                return ".".join(parts[:count])
        was_class, thing = isinstance(thing, type), getattr(thing, part)
        if was_class:
            return None
    return None


def main() -> None:
    """Print a line for each folder, and what is missing."""
    from lamella import alias

    alias.install()
    lacks: dict[str, str | None] = {}
    wanted: collections.Counter[str] = collections.Counter()
    for folder in map(Path, sys.argv[1:]):
        files = complete = 0
        for file in sorted(folder.rglob("*.py")):
            try:
                names = used_names(ast.parse(file.read_text(errors="replace")))
            except SyntaxError:
                continue
            if names:
                lacks.update((n, missing(n)) for n in names - lacks.keys())
                absent = {lack for n in names if (lack := lacks[n])}
                wanted.update(absent)
                files, complete = files + 1, complete + (not absent)
        print(f"{folder.name}: {complete} of {files}", flush=True)
    print(*(f"{count:4} {name}" for name, count in wanted.most_common(40)), sep="\n")


if __name__ == "__main__":
    main()
