"""Mathematical functions as layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core import dtype as mstype
from ..core.require import of_type
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = [
    "ReduceLogSumExp", "Range", "LGamma", "DiGamma", "IGamma", "LBeta", "MatMul", "Moments",
    "MatInverse", "MatDet",
]


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) along axes, computed without overflow.

    Args:
        axis: an axis, or a tuple or list of them; () for all.
        keep_dims: whether they stay, with length 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReduceLogSumExp(1)(ms.Tensor([[0.0, 0.0]])))
        [0.6931472]
    """

    def __init__(self, axis: Any, keep_dims: bool = False):
        super().__init__()
        name = type(self).__name__
        self.axis = checks.of_type(axis, (int, list, tuple), "axis", name)
        self.keep_dims = checks.boolean(keep_dims, "keep_dims", name)

    def construct(self, x: Tensor) -> Tensor:
        axis = tuple(range(x.ndim)) if self.axis in ((), []) else self.axis
        return ops.logsumexp(x, tuple(axis) if isinstance(axis, list) else axis, self.keep_dims)


class Range(Cell):
    """The numbers from `start` to `limit`, which is left out, in steps of `delta`.

    Args:
        start, limit, delta: the numbers; with `limit` None, from 0 to `start`.

    Outputs:
        Tensor of one dimension, int32 or float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.Range(1, 8, 2)())
        [1 3 5 7]
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1):
        super().__init__()
        if delta == 0:
            raise ValueError(f"For '{type(self).__name__}', 'delta' must not be 0.")
        data = np.arange(start, limit, delta)
        kind = mstype.float32 if data.dtype == np.float64 else mstype.int32
        self.result_tensor = Tensor(data, kind)

    def construct(self) -> Tensor:
        return self.result_tensor


class LGamma(Cell):
    """The logarithm of the magnitude of the gamma function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LGamma()(ms.Tensor([2.0, 3.0])))
        [0.        0.6931472]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.lgamma(x)


class DiGamma(Cell):
    """The derivative of the logarithm of the gamma function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.DiGamma()(ms.Tensor([1.0, 2.0])).round(decimals=4))
        [-0.5772  0.4228]
    """

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return ops.digamma(x)


class IGamma(Cell):
    """The lower regularized incomplete gamma function P(a, x).

    Inputs:
        - **a**, **x** - Tensors of one type, whose shapes broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.IGamma()(ms.Tensor([1.0]), ms.Tensor([1.0])).round(decimals=4))
        [0.6321]
    """

    def __init__(self):
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, a: Tensor, x: Tensor) -> Tensor:
        return ops.igamma(a, x)


class LBeta(Cell):
    """The logarithm of the beta function, lgamma(x) + lgamma(y) - lgamma(x + y).

    Inputs:
        - **x**, **y** - Tensors whose shapes broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LBeta()(ms.Tensor([1.0]), ms.Tensor([2.0])))
        [-0.6931472]
    """

    def __init__(self):
        super().__init__()
        self.lgamma = LGamma()

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return self.lgamma(x) + self.lgamma(y) - self.lgamma(x + y)


class MatMul(Cell):
    """The matrix product, with either matrix transposed first if wanted.

    Args:
        transpose_x1, transpose_x2: whether the last two dimensions of an input are exchanged;
            inputs of one dimension stay as they are.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.MatMul(transpose_x1=True)(ms.ops.ones((3, 2)), ms.ops.ones((3, 4))).shape
        (2, 4)
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False):
        super().__init__()
        name = type(self).__name__
        self.transpose_x1 = checks.boolean(transpose_x1, "transpose_x1", name)
        self.transpose_x2 = checks.boolean(transpose_x2, "transpose_x2", name)

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        if self.transpose_x1 and x1.ndim > 1:
            x1 = x1.swapaxes(-1, -2)
        if self.transpose_x2 and x2.ndim > 1:
            x2 = x2.swapaxes(-1, -2)
        return ops.matmul(x1, x2)


class Moments(Cell):
    """The mean and the variance along axes.

    Args:
        axis: an axis or a tuple of them; None for all.
        keep_dims: whether they stay, with length 1.

    Outputs:
        The mean and the variance (divided by the count).

    Examples:
        >>> import lamella as ms
        >>> print(*ms.nn.Moments(axis=1)(ms.Tensor([[1.0, 3.0]])))
        [2.] [1.]
    """

    def __init__(self, axis: Any = None, keep_dims: bool | None = None):
        super().__init__()
        name = type(self).__name__
        self.axis = () if axis is None else checks.of_type(axis, (int, tuple), "axis", name)
        for item in self.axis if isinstance(self.axis, tuple) else ():
            checks.of_type(item, int, "axis", name)
        self.keep_dims = False if keep_dims is None else checks.boolean(
            keep_dims, "keep_dims", name)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.dtype not in (mstype.float16, mstype.float32, mstype.float64, mstype.bfloat16):
            raise TypeError(f"For '{type(self).__name__}', the input must be floating, "
                            f"but got {x.dtype}.")
        wide = x.astype(mstype.float32) if x.itemsize == 2 else x
        axis = tuple(range(x.ndim)) if self.axis == () else self.axis
        variance, mean = ops.var_mean(wide, axis, 0, self.keep_dims)
        return mean.astype(x.dtype), variance.astype(x.dtype)


class MatInverse(Cell):
    """The inverses of symmetric positive definite matrices.

    Inputs:
        - **a** - Tensor (..., N, N).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MatInverse()(ms.Tensor([[4.0, 0.0], [0.0, 2.0]])))
        [[0.25 0.  ]
         [0.   0.5 ]]
    """

    def __init__(self):
        super().__init__()
        self.matmul = MatMul(transpose_x1=True)

    def construct(self, a: Tensor) -> Tensor:
        return ops.inverse(a)


class MatDet(Cell):
    """The determinants of symmetric positive definite matrices.

    Inputs:
        - **a** - Tensor (..., N, N).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MatDet()(ms.Tensor([[4.0, 0.0], [0.0, 2.0]])))
        8.0
    """

    def __init__(self):
        super().__init__()

    def construct(self, a: Tensor) -> Tensor:
        return ops.det(a)


class CosineSimilarity(Cell):
    """`ops.cosine_similarity` as a layer. Its path is `nn.layer`: `nn` has a metric of this name.

    Args:
        dim: the axis of the vectors.
        eps: the least value of the lengths' product that is divided by.

    Examples:
        >>> import lamella as ms
        >>> from lamella.nn.math import CosineSimilarity
        >>> print(CosineSimilarity()(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]])))
        [0.70710677]
    """

    def __init__(self, dim: int = 1, eps: float = 1e-08):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        for name, value in (("x1", x1), ("x2", x2)):
            of_type(value, Tensor, name, "CosineSimilarity")
        return ops.cosine_similarity(x1, x2, self.dim, self.eps)
