"""Parts of a tensor by begin, end and stride, and blocks of space moved to other dimensions."""

from __future__ import annotations

import builtins
import math
from typing import Any

import torch

from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .arguments import as_int, as_ints, axis_in, raw_of
from .operands import spelled

__all__ = [
    "batch_to_space_nd", "narrow", "sequence_mask", "slice", "space_to_batch_nd",
    "strided_slice", "tensor_slice",
]


@op
def narrow(input: Tensor, axis: int, start: int, length: int) -> Tensor:
    """`length` elements along `axis`, from `start` on.

    Raises:
        ValueError: if the range leaves the tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.narrow(ms.Tensor([1, 2, 3, 4]), 0, 1, 2))
        [2 3]
    """
    raw = raw_of(input, "narrow")
    axis = axis_in(axis, raw.dim(), "narrow")
    start, length = as_int(start, "narrow", "start"), as_int(length, "narrow", "length")
    have = raw.shape[axis]
    first = start + have if start < 0 else start
    if not (0 <= first <= have and 0 <= length <= have - first):
        raise ValueError(f"For 'narrow', 'start' and 'length' must stay within the {have} elements "
                         f"along axis {axis}, but got start={start}, length={length}.")
    return wrap_view(raw.narrow(axis, first, length))


@op
def slice(input_x: Tensor, begin: Any, size: Any) -> Tensor:  # noqa: A001
    """``size[i]`` elements along each dimension i, from ``begin[i]`` on.

    Args:
        input_x: any type.
        begin: the first element, one int for each dimension.
        size: how many; -1 means all that follow.

    Raises:
        ValueError: if the part leaves the tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.slice(ms.Tensor([[1, 2, 3], [4, 5, 6]]), (0, 1), (2, -1)))
        [[2 3]
         [5 6]]
    """
    raw = raw_of(input_x, "slice", "input_x")
    first, count = as_ints(begin, "slice", "begin"), as_ints(size, "slice", "size")
    if not len(first) == len(count) == raw.dim():
        raise ValueError(f"For 'slice', 'begin' and 'size' must have a number for each of the "
                         f"{raw.dim()} dimensions, but got {first} and {count}.")
    for axis, (b, n) in enumerate(zip(first, count, strict=True)):
        have = raw.shape[axis]
        n = have - b if n == -1 else n
        if b < 0 or n < 0 or b + n > have:
            raise ValueError(f"For 'slice', 'begin' and 'size' must stay within the {have} "
                             f"elements along axis {axis}, but got begin={first}, size={count}.")
        raw = raw.narrow(axis, b, n)
    return wrap_view(raw)


tensor_slice = slice


@op
def strided_slice(input_x: Tensor, begin: Any, end: Any, strides: Any, begin_mask: int = 0,
                  end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                  shrink_axis_mask: int = 0) -> Tensor:
    """``input_x[begin:end:strides]`` along the first dimensions, with Python's rules.

    Args:
        input_x: any type.
        begin, end, strides: as many ints each; strides may be negative, not 0.
        begin_mask, end_mask: where bit i is set, ``begin[i]`` or ``end[i]`` counts as not given.
        ellipsis_mask: where bit i is set (one may be), entry i stands for all dimensions between.
        new_axis_mask: where bit i is set, entry i makes a new dimension.
        shrink_axis_mask: where bit i is set, only element ``begin[i]`` is taken.

    Raises:
        ValueError: for a stride of 0, lists of different lengths or more entries than dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.strided_slice(ms.Tensor([[1, 2, 3], [4, 5, 6]]), (0, 0), (2, 3), (1, 2)))
        [[1 3]
         [4 6]]
    """
    raw = raw_of(input_x, "strided_slice", "input_x")
    b, e, s = (as_ints(v, "strided_slice", n)
               for v, n in ((begin, "begin"), (end, "end"), (strides, "strides")))
    if not len(b) == len(e) == len(s) or 0 in s:
        raise ValueError(f"For 'strided_slice', 'begin', 'end' and 'strides' must have as many "
                         f"ints, and no stride may be 0, but got {b}, {e} and {s}.")
    if bin(ellipsis_mask).count("1") > 1:
        raise ValueError(f"For 'strided_slice', 'ellipsis_mask' may have one bit set, "
                         f"but got {ellipsis_mask}.")
    named = builtins.range(len(b))
    used = sum(not ((ellipsis_mask | new_axis_mask) >> i & 1) for i in named)
    if used > raw.dim():
        raise ValueError(f"For 'strided_slice', 'begin' names {used} dimensions, "
                         f"but 'input_x' has {raw.dim()}.")
    axis = 0
    for i in named:
        if ellipsis_mask >> i & 1:
            axis += raw.dim() - axis - sum(
                not (new_axis_mask >> j & 1) for j in builtins.range(i + 1, len(b)))
        elif new_axis_mask >> i & 1:
            raw, axis = raw.unsqueeze(axis), axis + 1
        elif shrink_axis_mask >> i & 1:
            raw = raw.select(axis, b[i])
        else:
            part = builtins.slice(None if begin_mask >> i & 1 else b[i],
                                  None if end_mask >> i & 1 else e[i], s[i])
            raw, axis = _along(raw, axis, part), axis + 1
    return wrap_view(raw)


