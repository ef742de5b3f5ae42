"""Rooms import in one direction: each from those below it, none from those above."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lamella

from .zygote import run

ROOT = Path(lamella.__file__).parent

# from the bottom: a room may import what is named before it; those in one line import each other
ORDER = (
    "device.kinds",
    "core compat",
    "machine",
    "tensors common",
    "autodiff",
    "communication",
    "ops",
    "nn",
    "parallel",
    "graph.ir",
    "graph.guards",
    "graph.tracing",
    "graph.passes",
    "graph.aoti graph.xla",
    "graph.runtime",
    "graph.surface",
    "graph",
    "insight",
)
# may import everything: what starts programs, and paths that only re-export
TOP = ("", "__main__", "commands", "common.api", "compat.alias", "compat.surface",
       "compat._c_dataengine", "compat._c_expression", "compat._extends", "compat.multiprocessing")
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms.split()}
ABOVE = len(ORDER)  # rooms that nothing in `ORDER` needs


def room_of(module: str) -> str:
    """The room of a module, both without ``lamella.``."""
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in RANKS or name in TOP:
            return name
    return parts[0]


def rank_of(room: str) -> int:
    return ABOVE + 1 if room in TOP else RANKS.get(room, ABOVE)


# files that need each other: a class whose methods give objects of classes derived from it or
# converted to it, which other files define
CIRCLES = (
    {f"dataset.{name}" for name in "node source batching mapping moving splitting waiting".split()},
    {f"sparse.{name}" for name in "conversions coo coo_operators csr csr_operators".split()},
)


@functools.cache
def imports(types: bool = True) -> tuple[tuple[str, str, str], ...]:
    """Each import inside the package, at any level of code: the modules, and the location.

    Args:
        types: whether imports for type checkers alone count.
    """
    return tuple(_imports(types))


def _imports(types: bool) -> Iterator[tuple[str, str, str]]:
    modules = parsed()
    for module, (path, found, _) in modules.items():
        for node, _, for_types in found:
            if for_types and not types:
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.partition(".")[0] == "lamella":
                        yield module, name.name.partition(".")[2], place
            else:
                if node.level:
                    base = base_of(node, module, path)
                elif (node.module or "").partition(".")[0] == "lamella":
                    base = str(node.module).partition(".")[2]
                else:
                    continue
                for name in node.names:
                    inner = f"{base}.{name.name}".strip(".")
                    yield module, inner if inner in modules else base, place


class Program(NamedTuple):
    """What is looked at of a file; not its tree, whose million nodes would stay.

    Attributes:
        imports: each import, whether it is inside of a function, and for type checkers alone.
        writes: the names of which a statement assigns an attribute, each with its line.
    """

    path: Path
    imports: list[tuple[ast.Import | ast.ImportFrom, bool, bool]]
    writes: list[tuple[str, int]]


@functools.cache
def parsed() -> dict[str, Program]:
    """The files of the package by the names of their modules."""
    return {name_of(path): program_of(path) for path in sorted(ROOT.rglob("*.py"))}


def program_of(path: Path) -> Program:
    found = Program(path, [], [])
    waiting: list[tuple[Any, bool, bool]] = [
        (ast.parse(path.read_text(encoding="utf-8")), False, False)]
    while waiting:
        node, inside, types = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.imports.append((node, inside, types))
            continue
        found.writes.extend((name, node.lineno) for name in written(node))
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            parts = getattr(node, field, None)
            for inner in parts if isinstance(parts, list) else ():
                waiting.append((inner, inside, types or isinstance(inner, ast.If)
                                and ast.unparse(inner.test) == "TYPE_CHECKING"))
    return found


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_room_imports_a_room_above_it():
    wrong = [f"{place}: {room_of(module)} imports {room_of(found)}"
             for module, found, place in imports()
             if rank_of(room_of(found)) > rank_of(room_of(module))]
    assert not wrong


def test_rooms_do_not_import_each_other_in_a_circle():
    edges: dict[str, set[str]] = {}
    for module, found, _ in imports():
        start, end = room_of(module), room_of(found)
        if start != end and RANKS.get(start, start) != RANKS.get(end, end):
            edges.setdefault(start, set()).add(end)
    done: set[str] = set()

    def check(room: str, path: tuple[str, ...]) -> None:
        assert room not in path, f"a circle: {' -> '.join((*path, room))}"
        if room not in done:
            for inner in sorted(edges.get(room, ())):
                if inner not in TOP and room not in TOP:
                    check(inner, (*path, room))
            done.add(room)

    for room in sorted(edges):
        check(room, ())


def test_files_do_not_import_each_other_in_a_circle():
    edges: dict[str, set[str]] = {}
    for module, found, _ in imports(types=False):
        if found != module:
            edges.setdefault(module, set()).add(found)
    found = [tuple(sorted(circle)) for circle in circles(edges)]
    assert sorted(found) == sorted(tuple(sorted(circle)) for circle in CIRCLES)


# packages that take long to import, or that a user may not have: imported where they are used
LATE = ("IPython", "jupyter_client", "mlflow", "onnx", "onnxscript", "pyarrow",
        "rich", "scipy", "tqdm", "typer", "wandb", "torch._dynamo", "torch._inductor",
        "torch._subclasses", "torch.distributed", "torch.fx.experimental", "torch.multiprocessing",
        "torch.testing", "torch.utils._sympy", "torch.utils.flop_counter",
        "torch.utils.tensorboard")


def test_imports_inside_of_functions_are_of_late_packages_or_say_why():
    """Files of one circle need each other, which is said at `CIRCLES`."""
    wrong = []
    for module, (path, found, _) in parsed().items():
        circle = next((circle for circle in CIRCLES if module in circle), set())
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in (node for node, inside, _ in found if inside):
            if isinstance(node, ast.ImportFrom):
                base = base_of(node, module, path) if node.level else str(node.module)
                late = not node.level and is_late(base)
            else:
                base, late = "", all(is_late(name.name) for name in node.names)
            if not late and base not in circle and "  # " not in lines[node.lineno - 1]:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong


def is_late(package: str) -> bool:
    return any(package == late or package.startswith(f"{late}.") for late in LATE)


def test_rooms_do_not_write_into_modules_below_them():
    """They call a function of that room which registers what they bring."""
    wrong = [f"{program.path.relative_to(ROOT)}:{line}: {target}"
             for module, program in parsed().items() for target, line in program.writes
             if (found := bound(module).get(target))
             and found.partition(".")[0] != module.partition(".")[0]]
    assert not wrong


def written(node: ast.AST) -> list[str]:
    """The names of which a statement assigns an attribute."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [inner.value.id for target in targets if isinstance(target, ast.expr)
            for inner in ast.walk(target)
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name)
            and isinstance(inner.ctx, ast.Store)]


