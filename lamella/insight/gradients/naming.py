"""The names of Cells and Parameters of a run."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ...nn.cell import Cell
from ...tensors.parameter import Parameter


class Names:
    """Paths of Cells, such as ``layer1.0.conv1``, and names of Parameters, each once.

    Args:
        fn: the function or Cell that is looked at.
        cells: those it can reach.
    """

    def __init__(self, fn: Any, cells: list[Cell]):
        fn = inspect.unwrap(fn) if inspect.isfunction(fn) else fn
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.is_cell = isinstance(fn, Cell)
        self.cells: dict[int, tuple[str, Cell]] = {}
        self._parameters: dict[int, str] = {}
        self._taken: set[str] = set()
        inner = {id(c) for cell in cells for c in cell._cells.values() if c is not None}
        roots = [fn] if isinstance(fn, Cell) else []
        roots += [cell for cell in cells if id(cell) not in inner and cell is not fn]
        names = _variables(fn)
        self.roots: list[Cell] = []
        for root in roots:
            self._add(root, "" if root is fn else names.get(id(root), type(root).__name__))

    def _add(self, root: Cell, label: str) -> None:
        self.roots.append(root)
        alone = label and not any(path == label for path, _ in self.cells.values())
        label = label if alone or not label else f"{label} {len(self.roots)}"
        for path, cell in root.cells_and_names():
            place = ".".join(filter(None, (label, path)))
            self.cells.setdefault(id(cell), (place, cell))

    def of_cell(self, cell: Cell | None) -> str:
        """The path of a Cell; "" for the function itself."""
        if cell is None:
            return ""
        if id(cell) not in self.cells:  # one that only the running function could reach
            self._add(cell, type(cell).__name__)
        return self.cells[id(cell)][0]

    def kind_of(self, path: str) -> str:
        """The class of the Cell at a path, "" if there is none."""
        return next((type(c).__name__ for p, c in self.cells.values() if p == path), "")

    def of_parameter(self, parameter: Parameter) -> str:
        """A Parameter's name; with a number behind if another one has the same."""
        found = self._parameters.get(id(parameter))
        if found is None:
            found, count = parameter.name, 2
            while found in self._taken:
                found, count = f"{parameter.name} ({count})", count + 1
            self._parameters[id(parameter)] = found
            self._taken.add(found)
        return found

    def take(self, names: Iterable[str]) -> None:
        """Keep names for something else, such that no Parameter gets one of them."""
        self._taken.update(names)

    def other_parameters(self, known: Iterable[Parameter]) -> list[Parameter]:
        """Those of the Cells that are not among `known`."""
        seen = {id(p) for p in known}
        return [p for root in self.roots for p in root.get_parameters() if id(p) not in seen]

    def owner(self, parameter: Parameter) -> str | None:
        """The path of the Cell that a Parameter belongs to, None if there is none."""
        for path, cell in self.cells.values():
            if any(p is parameter for p in cell._params.values()):
                return path
        return None


def _variables(fn: Any) -> dict[int, str]:
    """The names of the variables that a function uses, by the id of what they hold."""
    found: dict[int, str] = {}
    fn = getattr(fn, "__func__", fn)
    if inspect.isfunction(fn):
        variables = inspect.getclosurevars(fn)
        for group in (variables.nonlocals, variables.globals):
            for name, value in group.items():
                found.setdefault(id(value), name)
    return found
