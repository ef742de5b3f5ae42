"""Cells that hold Cells: in sequence, in a list, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..core import dtype as mstype
from ..core.state import in_graph
from ..tensors.tensor import Tensor
from .cell import Cell


def _path_to(cells: dict[str, Any]) -> list[str]:
    """The prefix of Parameters' names before a container's own numbers or keys.

    Names are stored in checkpoints, so the prefix is found as MindSpore finds it, from the first
    Parameters of the first two Cells that have any: it ends at the position where each of the two
    names has the key of its Cell. If there is no such position, it ends at the last part of the
    first name that equals the first key, even if that part belongs to a nested Cell: what is added
    to a list whose only Parameter is ``0.blocks.0.weight`` is named ``0.blocks.1. ...``.
    """
    found = []
    for key, cell in cells.items():
        parameter = next(cell.get_parameters(), None) if cell is not None else None
        if parameter is not None:
            found.append((key, parameter.name.split(".")))
            if len(found) == 2:
                break
    if not found:
        return []
    key, parts = found[0]
    positions = [position for position, part in enumerate(parts) if part == key]
    for position in positions:
        if len(found) == 2 and found[1][1][position:position + 1] == [found[1][0]]:
            return parts[:position]
    return parts[:positions[-1]] if positions else []


def _joined(*parts: str) -> str:
    return "".join(f"{part}." for part in parts)


class _Numbered(Cell):
    """Cells under the names ``0``, ``1``, ...; what SequentialCell and CellList share."""

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced(list(self._cells.items())[index])
        return list(self._cells.values())[self._position(index)]

    def _sliced(self, items: list[tuple[str, Cell]]) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: Any, cell: Cell) -> None:
        self._check(cell)
        name = list(self._cells)[self._position(index)]
        self._insert(name, cell)

    def __delitem__(self, index: Any) -> None:
        names = list(self._cells)
        doomed = names[index] if isinstance(index, slice) else [names[self._position(index)]]
        for name in doomed:
            del self._cells[name]
        self._renumber(list(self._cells.values()))

    def append(self, cell: Cell) -> Any:
        """Add a Cell at the end; returns the container."""
        self._check(cell)
        self._insert(self._next_name(), cell)
        return self

    def __iadd__(self, cells: Iterable[Cell]) -> Any:
        return self.extend(cells)

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Add Cells at the end; returns the container.

        Raises:
            TypeError: if `cells` is no list of Cells.
        """
        if not isinstance(cells, (list, tuple, _Numbered)):
            raise TypeError(f"For '{self.cls_name}.extend', 'cells' must be a list of Cells, "
                            f"but got {type(cells).__name__}.")
        cells = list(cells)
        for cell in cells:
            self._check(cell)
        path = _path_to(self._cells)
        for cell in cells:
            self._insert(self._next_name(), cell, path)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Put a Cell before the one at `index`; those after it move one number up."""
        self._check(cell)
        size = len(self._cells)
        index = self._number(index)
        if not isinstance(index, int) or not -size <= index <= size:
            raise IndexError(f"For '{self.cls_name}.insert', 'index' must be in [{-size}, {size}], "
                             f"but got {index!r}.")
        cells = list(self._cells.values())
        cells.insert(index, cell)
        self._renumber(cells)

    def set_grad(self, flag: bool = True) -> Any:
        """Record calls of each Cell made outside a gradient."""
        super().set_grad(flag)
        for cell in self:
            cell.set_grad(flag)
        return self

    def _next_name(self) -> str:
        """The name of a Cell at the end: its number, or the next one that is free.

        A part of a SequentialCell keeps the names, so its numbers don't begin with 0.
        """
        number = len(self._cells)
        while str(number) in self._cells:
            number += 1
        return str(number)

    def _insert(self, name: str, cell: Cell, path: list[str] | None = None) -> None:
        if self._auto_prefix:
            path = _path_to(self._cells) if path is None else path
            cell.update_parameters_name(_joined(*path, name))
        self._cells[name] = cell

    def _renumber(self, cells: list[Cell]) -> None:
        """Hold these Cells, those without a name of their own numbered afresh, and their
        Parameters' names following."""
        names = {id(cell): name for name, cell in self._cells.items()}
        path = _path_to({names[id(cell)]: cell for cell in cells if id(cell) in names})
        self._cells.clear()
        for number, cell in enumerate(cells):
            old = names.get(id(cell))
            name = old if old is not None and not old.isdigit() else str(number)
            if self._auto_prefix and old is None:
                cell.update_parameters_name(_joined(*path, name))
            elif self._auto_prefix and old != name:
                for parameter in cell.get_parameters():
                    after = parameter.name.split(".")[len(path) + 1:]
                    parameter.name = _joined(*path, name) + ".".join(after)
            self._cells[name] = cell

    def _number(self, index: Any) -> Any:
        """An index as a number. In a graph it may be a Tensor: its data decide which Cell runs."""
        if not in_graph() or not isinstance(index, Tensor):
            return index
        if index.dtype != mstype.int32:
            raise ValueError(f"For '{self.cls_name}', an index that is a Tensor must be an int32, "
                             f"but got {index.dtype}.")
        return int(index)

    def _position(self, index: Any) -> int:
        size = len(self._cells)
        index = self._number(index)
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"For '{self.cls_name}', the index must be an int or a slice, "
                            f"but got {type(index).__name__}.")
        if not -size <= index < size:
            raise IndexError(f"For '{self.cls_name}', the index must be in [{-size}, {size}), "
                             f"but got {index}.")
        return index % size

    def _check(self, cell: Any) -> None:
        if not isinstance(cell, Cell):
            raise TypeError(f"For '{self.cls_name}', each element must be a Cell, "
                            f"but got {type(cell).__name__}.")


