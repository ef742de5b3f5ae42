"""Embeddings and one-hot codes."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.nn.functional as F

from ..autodiff.level import batching
from ..core.dtype import is_integer
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, indices_of, kernel_checks
from .windows import number_is_open

__all__ = ["embedding", "one_hot", "intopk"]


@op
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None,
              max_norm: float | None = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False) -> Tensor:
    """The rows of `weight` that `input` names.

    Args:
        input: row numbers, int32 or int64, any shape.
        weight: shape (rows, length).
        padding_idx: a row that gets no gradient.
        max_norm: rows that are named and longer are cut to this norm first, in `weight` itself.
        norm_type: of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it is named.

    Returns:
        Tensor of the shape of `input` and one dimension more.

    Raises:
        TypeError: if `input` is not of integers.
        RuntimeError: if a row is out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        >>> print(ms.ops.embedding(ms.Tensor([2, 0]), w))
        [[4. 5.]
         [0. 1.]]
    """
    raw = weight._raw
    if max_norm is not None:
        raw = _shortened(weight, input._raw, max_norm, norm_type)
    rows = raw.shape[0] if raw.dim() else 0
    if padding_idx is not None and not -rows <= as_int(padding_idx, "embedding",
                                                       "padding_idx") < rows:
        raise ValueError(f"For 'embedding', 'padding_idx' must be in [{-rows}, {rows}), "
                         f"but got {padding_idx}.")
    if number_is_open() and not scale_grad_by_freq and raw.dim() == 2:
        return wrap(_selected(raw, input._raw, padding_idx))
    try:
        return wrap(F.embedding(input._raw, raw, padding_idx, None, norm_type, scale_grad_by_freq))
    except IndexError as error:
        found: Any = "others for some examples"
        if not batching():
            found = input._raw[(input._raw < 0) | (input._raw >= rows)].tolist()[:8]
        raise RuntimeError(f"For 'embedding', the rows in 'input' must be in [0, {rows}), "
                           f"but got {found}.") from error


def _selected(raw: torch.Tensor, rows: torch.Tensor, padding_idx: int | None) -> torch.Tensor:
    """The rows of a table by a kernel whose gradient doesn't ask for the number of examples."""
    found = raw[rows.masked_fill(rows < 0, raw.shape[0])]  # it would count these from the end
    if padding_idx is None:
        return found
    return torch.where((rows == padding_idx % raw.shape[0]).unsqueeze(-1), found.detach(), found)


def _shortened(weight: Tensor, rows: torch.Tensor, max_norm: float,
               norm_type: float) -> torch.Tensor:
    raw = weight._raw
    with torch.no_grad():
        used = rows.unique()
        norms = raw[used].norm(norm_type, dim=1, keepdim=True)
        short = torch.where(norms > max_norm, raw[used] * (max_norm / (norms + 1e-7)), raw[used])
        raw.detach().index_copy_(0, used.to(torch.int64), short)
    return raw


@op
def one_hot(indices: Tensor, depth: Any, on_value: Any = 1, off_value: Any = 0,
            axis: int = -1) -> Tensor:
    """`on_value` where a new dimension's index is the one given, `off_value` elsewhere.

    Args:
        indices: integers, any shape; those outside [0, depth) have no on-value.
        depth: the new dimension's length.
        on_value, off_value: numbers, or Tensors whose type the result gets; ints give int64.
        axis: where the new dimension goes.

    Returns:
        Tensor with one dimension more than `indices`.

    Raises:
        TypeError: if `indices` are not integers.
        ValueError: if `axis` or `depth` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.one_hot(ms.Tensor([0, 2]), 3))
        [[1 0 0]
         [0 0 1]]
    """
    raw = indices._raw
    if not is_integer(raw.dtype):
        raise TypeError(f"For 'one_hot', 'indices' must hold integers, "
                        f"but got {indices.dtype}.")
    depth = int(depth)
    if depth < 0:
        raise ValueError(f"For 'one_hot', 'depth' must be 0 or more, but got {depth}.")
    if not -1 <= axis <= raw.dim():
        raise ValueError(f"For 'one_hot', 'axis' must be in [-1, {raw.dim()}], but got {axis}.")
    axis = raw.dim() if axis == -1 else axis
    if kernel_checks(raw) and isinstance(on_value, (int, float)) and isinstance(
            off_value, (int, float)):
        dtype = torch.int64 if isinstance(on_value + off_value, int) else torch.float32
        out = torch.full((*raw.shape[:axis], depth, *raw.shape[axis:]), off_value, dtype=dtype)
        with contextlib.suppress(RuntimeError):  # of an index that isn't in [0, depth)
            return wrap(out.scatter_(axis, raw.long().unsqueeze(axis), on_value))
    classes = torch.arange(depth, device=raw.device)  # in int64: others may not hold `depth`
    hits = raw.long().unsqueeze(axis) == classes.view(-1, *(1,) * (raw.dim() - axis))
    on, off = (_value(v, raw) for v in (on_value, off_value))
    return wrap(torch.where(hits, on, off))


def _value(value: Any, like: torch.Tensor) -> torch.Tensor:
    raw = getattr(value, "_raw", None)
    if raw is not None:
        return raw.reshape(())
    dtype = torch.float32 if isinstance(value, float) else torch.int64
    return torch.full((), value, dtype=dtype, device=like.device)


@op
def intopk(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """Whether each target is among the `k` largest scores.

    Args:
        x1: scores, shape (N, C).
        x2: targets, shape (N,).
        k: how many count; ties with the last count too.

    Returns:
        Tensor of bool, shape (N,).

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 8.0, 5.0], [4.0, 9.0, 7.0]])
        >>> print(ms.ops.intopk(x, ms.Tensor([1, 0]), 2))
        [ True False]
    """
    scores, targets = x1._raw, indices_of(x2, "intopk", "x2")
    if scores.dim() != 2 or targets.shape != scores.shape[:1]:
        raise ValueError(f"For 'intopk', 'x1' and 'x2' must have the shapes (N, C) and (N,), "
                         f"but got {x1.shape} and {x2.shape}.")
    known = (targets >= 0) & (targets < scores.shape[1])  # no other class is among the best
    mine = scores.gather(1, torch.where(known, targets, 0).unsqueeze(1))
    return wrap(known & ~mine.squeeze(1).isnan() & ((scores > mine).sum(1) < k))
