"""Pools whose windows follow from the output's size, power means, and unpooling."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell

__all__ = [
    "FractionalMaxPool2d", "FractionalMaxPool3d", "AdaptiveAvgPool1d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "LPPool1d", "LPPool2d",
]


class _Adaptive1d(Cell):
    def __init__(self, output_size: int):
        super().__init__()
        self.output_size = checks.positive_int(output_size, "output_size", type(self).__name__)

    def _check(self, x: Tensor) -> None:
        name = type(self).__name__
        checks.rank(x.shape, (3,), name)
        if x.shape[2] % self.output_size:
            raise ValueError(f"For '{name}', the last dimension of the input must be a multiple of "
                             f"'output_size' {self.output_size}, but got shape {x.shape}.")


class AdaptiveAvgPool1d(_Adaptive1d):
    """The mean over `output_size` windows of a sequence.

    Args:
        output_size: a divisor of the input's length.

    Inputs:
        - **input** - Tensor (N, C, L).

    Outputs:
        Tensor (N, C, output_size).

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.AdaptiveAvgPool1d(2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])))
        [[[2. 1.]]]
    """

    def construct(self, input: Tensor) -> Tensor:
        self._check(input)
        return ops.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive1d):
    """The maximum over `output_size` windows of a sequence.

    Args:
        output_size: a divisor of the input's length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.AdaptiveMaxPool1d(2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])))
        [[[3. 2.]]]
    """

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        return ops.adaptive_max_pool1d(x, self.output_size)


def _output_size(value: Any, owner: str) -> Any:
    """`value`, an int of 0 or more, or a tuple of them and of None."""
    if not isinstance(value, (tuple, list)):
        return checks.int_at_least_0(value, "output_size", owner)
    for size in value:
        if size is not None:
            checks.int_at_least_0(size, "output_size", owner)
    return value


class AdaptiveAvgPool2d(Cell):
    """The mean over as many windows of an image as the output has elements.

    Args:
        output_size: an int or (height, width), where None keeps the input's.

    Inputs:
        - **input** - Tensor (N, C, H, W) or (C, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AdaptiveAvgPool2d((None, 2))(ms.ops.ones((1, 3, 5, 4))).shape
        (1, 3, 5, 2)
    """

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = _output_size(output_size, type(self).__name__)

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(Cell):
    """The mean over as many windows of a volume as the output has elements.

    Args:
        output_size: an int or (depth, height, width), where None keeps the input's.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AdaptiveAvgPool3d(2)(ms.ops.ones((1, 3, 4, 5, 6))).shape
        (1, 3, 2, 2, 2)
    """

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = _output_size(output_size, type(self).__name__)

    def construct(self, input: Tensor) -> Tensor:
        return ops.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool2d(Cell):
    """The maximum over as many windows of an image as the output has elements.

    Args:
        output_size: an int or (height, width); None keeps the input's.
        return_indices: whether the indices of the maxima are given too.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AdaptiveMaxPool2d(2)(ms.ops.ones((1, 3, 5, 4))).shape
        (1, 3, 2, 2)
    """

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Tensor) -> Any:
        return ops.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(Cell):
    """The maximum over as many windows of a volume as the output has elements.

    Args:
        output_size: an int or (depth, height, width).
        return_indices: whether the indices of the maxima are given too, as int32.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AdaptiveMaxPool3d(2)(ms.ops.ones((1, 3, 4, 5, 6))).shape
        (1, 3, 2, 2, 2)
    """

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def construct(self, input: Tensor) -> Any:
        return ops.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class FractionalMaxPool2d(Cell):
    """The maximum over windows whose positions are partly random (Graham, 2015).

    Args:
        kernel_size: the size of a window, an int or (height, width).
        output_size: an int or (height, width), or
        output_ratio: the output's size over the input's.
        return_indices: whether the indices of the maxima are given too.
        _random_samples: the random numbers to use, a Tensor (N, C, 2).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.FractionalMaxPool2d(2, output_size=3)(ms.ops.ones((1, 2, 6, 6))).shape
        (1, 2, 3, 3)
    """

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None):
        super().__init__()
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self._random_samples = _random_samples

    def construct(self, input: Tensor) -> Any:
        return ops.fractional_max_pool2d(input, self.kernel_size, self.output_size,
                                         self.output_ratio, self.return_indices,
                                         self._random_samples)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """`FractionalMaxPool2d` for volumes (N, C, D, H, W), with three lengths and samples (N, C, 3).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.FractionalMaxPool3d(2, output_size=3)(ms.ops.ones((1, 2, 6, 6, 6))).shape
        (1, 2, 3, 3, 3)
    """

    def construct(self, input: Tensor) -> Any:
        return ops.fractional_max_pool3d(input, self.kernel_size, self.output_size,
                                         self.output_ratio, self.return_indices,
                                         self._random_samples)


class _MaxUnpool(Cell):
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def construct(self, x: Tensor, indices: Tensor, output_size: tuple | None = None) -> Tensor:
        if output_size is not None and (not isinstance(output_size, tuple) or not output_size):
            raise ValueError(f"For '{type(self).__name__}', 'output_size' must be a tuple of "
                             f"lengths or None, but got {output_size!r}.")
        return self._unpool(x, indices, output_size)

    def _unpool(self, x: Tensor, indices: Tensor, output_size: tuple | None) -> Tensor:
        raise NotImplementedError


class MaxUnpool1d(_MaxUnpool):
    """Puts the maxima of `MaxPool1d` back where they were, and zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pool; `stride` is by default `kernel_size`.

    Inputs:
        - **x** - Tensor (N, C, L) or (C, L).
        - **indices** - Tensor of the same shape, int32 or int64: the positions.
        - **output_size** - the shape of the output; default: what the pool's arguments say.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MaxUnpool1d(2)(ms.Tensor([[[3.0]]]), ms.Tensor([[[1]]])))
        [[[0. 3.]]]
    """

    def _unpool(self, x: Tensor, indices: Tensor, output_size: tuple | None) -> Tensor:
        return ops.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding,
                                output_size)


class MaxUnpool2d(_MaxUnpool):
    """Puts the maxima of `MaxPool2d` back where they were, and zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pool; `stride` is by default `kernel_size`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MaxUnpool2d(2)(ms.Tensor([[[[3.0]]]]), ms.Tensor([[[[2]]]])))
        [[[[0. 0.]
           [3. 0.]]]]
    """

    def _unpool(self, x: Tensor, indices: Tensor, output_size: tuple | None) -> Tensor:
        return ops.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding,
                                output_size)


class MaxUnpool3d(_MaxUnpool):
    """Puts the maxima of `MaxPool3d` back where they were, and zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pool; `stride` is by default `kernel_size`.

    Examples:
        >>> import lamella as ms
        >>> one = ms.ops.ones((1, 1, 1, 1, 1))
        >>> ms.nn.MaxUnpool3d(2)(one, one.astype(ms.int64)).shape
        (1, 1, 2, 2, 2)
    """

    def _unpool(self, x: Tensor, indices: Tensor, output_size: tuple | None) -> Tensor:
        return ops.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding,
                                output_size)


class LPPool1d(Cell):
    """The power mean without its division: (sum of x^p over a window)^(1 / p).

    Args:
        norm_type: p, not 0.
        kernel_size: the length of a window.
        stride: the step from one to the next; default `kernel_size`.
        ceil_mode: whether a last, incomplete window counts.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LPPool1d(2, 2)(ms.Tensor([[[3.0, 4.0]]])))
        [[[5.]]]
    """

    def __init__(self, norm_type: float, kernel_size: int, stride: int | None = None,
                 ceil_mode: bool = False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def construct(self, x: Tensor) -> Tensor:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(Cell):
    """`LPPool1d` over windows of an image.

    Args:
        norm_type: p, not 0.
        kernel_size, stride: an int or (height, width).
        ceil_mode: whether last, incomplete windows count.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LPPool2d(2, (1, 2))(ms.Tensor([[[[3.0, 4.0]]]])))
        [[[[5.]]]]
    """

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None,
                 ceil_mode: bool = False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def construct(self, x: Tensor) -> Tensor:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
