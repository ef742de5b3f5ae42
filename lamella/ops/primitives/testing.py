"""Primitive classes that tests of operators use."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...core.require import of_type
from ...tensors.tensor import Tensor
from .attributed import Attributed

__all__ = ["ConvertToDynamic", "SameTypeShape", "TopTypeof", "same_type_shape_"]


class ConvertToDynamic(Attributed):
    """The Tensor itself, whose shape a compiler should not know: here it never has to be told.

    Args:
        is_dynamic_rank: whether the number of dimensions should not be known either.

    Inputs:
        - **input** - Tensor.
    """

    def __init__(self, is_dynamic_rank: bool = False):
        of_type(is_dynamic_rank, bool, "is_dynamic_rank", "ConvertToDynamic")
        super().__init__(is_dynamic_rank=is_dynamic_rank)

    def __call__(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"For 'ConvertToDynamic', the input must be a Tensor, but got "
                            f"{input!r}.")
        return input


class SameTypeShape(Attributed):
    """The first of two Tensors, if both have one data type and one shape.

    Inputs:
        - **x** - Tensor.
        - **y** - Tensor.

    Raises:
        TypeError: if an input isn't a Tensor, or the data types differ.
        ValueError: if the shapes differ.
    """

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        for name, value in (("x", x), ("y", y)):
            of_type(value, Tensor, name, "SameTypeShape")
        if x.dtype != y.dtype:
            raise TypeError(f"For 'SameTypeShape', the x dtype should be = y dtype: {y.dtype}, but "
                            f"got {x.dtype}.")
        if x.shape != y.shape:
            raise ValueError(f"For 'SameTypeShape', the x shape should be = y shape: {y.shape}, "
                             f"but got {x.shape}.")
        return x


same_type_shape_ = SameTypeShape()


class TopTypeof(Attributed):
    """The kind of a value, without the types of its elements: `TensorType`, `Tuple`, `Int`, ..."""

    def __call__(self, x: Any) -> Any:
        return mstype.tensor_type if isinstance(x, Tensor) else mstype.get_py_obj_dtype(x)