class SequentialCell(_Numbered):
    """Cells called one after the other, each on what the one before gave.

    Args:
        *args: Cells, or one list of Cells, or one OrderedDict of Cells by name.

    Inputs:
        - **x** - what the first Cell takes.

    Outputs:
        What the last Cell gives.

    Raises:
        TypeError: if an element is no Cell.

    Examples:
        >>> import lamella as ms
        >>> from lamella import nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
        >>> print(net(ms.ops.ones((4, 2), ms.float32)).shape, len(net))
        (4, 3) 2
    """

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            items = list(args[0].items())
        else:
            cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            items = [(str(number), cell) for number, cell in enumerate(cells)]
        for name, cell in items:
            self._check(cell)
            self._insert(name, cell)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data

    @property
    def cell_list(self) -> list[Cell]:
        """The Cells, in order; or the list that a subclass has set."""
        return self.__dict__.get("cell_list") or list(self._cells.values())

    @cell_list.setter
    def cell_list(self, cells: list[Cell]) -> None:
        self.__dict__["cell_list"] = cells

    def _sliced(self, items: list[tuple[str, Cell]]) -> SequentialCell:
        part = SequentialCell()
        part._cells.update(items)
        return part

    def __bool__(self) -> bool:
        return True


class CellList(_Numbered):
    """A list of Cells, whose Parameters belong to the Cell that holds it. It can't be called.

    Args:
        *args: Cells, or one list of Cells.
        auto_prefix: whether Parameters are named after their Cell's number.

    Raises:
        TypeError: if an element is no Cell.

    Examples:
        >>> from lamella import nn
        >>> layers = nn.CellList([nn.ReLU(), nn.Tanh()])
        >>> layers.append(nn.ReLU())
        CellList(
          (0): ReLU()
          (1): Tanh()
          (2): ReLU()
        )
    """

    is_ensemble = True  # `vmap` of it gives each example to a Cell of its own

    def __init__(self, *args: Any, auto_prefix: bool = True, **kwargs: Any):
        super().__init__(auto_prefix=auto_prefix)
        listed = len(args) == 1 and isinstance(args[0], (list, tuple, _Numbered))
        cells = args[0] if listed else args
        self.extend(list(cells))

    def _sliced(self, items: list[tuple[str, Cell]]) -> CellList:
        part = CellList()
        part._cells.update((str(number), cell) for number, (_, cell) in enumerate(items))
        return part

    def __bool__(self) -> bool:
        return len(self._cells) != 0

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError(
            "For 'CellList', a call isn't defined: call the Cells in it, or use nn.SequentialCell.")


class CellDict(Cell):
    """Cells by name, in order. It can't be called.

    Args:
        *args: a dict of Cells, or an iterable of pairs of a name and a Cell.

    Raises:
        TypeError: if a key is no str or a value no Cell.

    Examples:
        >>> from lamella import nn
        >>> layers = nn.CellDict({"act": nn.ReLU()})
        >>> layers["out"] = nn.Tanh()
        >>> list(layers.keys()), "act" in layers
        (['act', 'out'], True)
    """

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) > 1:
            raise TypeError(f"For 'CellDict', one dict or iterable of pairs is expected, "
                            f"but got {len(args)} arguments.")
        if args:
            self.update(args[0])

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str):
            raise TypeError(f"For 'CellDict', the key must be a str, but got {key!r}.")
        if not isinstance(cell, Cell):
            raise TypeError(f"For 'CellDict', each value must be a Cell, "
                            f"but got {type(cell).__name__}.")
        if key in self.__dict__ or hasattr(type(self), key):
            raise KeyError(f"For 'CellDict', the key {key!r} is the name of an attribute.")
        path = _path_to(self._cells)
        self.insert_child_to_cell(key, cell)
        cell.update_parameters_name(_joined(*path, key))

    def __delitem__(self, key: str) -> None:
        del self._cells[key]

    def __len__(self) -> int:
        return len(self._cells)

    def __bool__(self) -> bool:
        return len(self._cells) != 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def clear(self) -> None:
        """Forget all Cells."""
        self._cells.clear()

    def pop(self, key: str) -> Cell:
        """Take a Cell out and return it."""
        return self._cells.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._cells.keys()

    def values(self) -> Iterable[Cell]:
        """The Cells."""
        return self._cells.values()

    def items(self) -> Iterable[tuple[str, Cell]]:
        """The pairs of name and Cell."""
        return self._cells.items()

    def update(self, cells: Any) -> None:
        """Add or replace Cells, from a dict, a CellDict or an iterable of pairs."""
        if not isinstance(cells, (dict, OrderedDict, CellDict)) and not isinstance(cells, Iterable):
            raise TypeError(f"For 'CellDict.update', a dict or an iterable of pairs is expected, "
                            f"but got {type(cells).__name__}.")
        pairs = cells.items() if isinstance(cells, (dict, CellDict)) else cells
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"For 'CellDict.update', each element must be a pair of a name "
                                 f"and a Cell, but got {len(pair)} elements.")
            self[pair[0]] = pair[1]

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("A CellDict can't be called; call the Cells in it.")
