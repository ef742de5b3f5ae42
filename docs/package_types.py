"""Writes `__init__.pyi` of the packages whose names are imported when they are first used.

    python docs/package_types.py           # writes them
    python docs/package_types.py --check   # fails if a file isn't that of today's names

`lamella.Model`, for one, is imported when a program first names it, and a type checker can't follow
that; and of a typed package it takes as public only what is exported with a name of its own. So
these files have a line for each public name, which says where it is written.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
import textwrap
import types
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import lamella  # noqa: E402

ROOT = Path(lamella.__file__).parent
PACKAGES = ("", "common", "dataset", "dataset.audio", "dataset.text", "dataset.transforms",
            "dataset.vision", "mint", "mint.distributed", "mint.nn", "train")
HEAD = '"""The names of this package; `make stubs` writes this file."""\n\n'


def main() -> int:
    """Write the files, or compare them; 1 if one differs."""
    wanted = {ROOT.joinpath(*name.split("."), "__init__.pyi"): text_of(name) for name in PACKAGES}
    if "--check" in sys.argv:
        wrong = [str(path) for path, text in wanted.items()
                 if not path.exists() or path.read_text(encoding="utf-8") != text]
        print(*wrong, sep="\n")
        return int(bool(wrong))
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


def text_of(name: str) -> str:
    """The stub of a package."""
    package = importlib.import_module(f"lamella.{name}".rstrip("."))
    rooms, others, names = [], [], defaultdict(list)
    for each in sorted(dir(package)):
        value = getattr(package, each)
        if each.startswith("_") and each not in ("__version__", "_Function") or is_of_typing(value):
            continue
        if isinstance(value, types.ModuleType):
            rooms.append((value.__name__, each))
        elif (place := place_of(package, each, value)) is not None:
            names[place].append(each)
        else:
            others.append(f"{each}: Any")
    lines = [f"import {module} as {each}" if module == each else
             f"from {module.rpartition('.')[0]} import {module.rpartition('.')[2]} as {each}"
             for module, each in rooms if module.startswith("lamella.")]
    for place, its in sorted(names.items()):
        lines += statement(place, [f"{each} as {each}" for each in its])
    if hasattr(package, "__all__"):
        others.append("__all__: list[str]")
    lines = [*(["from typing import Any", ""] if others else []), *lines, "", *others]
    return HEAD + "\n".join(lines).replace("\0", " ").rstrip() + "\n"


def is_of_typing(value: object) -> bool:
    """Whether a value is a word of type hints, which a file imports for itself."""
    return "typing" in (getattr(value, "__module__", ""), type(value).__module__) or (
        type(value).__module__ == "__future__")


def statement(place: str, names: list[str]) -> list[str]:
    """The lines of an import, of at most 100 letters."""
    one = f"from {place} import {', '.join(names)}"
    if len(one) <= 100:
        return [one]
    return [f"from {place} import (", *textwrap.wrap(
        ", ".join(name.replace(" ", "\0") for name in names) + ",", 96,
        initial_indent="    ", subsequent_indent="    "), ")"]


def place_of(package: types.ModuleType, name: str, value: object) -> str | None:
    """The module that a name of a package is written in; None if that is no module of Lamella's."""
    for module in (getattr(value, "__module__", None), *imported(package).get(name, ())):
        found = sys.modules.get(module or "")
        if found is not None and found is not package and vars(found).get(name) is value and (
                found.__name__.startswith("lamella.")):
            return found.__name__
    found = [its.__name__ for its in list(sys.modules.values())
             if its.__name__.startswith("lamella.") and its is not package
             and vars(its).get(name) is value and written_in(its, name)]
    return min(found, key=len) if found else None


def imported(package: types.ModuleType) -> dict[str, list[str]]:
    """The modules from which the package's own file imports a name."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in _statements(package):
        if isinstance(node, ast.ImportFrom):
            above = package.__name__.split(".")[:-node.level + 1 or None]
            for alias in node.names:
                found[alias.asname or alias.name].append(".".join([*above, node.module or ""]))
    return found


def written_in(module: types.ModuleType, name: str) -> bool:
    """Whether a module's file assigns or defines a name."""
    return any(name in [target.id for target in getattr(node, "targets", ())
                        if isinstance(target, ast.Name)] or getattr(node, "name", None) == name
               for node in _statements(module))


@functools.cache
def _statements(module: types.ModuleType) -> list[ast.stmt]:
    if not module.__file__ or not module.__file__.endswith(".py"):
        return []
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body


if __name__ == "__main__":
    sys.exit(main())
