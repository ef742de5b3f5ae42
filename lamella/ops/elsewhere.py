"""Names that `ops` shows of rooms above it: sparse tensors, collectives.

The names stand in the table of `core.elsewhere`; each room is imported when one is first asked for.
"""

from __future__ import annotations

from typing import Any

from ..compat.missing import name_of
from ..core.elsewhere import found_elsewhere
from ..tensors.tensor import Tensor, tensor_methods

__all__: list[str] = []


def reduce(tensor: Any, dst: int, op: str = "sum", group: str | None = None,
           async_op: bool = False) -> Any:
    """As `mint.distributed.reduce`; after ``set_comm_ops_inplace(False)`` it raises ValueError."""
    return found_elsewhere("ops", "reduce")(tensor, dst, op, group, async_op)


def name_of_another_room(name: str) -> Any:
    """A function of `mint.distributed`, an operator of sparse tensors, or one of Python's values.

    Raises:
        AttributeError: if there is none of this name.
    """
    try:
        return found_elsewhere("ops", name)
    except AttributeError:
        raise name_of("lamella.ops", name) from None


def _to_coo(self: Tensor) -> Any:
    """The elements of a matrix that aren't 0, as a COOTensor."""
    return found_elsewhere("ops", "dense_to_sparse_coo")(self)


def _to_csr(self: Tensor) -> Any:
    """The elements of a matrix that aren't 0, as a CSRTensor."""
    return found_elsewhere("ops", "dense_to_sparse_csr")(self)


tensor_methods(to_coo=_to_coo, to_csr=_to_csr)
