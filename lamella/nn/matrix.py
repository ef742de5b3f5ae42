"""Layers of triangles and diagonals of matrices."""

from __future__ import annotations

from .. import ops
from ..core import dtype as mstype
from ..tensors.tensor import Tensor
from .cell import Cell

__all__ = ["Tril", "Triu", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"]


class Tril(Cell):
    """The lower triangle of matrices, zeros above it.

    Inputs:
        - **x** - Tensor (..., M, N).
        - **k** - the diagonal that is kept last; default 0, the main one.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Tril()(ms.Tensor([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices, zeros below it.

    Inputs:
        - **x** - Tensor (..., M, N).
        - **k** - the diagonal that is kept first; default 0, the main one.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Triu()(ms.Tensor([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.triu(x, k)


class MatrixDiag(Cell):
    """Matrices with the input on their diagonals.

    Inputs:
        - **input_x** - Tensor (..., N).

    Outputs:
        Tensor (..., N, N).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MatrixDiag()(ms.Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.diag_embed(input_x)


class MatrixDiagPart(Cell):
    """The diagonals of matrices.

    Inputs:
        - **input_x** - Tensor (..., M, N).

    Outputs:
        Tensor (..., min(M, N)).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MatrixDiagPart()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [1. 4.]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Matrices with other diagonals.

    Inputs:
        - **input_x** - Tensor (..., M, N).
        - **diagonal** - Tensor (..., min(M, N)).

    Outputs:
        Tensor (..., M, N).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MatrixSetDiag()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([0.0, 9.0])))
        [[0. 2.]
         [3. 9.]]
    """

    def __init__(self):
        super().__init__()

    def construct(self, input_x: Tensor, diagonal: Tensor) -> Tensor:
        rows, columns = input_x.shape[-2:]
        if diagonal.shape != (*input_x.shape[:-2], min(rows, columns)):
            raise ValueError(f"For '{type(self).__name__}', 'diagonal' must have shape "
                             f"{(*input_x.shape[:-2], min(rows, columns))}, "
                             f"but got {diagonal.shape}.")
        on = ops.eye(rows, columns, mstype.bool_)
        square = ops.pad(ops.diag_embed(diagonal),
                         (0, columns - min(rows, columns), 0, rows - min(rows, columns)))
        return ops.where(on, square, input_x)
