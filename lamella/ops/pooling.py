"""Pooling: the maximum, mean or norm over sliding windows, and the maximum's inverse."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..machine import planes
from ..tensors.tensor import Tensor, wrap
from .arguments import raw_of
from .operands import floating
from .windows import (
    Pairs,
    each,
    given_padding,
    number_is_open,
    symmetric,
    taken_apart,
    window_padding,
)

__all__ = [
    "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]


def _avg_pool3d(raw: torch.Tensor, *options: Any) -> torch.Tensor:
    """The kernel, which PyTorch lacks for half precision on the CPU."""
    if raw.dtype is torch.float16 and raw.device.type == "cpu":
        return F.avg_pool3d(raw.float(), *options).to(raw.dtype)
    return F.avg_pool3d(raw, *options)


def _max_pool1d(raw: torch.Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any,
                ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The kernel, which takes integers only if it gives the indices, too."""
    options = (raw, kernel, stride, padding, dilation, ceil_mode)
    if return_indices:
        return F.max_pool1d(*options, True)
    return F.max_pool1d(*options) if raw.is_floating_point() else F.max_pool1d(*options, True)[0]


_MAX = {1: _max_pool1d, 2: planes.max_pool2d, 3: F.max_pool3d}
_AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: _avg_pool3d}


def _reached(pairs: Pairs, lengths: Any, kernel: Any, stride: Any) -> list[int] | None:
    """The symmetric padding that, with rounding up, gives the windows of an asymmetric one.

    A last window may hang over the end without any padding there, which the mean doesn't count and
    the maximum doesn't see; None if that gives other windows.
    """
    for (a, b), n, k, s in zip(pairs, lengths, kernel, stride, strict=True):
        want = (n + a + b - k) // s + 1
        got = -(-(n + 2 * a - k) // s) + 1
        got -= (got - 1) * s >= n + a
        if a > b or a > k // 2 or want != got:
            return None
    return [a for a, _ in pairs]


def _windows(name: str, input: Tensor, kernel_size: Any, stride: Any
             ) -> tuple[torch.Tensor, int, tuple[int, ...], tuple[int, ...]]:
    """The raw input, its spatial rank, and the windows' sizes and strides along each dimension."""
    raw = raw_of(input, name)
    rank = raw.dim() - 2
    if rank not in _MAX:
        raise ValueError(f"For '{name}', the input must have a rank from 3 to 5, "
                         f"but got shape {input.shape}.")
    kernel = each(name, "kernel_size", kernel_size, rank)
    stride = kernel if stride is None else each(name, "stride", stride, rank)
    return raw, rank, kernel, stride


def max_over_windows(name: str, input: Tensor, kernel_size: Any, stride: Any, pad_mode: str,
                     padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
                     return_indices: bool = False) -> Any:
    """The maximum over windows with a pad mode; padding never wins. The rank is that of `input`.

    Returns:
        The maxima, or with `return_indices` a pair with their indices in the flattened input plane.
    """
    raw, rank, kernel, stride = _windows(name, input, kernel_size, stride)
    gaps = each(name, "dilation", dilation, rank)
    pairs = window_padding(name, pad_mode, padding, raw.shape[2:], kernel, stride, gaps)
    if number_is_open() and not ceil_mode and not return_indices:
        return wrap(functools.reduce(_larger, taken_apart(
            raw, kernel, stride, pairs, gaps, _lowest(raw))))
    if any(a != b for a, b in pairs):
        pads = None if return_indices else _reached(pairs, raw.shape[2:], kernel, stride)
        if pads is not None and not any(d > 1 for d in gaps):
            return wrap(_MAX[rank](raw, kernel, stride, pads, gaps, True))  # type: ignore
        raw, pads = symmetric(raw, pairs, _lowest(raw))
    else:
        pads = [a for a, _ in pairs]
    out = _MAX[rank](raw, kernel, stride, pads, gaps, ceil_mode, return_indices)
    if return_indices:
        return wrap(out[0]), wrap(out[1])
    return wrap(out)  # type: ignore


def _lowest(raw: torch.Tensor) -> float:
    return -torch.inf if raw.is_floating_point() else torch.iinfo(raw.dtype).min


def _larger(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The larger of two, and of equal ones the first, as in PyTorch's kernel: it has the gradient.
    """
    return torch.where((b > a) | (b != b), b, a)


def mean_over_windows(name: str, input: Tensor, kernel_size: Any, stride: Any, pad_mode: str,
                      padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                      divisor_override: int | None = None) -> Tensor:
    """The mean over windows with a pad mode. The rank is that of `input`."""
    raw, rank, kernel, stride = _windows(name, input, kernel_size, stride)
    pairs = window_padding(name, pad_mode, padding, raw.shape[2:], kernel, stride, (1,) * rank)
    pads: list[int] | None = [a for a, _ in pairs]
    if number_is_open() and not ceil_mode and not divisor_override and (
            count_include_pad or not any(map(any, pairs))):
        return wrap(torch.stack(taken_apart(raw, kernel, stride, pairs, (1,) * rank)).mean(0))
    if any(a != b for a, b in pairs):
        pads = None if count_include_pad else _reached(pairs, raw.shape[2:], kernel, stride)
        ceil_mode = ceil_mode or pads is not None
    if pads is None:
        return _mean_of_padded(raw, pairs, rank, kernel, stride, ceil_mode, count_include_pad,
                               divisor_override)
    if rank == 1:
        return wrap(F.avg_pool1d(raw, kernel, stride, pads, ceil_mode, count_include_pad))
    return wrap(_AVG[rank](raw, kernel, stride, pads, ceil_mode, count_include_pad,
                           divisor_override or None))


def _mean_of_padded(raw: torch.Tensor, pairs: Pairs, rank: int, kernel: Any, stride: Any,
                    ceil_mode: bool, count_include_pad: bool, divisor: int | None) -> Tensor:
    padded, _ = symmetric(raw, pairs)
    extra = () if rank == 1 else (divisor or None,)
    mean = _AVG[rank](padded, kernel, stride, 0, ceil_mode, True, *extra)
    if count_include_pad or divisor:
        return wrap(mean)
    ones, _ = symmetric(torch.ones_like(raw[:1, :1]), pairs)
    return wrap(mean / _AVG[rank](ones, kernel, stride, 0, ceil_mode, True))


def _check_pool(name: str, input: Tensor, rank: int) -> None:
    if input._raw.dim() != rank + 2:
        raise ValueError(f"For '{name}', the input must have rank {rank + 2}, "
                         f"but got shape {input.shape}.")


@op
def max_pool2d(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> Any:
    """The maximum over windows of images; equal ones count as the first in the gradient.

    Args:
        x: shape (N, C, H, W).
        kernel_size: of the windows, an int or (H, W).
        stride: default: `kernel_size`.
        padding: at both ends, at most half of `kernel_size`; it never wins.
        dilation: the distance of a window's elements.
        return_indices: also give the index of each maximum in its flattened plane, as int64.
        ceil_mode: let the last window hang over the end.

    Returns:
        Tensor of shape (N, C, H_out, W_out), or a pair of such.

    Raises:
        ValueError: if the rank or a size doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[1.0, 2.0], [4.0, 3.0]]]])
        >>> print(ms.ops.max_pool2d(x, 2))
        [[[[4.]]]]
    """
    _check_pool("max_pool2d", x, 2)
    return max_over_windows("max_pool2d", x, kernel_size, stride, "pad", padding, dilation,
                            ceil_mode, return_indices)


@op
def max_pool3d(x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """`max_pool2d` for volumes of shape (N, C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 2, 4, 6, 8))
        >>> ms.ops.max_pool3d(x, 2).shape
        (1, 2, 2, 3, 4)
    """
    _check_pool("max_pool3d", x, 3)
    return max_over_windows("max_pool3d", x, kernel_size, stride, "pad", padding, dilation,
                            ceil_mode, return_indices)


@op
def avg_pool1d(input_x: Tensor, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """`avg_pool2d` for sequences of shape (N, C, L).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.avg_pool1d(ms.Tensor([[[1.0, 3.0, 5.0]]]), 2))
        [[[2. 4.]]]
    """
    _check_pool("avg_pool1d", input_x, 1)
    return mean_over_windows("avg_pool1d", input_x, kernel_size, stride, "pad", padding, ceil_mode,
                             count_include_pad)


@op
def avg_pool2d(input_x: Tensor, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int = 0) -> Tensor:
    """The mean over windows of images.

    Args:
        input_x: shape (N, C, H, W).
        kernel_size: of the windows, an int or (H, W).
        stride: an int or (H, W); default 1.
        padding: an int, (H, W) or (top, bottom, left, right).
        ceil_mode: let the last window hang over the end.
        count_include_pad: count padded zeros as elements.
        divisor_override: divide by this instead of the number of elements; 0: no.

    Returns:
        Tensor of shape (N, C, H_out, W_out).

    Raises:
        ValueError: if the rank or a size doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[1.0, 2.0], [4.0, 5.0]]]])
        >>> print(ms.ops.avg_pool2d(x, 2))
        [[[[3.]]]]
    """
    _check_pool("avg_pool2d", input_x, 2)
    return mean_over_windows("avg_pool2d", input_x, kernel_size, stride, "pad", padding, ceil_mode,
                             count_include_pad, divisor_override)


@op
def avg_pool3d(input_x: Tensor, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int = 0) -> Tensor:
    """`avg_pool2d` for volumes of shape (N, C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.ops.avg_pool3d(ms.ops.ones((1, 2, 4, 6, 8)), 2, 2).shape
        (1, 2, 2, 3, 4)
    """
    _check_pool("avg_pool3d", input_x, 3)
    return mean_over_windows("avg_pool3d", input_x, kernel_size, stride, "pad", padding, ceil_mode,
                             count_include_pad, divisor_override)


def _norm_over_windows(name: str, x: Tensor, rank: int, norm_type: Any, kernel_size: Any,
                       stride: Any, ceil_mode: bool) -> Tensor:
    if not isinstance(norm_type, (int, float)):
        raise TypeError(f"For '{name}', the type of 'norm_type' must be float or int, "
                        f"but got {type(norm_type).__name__}.")
    if norm_type == 0:
        raise ValueError(f"For '{name}', 'norm_type' must not be 0.")
    kernel = each(name, "kernel_size", kernel_size, rank)
    squeezed = x._raw.dim() == 2 and rank == 1
    if not squeezed:
        _check_pool(name, x, rank)
    raw = x._raw.unsqueeze(0) if squeezed else x._raw
    count = 1
    for k in kernel:
        count *= k
    mean = mean_over_windows(name, wrap(floating(raw).pow(norm_type)), kernel,
                             kernel if stride is None else stride, "pad", 0, ceil_mode)._raw
    out = (mean * count).pow(1.0 / norm_type)
    return wrap(out.squeeze(0) if squeezed else out)


@op
def lp_pool1d(x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:
    """`lp_pool2d` for sequences of shape (N, C, L) or (C, L).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lp_pool1d(ms.Tensor([[[3.0, 4.0]]]), 2, 2))
        [[[5.]]]
    """
    return _norm_over_windows("lp_pool1d", x, 1, norm_type, kernel_size, stride, ceil_mode)


@op
def lp_pool2d(x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-th root of the sum of powers over windows of images.

    Args:
        x: shape (N, C, H, W).
        norm_type: the power, not 0.
        kernel_size: of the windows, an int or (H, W).
        stride: default: `kernel_size`.
        ceil_mode: let the last window hang over the end.

    Returns:
        Tensor of shape (N, C, H_out, W_out).

    Raises:
        TypeError: if `norm_type` is no number.
        ValueError: if `norm_type` is 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lp_pool2d(ms.Tensor([[[[3.0, 4.0]]]]), 2, (1, 2)))
        [[[[5.]]]]
    """
    return _norm_over_windows("lp_pool2d", x, 2, norm_type, kernel_size, stride, ceil_mode)


