"""Pooling with a pad mode: the maximum or the mean over windows, in one to three dimensions."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F

from .. import ops
from ..core.require import one_of
from ..machine import planes
from ..ops.pooling import max_over_windows, mean_over_windows
from ..tensors.tensor import Tensor, wrap
from . import checks
from .cell import Cell
from .cell_tree import operator

__all__ = [
    "AvgPool3d", "MaxPool3d", "AvgPool2d", "MaxPool2d", "AvgPool1d", "MaxPool1d", "AvgPool2dExt",
    "AvgPool3dExt", "MaxPool2dExt", "AvgPool1dExt",
]


class _Pool(Cell):
    """What the pools share: checked windows, printed form, inputs without a batch."""

    _dims = 0

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, data_format: str = "NCHW"):
        super().__init__()
        name = type(self).__name__
        checks.of_type(pad_mode, str, "pad_mode", name)
        self.pad_mode = one_of(pad_mode.upper(), ("VALID", "SAME", "PAD"), "pad_mode", name)
        self.format = one_of(data_format, ("NCHW", "NHWC"), "data_format", name)
        if self._dims == 1:
            checks.positive_int(kernel_size, "kernel_size", name)
            checks.positive_int(stride, "stride", name)
        self.kernel_size = self._window(kernel_size, "kernel_size", name)
        self.stride = self._window(stride, "stride", name)
        if self.pad_mode == "PAD" and self.format == "NHWC":
            raise ValueError(f"For '{name}', 'pad_mode' can't be 'pad' with channels last.")
        self._kernel = checks.sizes(self.kernel_size, self._dims, "kernel_size", name)
        self._stride = checks.sizes(self.stride, self._dims, "stride", name)

    @staticmethod
    def _window(value: Any, what: str, name: str) -> Any:
        """An int or tuple of positive ints; a tuple of one is the int."""
        checks.of_type(value, (int, tuple), what, name)
        if isinstance(value, tuple):
            checks.sizes(value, len(value), what, name)
            return value[0] if len(value) == 1 else value
        return checks.positive_int(value, what, name)

    def _windows(self, x: Tensor) -> Any:
        raise NotImplementedError

    def construct(self, x: Tensor) -> Any:
        rank = x._raw.dim()
        if rank == self._dims + 2:
            if self.format == "NCHW":
                return self._windows(x)
            return self._windows(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        checks.rank(x.shape, (self._dims + 1, self._dims + 2), type(self).__name__)
        out = self._windows(x.unsqueeze(0))
        return tuple(o.squeeze(0) for o in out) if isinstance(out, tuple) else out.squeeze(0)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


def _amounts(padding: Any, dims: int, name: str) -> tuple[int, ...]:
    """The padding before and after each dimension, from an int or a tuple of 1 or `dims` ints."""
    checks.of_type(padding, (int, tuple, list), "padding", name)
    if isinstance(padding, (tuple, list)) and len(padding) == 1:
        padding = padding[0]
    return checks.sizes(padding, dims, "padding", name, 0)


def _pool(name: str) -> Any:
    """For `_operators`: the pool of this name, with the layer's windows."""
    def make(cell: Any) -> Any:
        kernel, stride = ((1, *sizes) if len(sizes) == 1 else sizes
                          for sizes in (cell._kernel, cell._stride))
        return getattr(ops, name)(kernel, stride, cell.pad_mode, cell.format)
    return make


# in one dimension the operators are those of two
_LINE = {"shape": operator("Shape"), "expand": operator("ExpandDims"),
         "squeeze": operator("Squeeze", 2), "reduce_mean": operator("ReduceMean", True)}


class _MaxPool(_Pool):
    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, dilation: Any,
                 return_indices: bool, ceil_mode: bool, data_format: str = "NCHW"):
        super().__init__(kernel_size, stride, pad_mode, data_format)
        name = type(self).__name__
        self.return_indices = return_indices
        self.padding = _amounts(padding, self._dims, name)
        self.ceil_mode = ceil_mode
        if isinstance(dilation, tuple) and len(dilation) == 1:
            dilation = dilation[0]
        self._dilation = checks.sizes(dilation, self._dims, "dilation", name)
        extras = any(self.padding) or return_indices or set(self._dilation) != {1} or ceil_mode
        if self.pad_mode != "PAD" and extras and not (self._dims == 3 and self._only_ceil()):
            raise ValueError(f"For '{name}', 'padding', 'dilation', 'return_indices' and "
                             f"'ceil_mode' must be left out unless 'pad_mode' is 'pad', but got "
                             f"padding={padding}, dilation={dilation}, "
                             f"return_indices={return_indices}, ceil_mode={ceil_mode} and "
                             f"pad_mode={pad_mode!r}.")

    def _only_ceil(self) -> bool:
        return not (any(self.padding) or self.return_indices or set(self._dilation) != {1})

    _kernel_function: Any = None

    def _windows(self, x: Tensor) -> Any:
        if self.pad_mode != "SAME" and not self.return_indices:
            try:  # nothing to compute first
                return wrap(self._kernel_function(x._raw, self._kernel, self._stride, self.padding,
                                                  self._dilation, self.ceil_mode))
            except RuntimeError:
                pass  # the function below explains it
        return max_over_windows(type(self).__name__, x, self._kernel, self._stride, self.pad_mode,
                                self.padding, self._dilation, self.ceil_mode, self.return_indices)


