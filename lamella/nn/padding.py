"""Layers that lengthen their input at both ends."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d",
    "ReflectionPad3d", "ZeroPad2d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
]


class _PadNd(Cell):
    """Padding of the last `_dims` dimensions by an int or (left, right, top, bottom, ...)."""

    _dims = 0
    _mode = "constant"

    def __init__(self, padding: Any):
        super().__init__()
        name = type(self).__name__
        if isinstance(padding, int):
            padding = (padding,) * (2 * self._dims)
        checks.of_type(padding, tuple, "padding", name)
        if len(padding) % 2 or len(padding) > 2 * self._dims:
            raise ValueError(f"For '{name}', a tuple 'padding' must have two ints a dimension, at "
                             f"most {2 * self._dims}, but got {padding}.")
        for item in padding:
            checks.of_type(item, int, "padding", name)
        self.padding = padding

    def construct(self, x: Tensor) -> Tensor:
        shape = x.shape
        if 2 * len(shape) < len(self.padding):
            raise ValueError(f"For '{type(self).__name__}', the input must have "
                             f"{len(self.padding) // 2} dimensions or more, but got {shape}.")
        return ops.pad(x, self.padding, self._mode)


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = checks.of_type(value, (int, float), "value", type(self).__name__)

    def construct(self, x: Tensor) -> Tensor:
        shape, name = x.shape, type(self).__name__
        if 2 * len(shape) < len(self.padding):
            raise ValueError(f"For '{name}', the input must have {len(self.padding) // 2} "
                             f"dimensions or more, but got {shape}.")
        for axis in range(len(self.padding) // 2):
            if shape[-1 - axis] + sum(self.padding[2 * axis:2 * axis + 2]) <= 0:
                raise ValueError(f"For '{name}', nothing would be left of dimension {-1 - axis} of "
                                 f"the input of shape {shape} with 'padding' {self.padding}.")
        return ops.pad(x, self.padding, value=self.value)


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with a number.

    Args:
        padding: an int or (left, right); negative ones cut off.
        value: the number.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ConstantPad1d((1, 2), 0.5)(ms.Tensor([[1.0, 2.0]])))
        [[0.5 1.  2.  0.5 0.5]]
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with a number.

    Args:
        padding: an int or (left, right, top, bottom); negative ones cut off.
        value: the number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ConstantPad2d((1, 0, 0, 1), 0.5)(ms.Tensor([[1.0, 2.0]])))
        [[0.5 1.  2. ]
         [0.5 0.5 0.5]]
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with a number.

    Args:
        padding: an int or (left, right, top, bottom, front, back); negative ones cut off.
        value: the number.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.ConstantPad3d(1, 0.5)(ms.ops.ones((2, 3, 4, 5))).shape
        (2, 5, 6, 7)
    """

    _dims = 3


class ZeroPad2d(_ConstantPadNd):
    """Pads the last two dimensions with zeros.

    Args:
        padding: an int or (left, right, top, bottom); negative ones cut off.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ZeroPad2d((1, 0, 0, 1))(ms.Tensor([[1.0, 2.0]])))
        [[0. 1. 2.]
         [0. 0. 0.]]
    """

    _dims = 2

    def __init__(self, padding: Any):
        super().__init__(padding, 0)


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"

    def __init__(self, padding: Any):
        super().__init__(padding)
        for item in self.padding:
            checks.int_at_least_0(item, "padding", type(self).__name__)


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension with its mirror image, without the edge.

    Args:
        padding: an int or (left, right).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReflectionPad1d((2, 1))(ms.Tensor([[1.0, 2.0, 3.0]])))
        [[3. 2. 1. 2. 3. 2.]]
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their mirror images, without the edges.

    Args:
        padding: an int or (left, right, top, bottom).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReflectionPad2d((1, 0, 1, 0))(ms.Tensor([[[1.0, 2.0], [3.0, 4.0]]])))
        [[[4. 3. 4.]
          [2. 1. 2.]
          [4. 3. 4.]]]
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their mirror images, without the edges.

    Args:
        padding: an int or (left, right, top, bottom, front, back).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.ReflectionPad3d(1)(ms.ops.ones((1, 2, 2, 3, 4))).shape
        (1, 2, 4, 5, 6)
    """

    _dims = 3


class ReplicationPad1d(_PadNd):
    """Pads the last dimension with its edges.

    Args:
        padding: an int or (left, right).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReplicationPad1d((2, 1))(ms.Tensor([[1.0, 2.0]])))
        [[1. 1. 1. 2. 2.]]
    """

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Pads the last two dimensions with their edges.

    Args:
        padding: an int or (left, right, top, bottom).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ReplicationPad2d((1, 0, 1, 0))(ms.Tensor([[[1.0, 2.0]]])))
        [[[1. 1. 2.]
          [1. 1. 2.]]]
    """

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Pads the last three dimensions with their edges.

    Args:
        padding: an int or (left, right, top, bottom, front, back).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.ReplicationPad3d(1)(ms.ops.ones((1, 2, 2, 3, 4))).shape
        (1, 2, 4, 5, 6)
    """

    _dims, _mode = 3, "replicate"