def _max_unpool(name: str, x: Tensor, indices: Tensor, rank: int, kernel_size: Any, stride: Any,
                padding: Any, output_size: Any) -> Tensor:
    kernel = each(name, "kernel_size", kernel_size, rank)
    steps = kernel if not stride else each(name, "stride", stride, rank)
    pads = [a for a, _ in given_padding(name, padding, rank)]
    raw, positions = x._raw, indices._raw.to(torch.int64)
    if raw.shape != positions.shape:
        raise ValueError(f"For '{name}', 'x' and 'indices' must have one shape, but got {x.shape} "
                         f"and {indices.shape}.")
    lengths = [(n - 1) * s - 2 * p + k for n, s, p, k in
               zip(raw.shape[-rank:], steps, pads, kernel, strict=True)]
    if output_size:
        lengths = list(output_size)[-rank:]
    total = 1
    for n in lengths:
        total *= n
    flat = raw.new_zeros((*raw.shape[:-rank], total))
    out = flat.scatter(-1, positions.flatten(-rank), raw.flatten(-rank))
    return wrap(out.view(*raw.shape[:-rank], *lengths))


@op
def max_unpool1d(x: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None,
                 padding: Any = 0, output_size: Any = None) -> Tensor:
    """`max_unpool2d` for sequences of shape (N, C, L) or (C, L).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.max_unpool1d(ms.Tensor([[[2.0, 4.0]]]), ms.Tensor([[[1, 3]]]), 2))
        [[[0. 2. 0. 4.]]]
    """
    return _max_unpool("max_unpool1d", x, indices, 1, kernel_size, stride, padding, output_size)