class MaxPool1d(_MaxPool):
    """The maximum over windows of a sequence.

    Args:
        kernel_size: the length of a window.
        stride: the step from one to the next.
        pad_mode: ``"valid"``, ``"same"`` (the output's length is the input's over the stride,
            rounded up) or ``"pad"``; the arguments below go with ``"pad"`` only.
        padding: how much is added at both ends; never the maximum.
        dilation: the step inside a window.
        return_indices: whether the indices of the maxima are given too.
        ceil_mode: whether a last, incomplete window counts.

    Inputs:
        - **x** - Tensor (N, C, L) or (C, L).

    Outputs:
        Tensor (N, C, L') or (C, L'), with `return_indices` a pair of such.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MaxPool1d(2, 2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])))
        [[[3. 2.]]]
    """

    _dims = 1
    _kernel_function = staticmethod(F.max_pool1d)

    _operators = {**_LINE, "max_pool": _pool("MaxPool")}

    def __init__(self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid",
                 padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False):
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices,
                         ceil_mode)
        ones = (1, 1) if self.pad_mode == "PAD" else (1,)  # MindSpore prints its inner dimensions
        self.kernel_size = (*ones, kernel_size)
        self.stride = (*ones, stride)


class MaxPool2d(_MaxPool):
    """The maximum over windows of an image.

    Args:
        kernel_size: the size of a window, an int or (height, width).
        stride: the step from one to the next, an int or (height, width).
        pad_mode: ``"valid"``, ``"same"`` or ``"pad"``; the arguments below go with ``"pad"`` only.
        padding: an int or (height, width) added at both ends; never the maximum.
        dilation: the step inside a window.
        return_indices: whether the indices of the maxima in the flattened image are given too.
        ceil_mode: whether last, incomplete windows count.
        data_format: ``"NCHW"``, or ``"NHWC"`` for channels last.

    Inputs:
        - **x** - Tensor (N, C, H, W) or (C, H, W).

    Outputs:
        Tensor (N, C, H', W') or (C, H', W'), with `return_indices` a pair of such.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MaxPool2d(2, 2)(ms.Tensor([[[[1.0, 3.0], [2.0, 0.0]]]])))
        [[[[3.]]]]
    """

    _dims = 2
    _kernel_function = staticmethod(planes.max_pool2d)

    _operators = {"max_pool": _pool("MaxPool")}

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid",
                 padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False, data_format: str = "NCHW"):
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices,
                         ceil_mode, data_format)


class MaxPool3d(_MaxPool):
    """The maximum over windows of a volume; `ceil_mode` goes with every `pad_mode`.

    Args: those of `MaxPool2d` with (depth, height, width), without `data_format`.

    Inputs:
        - **x** - Tensor (N, C, D, H, W) or (C, D, H, W).

    Outputs:
        Tensor (N, C, D', H', W') or (C, D', H', W'), with `return_indices` a pair of such.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.MaxPool3d(2, 2)(ms.ops.ones((1, 2, 4, 4, 5))).shape
        (1, 2, 2, 2, 2)
    """

    _dims = 3
    _kernel_function = staticmethod(F.max_pool3d)

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid",
                 padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False):
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices,
                         ceil_mode)


class _AvgPool(_Pool):
    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool,
                 count_include_pad: bool, divisor_override: int | None, data_format: str = "NCHW"):
        super().__init__(kernel_size, stride, pad_mode, data_format)
        name = type(self).__name__
        self.padding = _amounts(padding, self._dims, name)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        if divisor_override is not None and divisor_override <= 0:
            raise ValueError(f"For '{name}', 'divisor_override' must be above 0, "
                             f"but got {divisor_override}.")
        self.divisor_override = divisor_override
        # in one and two dimensions MindSpore's mean leaves padding out unless one of these is given
        self._plain = self._dims < 3 and not (
            self.pad_mode == "PAD" or any(self.padding) or ceil_mode or not count_include_pad
            or divisor_override is not None)

    def _windows(self, x: Tensor) -> Tensor:
        return mean_over_windows(type(self).__name__, x, self._kernel, self._stride, self.pad_mode,
                                 self.padding, self.ceil_mode,
                                 self.count_include_pad and not self._plain, self.divisor_override)


class AvgPool1d(_AvgPool):
    """The mean over windows of a sequence.

    Args:
        kernel_size: the length of a window.
        stride: the step from one to the next.
        pad_mode: ``"valid"``, ``"same"`` or ``"pad"``.
        padding: how many zeros are added at both ends, with ``"pad"`` only.
        ceil_mode: whether a last, incomplete window counts.
        count_include_pad: whether the zeros count in the mean.

    Inputs:
        - **x** - Tensor (N, C, L) or (C, L).

    Outputs:
        Tensor (N, C, L') or (C, L').

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.AvgPool1d(2, 2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])))
        [[[2. 1.]]]
    """

    _dims = 1

    _operators = {**_LINE, "slice": operator("Slice"), "avg_pool": _pool("AvgPool")}

    def __init__(self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid",
                 padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, None)
        if self._plain:  # MindSpore prints its inner dimensions
            self.kernel_size = (1, kernel_size)
            self.stride = (1, stride)


