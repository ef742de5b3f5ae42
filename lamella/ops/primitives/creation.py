"""Primitive classes that make tensors: of one value, of evenly spaced numbers, of another type."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...tensors.tensor import Tensor
from ..composite import prim_attr_register
from ..creation import (
    cast,
    eye,
    fill,
    fills,
    ones,
    ones_like,
    scalar_cast,
    scalar_to_array,
    scalar_to_tensor,
    tuple_to_array,
    zeros,
    zeros_like,
)
from ..primitive import Primitive, primitive
from ..ranges import (
    linspace,
    logspace,
    meshgrid,
    range,  # noqa: A004
    tril_indices,
    triu_indices,
)

__all__ = [
    "Cast", "Eye", "Fill", "FillDiagonal", "FillV2", "Fills", "LinSpace", "LogSpace", "Meshgrid",
    "Ones", "OnesLike", "Range", "ScalarCast", "ScalarToArray", "ScalarToTensor", "TrilIndices",
    "TriuIndices", "TupleToArray", "Zeros", "ZerosLike",
]

Cast = primitive("Cast", cast)
Fill = primitive("Fill", fill)
Fills = primitive("Fills", fills)
Eye = primitive("Eye", eye)
LinSpace = primitive("LinSpace", linspace)
Ones = primitive("Ones", ones)
OnesLike = primitive("OnesLike", ones_like)
ScalarCast = primitive("ScalarCast", scalar_cast)
ScalarToArray = primitive("ScalarToArray", scalar_to_array)
ScalarToTensor = primitive("ScalarToTensor", scalar_to_tensor)
TupleToArray = primitive("TupleToArray", tuple_to_array)
Zeros = primitive("Zeros", zeros)
ZerosLike = primitive("ZerosLike", zeros_like)


class FillV2(Primitive):
    """A tensor of the shape given first, of the value and type of the Tensor given second."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, shape: Any, value: Tensor) -> Tensor:
        return fill(value.dtype, shape, value)


class FillDiagonal(Primitive):
    """A copy of a tensor with one value on its diagonal.

    Args:
        fill_value: the value.
        wrap: whether the diagonal starts again below in tall matrices.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.FillDiagonal(5.0)(ms.ops.zeros((2, 2))))
        [[5. 0.]
         [0. 5.]]
    """

    @prim_attr_register
    def __init__(self, fill_value: float, wrap: bool = False):
        pass

    def __call__(self, input_x: Tensor) -> Tensor:
        return input_x.fill_diagonal(self.fill_value, self.wrap)


class TrilIndices(Primitive):
    """`ops.tril_indices` with its arguments as attributes; int32 by default."""

    @prim_attr_register
    def __init__(self, row: int, col: int, offset: int = 0, dtype: Any = mstype.int32):
        pass

    def __call__(self) -> Tensor:
        return tril_indices(self.row, self.col, self.offset, dtype=self.dtype)


class TriuIndices(Primitive):
    """`ops.triu_indices` with its arguments as attributes; int32 by default."""

    @prim_attr_register
    def __init__(self, row: int, col: int, offset: int = 0, dtype: Any = mstype.int32):
        pass

    def __call__(self) -> Tensor:
        return triu_indices(self.row, self.col, self.offset, dtype=self.dtype)


class Range(Primitive):
    """`ops.range` with the most numbers there may be as an attribute."""

    @prim_attr_register
    def __init__(self, maxlen: int = 1000000):
        pass

    def __call__(self, start: Any, end: Any, step: Any) -> Tensor:
        return range(start, end, step, self.maxlen)


class LogSpace(Primitive):
    """`ops.logspace` with the steps, base and type as attributes."""

    @prim_attr_register
    def __init__(self, steps: int = 10, base: int = 10, dtype: Any = mstype.float32):
        pass

    def __call__(self, start: Any, end: Any) -> Tensor:
        return logspace(start, end, self.steps, self.base, dtype=self.dtype)


class Meshgrid(Primitive):
    """`ops.meshgrid` of a tuple of Tensors.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.ops.Meshgrid()((ms.Tensor([1, 2]), ms.Tensor([3, 4, 5])))
        >>> x.shape, y.shape
        ((3, 2), (3, 2))
    """

    @prim_attr_register
    def __init__(self, indexing: str = "xy"):
        if indexing not in ("xy", "ij"):
            raise ValueError(f"For 'Meshgrid', 'indexing' must be 'xy' or 'ij', "
                             f"but got {indexing!r}.")

    def __call__(self, inputs: Any) -> tuple[Tensor, ...]:
        return meshgrid(*inputs, indexing=self.indexing)