@op
def max_unpool2d(x: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None,
                 padding: Any = 0, output_size: Any = None) -> Tensor:
    """Put maxima back to where `max_pool2d` found them, zeros elsewhere.

    Args:
        x: maxima, shape (N, C, H, W) or (C, H, W).
        indices: their indices in the flattened planes, of the shape of `x`.
        kernel_size, stride, padding: of the pooling.
        output_size: the output's shape where these don't determine it.

    Returns:
        Tensor of shape (N, C, H_out, W_out) or (C, H_out, W_out).

    Raises:
        ValueError: if the shapes of `x` and `indices` differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.max_unpool2d(ms.Tensor([[[[4.0]]]]), ms.Tensor([[[[2]]]]), 2))
        [[[[0. 0.]
           [4. 0.]]]]
    """
    return _max_unpool("max_unpool2d", x, indices, 2, kernel_size, stride, padding, output_size)


@op
def max_unpool3d(x: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None,
                 padding: Any = 0, output_size: Any = None) -> Tensor:
    """`max_unpool2d` for volumes of shape (N, C, D, H, W) or (C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> x, i = ms.ops.max_pool3d(ms.ops.ones((1, 1, 2, 2, 2)), 2, return_indices=True)
        >>> print(ms.ops.max_unpool3d(x, i, 2).sum())
        1.0
    """
    return _max_unpool("max_unpool3d", x, indices, 3, kernel_size, stride, padding, output_size)