@functools.cache
def bound(module: str) -> dict[str, str]:
    """The modules of the package that a file has imported, by the names it calls them."""
    path, imported, _ = parsed()[module]
    found = {}
    for node, *_ in imported:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = base_of(node, module, path)
            found.update({name.asname or name.name: inner for name in node.names
                          if (inner := f"{base}.{name.name}".strip(".")) in parsed()})
    return found


def base_of(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The module that a relative import takes names of."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    around = package.split(".") if package else []
    around = around[:len(around) - node.level + 1]
    return ".".join([*around, *([node.module] if node.module else [])])


def circles(edges: dict[str, set[str]]) -> Iterator[set[str]]:
    """The strongly connected parts of a graph that have more than one node, by Kosaraju's way."""
    back: dict[str, set[str]] = {}
    for start, ends in edges.items():
        for end in ends:
            back.setdefault(end, set()).add(start)
    order: list[str] = []
    seen: set[str] = set()
    for start in edges:
        order += after(start, edges, seen)
    seen = set()
    for start in reversed(order):
        part = set(after(start, back, seen))
        if len(part) > 1:
            yield part


def after(start: str, edges: dict[str, set[str]], seen: set[str]) -> list[str]:
    """The nodes reached from one that haven't been seen, each after those that it leads to."""
    if start in seen:
        return []
    seen.add(start)
    return [*(node for end in sorted(edges.get(start, ()))
              for node in after(end, edges, seen)), start]


def test_each_room_that_is_named_is_there():
    there = {name_of(path) for path in ROOT.rglob("*.py")}
    assert RANKS.keys() | set(TOP) <= there


def test_the_picture_is_that_of_the_rooms():
    result = run(ROOT.parent / "docs" / "rooms.py", "--check")
    assert result.returncode == 0, "run `make rooms`"
