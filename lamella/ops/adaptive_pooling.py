"""Pooling whose windows follow from the output's size: adaptive and fractional."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ..core import context
from ..core.dtype import is_inexact
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .windows import each

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d",
]


def _output_size(name: str, raw: torch.Tensor, output_size: Any, rank: int) -> Any:
    if isinstance(output_size, int):
        output_size = (output_size,) * rank
    if not isinstance(output_size, (tuple, list)) or not all(
            want is None or isinstance(want, int) for want in output_size):
        raise TypeError(f"For '{name}', 'output_size' must be an int or hold ints and None, "
                        f"but got {output_size!r}.")
    if len(output_size) != rank:
        raise ValueError(f"For '{name}', 'output_size' must be an int or have {rank} entries, "
                         f"but got {output_size!r}.")
    sizes = tuple(n if want is None else want
                  for want, n in zip(output_size, raw.shape[-rank:], strict=True))
    if any(n < 1 for n in sizes):
        raise ValueError(f"For '{name}', 'output_size' must hold positive ints or None, "
                         f"but got {output_size}.")
    return sizes


@op
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` for sequences of shape (N, C, L).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.adaptive_avg_pool1d(ms.Tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2))
        [[[2. 6.]]]
    """
    return wrap(F.adaptive_avg_pool1d(
        input._raw, _output_size("adaptive_avg_pool1d", input._raw, output_size, 1)))


@op
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over as many even windows as the output has elements.

    Args:
        input: shape (N, C, H, W) or (C, H, W).
        output_size: an int or (H_out, W_out); None keeps a length.

    Returns:
        Tensor of shape (N, C, H_out, W_out) or (C, H_out, W_out).

    Raises:
        ValueError: if `output_size` has a wrong length or entry.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
        >>> print(ms.ops.adaptive_avg_pool2d(x, (None, 1)))
        [[[[2.]
           [5.]]]]
    """
    return wrap(F.adaptive_avg_pool2d(
        input._raw, _output_size("adaptive_avg_pool2d", input._raw, output_size, 2)))


@op
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` for volumes of shape (N, C, D, H, W) or (C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.ops.adaptive_avg_pool3d(ms.ops.ones((2, 3, 4, 4, 4)), (None, 2, 1)).shape
        (2, 3, 4, 2, 1)
    """
    raw = input._raw
    sizes = _output_size("adaptive_avg_pool3d", raw, output_size, 3)
    return wrap(F.adaptive_avg_pool3d(_kernel_type(raw), sizes).to(raw.dtype))


def _kernel_type(raw: torch.Tensor) -> torch.Tensor:
    """Integers as float64: PyTorch pools no other integers in volumes or at random positions."""
    return raw if is_inexact(raw.dtype) else raw.double()


def _adaptive_max(name: str, input: Tensor, output_size: Any, rank: int,
                  return_indices: bool) -> Any:
    kernel = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[rank - 1]
    sizes = _output_size(name, input._raw, output_size, rank)
    raw = _kernel_type(input._raw) if rank == 3 else input._raw
    if not return_indices:
        return wrap(kernel(raw, sizes).to(input._raw.dtype))
    out, indices = kernel(raw, sizes, True)
    # MindSpore gives int32 in three dimensions
    return wrap(out.to(input._raw.dtype)), wrap(indices.to(torch.int32) if rank == 3 else indices)


