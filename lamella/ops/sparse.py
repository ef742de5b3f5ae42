"""What `ops` shows of sparse tensors, whose room is imported when one of its names is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from ..tensors.tensor import Tensor, tensor_methods

__all__: list[str] = []


def sparse_operator(name: str) -> Any:
    """An operator of sparse tensors, such as ``coo_add``.

    Raises:
        AttributeError: if there is none of this name.
    """
    if not name.startswith("_"):
        room = importlib.import_module("lamella.sparse.operators")
        found = getattr(room, "FUNCTIONS", {}).get(name)  # the elementwise ones
        if found is not None or name in getattr(room, "__all__", ()):
            return found or getattr(room, name)
    raise AttributeError(f"module 'lamella.ops' has no attribute {name!r}", name=name)


def sparse_operators() -> set[str]:
    """The names of all operators of sparse tensors."""
    room = importlib.import_module("lamella.sparse.operators")
    return {*room.FUNCTIONS, *room.__all__} - {"FUNCTIONS"}


def _to_coo(self: Tensor) -> Any:
    """The elements of a matrix that aren't 0, as a COOTensor."""
    return sparse_operator("dense_to_sparse_coo")(self)


def _to_csr(self: Tensor) -> Any:
    """The elements of a matrix that aren't 0, as a CSRTensor."""
    return sparse_operator("dense_to_sparse_csr")(self)


tensor_methods(to_coo=_to_coo, to_csr=_to_csr)
