"""Operators that `linalg` and `optimize` use, under MindSpore's names."""

from __future__ import annotations

from typing import Any

import torch

from ..core.require import of_type
from ..ops.primitive import Primitive
from ..ops.primitives.linalg import eig_of
from ..tensors.tensor import Tensor, wrap
from .linalg import solve_triangular
from .optimize.linear_sum_assignment import assigned

__all__ = ["Eig", "LU", "LinearSumAssignment", "SolveTriangular", "solve_triangular"]


class SolveTriangular:
    """As `linalg.solve_triangular`, with its settings first.

    Args:
        lower: whether the lower triangle is the matrix; else the upper one.
        unit_diagonal: whether the diagonal is taken for 1.
        trans: ``"N"``, ``"T"`` or ``"C"``: whether the matrix is transposed, or conjugated too.
    """

    def __init__(self, lower: bool = False, unit_diagonal: bool = False, trans: str = "N"):
        self.lower, self.unit_diagonal, self.trans = lower, unit_diagonal, trans

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return solve_triangular(a, b, self.trans, self.lower, self.unit_diagonal)


class Eig(Primitive):
    """Eigenvalues of a matrix and eigenvectors; unless `compute_v`, a 0 stands for the latter."""

    def __init__(self, compute_v: bool = True):
        super().__init__("Eig")
        of_type(compute_v, bool, "compute_v", "Eig")
        self.compute_v = compute_v

    def __call__(self, a: Tensor) -> Any:
        return eig_of(a, compute_v=self.compute_v)


class LU(Primitive):
    """(both triangles in one matrix, exchanged rows, the permutation matrix in int32)"""

    def __init__(self):
        super().__init__("LU")

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        both, pivots = torch.linalg.lu_factor(x._raw)
        exchange = torch.lu_unpack(both.detach(), pivots, unpack_data=False)[0]
        return wrap(both), wrap(pivots - 1), wrap(exchange.int())


class LinearSumAssignment(Primitive):
    """As `optimize.linear_sum_assignment`."""

    def __init__(self):
        super().__init__("LinearSumAssignment")

    def __call__(self, cost_matrix: Tensor, dimension_limit: Any, maximize: bool
                 ) -> tuple[Tensor, Tensor]:
        return assigned(cost_matrix, maximize, dimension_limit)