@op
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_max_pool2d` for sequences of shape (N, C, L).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.adaptive_max_pool1d(ms.Tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2))
        [[[3. 7.]]]
    """
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, False)


@op
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over as many even windows as the output has elements.

    Args:
        input: shape (N, C, H, W) or (C, H, W).
        output_size: an int or (H_out, W_out); None keeps a length.
        return_indices: also give the index of each maximum in its flattened plane, as int64.

    Returns:
        Tensor of shape (N, C, H_out, W_out), or a pair of such.

    Raises:
        ValueError: if `output_size` has a wrong length or entry.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
        >>> print(ms.ops.adaptive_max_pool2d(x, (None, 1)))
        [[[[3.]
           [6.]]]]
    """
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


@op
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` for volumes of shape (N, C, D, H, W) or (C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.ops.adaptive_max_pool3d(ms.ops.ones((2, 3, 4, 4, 4)), (None, 2, 1)).shape
        (2, 3, 4, 2, 1)
    """
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


def _fractional(name: str, input: Tensor, rank: int, kernel_size: Any, output_size: Any,
                output_ratio: Any, return_indices: bool, samples: Tensor | None) -> Any:
    kernel = each(name, "kernel_size", kernel_size, rank)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"For '{name}', exactly one of 'output_size' and 'output_ratio' must be "
                         f"given, but got {output_size} and {output_ratio}.")
    size = None if output_size is None else each(name, "output_size", output_size, rank)
    ratio = (output_ratio,) * rank if isinstance(output_ratio, float) else output_ratio
    raw = _kernel_type(input._raw)
    # the positions are steps of the samples: their derivative is 0
    raw_samples = None if samples is None else samples._raw.detach().to(raw.dtype)
    pool = F.fractional_max_pool2d if rank == 2 else F.fractional_max_pool3d
    out, indices = pool(raw, kernel, size, ratio, True, raw_samples)  # type: ignore
    out = out.to(input._raw.dtype)
    return (wrap(out), wrap(indices)) if return_indices else wrap(out)


@op
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None,
                          output_ratio: Any = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:
    """Maxima over windows at random, evenly spread positions (Graham, 2014).

    Args:
        input: shape (N, C, H, W) or (C, H, W).
        kernel_size: of the windows, an int or (H, W).
        output_size: an int or (H_out, W_out); or else
        output_ratio: the output's size as a share of the input's, a float or two.
        return_indices: also give the index of each maximum in its flattened plane, as int64.
        _random_samples: shape (N, C, 2), within 0 and 1, instead of random numbers.

    Returns:
        Tensor, or a pair of such.

    Raises:
        ValueError: if not exactly one of `output_size` and `output_ratio` is given.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.fractional_max_pool2d(ms.ops.ones((1, 2, 8, 8)), 2, output_size=5).shape
        (1, 2, 5, 5)
    """
    return _fractional("fractional_max_pool2d", input, 2, kernel_size, output_size, output_ratio,
                       return_indices, _random_samples)


@op
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None,
                          output_ratio: Any = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:
    """`fractional_max_pool2d` for volumes of shape (N, C, D, H, W) or (C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.ops.fractional_max_pool3d(ms.ops.ones((1, 2, 8, 8, 8)), 2, output_size=5).shape
        (1, 2, 5, 5, 5)
    """
    return _fractional("fractional_max_pool3d", input, 3, kernel_size, output_size, output_ratio,
                       return_indices, _random_samples)


def pooling_sequence(length: int, count: int, pseudo_random: bool,
                     generator: torch.Generator | None) -> torch.Tensor:
    """Where `count` cells of nearly one size begin, and the last one ends (Graham, 2014)."""
    place = context.current_device() if generator is None else generator.device
    ratio, least = length / count, length // count
    if pseudo_random and length % count:
        most = min((least + 2) / ratio - 1, (length + 1 - least) / ratio - (count - 1))
        shift = torch.rand((), generator=generator, dtype=torch.float64, device=place) * most
        begins = torch.arange(count + 1, dtype=torch.float64, device=place)
        inner = (ratio * (begins + shift)).ceil().long() - 1
        inner[0], inner[-1] = 0, length
        return inner
    longer = torch.randperm(count, generator=generator, device=place) < length % count
    return F.pad((least + longer.long()).cumsum(0), (1, 0))


@op
def fractional_pool(x: Tensor, rows: torch.Tensor, columns: torch.Tensor, mean: bool,
                    overlapping: bool) -> Tensor:
    """The maximum or the mean over cells of images.

    Args:
        x: shape (N, H, W, C).
        rows, columns: where the cells begin, and the last one ends.
        mean: the mean, or else the maximum.
        overlapping: whether a cell has the first row and column of the next one, too.
    """
    raw = x._raw
    down, down_in = _cells(rows.to(raw.device), raw.shape[1], overlapping)
    across, across_in = _cells(columns.to(raw.device), raw.shape[2], overlapping)
    # (N, H_out, rows of a cell, W_out, columns of a cell, C)
    taken = raw[:, down][:, :, :, across]
    if not mean:
        return wrap(taken.amax((2, 4)))
    inside = (down_in[:, :, None, None] & across_in).unsqueeze(-1)
    total = (taken.to(_kernel_type(raw).dtype) * inside).sum((2, 4))
    return wrap((total / inside.sum((1, 3))).to(raw.dtype))


def _cells(ends: torch.Tensor, length: int,
           overlapping: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The pixels of each cell, shape (cells, most), its last one again where it has fewer."""
    first, last = ends[:-1].unsqueeze(1), (ends[1:] - 1 + int(overlapping)).clamp_max(length - 1)
    last = last.unsqueeze(1)
    pixels = first + torch.arange(int((last - first).max()) + 1, device=ends.device)
    return torch.minimum(pixels, last), pixels <= last
