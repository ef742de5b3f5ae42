"""What the pages of the reference list: every public name of every room, once.

A name is described on the page of the room that its file lies in, and linked from the others.
Functions and classes that stand in a file are left to mkdocstrings; what a program makes
(Primitives of a function, adapters) is described here, from what it says about itself.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from lamella import Tensor

NAMESPACES = (
    "lamella", "lamella.nn", "lamella.ops", "lamella.mint", "lamella.mint.nn",
    "lamella.mint.nn.functional", "lamella.mint.linalg", "lamella.mint.special",
    "lamella.mint.optim", "lamella.mint.distributed", "lamella.numpy", "lamella.numpy.fft",
    "lamella.scipy.linalg", "lamella.scipy.optimize", "lamella.scipy.fft", "lamella.sparse",
    "lamella.nn.probability.distribution", "lamella.nn.probability.bijector", "lamella.amp",
    "lamella.boost", "lamella.generation", "lamella.train", "lamella.train.callback",
    "lamella.train.metrics",
    "lamella.experimental.optim", "lamella.experimental.optim.lr_scheduler",
    "lamella.common.initializer", "lamella.dataset", "lamella.dataset.transforms",
    "lamella.dataset.vision", "lamella.dataset.text", "lamella.dataset.audio",
    "lamella.dataset.dataloader", "lamella.mindrecord", "lamella.communication",
    "lamella.parallel", "lamella.parallel.nn", "lamella.runtime", "lamella.hal",
    "lamella.profiler", "lamella.debug", "lamella.onnx")
BY_FAMILY = ("lamella.nn", "lamella.ops", "lamella.numpy")  # with a page for each file

DETAILED = {"Tensor", "Parameter", "Cell", "GradientReport"}  # with all of their methods
WITH_METHODS = "    options: {members: null, inherited_members: true}\n"


class Entry(NamedTuple):
    """A public name: as it is called in its room, what it is, and the path of its own file."""

    name: str
    value: Any
    path: str

    @property
    def home(self) -> str:
        """The module that it lies in."""
        return self.path.rpartition(".")[0]


class PageSource(NamedTuple):
    """A page: where it goes, its title in the list of pages, and its text."""

    path: str
    title: str
    text: str


@functools.cache
def public(namespace: str) -> tuple[list[Entry], dict[str, Any]]:
    """What a room shows: functions and classes of Lamella's, and constants by name."""
    room = importlib.import_module(namespace)
    entries, constants = [], {}
    for name in sorted({*getattr(room, "__all__", ()), *dir(room)}, key=lambda n: (n.lower(), n)):
        value = getattr(room, name)
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        home = getattr(value, "__module__", None) or ""
        named = getattr(value, "__name__", None)
        if callable(value) and home.startswith("lamella") and isinstance(named, str):
            entries.append(Entry(name, value, f"{home}.{named}"))
        elif type(value).__module__.startswith("lamella") or (
                name.isupper() and isinstance(value, (str, int))):
            constants[name] = value
    return entries, constants


@functools.cache
def places() -> dict[str, str]:
    """For each path the room on whose page it is described."""
    found: dict[str, str] = {}
    for namespace in NAMESPACES:
        found.update((e.path, namespace) for e in public(namespace)[0]
                     if owner(e.home) == namespace)
    for namespace in NAMESPACES:
        for entry in public(namespace)[0]:
            found.setdefault(entry.path, namespace)
    return found


def owner(home: str) -> str:
    """The innermost room on the list that a module lies in."""
    inside = [n for n in NAMESPACES if f"{home}.".startswith(f"{n}.")]
    return max(inside, key=len)


@functools.cache
def pages() -> tuple[tuple[str, list[PageSource]], ...]:
    """For each room its pages, the first of which is its own."""
    return tuple((namespace, list(_pages_of(namespace))) for namespace in NAMESPACES)


def page_of(namespace: str) -> str:
    """The path of a room's own page, without its ending."""
    return f"reference/{namespace.removeprefix('lamella.').replace('.', '_')}"


def link(name: str, path: str, page: str) -> str:
    """A link from a page to where a path is described."""
    place = posixpath.relpath(_page_with(places()[path], path), posixpath.dirname(page))
    return f"[{name}]({place}#{path})"


def _page_with(namespace: str, path: str) -> str:
    """The page of a room that describes a path."""
    own = page_of(namespace)
    if namespace not in BY_FAMILY:
        return f"{own}.md"
    family = _family(namespace, path.rpartition(".")[0])
    return f"{own}/{family.removeprefix(f'{namespace}.').replace('.', '_')}.md"


