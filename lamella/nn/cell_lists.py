"""Cells in Python lists, whose Parameters no network finds."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from ..core.tracebacks import user_stacklevel

_looked_at: weakref.WeakSet[Any] = weakref.WeakSet()


def warn_of_listed_cells(net: Any, kind: type) -> None:
    """Warn, once for a network, of Cells that only Python lists, tuples and dicts hold.

    Args:
        net: the network.
        kind: the class of Cells.
    """
    if net in _looked_at:
        return
    _looked_at.add(net)
    inside = [cell for _, cell in net.cells_and_names()]
    found = {id(cell) for cell in inside}
    for cell in inside:
        for name, value in cell.__dict__.items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            for inner in value.values() if isinstance(value, dict) else value:
                if (isinstance(inner, kind) and id(inner) not in found
                        and any(True for _ in inner.get_parameters())):
                    warnings.warn(
                        f"'{name}' of {type(cell).__name__} is a Python {type(value).__name__} of "
                        f"Cells, whose Parameters are neither trained nor saved. Use "
                        f"{'nn.CellDict' if isinstance(value, dict) else 'nn.CellList'}(...).",
                        stacklevel=user_stacklevel())
                    break
