"""Linear algebra of `mint`."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.adapters import adapted
from ..tensors.tensor import Tensor

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]

_NORM = "dim:axis={}, keepdim:keepdims=False, *, dtype=None"

inv = adapted(ops.inverse, "input", "inv")
matrix_norm = adapted(ops.matrix_norm, "A, ord='fro', " + _NORM.format("(-2, -1)"))
norm = ops.norm
vector_norm = adapted(ops.vector_norm, "x, ord=2, " + _NORM.format("None"))


def qr(A: Tensor, mode: str = "reduced") -> Any:  # noqa: N803
    """As `ops.qr`; with `mode` ``"r"`` the first of the two is empty.

    >>> import lamella as ms
    >>> q, r = ms.mint.linalg.qr(ms.Tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> q.shape, r.shape
    ((2, 2), (2, 2))
    """
    return ops.qr(A, mode)