class AvgPool2d(_AvgPool):
    """The mean over windows of an image.

    Args:
        kernel_size: the size of a window, an int or (height, width).
        stride: the step from one to the next, an int or (height, width).
        pad_mode: ``"valid"``, ``"same"`` or ``"pad"``.
        padding: an int or (height, width) of zeros at both ends, with ``"pad"`` only.
        ceil_mode: whether last, incomplete windows count.
        count_include_pad: whether the zeros count in the mean.
        divisor_override: what sums are divided by instead of the number of elements.
        data_format: ``"NCHW"``, or ``"NHWC"`` for channels last.

    Inputs:
        - **x** - Tensor (N, C, H, W) or (C, H, W).

    Outputs:
        Tensor (N, C, H', W') or (C, H', W').

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.AvgPool2d(2, 2)(ms.Tensor([[[[1.0, 3.0], [2.0, 0.0]]]])))
        [[[[1.5]]]]
    """

    _dims = 2

    _operators = {"avg_pool": _pool("AvgPool")}

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid",
                 padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None, data_format: str = "NCHW"):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad,
                         divisor_override, data_format)


class AvgPool3d(_AvgPool):
    """The mean over windows of a volume.

    Args: those of `AvgPool2d` with (depth, height, width), without `data_format`.

    Inputs:
        - **x** - Tensor (N, C, D, H, W) or (C, D, H, W).

    Outputs:
        Tensor (N, C, D', H', W') or (C, D', H', W').

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AvgPool3d(2, 2)(ms.ops.ones((1, 2, 4, 4, 5))).shape
        (1, 2, 2, 2, 2)
    """

    _dims = 3

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid",
                 padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad,
                         divisor_override)


class _PoolExt(Cell):
    """The pools of `mint.nn`: no pad mode, the stride is the window's size by default."""

    _dims = 0

    def construct(self, input: Tensor) -> Any:
        batched = input._raw.dim() == self._dims + 2
        out = self._windows(input if batched else input.unsqueeze(0))
        if batched:
            return out
        return tuple(o.squeeze(0) for o in out) if isinstance(out, tuple) else out.squeeze(0)

    def _windows(self, x: Tensor) -> Any:
        raise NotImplementedError


class MaxPool2dExt(_PoolExt):
    """`MaxPool2d` as `mint.nn` has it.

    Args:
        kernel_size, stride, padding, dilation: ints or (height, width); `stride` is by default
            `kernel_size`.
        return_indices: whether the indices of the maxima are given too.
        ceil_mode: whether last, incomplete windows count.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.MaxPool2dExt(2)(ms.ops.ones((1, 2, 4, 6))).shape
        (1, 2, 2, 3)
    """

    _dims = 2

    def __init__(self, kernel_size: Any = 1, stride: Any = None, padding: Any = 0,
                 dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _windows(self, x: Tensor) -> Any:
        return max_over_windows(type(self).__name__, x, self.kernel_size, self.stride, "pad",
                                self.padding, self.dilation, self.ceil_mode, self.return_indices)


class AvgPool1dExt(_PoolExt):
    """`AvgPool1d` as `mint.nn` has it.

    Args:
        kernel_size, stride, padding: ints; `stride` is by default `kernel_size`.
        ceil_mode: whether a last, incomplete window counts.
        count_include_pad: whether padding counts in the mean.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.AvgPool1dExt(2)(ms.Tensor([[[1.0, 3.0]]])))
        [[[2.]]]
    """

    _dims = 1

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _windows(self, x: Tensor) -> Tensor:
        return mean_over_windows(type(self).__name__, x, self.kernel_size, self.stride, "pad",
                                 self.padding, self.ceil_mode, self.count_include_pad,
                                 self.divisor_override)


class AvgPool2dExt(AvgPool1dExt):
    """`AvgPool2d` as `mint.nn` has it.

    Args:
        kernel_size, stride, padding: ints or (height, width); `stride` is by default `kernel_size`.
        ceil_mode: whether last, incomplete windows count.
        count_include_pad: whether padding counts in the mean.
        divisor_override: what sums are divided by instead.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AvgPool2dExt(2)(ms.ops.ones((1, 2, 4, 6))).shape
        (1, 2, 2, 3)
    """

    _dims = 2


class AvgPool3dExt(AvgPool1dExt):
    """`AvgPool3d` as `mint.nn` has it; the arguments of `AvgPool2dExt`.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.AvgPool3dExt(2)(ms.ops.ones((1, 2, 4, 6, 2))).shape
        (1, 2, 2, 3, 1)
    """

    _dims = 3
