"""Convolution layers and their transposes, in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import (
    HeUniform,
    Uniform,
    _calculate_fan_in_and_fan_out,
    initializer,
)
from ..core import dtype as mstype
from ..core.errors import wrong_channels
from ..core.require import one_of
from ..machine import convolutions
from ..ops.convolution import convolve_transposed, transposed_length
from ..ops.windows import pad_mode_of
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from . import checks
from .cell import Cell
from .cell_tree import operator

__all__ = ["Conv2d", "Conv2dTranspose", "Conv1d", "Conv1dTranspose", "Conv3d", "Conv3dTranspose"]


def _conv2d(cell: Any) -> Any:
    return ops.Conv2D(cell.out_channels, cell.kernel_size, 1, cell.pad_mode, cell.padding,
                      cell.stride, cell.dilation, cell.group, cell.data_format)


def _conv2d_transpose(cell: Any) -> Any:
    return ops.Conv2DTranspose(
        cell.in_channels, cell.kernel_size, pad_mode=cell.pad_mode, pad=cell.padding,
        stride=cell.stride, dilation=cell.dilation, group=cell.group)


def _conv3d_transpose(cell: Any) -> Any:
    return ops.Conv3DTranspose(
        cell.in_channels, cell.out_channels, cell.kernel_size, pad_mode=cell.pad_mode,
        pad=cell.padding, stride=cell.stride, dilation=cell.dilation, group=cell.group,
        output_padding=cell._extra)


class _Conv(Cell):
    """What the six layers share: checked arguments, weight and bias, printed form."""

    _transposed = False
    _kernel: Any = None  # PyTorch's, and the function around it that checks and pads
    _function: Any = None
    _operators = {"bias_add": lambda cell: ops.BiasAdd(cell.data_format),
                  "shape": operator("Shape")}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...],
                 stride: tuple[int, ...], pad_mode: str, padding: Any, dilation: tuple[int, ...],
                 group: int, has_bias: bool, weight_init: Any, bias_init: Any, data_format: str,
                 dtype: Any):
        super().__init__()
        name = type(self).__name__
        self.in_channels = checks.positive_int(in_channels, "in_channels", name)
        self.out_channels = checks.positive_int(out_channels, "out_channels", name)
        self.group = checks.positive_int(group, "group", name)
        if in_channels % group or out_channels % group:
            raise ValueError(f"For '{name}', 'in_channels' and 'out_channels' must be divisible by "
                             f"'group', but got in_channels={in_channels}, "
                             f"out_channels={out_channels} and group={group}.")
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.data_format = data_format
        self.has_bias = checks.boolean(has_bias, "has_bias", name)
        self._sides = _sides(padding, len(kernel_size), name)
        self.pad_mode = pad_mode_of(name, pad_mode, padding)
        self._pads = self._fixed_padding()
        first, second = out_channels, in_channels // group
        if self._transposed:
            first, second = in_channels, out_channels // group
        shape = [first, second, *kernel_size]
        if data_format == "NHWC":
            shape = [first, *kernel_size, second]
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.bias_init = bias_init
        self.bias = None
        if has_bias:
            if bias_init is None:
                fan_in, _ = _calculate_fan_in_and_fan_out(shape)
                self.bias_init = Uniform(1 / math.sqrt(fan_in))
            self.bias = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias")

    def _fixed_padding(self) -> tuple[int, ...] | None:
        """The padding at both ends where it is the same and does not depend on the input's size."""
        sides = self._sides
        if self.pad_mode == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            if set(self.stride) != {1}:
                return None
            sides = tuple((n // 2, n - n // 2) for n in whole)
        return tuple(a for a, _ in sides) if all(a == b for a, b in sides) else None

    def _convolve(self, x: Tensor) -> Tensor:
        """The convolution; by the kernel at once where `convolve` would only compute paddings."""
        raw, bias = x._raw, self.bias
        if self._pads is not None and raw.dim() == 2 + len(self.kernel_size):
            try:
                return wrap(self._kernel(
                    raw, self.weight._raw, None if bias is None else bias._raw, self.stride,
                    self._pads, self.dilation, self.group))
            except RuntimeError:
                pass  # the function below explains it
        return self._function(x, self.weight, bias, self.stride, self.pad_mode, self.padding,
                              self.dilation, self.group)

    def extend_repr(self) -> str:
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
                f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
                f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
                f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
                f"bias_init={self.bias_init}, format={self.data_format}")


def _as_image(layer: Conv1d | Conv1dTranspose, x: Tensor) -> Tensor:
    """A sequence (N, C, L) as an image with one row."""
    shape, name = x.shape, type(layer).__name__
    checks.rank(shape, (3,), name)
    if shape[1] != layer.in_channels:
        raise ValueError(f"For '{name}', {wrong_channels(shape, layer.in_channels)}")
    return x.unsqueeze(2)


def _sides(padding: Any, dims: int, name: str) -> tuple[tuple[int, int], ...]:
    """(before, after) for each dimension, from an int or a tuple with 2 ints a dimension."""
    if isinstance(padding, tuple):
        for item in padding:
            checks.int_at_least_0(item, "padding", name)
        if len(padding) != 2 * dims:
            raise ValueError(f"For '{name}', a tuple 'padding' must have {2 * dims} ints, "
                             f"but got {padding}.")
        return tuple(zip(padding[::2], padding[1::2], strict=True))
    checks.int_at_least_0(padding, "padding", name)
    return ((padding, padding),) * dims


def _one_dimensional(name: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> None:
    checks.positive_int(kernel_size, "kernel_size", name)
    checks.positive_int(stride, "stride", name)
    checks.int_at_least_0(padding, "padding", name)
    checks.positive_int(dilation, "dilation", name)


def _with_height(weight_init: Any, name: str) -> Any:
    """A Tensor given as the weight of a one-dimensional layer, with the height 1 added."""
    if not isinstance(weight_init, Tensor):
        return weight_init
    checks.rank(weight_init.shape, (3,), f"{name}' and its 'weight_init")
    return weight_init.expand_dims(2)


def _deconv_output_length(is_valid: bool, is_same: bool, is_pad: bool, input_length: int,
                          filter_size: int, stride_size: int, dilation_size: int,
                          padding: int) -> int:
    """`transposed_length` as MindSpore calls it, for layers that programs write themselves."""
    mode = "valid" if is_valid else "same" if is_same else "pad"
    return transposed_length(mode, input_length, filter_size, stride_size, dilation_size, padding)


def _channels_first(data_format: Any, allowed: tuple[str, ...], name: str) -> str:
    return one_of(data_format, allowed, "data_format", name)


class Conv2d(_Conv):
    """A two-dimensional convolution (cross-correlation, as usual in deep learning).

    Args:
        in_channels, out_channels: numbers of channels, divisible by `group`.
        kernel_size, stride, dilation: an int or (height, width).
        pad_mode: ``"same"`` (the output's size is the input's over the stride, rounded up),
            ``"valid"`` (no padding) or ``"pad"`` (`padding` zeros).
        padding: an int or (top, bottom, left, right); 0 unless `pad_mode` is ``"pad"``.
        group: into how many groups channels are split.
        has_bias: whether a bias is added.
        weight_init, bias_init: initializers; default ``HeUniform(sqrt(5))`` and
            ``Uniform(1 / sqrt(fan_in))``.
        data_format: ``"NCHW"``, or ``"NHWC"`` for channels last.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (N, in_channels, H, W).

    Outputs:
        Tensor (N, out_channels, H', W').

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or outside its range.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv2d(3, 8, 5, stride=2, has_bias=True)
        >>> net(ms.ops.ones((1, 3, 32, 31))).shape
        (1, 8, 16, 16)
    """

    _kernel = staticmethod(convolutions.conv2d)
    _function = staticmethod(ops.conv2d)
    _operators = {**_Conv._operators, "conv2d": _conv2d}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
                 data_format: str = "NCHW", dtype: Any = mstype.float32):
        name = type(self).__name__
        super().__init__(
            in_channels, out_channels, checks.sizes(kernel_size, 2, "kernel_size", name),
            checks.sizes(stride, 2, "stride", name), pad_mode, padding,
            checks.sizes(dilation, 2, "dilation", name), group, has_bias, weight_init, bias_init,
            _channels_first(data_format, ("NCHW", "NHWC"), name), dtype)

    def construct(self, x: Tensor) -> Tensor:
        if self.data_format == "NHWC":
            return self._channels_last(x)
        return self._convolve(x)

    def by_operators(self, x: Tensor) -> Tensor:
        """What `construct` gives, by the operators, some of which have strategies."""
        out = self.conv2d(x, self.weight)
        return self.bias_add(out, self.bias) if self.has_bias else out

    def _channels_last(self, x: Tensor) -> Tensor:
        out = ops.conv2d(x.permute(0, 3, 1, 2), self.weight.permute(0, 3, 1, 2), self.bias,
                         self.stride, self.pad_mode, self.padding, self.dilation, self.group)
        return out.permute(0, 2, 3, 1)


class Conv1d(_Conv):
    """A one-dimensional convolution.

    Its weight has shape (out_channels, in_channels / group, 1, kernel_size), as MindSpore's has.

    Args:
        kernel_size, stride, padding, dilation: ints.
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as
            those of `Conv2d`; a Tensor `weight_init` has no height.

    Inputs:
        - **x** - Tensor (N, in_channels, L).

    Outputs:
        Tensor (N, out_channels, L').

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv1d(120, 240, 4, has_bias=False, weight_init="normal")
        >>> net(ms.ops.ones((1, 120, 640))).shape
        (1, 240, 640)
    """

    _kernel = staticmethod(convolutions.conv2d)
    _function = staticmethod(ops.conv2d)

    _operators = {**_Conv._operators, "conv2d": _conv2d, "expand_dims": operator("ExpandDims"),
                  "squeeze": operator("Squeeze", 2)}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
                 pad_mode: str = "same", padding: int = 0, dilation: int = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
                 dtype: Any = mstype.float32):
        name = type(self).__name__
        _one_dimensional(name, kernel_size, stride, padding, dilation)
        super().__init__(
            in_channels, out_channels, (1, kernel_size), (1, stride), pad_mode,
            (0, 0, padding, padding), (1, dilation), group, has_bias,
            _with_height(weight_init, name), bias_init, "NCHW", dtype)

    def construct(self, x: Tensor) -> Tensor:
        return self._convolve(_as_image(self, x)).squeeze(2)


