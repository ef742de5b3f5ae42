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
from .attributes import with_attributes

__all__ = [
    "Cast", "Eye", "Fill", "FillDiagonal", "FillV2", "Fills", "LinSpace", "LogSpace", "Meshgrid",
    "Ones", "OnesLike", "Range", "ScalarCast", "ScalarToArray", "ScalarToTensor", "TrilIndices",
    "TriuIndices", "TupleToArray", "Zeros", "ZerosLike",
]

Cast = primitive("Cast", cast)
Fill = primitive("Fill", fill)
FillV2 = primitive("FillV2", lambda shape, value: fill(value.dtype, shape, value))
Fills = primitive("Fills", fills)
Eye = primitive("Eye", eye)
LinSpace = primitive("LinSpace", linspace)
LogSpace = with_attributes("LogSpace", logspace, steps=10, base=10, dtype=mstype.float32)
Ones = primitive("Ones", ones)
OnesLike = primitive("OnesLike", ones_like)
Range = with_attributes("Range", range, maxlen=1000000)
ScalarCast = primitive("ScalarCast", scalar_cast)
ScalarToArray = primitive("ScalarToArray", scalar_to_array)
ScalarToTensor = primitive("ScalarToTensor", scalar_to_tensor)
TrilIndices = with_attributes("TrilIndices", tril_indices, "row", "col", offset=0,
                              dtype=mstype.int32)
TriuIndices = with_attributes("TriuIndices", triu_indices, "row", "col", offset=0,
                              dtype=mstype.int32)
TupleToArray = primitive("TupleToArray", tuple_to_array)
Zeros = primitive("Zeros", zeros)
ZerosLike = primitive("ZerosLike", zeros_like)


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

