"""What `mkdocs build` does beyond its settings: reference pages, and the language of Chinese pages.

A reference page lists what a namespace really has, by the file it stands in.
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lamella import Tensor

# a page each; what has many families of functions gets a page for each family
NAMESPACES = ("lamella", "lamella.amp", "lamella.common.initializer", "lamella.communication",
              "lamella.dataset", "lamella.dataset.audio", "lamella.dataset.mindrecord",
              "lamella.dataset.text", "lamella.dataset.transforms", "lamella.dataset.vision",
              "lamella.experimental.optim", "lamella.experimental.optim.lr_scheduler",
              "lamella.nn.probability.bijector", "lamella.nn.probability.distribution",
              "lamella.scipy.linalg", "lamella.scipy.optimize", "lamella.sparse", "lamella.train")
BY_FAMILY = ("lamella.nn", "lamella.ops", "lamella.numpy")
# after those whose functions they show: under their own names, or as adapters
OF_OTHERS = ("lamella.mint", "lamella.mint.nn", "lamella.mint.nn.functional", "lamella.mint.linalg",
             "lamella.mint.special", "lamella.mint.optim")

DETAILED = {"lamella.tensor.Tensor", "lamella.parameter.Parameter", "lamella.nn.cell.Cell",
            "lamella.insight.gradients.report.GradientReport"}
WITH_METHODS = "    options: {members: null, inherited_members: true}\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of each namespace."""
    described: set[str] = set()
    for namespace in (*NAMESPACES, *BY_FAMILY, *OF_OTHERS):
        whole = namespace not in BY_FAMILY
        for path, content in pages(namespace, described, whole):
            files.append(File.generated(config, path, content=content))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Say that a Chinese page is Chinese."""
    if page.file.src_uri.startswith("tutorial/zh/"):
        output = output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
        return output.replace("Table of contents", "目录")
    return output


def pages(namespace: str, described: set[str], whole: bool) -> Iterator[tuple[str, str]]:
    """The paths and sources of a namespace's pages.

    Args:
        described: what pages before it describe, which it leaves out; what it describes is added.
        whole: one page; else an index and a page for each family.
    """
    room = importlib.import_module(namespace)
    same = sorted(of_others(room, described)) if namespace in OF_OTHERS else []
    families, primitives, adapters = members(room, described)
    name = namespace.removeprefix("lamella.").replace("common.", "").replace(".", "_")
    lines = [f"# {namespace}", "", first_line(room), ""]
    listed = []
    for home in sorted(families):
        heading = title(importlib.import_module(home))
        entries = [f"::: {path}\n{WITH_METHODS if path in DETAILED else ''}"
                   for path in families[home]]
        if whole:
            lines += [f"## {heading}", "", *entries]
        else:
            path = f"reference/{name}/{home.rpartition('.')[2]}.md"
            yield path, "\n".join([f"# {heading}", "", f"In `{namespace}`.", "", *entries])
            names = ", ".join(f"`{p.rpartition('.')[2]}`" for p in families[home])
            listed.append(f"| [{heading}]({path.removeprefix('reference/')}) | {names} |")
    if listed:
        lines += ["| family | functions |", "|---|---|", *listed, ""]
    if primitives:
        lines += ["## Primitive classes", "",
                  "Made with their attributes, called with Tensors; the mathematics is that of the "
                  "functions above.", "", *table("class", primitives)]
    if adapters:
        lines += ["## Functions under other names", "",
                  "Each is the function that its line names, with other arguments.", "",
                  *table("function", adapters)]
    if same:
        lines += ["", "## The same as elsewhere", "", ", ".join(f"`{name}`" for name in same), ""]
    if namespace == "lamella":
        lines += ["## Operators as methods of a Tensor", "",
                  "Each does what the function of `lamella.ops` does that its line describes.", "",
                  *table("method", operators_as_methods(), first=1)]
    yield f"reference/{name}.md", "\n".join(lines)


def of_others(room: ModuleType, described: set[str]) -> Iterator[str]:
    """The functions and classes of a namespace that are described elsewhere."""
    for name in getattr(room, "__all__", dir(room)):
        value = getattr(room, name)
        home = getattr(value, "__module__", "")
        if home.startswith(("lamella.ops.", "lamella.nn.")) and (
                f"{home}.{value.__name__}" in described) and not name.startswith("_"):
            yield name


def members(room: ModuleType, described: set[str]
            ) -> tuple[dict[str, list[str]], list[tuple[str, Any]], list[tuple[str, Any]]]:
    """What a namespace has: the paths of each family's names, its Primitives and adapters."""
    families, primitives, adapters = defaultdict(list), [], []
    for name in sorted(dir(room), key=str.lower):
        value = getattr(room, name, None)
        home = getattr(value, "__module__", None) or ""
        if name.startswith("_") or not home.startswith("lamella.") or not callable(value):
            continue
        if home.startswith("lamella.ops.") and inspect.isclass(value):
            primitives.append((name, value))
        elif hasattr(value, "__adapts__"):
            if f"{home}.".startswith(f"{room.__name__}."):
                adapters.append((name, value))
        elif value.__name__ == name and f"{home}.{name}" not in described:
            described.add(f"{home}.{name}")
            room_of_it = ".".join(home.split(".")[:room.__name__.count(".") + 2])
            families[room_of_it].append(f"{home}.{name}")
    return families, primitives, adapters


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