class Conv3d(_Conv):
    """A three-dimensional convolution.

    Args:
        kernel_size, stride, dilation: an int or (depth, height, width).
        padding: an int or (head, tail, top, bottom, left, right); 0 unless `pad_mode` is
            ``"pad"``.
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as
            those of `Conv2d`.
        data_format: ``"NCDHW"``.

    Inputs:
        - **x** - Tensor (N, in_channels, D, H, W).

    Outputs:
        Tensor (N, out_channels, D', H', W').

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Conv3d(3, 4, (4, 3, 3))(ms.ops.ones((2, 3, 10, 8, 8))).shape
        (2, 4, 10, 8, 8)
    """

    _kernel = staticmethod(convolutions.conv3d)
    _function = staticmethod(ops.conv3d)

    _operators = {**_Conv._operators, "conv3d": lambda cell: ops.Conv3D(
        cell.out_channels, cell.kernel_size, 1, cell.pad_mode, cell.padding, cell.stride,
        cell.dilation, cell.group)}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
                 data_format: str = "NCDHW", dtype: Any = mstype.float32):
        name = type(self).__name__
        super().__init__(
            in_channels, out_channels, checks.sizes(kernel_size, 3, "kernel_size", name),
            checks.sizes(stride, 3, "stride", name), pad_mode, padding,
            checks.sizes(dilation, 3, "dilation", name), group, has_bias, weight_init, bias_init,
            _channels_first(data_format, ("NCDHW",), name), dtype)

    def construct(self, x: Tensor) -> Tensor:
        return self._convolve(x)


