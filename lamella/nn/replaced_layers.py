"""Replaces layers of a network by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.require import of_type
from .cell import Cell
from .container import SequentialCell
from .dense import Dense, Linear

__all__ = ["replace_layers"]


def replace_layers(owner: str, network: Cell, names: Iterable[str] | None,
                   made: Callable[[Any], Cell],
                   kinds: tuple[type[Cell], ...] = (Dense, Linear)) -> list[Cell]:
    """Put ``made(layer)`` in the place of the layers of some kinds in a network.

    Args:
        owner: the function that errors name.
        network: the network, which is changed.
        names: the layers, by the ends of their names (``("query", "value")``); None: all.
        made: gives the new layer, or the old one where it is to stay.
        kinds: the classes of the layers.

    Returns:
        The new layers.

    Raises:
        TypeError: if `network` is no Cell.
        ValueError: if there is no such layer in it.
    """
    of_type(network, Cell, "network", owner)
    wanted = None if names is None else tuple(names)
    found: list[Cell] = []
    for path, cell in list(network.cells_and_names()):
        for name, below in list(cell._cells.items()):
            if isinstance(below, kinds) and (
                    wanted is None or _ends(f"{path}.{name}", wanted)):
                cell._cells[name] = new = made(below)
                if new is not below:
                    found.append(new)
        if isinstance(cell, SequentialCell) and "cell_list" in cell.__dict__:
            cell.cell_list = list(cell._cells.values())
    if not found:
        which = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"For '{owner}', the network must have a layer {which}"
                         f"{'' if wanted is None else f' named {wanted}'}, but has none.")
    network.update_parameters_name()
    return found


def _ends(path: str, names: tuple[str, ...]) -> bool:
    return any(f".{path}".endswith(f".{name}") for name in names)