def _pages_of(namespace: str) -> Iterator[PageSource]:
    entries, constants = public(namespace)
    families: dict[str, list[Entry]] = defaultdict(list)
    same, aliases = [], []
    described: set[str] = set()
    for entry in sorted(entries, key=lambda e: e.name != e.path.rpartition(".")[2]):
        if places()[entry.path] != namespace:
            same.append(entry)
        elif entry.path in described:
            aliases.append(entry)
        else:
            described.add(entry.path)
            families[_family(namespace, entry.home)].append(entry)
    own = f"{page_of(namespace)}.md"
    lines = [f"# {namespace}", "", first_line(importlib.import_module(namespace)), ""]
    listed, inner = [], []
    for home in sorted(families, key=lambda home: (
            not home.startswith(namespace), ".primitives." in home, home)):
        found = sorted(families[home], key=lambda e: e.name.lower())
        heading = _title(importlib.import_module(home))
        texts = [text(entry) for entry in found]
        if namespace not in BY_FAMILY:
            lines += [f"## {heading}", "", *texts]
            continue
        path = _page_with(namespace, found[0].path)
        inner.append(PageSource(path, heading.replace("`", ""), "\n".join(
            [f"# {heading}", "", f"In `{namespace}`.", "", *texts])))
        names = ", ".join(link(e.name, e.path, own) for e in found)
        listed.append(f"| [{heading}]({posixpath.relpath(path, 'reference')}) | {names} |")
    if listed:
        lines += ["| family | names |", "|---|---|", *listed, ""]
    if aliases:
        lines += ["## Other names", "", "| name | is |", "|---|---|",
                  *(f"| `{e.name}` | {link(e.path.rpartition('.')[2], e.path, own)} |"
                    for e in aliases), ""]
    if constants:
        lines += ["## Values", "", "| name | value |", "|---|---|",
                  *(f"| `{name}` | `{_shown(value)}` |" for name, value in constants.items()), ""]
    if same:
        lines += ["## Described elsewhere", "",
                  ", ".join(link(e.name, e.path, own) for e in same), ""]
    if namespace == "lamella":
        lines += ["## Operators as methods of a Tensor", "",
                  "Each does what the function of `lamella.ops` does that its line describes.", "",
                  "| method | |", "|---|---|",
                  *(f"| `{name}{signature(value, 1)}` | {first_line(value)} |"
                    for name, value in operators_as_methods()), ""]
    yield PageSource(own, namespace, "\n".join(lines))
    yield from inner


def _family(namespace: str, home: str) -> str:
    """The file in a room that a module lies in or, of Primitives, the module itself."""
    if not f"{home}.".startswith(f"{namespace}."):
        return home
    parts = home.removeprefix(f"{namespace}.").split(".") if home != namespace else []
    kept = parts[:2] if parts[:1] == ["primitives"] else parts[:1]
    return ".".join([namespace, *kept])


def text(entry: Entry) -> str:
    """What the page says about a name."""
    name = entry.path.rpartition(".")[2]
    if name in _defined(entry.home) and not hasattr(entry.value, "__adapts__"):
        return f"::: {entry.path}\n{WITH_METHODS if name in DETAILED else ''}"
    said = inspect.getdoc(entry.value) or ""
    summary, _, rest = said.partition("\n\n")
    example = rest.partition("Examples:\n")[2]
    lines = [f"### {entry.name} {{ #{entry.path} }}", "", "```python",
             f"{entry.name}{signature(entry.value)}", "```", "", " ".join(summary.split()), ""]
    if example.strip():
        lines += ["```pycon", inspect.cleandoc(example).strip(), "```", ""]
    return "\n".join(lines)


@functools.cache
def _defined(module: str) -> frozenset[str]:
    """The functions and classes that a module's file defines."""
    file = importlib.import_module(module).__file__
    with open(file or "", encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return frozenset(node.name for node in tree.body
                     if isinstance(node, (ast.FunctionDef, ast.ClassDef)))


def operators_as_methods() -> list[tuple[str, Any]]:
    """The methods that families of operators add to Tensor."""
    return [(name, value) for name, value in sorted(vars(Tensor).items())
            if not name.startswith("_")
            and (getattr(value, "__module__", None) or "").startswith("lamella.ops.")]


def _title(module: ModuleType) -> str:
    """A family's heading: the first words of its file's docstring."""
    return re.split(r"[:;.] ", first_line(module))[0].rstrip(".")


def first_line(value: Any) -> str:
    """The first line of a docstring, for a table."""
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", r"\|")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 60 and " at 0x" not in shown else type(value).__name__


def signature(value: Any, first: int = 0) -> str:
    """What a class is made with, or a function called with, from the `first` argument on."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except ValueError:
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters[first:]]
    return str(inspect.Signature(plain)).replace("|", r"\|")
