"""Padding: constant, reflected, replicated, circular and symmetric borders."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, raw_of, require

__all__ = ["pad", "padding", "mirror_pad"]

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "replicate",
          "edge": "replicate", "circular": "circular"}


def _amounts(name: str, padding: Any) -> list[int]:
    values = padding.tolist() if isinstance(padding, Tensor) else padding
    if isinstance(values, int):
        values = [values]
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"For '{name}', 'padding' must be a tuple of ints, but got {padding!r}.")
    out = []
    for value in values:
        entry = value.item() if isinstance(value, Tensor) else value
        if not isinstance(entry, int) or isinstance(entry, bool):
            raise TypeError(f"For '{name}', 'padding' must hold ints, but got {padding!r}.")
        out.append(entry)
    return out


@op
def pad(input_x: Tensor, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Lengthen the last dimensions at both ends.

    Args:
        input_x: any shape for ``'constant'``, else at most two dimensions more than are padded.
        padding: (before, after) of the last dimension, then of the one before, and so on; a tuple
            or Tensor. Negative numbers cut off.
        mode: ``'constant'``, ``'reflect'`` (without the edge), ``'replicate'`` (the edge) or
            ``'circular'`` (the other end).
        value: of ``'constant'``; default 0.

    Returns:
        Tensor of the type of `input_x`.

    Raises:
        TypeError: if `padding` holds other than ints.
        ValueError: if `padding` is of odd length or too long, `mode` unknown, or a `value` is given
            in a mode that has none.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 2.0, 3.0]])
        >>> print(ms.ops.pad(x, (1, 2)))
        [[0. 1. 2. 3. 0. 0.]]
        >>> print(ms.ops.pad(x, (1, 2), mode='reflect'))
        [[2. 1. 2. 3. 2. 1.]]
    """
    raw = input_x._raw
    amounts = _amounts("pad", padding)
    if not amounts:
        return input_x
    one_of(mode, _MODES, "mode", "pad")
    if len(amounts) % 2 or len(amounts) > 2 * raw.dim():
        raise ValueError(f"For 'pad', 'padding' must hold two ints a dimension, at most "
                         f"{2 * raw.dim()}, but got {padding}.")
    if mode == "constant":
        fill = value.item() if isinstance(value, Tensor) else value
        return wrap(F.pad(raw, amounts, "constant", fill))
    if value is not None:
        raise ValueError(f"For 'pad', the mode {mode!r} takes no 'value', but got {value}.")
    if len(amounts) > 6:
        raise ValueError(f"For 'pad', at most 3 dimensions can be padded in mode {mode!r}, "
                         f"but got {padding}.")
    if raw.dim() > len(amounts) // 2 + 2:
        raise ValueError(f"For 'pad', in mode {mode!r} at most two dimensions can be left as they "
                         f"are, but 'input_x' has {raw.dim()} dimensions and 'padding' is "
                         f"{padding}.")
    return wrap(_bordered(raw, amounts, _MODES[mode]))


def _bordered(raw: torch.Tensor, amounts: list[int], mode: str) -> torch.Tensor:
    """Padding by a border's own values; for the kernel, with a batch and a channel dimension."""
    if raw.is_complex() and mode != "circular":  # the kernel loses imaginary parts
        parts = [_bordered(part, amounts, mode) for part in (raw.real, raw.imag)]
        return torch.complex(*parts)
    lead = len(amounts) // 2 + 2 - raw.dim()
    kernel_type = raw if raw.is_floating_point() or mode == "circular" else raw.to(torch.float64)
    out = F.pad(kernel_type[(None,) * max(lead, 0)], amounts, mode)
    return out[(0,) * max(lead, 0)].to(raw.dtype)


@op
def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """The last dimension lengthened from 1 to `pad_dim_size` by zeros.

    Args:
        x: shape (..., 1), of rank 2 or more.
        pad_dim_size: the new length.

    Raises:
        TypeError: if `pad_dim_size` is no int.
        ValueError: if it is not positive, or `x` has another shape.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.padding(ms.Tensor([[8.0], [10.0]]), 4))
        [[ 8.  0.  0.  0.]
         [10.  0.  0.  0.]]
    """
    raw, length = raw_of(x, "padding", "x"), as_int(pad_dim_size, "padding", "pad_dim_size")
    require(length > 0, ValueError,
            f"For 'padding', 'pad_dim_size' must be positive, but got {length}.")
    require(raw.dim() > 1 and raw.shape[-1] == 1, ValueError,
            f"For 'padding', 'x' must have the shape (..., 1) and rank 2 or more, "
            f"but got {x.shape}.")
    return wrap(F.pad(raw, (0, length - 1)))


@op
def mirror_pad(input_x: Tensor, paddings: Tensor, mode: str) -> Tensor:
    """Lengthen all dimensions by what a mirror at their ends shows.

    Args:
        input_x: any shape.
        paddings: (before, after) of each dimension, shape (rank, 2).
        mode: ``'REFLECT'``, without the edge, or ``'SYMMETRIC'``, with it.

    Returns:
        Tensor of the type of `input_x`.

    Raises:
        ValueError: if `mode` is unknown, or a padding longer than what there is to show.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1, 2, 3])
        >>> print(ms.ops.mirror_pad(x, ms.Tensor([[1, 2]]), 'REFLECT'))
        [2 1 2 3 2 1]
        >>> print(ms.ops.mirror_pad(x, ms.Tensor([[1, 2]]), 'SYMMETRIC'))
        [1 1 2 3 3 2]
    """
    edge = {"REFLECT": 0, "SYMMETRIC": 1}.get(mode)
    if edge is None:
        raise ValueError(f"For 'mirror_pad', 'mode' must be 'REFLECT' or 'SYMMETRIC', "
                         f"but got {mode!r}.")
    raw = input_x._raw
    pairs = paddings.tolist() if isinstance(paddings, Tensor) else list(paddings)
    if len(pairs) != raw.dim():
        raise ValueError(f"For 'mirror_pad', 'paddings' must have the shape ({raw.dim()}, 2), "
                         f"but got {pairs}.")
    for axis, (before, after) in enumerate(pairs):
        n = raw.shape[axis]
        if max(before, after) > n - 1 + edge or min(before, after) < 0:
            raise ValueError(f"For 'mirror_pad', paddings must be in [0, {n - 1 + edge}] in "
                             f"dimension {axis} of length {n}, but got {(before, after)}.")
        left = [before - edge - i for i in range(before)]
        right = [n - 2 + edge - i for i in range(after)]
        positions = torch.tensor([*left, *range(n), *right], device=raw.device)
        raw = raw.index_select(axis, positions)
    return wrap(raw)
