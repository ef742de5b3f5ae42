"""Reads a MindIR file as a graph that `GraphCell` runs."""

from __future__ import annotations

import mmap
import os
from typing import Any

from ...nn.graph_cell import Graph
from ...tensors.parameter import parameter_around
from ..wire_format import parse
from .messages import MODEL
from .program import Program
from .values import Weights

__all__ = ["read_mindir"]


def read_mindir(path: str) -> Graph:
    """The network of a MindIR file of MindSpore's.

    Nothing in the file is run as Python: its operators are Primitives of Lamella's, by name, and
    those that call functions, write files or wait for other processes are refused.

    Args:
        path: the file; weights that it names in files beside it are read from its folder.

    Raises:
        ValueError: if it is damaged, or uses what Lamella hasn't.
    """
    size = os.path.getsize(path)
    if not size:
        raise ValueError("it is empty")
    with open(path, "rb") as file:  # the map lives as long as a view of it
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return _read(content, os.path.dirname(os.path.abspath(path)))


def _read(content: memoryview, folder: str) -> Graph:
    try:
        model: Any = parse(content, MODEL)
        if model.graph is None:
            raise ValueError("it has no graph")
        if not model.little_endian and model.ir_version:
            raise ValueError("its numbers are big-endian")
        weights = Weights(folder)
        parameters = [parameter_around(weights.tensor(each),
                                       each.ref_key or each.name.rpartition(":")[2])
                      for each in model.graph.parameter]
        return Graph(Program(model, weights), parameters)
    except (KeyError, IndexError, TypeError, AttributeError, RuntimeError, RecursionError,
            OverflowError) as error:
        raise ValueError(f"it describes no network: {error!r}"[:200]) from error