class _ConvTranspose(_Conv):
    """The transposed layers: their output's size follows from a rule for each `pad_mode`."""

    _transposed = True

    def construct(self, x: Tensor) -> Tensor:
        checks.rank(x.shape, (2 + len(self.kernel_size),), type(self).__name__)
        return self._transpose(x)

    def _transpose(self, x: Tensor, lengths: list[int] | None = None) -> Tensor:
        return convolve_transposed(
            type(self).__name__, x, self.weight, self.bias, self.stride, self.pad_mode,
            self.padding, self.dilation, self.group, lengths)

    def _set_extra(self, output_padding: Any) -> None:
        """Check `output_padding` and keep it as one int a dimension."""
        name = type(self).__name__
        self._extra = checks.sizes(output_padding, len(self.kernel_size), "output_padding", name, 0)
        for extra, stride, dilation in zip(self._extra, self.stride, self.dilation, strict=True):
            if extra and extra >= max(stride, dilation):
                raise ValueError(f"For '{name}', 'output_padding' must be below the larger of "
                                 f"'stride' and 'dilation', but got {output_padding}, "
                                 f"{self.stride} and {self.dilation}.")
        if any(self._extra) and self.pad_mode != "pad":
            raise ValueError(f"For '{name}', 'output_padding' must be 0 unless 'pad_mode' is "
                             f"'pad', but got {output_padding} and {self.pad_mode!r}.")


