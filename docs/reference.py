"""What `mkdocs build` does beyond its settings: reference pages, and the language of Chinese pages.

A reference page lists what a namespace really has, by the file it stands in.
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lamella import Tensor

NAMESPACES = {
    "lamella": "reference/lamella.md", "lamella.nn": "reference/nn.md",
    "lamella.ops": "reference/ops.md", "lamella.amp": "reference/amp.md",
    "lamella.common.initializer": "reference/initializer.md",
    "lamella.dataset": "reference/dataset.md"}

DETAILED = {"lamella.tensor.Tensor", "lamella.parameter.Parameter", "lamella.nn.cell.Cell",
            "lamella.inspect.report.GradientReport"}
WITH_METHODS = "    options: {members: null, inherited_members: true}\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each namespace."""
    described: set[str] = set()
    for namespace, path in NAMESPACES.items():
        files.append(File.generated(config, path, content=reference(namespace, described)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Say that a Chinese page is Chinese."""
    if page.file.src_uri.startswith("tutorial/zh/"):
        output = output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
        return output.replace("Table of contents", "目录")
    return output


def reference(namespace: str, described: set[str]) -> str:
    """The source of a namespace's page.

    Args:
        described: what pages before it describe, which it leaves out; what it describes is added.
    """
    room = importlib.import_module(namespace)
    families, primitives = defaultdict(list), []
    for name in sorted(vars(room), key=str.lower):
        value = getattr(room, name)
        home = getattr(value, "__module__", None) or ""
        if name.startswith("_") or not home.startswith("lamella.") or not callable(value):
            continue
        if home.startswith("lamella.ops.") and inspect.isclass(value):
            primitives.append((name, value))
        elif value.__name__ == name and f"{home}.{name}" not in described:
            described.add(f"{home}.{name}")
            room_of_it = ".".join(home.split(".")[:namespace.count(".") + 2])
            families[room_of_it].append(f"{home}.{name}")
    lines = [f"# {namespace}", "", first_line(room), ""]
    for home in sorted(families):
        lines += [f"## {title(importlib.import_module(home))}", ""]
        for path in families[home]:
            lines.append(f"::: {path}\n{WITH_METHODS if path in DETAILED else ''}")
    if primitives:
        lines += ["## Primitive classes", "",
                  "Made with their attributes, called with Tensors; the mathematics is that of the "
                  "functions above.", "", *table("class", primitives)]
    if namespace == "lamella":
        lines += ["## Operators as methods of a Tensor", "",
                  "Each does what the function of `lamella.ops` does that its line describes.", "",
                  *table("method", operators_as_methods(), first=1)]
    return "\n".join(lines)


def operators_as_methods() -> list[tuple[str, Any]]:
    """The methods that families of operators add to Tensor."""
    methods = []
    for name, value in sorted(vars(Tensor).items()):
        home = getattr(value, "__module__", None) or ""
        if not name.startswith("_") and home.startswith("lamella.ops."):
            methods.append((name, value))
    return methods


def table(heading: str, named: list[tuple[str, Any]], first: int = 0) -> list[str]:
    """A line for each name, with what it takes, from the `first` argument on, and what it does."""
    return [f"| {heading} | |", "|---|---|", *(
        f"| `{name}{signature(value, first)}` | {first_line(value)} |" for name, value in named)]


def title(module: ModuleType) -> str:
    """A family's heading: the first words of its file's docstring."""
    return first_line(module).split(": ")[0].rstrip(".")


def first_line(value: Any) -> str:
    """The first line of a docstring, for a table."""
    text = (inspect.getdoc(value) or "").partition("\n")[0]
    return text.replace("|", r"\|")


def signature(value: Any, first: int = 0) -> str:
    """What a class is made with, or a function called with."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except ValueError:
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters[first:]]
    return str(inspect.Signature(plain)).replace("|", r"\|")
