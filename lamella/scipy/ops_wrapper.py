"""Diagonals of matrices, under the path that MindSpore has them at."""

from __future__ import annotations

from typing import Any

from .. import ops as _ops
from ..tensors.tensor import Tensor

__all__ = ["matrix_set_diag"]


def matrix_set_diag(input_x: Tensor, diagonal: Tensor, k: Any = 0, alignment: str = "RIGHT_LEFT"
                    ) -> Tensor:
    """As `ops.matrix_set_diag`; `alignment` is its `align`."""
    return _ops.matrix_set_diag(input_x, diagonal, k, alignment)