class Conv2dTranspose(_ConvTranspose):
    """The transpose (gradient with respect to the input) of a two-dimensional convolution.

    Args:
        in_channels, out_channels, kernel_size, stride, dilation, group, has_bias, weight_init,
            bias_init, dtype: as those of `Conv2d`.
        pad_mode: ``"same"`` (the output's size is the input's times the stride), ``"valid"``, or
            ``"pad"`` (`padding` lines are cut off).
        padding: an int or (top, bottom, left, right).
        output_padding: an int or (height, width): zeros added at the end; with ``"pad"`` only.

    Inputs:
        - **x** - Tensor (N, in_channels, H, W).

    Outputs:
        Tensor (N, out_channels, H', W').

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv2dTranspose(3, 64, 4, has_bias=False, pad_mode="pad")
        >>> net(ms.ops.ones((1, 3, 16, 50))).shape
        (1, 64, 19, 53)
    """

    _operators = {**_Conv._operators, "conv2d_transpose": _conv2d_transpose}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 pad_mode: str = "same", padding: Any = 0, output_padding: Any = 0,
                 dilation: Any = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Any = None, bias_init: Any = None, dtype: Any = mstype.float32):
        name = type(self).__name__
        super().__init__(
            in_channels, out_channels, checks.sizes(kernel_size, 2, "kernel_size", name),
            checks.sizes(stride, 2, "stride", name), pad_mode, padding,
            checks.sizes(dilation, 2, "dilation", name), group, has_bias, weight_init, bias_init,
            "NCHW", dtype)
        self.output_padding = output_padding
        self._set_extra(output_padding)

    def construct(self, x: Tensor) -> Tensor:
        out = super().construct(x)
        height, width = self._extra
        # MindSpore appends zeros here, where its three-dimensional layer goes on computing
        return ops.pad(out, (0, width, 0, height)) if height or width else out


class Conv1dTranspose(_ConvTranspose):
    """The transpose of a one-dimensional convolution.

    Its weight has shape (in_channels, out_channels / group, 1, kernel_size), as MindSpore's has.

    Args:
        kernel_size, stride, padding, dilation: ints.
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as
            those of `Conv2dTranspose`.

    Inputs:
        - **x** - Tensor (N, in_channels, L).

    Outputs:
        Tensor (N, out_channels, L').

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv1dTranspose(3, 64, 4, has_bias=False, pad_mode="pad")
        >>> net(ms.ops.ones((1, 3, 50))).shape
        (1, 64, 53)
    """

    _operators = {**_Conv._operators, "conv2d_transpose": _conv2d_transpose,
                  "expand_dims": operator("ExpandDims"), "squeeze": operator("Squeeze", 2)}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
                 pad_mode: str = "same", padding: int = 0, dilation: int = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
                 dtype: Any = mstype.float32):
        name = type(self).__name__
        _one_dimensional(name, kernel_size, stride, padding, dilation)
        super().__init__(
            in_channels, out_channels, (1, kernel_size), (1, stride), pad_mode,
            (0, 0, padding, padding), (1, dilation), group, has_bias,
            _with_height(weight_init, name), bias_init, "NCHW", dtype)
        self._set_extra(0)

    def construct(self, x: Tensor) -> Tensor:
        return self._transpose(_as_image(self, x)).squeeze(2)


class Conv3dTranspose(_ConvTranspose):
    """The transpose of a three-dimensional convolution.

    Args:
        kernel_size, stride, dilation: an int or (depth, height, width).
        padding: an int or (head, tail, top, bottom, left, right).
        output_padding: an int or (depth, height, width): zeros added at the end.
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as
            those of `Conv2dTranspose`.
        data_format: ``"NCDHW"``.

    Inputs:
        - **x** - Tensor (N, in_channels, D, H, W).

    Outputs:
        Tensor (N, out_channels, D', H', W').

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Conv3dTranspose(16, 3, (4, 6, 2), pad_mode="pad")
        >>> net(ms.ops.ones((2, 16, 3, 2, 4))).shape
        (2, 3, 6, 7, 5)
    """

    _operators = {**_Conv._operators, "conv3d_transpose": _conv3d_transpose}

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
                 output_padding: Any = 0, has_bias: bool = False, weight_init: Any = None,
                 bias_init: Any = None, data_format: str = "NCDHW", dtype: Any = mstype.float32):
        name = type(self).__name__
        super().__init__(
            in_channels, out_channels, checks.sizes(kernel_size, 3, "kernel_size", name),
            checks.sizes(stride, 3, "stride", name), pad_mode, padding,
            checks.sizes(dilation, 3, "dilation", name), group, has_bias, weight_init, bias_init,
            _channels_first(data_format, ("NCDHW",), name), dtype)
        self.output_padding = checks.sizes(output_padding, 3, "output_padding", name, 0)
        self._set_extra(output_padding)

    def construct(self, x: Tensor) -> Tensor:
        checks.rank(x.shape, (5,), type(self).__name__)
        lengths = [transposed_length(self.pad_mode, n, k, s, d, sum(p)) + extra
                   for n, k, s, d, p, extra in zip(x.shape[2:], self.kernel_size, self.stride,
                                                   self.dilation, self._sides, self._extra,
                                                   strict=True)]
        return self._transpose(x, lengths)