def _along(raw: torch.Tensor, axis: int, part: builtins.slice) -> torch.Tensor:
    """``raw[part]`` along an axis; PyTorch's own slices take no negative strides."""
    positions = builtins.range(*part.indices(raw.shape[axis]))
    before = (builtins.slice(None),) * axis
    if not positions:
        return raw.narrow(axis, 0, 0)
    if positions.step > 0:
        return raw[(*before, builtins.slice(positions.start, positions.stop, positions.step))]
    forward = builtins.slice(positions[-1], positions[0] + 1, -positions.step)
    return raw[(*before, forward)].flip(axis)


@op
def space_to_batch_nd(input_x: Tensor, block_size: Any, paddings: Any) -> Tensor:
    """Blocks of the last dimensions cut up: the positions in a block become batch entries.

    Args:
        input_x: (N, C, ...), any type.
        block_size: the block's lengths, an int or one for each of the last dimensions.
        paddings: zeros to add first: (before, after) for each of those dimensions.

    Raises:
        ValueError: if a padded length is no multiple of the block's.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(4).reshape(1, 1, 2, 2)
        >>> ms.ops.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]).shape
        (4, 1, 1, 1)
    """
    raw = raw_of(input_x, "space_to_batch_nd", "input_x")
    pads = [as_ints(p, "space_to_batch_nd", "paddings") for p in paddings]
    block = as_ints(block_size, "space_to_batch_nd", "block_size")
    block = block * len(pads) if len(block) == 1 else block
    k, lead = len(block), raw.dim() - len(block)
    raw = torch.nn.functional.pad(raw, [n for p in reversed(pads) for n in p])
    if any(n % b for n, b in zip(raw.shape[lead:], block, strict=True)):
        raise ValueError(f"For 'space_to_batch_nd', the padded lengths {tuple(raw.shape[lead:])} "
                         f"must be multiples of 'block_size' {block}.")
    split = [m for n, b in zip(raw.shape[lead:], block, strict=True) for m in (n // b, b)]
    raw = raw.reshape(*raw.shape[:lead], *split)  # (N, C, h, bh, w, bw)
    inner = [lead + 2 * i + 1 for i in builtins.range(k)]
    outer = [lead + 2 * i for i in builtins.range(k)]
    raw = raw.permute(*inner, *builtins.range(lead), *outer)
    return wrap(raw.reshape(math.prod(block) * raw.shape[k], *raw.shape[k + 1:]))


@op
def batch_to_space_nd(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """The inverse of `space_to_batch_nd`: batch entries become positions in blocks, then cropped.

    Args:
        input_x: (N, C, ...), N a multiple of the block's size.
        block_shape: the block's lengths, an int or one for each of the last dimensions.
        crops: how many elements to cut off: (before, after) for each of those dimensions.

    Raises:
        ValueError: if N is no such multiple.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(4).reshape(4, 1, 1, 1)
        >>> print(ms.ops.batch_to_space_nd(x, [2, 2], [[0, 0], [0, 0]]))
        [[[[0 1]
           [2 3]]]]
    """
    raw = raw_of(input_x, "batch_to_space_nd", "input_x")
    cuts = [as_ints(c, "batch_to_space_nd", "crops") for c in crops]
    block = as_ints(block_shape, "batch_to_space_nd", "block_shape")
    block = block * len(cuts) if len(block) == 1 else block
    k, lead = len(block), raw.dim() - len(block)
    if raw.shape[0] % math.prod(block):
        raise ValueError(f"For 'batch_to_space_nd', the batch of {raw.shape[0]} must be a multiple "
                         f"of the block's size {math.prod(block)}.")
    raw = raw.reshape(*block, raw.shape[0] // math.prod(block), *raw.shape[1:])
    order = [n for i in builtins.range(k) for n in (k + lead + i, i)]
    raw = raw.permute(*builtins.range(k, k + lead), *order)  # (N, C, h, bh, w, bw)
    lengths = [raw.shape[lead + 2 * i] * block[i] for i in builtins.range(k)]
    raw = raw.reshape(*raw.shape[:lead], *lengths)
    for i, (before, after) in enumerate(cuts):
        raw = raw.narrow(lead + i, before, lengths[i] - before - after)
    return wrap_view(raw)


@op
def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """Which positions lie within each length: True for the first ``lengths[i]`` of `maxlen`.

    Args:
        lengths: integers, any shape.
        maxlen: the length of the last dimension of the result; default: the greatest length.

    Returns:
        Tensor of bool, of shape ``lengths.shape + (maxlen,)``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sequence_mask(ms.Tensor([1, 3])))
        [[ True False False]
         [ True  True  True]]
    """
    raw = raw_of(lengths, "sequence_mask", "lengths")
    longest = as_int(raw.max().item() if maxlen is None else maxlen, "sequence_mask", "maxlen")
    return wrap(torch.arange(longest, device=raw.device) < raw.unsqueeze(-1))


def _tensor_narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`ops.narrow`."""
    return narrow(self, dim, start, length)


tensor_methods(narrow=spelled(_tensor_narrow, axis="dim"))
