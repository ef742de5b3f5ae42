"""Choosing elements by conditions: where, masks, and the indices of nonzero elements."""

from __future__ import annotations

from typing import Any

import torch

from ..core.dtype import promote_types
from ..core.errors import op
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .arguments import indices_of, raw_of, raw_or_number
from .operands import spelled

__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "select",
           "where"]


def _chosen(condition: Any, input: Any, other: Any, where: str) -> Tensor:
    mask = raw_of(condition, where, "condition")
    if mask.dtype is not torch.bool:
        mask = mask != 0
    a, b = getattr(input, "_raw", None), getattr(other, "_raw", None)
    if a is not None and b is not None:
        if a.dtype is not b.dtype:
            kind = promote_types(a.dtype, b.dtype)
            a, b = a.to(kind), b.to(kind)
        return wrap(torch.where(mask, a, b))
    if a is None and b is None:  # MindSpore's types of two numbers: int64 or float32
        a, b = (torch.tensor(v, device=mask.device, dtype=torch.float32 if isinstance(v, float)
                             else None) for v in (input, other))
        kind = promote_types(a.dtype, b.dtype)
        return wrap(torch.where(mask, a.to(kind), b.to(kind)))
    return wrap(torch.where(mask, input if a is None else a, other if b is None else b))


@op
def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    """The elements of `input` where `condition` holds, those of `other` elsewhere.

    Args:
        condition: bool; other types count as ``condition != 0``.
        input, other: Tensors or numbers that broadcast with `condition`.

    Raises:
        TypeError: if `condition` is no Tensor.
        ValueError: if the shapes do not broadcast.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([-1.0, 2.0])
        >>> print(ms.ops.where(x > 0, x, 0.0))
        [0. 2.]
    """
    return _chosen(condition, input, other, "where")


@op
def select(condition: Tensor, input: Any, other: Any) -> Tensor:
    """The elements of `input` where `condition` holds, those of `other` elsewhere; as `where`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1, 2])
        >>> print(ms.ops.select(ms.Tensor([True, False]), x, x * 10))
        [ 1 20]
    """
    return _chosen(condition, input, other, "select")


def _mask(mask: Any, where: str) -> torch.Tensor:
    raw = raw_of(mask, where, "mask")
    if raw.dtype is not torch.bool:
        raise TypeError(f"For '{where}', 'mask' must be a Tensor of bool, but got {mask.dtype}.")
    return raw


@op
def masked_fill(input_x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input_x` with `value` where `mask` holds.

    Args:
        input_x: any type; its shape and that of `mask` broadcast.
        mask: bool.
        value: a number, or a Tensor of rank 0.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if `value` is a Tensor of another rank, or the shapes do not broadcast.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, -2.0])
        >>> print(ms.ops.masked_fill(x, x < 0, 0.0))
        [1. 0.]
    """
    raw, where_ = raw_of(input_x, "masked_fill", "input_x"), _mask(mask, "masked_fill")
    fill = getattr(value, "_raw", value)
    if isinstance(fill, torch.Tensor):
        if fill.dim():
            raise ValueError(f"For 'masked_fill', 'value' must be a number or a Tensor of rank 0, "
                             f"but got one of shape {tuple(fill.shape)}.")
        return wrap(torch.where(where_, fill.to(raw.dtype), raw))
    return wrap(raw.masked_fill(where_, fill))


@op
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` holds, in one dimension.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if the shapes do not broadcast.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1, 2, 3])
        >>> print(ms.ops.masked_select(x, x > 1))
        [2 3]
    """
    return wrap(raw_of(input, "masked_select").masked_select(_mask(mask, "masked_select")))


@op
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements of `source`, in order, where `mask` holds.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if `source` has too few elements.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.masked_scatter(x, x > 1, ms.Tensor([8.0, 9.0])))
        [1. 8. 9.]
    """
    raw, where_ = raw_of(input, "masked_scatter"), _mask(mask, "masked_scatter")
    values = raw_of(source, "masked_scatter", "source")
    _enough(raw, where_, values)
    return wrap(raw.masked_scatter(where_, values.to(raw.dtype)))


def _enough(raw: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> None:
    needed = mask.expand(torch.broadcast_shapes(raw.shape, mask.shape)).sum()
    if values.numel() < needed:
        raise ValueError(f"For 'masked_scatter', 'source' must have an element for each of the "
                         f"{int(needed)} positions of 'mask', but got {values.numel()}.")


@op
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, int64.

    Args:
        input: any shape and type.
        as_tuple: whether to give a Tensor for each dimension instead of one with a row for each
            element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nonzero(ms.Tensor([[0, 1], [2, 0]])))
        [[0 1]
         [1 0]]
    """
    raw = raw_of(input, "nonzero")
    if as_tuple:
        return tuple([wrap(positions) for positions in raw.nonzero(as_tuple=True)])
    return wrap(raw.nonzero())


@op
def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, int64, a row for each.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.argwhere(ms.Tensor([0, 1, 2])))
        [[1]
         [2]]
    """
    return wrap(raw_of(input, "argwhere").nonzero())


def _tensor_where(self: Tensor, condition: Tensor, y: Any) -> Tensor:
    """This tensor's elements where `condition` holds, those of `y` elsewhere."""
    return where(condition, self, y)


def _tensor_select(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """``select(condition, y)`` as `ops.select`, or ``select(dim, index)``: one part along `dim`."""
    first, second = args + tuple(named[k] for k in ("condition", "dim", "y", "index") if k in named)
    if isinstance(first, Tensor) and first._raw.dtype is torch.bool:
        return select(first, self, second)
    return wrap_view(self._raw.select(int(first), int(second)))


def _choose(self: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """For each element i of this tensor ``choices[i]`` at that position; `mode` as in `take`."""
    if mode not in ("clip", "wrap"):
        raise ValueError(f"For 'Tensor.choose', 'mode' must be 'clip' or 'wrap', but got {mode!r}.")
    options = choices._raw.unbind(0) if isinstance(choices, Tensor) else [
        raw_or_number(c, self._raw) for c in choices]
    shape = torch.broadcast_shapes(self._raw.shape, *[o.shape for o in options])
    kind = options[0].dtype
    for option in options[1:]:
        kind = promote_types(kind, option.dtype)
    pile = torch.stack([o.to(kind).expand(shape) for o in options])
    index = indices_of(self, "Tensor.choose").expand(shape)
    index = index % len(options) if mode == "wrap" else index.clamp(0, len(options) - 1)
    return wrap(pile.gather(0, index.unsqueeze(0)).squeeze(0))


def _masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Put `value` where `mask` holds, in place."""
    where_, fill = _mask(mask, "masked_fill_"), getattr(value, "_raw", value)
    return in_place(self, lambda raw: raw.masked_fill_(where_, fill))


def _masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Put the elements of `source`, in order, where `mask` holds, in place."""
    where_, values = _mask(mask, "masked_scatter_"), source._raw.to(self._raw.dtype)
    _enough(self._raw, where_, values)
    return in_place(self, lambda raw: raw.masked_scatter_(where_, values))


tensor_methods(where=spelled(_tensor_where, other="y"), select=_tensor_select,
               masked_fill=masked_fill, masked_select=masked_select,
               masked_scatter=masked_scatter, nonzero=nonzero,
               argwhere=argwhere, choose=_choose, masked_fill_=op(_masked_fill_),
               masked_scatter_=op(_masked_scatter_))
