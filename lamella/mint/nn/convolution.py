"""Convolutions of `mint.nn`: `padding` needs no pad mode, and there is a bias by default."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...common.initializer import HeUniform, Uniform, _calculate_fan_in_and_fan_out, initializer
from ...core import dtype as mstype
from ...core.require import one_of
from ...nn import Cell, checks
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from . import functional as F

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Cell):
    """What the four share."""

    _rank = 0
    _transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        self.in_channels = checks.positive_int(in_channels, "in_channels", name)
        self.out_channels = checks.positive_int(out_channels, "out_channels", name)
        self.groups = checks.positive_int(groups, "groups", name)
        for channels, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if value % groups:
                raise ValueError(f"For '{name}', '{channels}' must be divisible by 'groups', "
                                 f"but got {value} and {groups}.")
        self.kernel_size = checks.sizes(kernel_size, self._rank, "kernel_size", name)
        self.stride = checks.sizes(stride, self._rank, "stride", name)
        self.dilation = checks.sizes(dilation, self._rank, "dilation", name)
        self.padding = self._checked_padding(padding, name)
        self.padding_mode = one_of(padding_mode, _PADDING_MODES, "padding_mode", name)
        self._reversed_padding = self._edges()  # subclasses of programs use these three
        self.transposed = self._transposed
        self.output_padding: Any = (0,) * self._rank
        first, second = out_channels, in_channels // groups
        if self._transposed:
            first, second = in_channels, out_channels // groups
        shape = [first, second, *self.kernel_size]
        dtype = mstype.float32 if dtype is None else dtype
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)), shape, dtype), name="weight")
        self.bias = None
        if checks.boolean(bias, "bias", name):
            bound = Uniform(1 / math.sqrt(_calculate_fan_in_and_fan_out(shape)[0]))
            self.bias = Parameter(initializer(bound, [out_channels], dtype), name="bias")

    def _checked_padding(self, padding: Any, name: str) -> Any:
        if not isinstance(padding, str):
            sizes = padding if isinstance(padding, (tuple, list)) else (padding,) * self._rank
            if len(sizes) != self._rank or not all(isinstance(n, int) and n >= 0 for n in sizes):
                raise ValueError(f"For '{name}', 'padding' must be an int of 0 or more or "
                                 f"{self._rank} such, but got {padding!r}.")
            return tuple(sizes)
        one_of(padding, ("same", "valid"), "padding", name)
        if padding == "same" and set(self.stride) != {1}:
            raise ValueError(f"For '{name}', the stride must be 1 with 'padding' 'same', "
                             f"but got {self.stride}.")
        return padding

    def _edges(self) -> tuple[int, ...]:
        """(before, after) of each dimension, the last one first, as `functional.pad` takes it."""
        edges: list[int] = []
        for i in reversed(range(self._rank)):
            if isinstance(self.padding, str):
                whole = self.dilation[i] * (self.kernel_size[i] - 1) * (self.padding == "same")
                edges += [whole // 2, whole - whole // 2]
            else:
                edges += [self.padding[i]] * 2
        return tuple(edges)

    def construct(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding, self.padding_mode), 0
        convolve = getattr(self, f"conv{self._rank}d")
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation,
                        self.groups)

    def extend_repr(self) -> str:
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
                f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}")


class Conv1d(_Conv):
    """A convolution over sequences (N, C, L) or (C, L). Arguments as for `Conv2d`.

    Examples:
        >>> import lamella as ms
        >>> ms.mint.nn.Conv1d(3, 8, 3, padding=1)(ms.ops.ones((2, 3, 10))).shape
        (2, 8, 10)
    """

    _rank = 1
    conv1d = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """A convolution over images (N, C, H, W) or (C, H, W).

    Args:
        in_channels, out_channels: numbers of channels, divisible by `groups`.
        kernel_size, stride, dilation: an int, or one for each dimension.
        padding: the same, or ``"valid"``, or ``"same"`` for an output as long as the input.
        groups: into how many parts the channels are split.
        bias: whether a bias is added.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        dtype: type of the parameters; default float32.

    Raises:
        ValueError: if the channels don't fit `groups`, or an argument is none of those above.

    Examples:
        >>> from lamella import mint
        >>> mint.nn.Conv2d(3, 8, 3, padding=1, bias=False)(mint.ones((2, 3, 16, 16))).shape
        (2, 8, 16, 16)
    """

    _rank = 2
    conv2d = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """A convolution over volumes (N, C, D, H, W) or (C, D, H, W). Arguments as for `Conv2d`.

    Examples:
        >>> import lamella as ms
        >>> ms.mint.nn.Conv3d(3, 8, 3)(ms.ops.ones((2, 3, 5, 5, 5))).shape
        (2, 8, 3, 3, 3)
    """

    _rank = 3
    conv3d = staticmethod(F.conv3d)


class ConvTranspose2d(_Conv):
    """The transpose of a `Conv2d`: the gradient with respect to its input.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, groups, bias, dilation, dtype: as
            those of `Conv2d`; `padding` only as ints.
        output_padding: how much longer the output is at its ends.
        padding_mode: ``"zeros"``.

    Examples:
        >>> from lamella import mint
        >>> net = mint.nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
        >>> net(mint.ones((1, 3, 5, 5))).shape
        (1, 4, 10, 10)
    """

    _rank = 2
    _transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
                 dilation: Any = 1, padding_mode: str = "zeros", dtype: Any = None):
        name = type(self).__name__
        if isinstance(padding, str) or padding_mode != "zeros":
            raise ValueError(f"For '{name}', 'padding' must be ints and 'padding_mode' 'zeros', "
                             f"but got {padding!r} and {padding_mode!r}.")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, dtype)
        self.output_padding = output_padding

    def construct(self, input: Tensor, output_size: Any = None) -> Tensor:  # type: ignore[override]
        extra = self.output_padding if output_size is None else self._missing(input, output_size)
        return ops.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding,
                                    extra, self.groups, self.dilation)

    def _missing(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives an output of this size."""
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in
                 zip(input.shape[-2:], self.stride, self.padding, self.dilation, self.kernel_size,
                     strict=True)]
        extra = tuple(n - m for n, m in zip(output_size[-2:], least, strict=True))
        if not all(0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            raise ValueError(f"For 'ConvTranspose2d', 'output_size' must lie in {least} up to "
                             f"{[m + s - 1 for m, s in zip(least, self.stride, strict=True)]}, "
                             f"but got {output_size}.")
        return extra
