"""Order: sorting, the greatest elements, positions in sorted rows, and distinct elements."""

from __future__ import annotations

from typing import Any

import torch

from ..core.dtype import promote_types
from ..core.errors import op
from ..core.state import state
from ..tensors.tensor import Tensor, as_raw, tensor_methods, wrap
from .arguments import as_int, axis_in, raw_of

__all__ = ["argsort", "bucketize", "msort", "searchsorted", "sort", "top_k", "topk", "unique",
           "unique_consecutive", "unique_with_pad"]


def _sorted(raw: torch.Tensor, axis: Any, descending: bool, where: str) -> Any:
    if not isinstance(descending, bool):
        raise TypeError(f"For '{where}', 'descending' must be a bool, but got {descending!r}.")
    return raw.sort(dim=axis_in(axis, max(raw.dim(), 1), where), descending=descending, stable=True)


@op
def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order along `axis`, and where each was, int32.

    Args:
        input_x: any shape; equal elements keep their order.
        axis: in ``[-rank, rank)``.
        descending: whether the greatest comes first.

    Raises:
        TypeError: if `axis` is no int or `descending` no bool.
        ValueError: if `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> values, indices = ms.ops.sort(ms.Tensor([3, 1, 2]))
        >>> print(values, indices)
        [1 2 3] [1 2 0]
    """
    values, positions = _sorted(raw_of(input_x, "sort", "input_x"), axis, descending, "sort")
    return wrap(values), wrap(positions.int())


@op
def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """The positions of the elements in order along `axis`, int32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.argsort(ms.Tensor([3, 1, 2])))
        [1 2 0]
    """
    return wrap(_sorted(raw_of(input, "argsort"), axis, descending, "argsort")[1].int())


@op
def msort(input: Tensor) -> Tensor:
    """The elements in order along dimension 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.msort(ms.Tensor([[3, 1], [2, 4]])))
        [[2 1]
         [3 4]]
    """
    return wrap(_sorted(raw_of(input, "msort"), 0, False, "msort")[0])


@op
def topk(input: Tensor, k: int, dim: int | None = None, largest: bool = True,
         sorted: bool = True) -> tuple[Tensor, Tensor]:  # noqa: A002
    """The `k` greatest elements along `dim`, and where they are, int32.

    Args:
        input: rank 1 or more; of equal elements the first comes first.
        k: in ``(0, n]`` for n elements along `dim`.
        dim: default: the last.
        largest: False for the least elements.
        sorted: whether in order; they are in any case.

    Raises:
        TypeError: if `k` is no int.
        ValueError: if `k` or `dim` is out of range.

    Examples:
        >>> import lamella as ms
        >>> values, indices = ms.ops.topk(ms.Tensor([1.0, 3.0, 2.0]), 2)
        >>> print(values, indices)
        [3. 2.] [1 2]
    """
    raw = raw_of(input, "topk")
    axis = axis_in(-1 if dim is None else dim, max(raw.dim(), 1), "topk", "dim")
    count = as_int(k, "topk", "k")
    have = raw.shape[axis] if raw.dim() else 1
    if not 0 < count <= have:
        raise ValueError(f"For 'topk', 'k' must be in (0, {have}], but got {count}.")
    values, positions = _first(raw, count, axis, largest)
    return wrap(values), wrap(positions.int())


def _first(raw: torch.Tensor, count: int, axis: int, largest: bool
           ) -> tuple[torch.Tensor, torch.Tensor]:
    """The first elements of a stable sort.

    Where none of them has an equal, PyTorch's `topk` finds the same in less time; whether that is
    so, a graph can't ask, nor what has no data (an export's), and on a GPU the question takes as
    long as the sort.
    """
    if (raw.dim() and type(raw) is torch.Tensor and 2 * count <= raw.shape[axis]
            and raw.device.type == "cpu" and state.trace is None
            and not torch._C._are_functorch_transforms_active()):
        found = raw.topk(count, axis, largest)
        values = found.values.detach()
        last = values.narrow(axis, count - 1, 1)
        before, after = values.narrow(axis, 0, count - 1), values.narrow(axis, 1, count - 1)
        if (bool((before > after if largest else before < after).all())
                and bool(((raw.detach() == last).sum(axis) == 1).all())):
            return found
    values, positions = raw.sort(dim=axis, descending=largest, stable=True)
    if not raw.dim():
        return values, positions
    return values.narrow(axis, 0, count), positions.narrow(axis, 0, count)


@op
def top_k(input_x: Tensor, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:  # noqa: A002
    """The `k` greatest elements along the last dimension, and where they are, int32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.top_k(ms.Tensor([1.0, 3.0, 2.0]), 1)[0])
        [3.]
    """
    return topk(input_x, k, -1, True, sorted)


@op
def searchsorted(sorted_sequence: Tensor, values: Tensor, *, out_int32: bool = False,
                 right: bool = False, side: str | None = None,
                 sorter: Tensor | None = None) -> Tensor:
    """Where each value would have to go into the sorted rows to keep them sorted.

    Args:
        sorted_sequence: rows in ascending order.
        values: of rank 1 and up with the same leading dimensions, or any shape for a single row.
        out_int32: whether to give int32 instead of int64.
        right: whether after equal elements; ``side`` is ``"left"`` or ``"right"`` likewise.
        sorter: positions that would sort the rows.

    Raises:
        ValueError: if `side` is neither or contradicts `right`, or the shapes do not fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.searchsorted(ms.Tensor([1, 3, 5]), ms.Tensor([2, 3, 6])))
        [1 1 3]
    """
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ValueError(f"For 'searchsorted', 'side' must be 'left' or 'right' and agree with "
                         f"'right', but got side={side!r}, right={right}.")
    rows = raw_of(sorted_sequence, "searchsorted", "sorted_sequence")
    wanted = raw_of(values, "searchsorted", "values")
    kind = promote_types(rows.dtype, wanted.dtype)
    order = None if sorter is None else sorter._raw.long()
    return wrap(torch.searchsorted(rows.to(kind).contiguous(), wanted.to(kind).contiguous(),
                                   out_int32=out_int32, side=side or ("right" if right else "left"),
                                   sorter=order))


@op
def bucketize(input: Tensor, boundaries: Any, *, right: bool = False) -> Tensor:
    """Between which of the `boundaries` each element lies, int32.

    Args:
        input: numbers of any shape.
        boundaries: a list of numbers in ascending order.
        right: whether an element equal to a boundary lies after it.

    Raises:
        TypeError: if `boundaries` is no list.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bucketize(ms.Tensor([0.0, 1.0, 5.0]), [1.0, 3.0]))
        [0 0 2]
    """
    if not isinstance(boundaries, (list, tuple, Tensor)):
        raise TypeError(f"For 'bucketize', 'boundaries' must be a list of numbers, "
                        f"but got {boundaries!r}.")
    raw = raw_of(input, "bucketize")
    edges = as_raw(boundaries).to(raw.device)
    return wrap(torch.bucketize(raw, edges, out_int32=True, right=right))


@op
def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct elements in order of appearance, and the index of each element among them.

    Args:
        input: any shape.

    Returns:
        A Tensor of rank 1, and one of the shape of `input`: int64 for int64 elements, else int32.

    Examples:
        >>> import lamella as ms
        >>> values, which = ms.ops.unique(ms.Tensor([3, 1, 3, 2]))
        >>> print(values, which)
        [3 1 2] [0 1 0 2]
    """
    raw = raw_of(input, "unique")
    values, which = _first_come(raw)
    kind = torch.int64 if raw.dtype is torch.int64 else torch.int32
    return wrap(values), wrap(which.to(kind))


def _first_come(raw: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """PyTorch's sorted distinct values, put in the order of their first positions."""
    values, which = torch.unique(raw, return_inverse=True)
    flat = which.reshape(-1)
    position = torch.arange(flat.numel(), device=raw.device)
    first = torch.full((values.numel(),), flat.numel(), dtype=torch.int64, device=raw.device)
    order = first.scatter_reduce(0, flat, position, "amin").argsort()
    rank = torch.empty_like(order)
    rank[order] = torch.arange(order.numel(), device=raw.device)
    return values[order], rank[which]


@op
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """The elements without those equal to the one before.

    Args:
        input: any shape.
        return_inverse: whether to give for each element its index in the result.
        return_counts: whether to count the repetitions.
        dim: along which dimension; default: the flattened tensor.

    Returns:
        Tensor, or a tuple of it and what was asked for, int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unique_consecutive(ms.Tensor([1, 1, 2, 1])))
        [1 2 1]
    """
    raw = raw_of(input, "unique_consecutive")
    axis = None if dim is None else axis_in(dim, raw.dim(), "unique_consecutive", "dim")
    if raw.is_complex() and axis is None:
        out = _runs(raw, return_inverse, return_counts)
    else:
        # by name: PyTorch gives an empty tensor for one of the two that is asked for by position
        out = torch.unique_consecutive(raw, return_inverse=bool(return_inverse),
                                       return_counts=bool(return_counts), dim=axis)
    return tuple(wrap(o) for o in out) if isinstance(out, tuple) else wrap(out)


def _runs(raw: torch.Tensor, inverse: bool, counts: bool) -> Any:
    """As PyTorch's `unique_consecutive`, of complex numbers, which it doesn't take."""
    flat = raw.reshape(-1)
    first = torch.ones_like(flat, dtype=torch.bool)
    first[1:] = flat[1:] != flat[:-1]
    which = first.cumsum(0) - 1
    asked = [which.reshape(raw.shape)] if inverse else []
    asked += [torch.bincount(which)] if counts else []
    return (flat[first], *asked) if asked else flat[first]


@op
def unique_with_pad(x: Tensor, pad_num: Any) -> tuple[Tensor, Tensor]:
    """As `unique`, with `pad_num` after the distinct elements up to the number of all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unique_with_pad(ms.Tensor([1, 1, 2]), 0)[0])
        [1 2 0]
    """
    raw = raw_of(x, "unique_with_pad", "x")
    values, which = _first_come(raw)
    padded = values.new_full((raw.numel(),), getattr(pad_num, "_raw", pad_num))
    padded[: values.numel()] = values
    return wrap(padded), wrap(which.to(torch.int64 if raw.dtype is torch.int64 else torch.int32))


def _tensor_sort(self: Tensor, axis: int = -1, descending: bool = False, stable: bool = True, *,
                 dim: int | None = None) -> tuple[Tensor, Tensor]:
    """`ops.sort`; the axis also goes by the name ``dim``."""
    return sort(self, axis if dim is None else dim, descending)


def _tensor_argsort(self: Tensor, axis: int = -1, descending: bool = False, stable: bool = True,
                    *, dim: int | None = None) -> Tensor:
    """`ops.argsort`; the axis also goes by the name ``dim``."""
    return argsort(self, axis if dim is None else dim, descending)


def _tensor_searchsorted(self: Tensor, v: Any, side: str = "left",
                         sorter: Tensor | None = None) -> Tensor:
    """Where the values `v` would have to go into this sorted tensor, as int32."""
    wanted = v if isinstance(v, Tensor) else wrap(as_raw(v).to(self._raw.device))
    return searchsorted(self, wanted, out_int32=True, side=side, sorter=sorter)


def _kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th least element along `dim`, and where it is, int64."""
    values, positions = self._raw.kthvalue(as_int(k, "kthvalue", "k"),
                                        axis_in(dim, self._raw.dim(), "kthvalue", "dim"), keepdim)
    return wrap(values), wrap(positions)


def _tensor_unique(self: Tensor, sorted: bool = True, return_inverse: bool = False,  # noqa: A002
                   return_counts: bool = False, dim: int | None = None) -> Any:
    """The distinct elements in ascending order, with what else is asked for, int64."""
    out = torch.unique(self._raw, sorted, return_inverse, return_counts, dim)
    return tuple(wrap(o) for o in out) if isinstance(out, tuple) else wrap(out)


tensor_methods(sort=_tensor_sort, argsort=_tensor_argsort, msort=msort, topk=topk, top_k=top_k,
               searchsorted=_tensor_searchsorted, unique=_tensor_unique, kthvalue=op(_kthvalue),
               unique_consecutive=unique_consecutive, unique_with_pad=unique_with_pad)
