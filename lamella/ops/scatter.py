"""A tensor with some elements or slices replaced, added to, or combined by segments."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from ..core.errors import op
from ..core.require import one_of
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import (
    as_int,
    as_ints,
    axis_in,
    indices_of,
    kernel_checks,
    raw_of,
    raw_or_number,
)
from .assign import store
from .scatter_nd import scattered_rows

__all__ = [
    "index_add", "index_fill", "inplace_add", "inplace_index_add", "inplace_sub",
    "inplace_update", "scatter", "select_scatter", "slice_scatter", "tensor_scatter_elements",
    "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sum",
]


_KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "none": torch.Tensor.scatter, "add": torch.Tensor.scatter_add,
    "multiply": functools.partial(torch.Tensor.scatter_reduce, reduce="prod")}


def _placed(x: Any, axis: Any, index: Any, src: Any, reduce: str, where: str) -> Tensor:
    raw = raw_of(x, where)
    axis = axis_in(axis, max(raw.dim(), 1), where)
    positions = indices_of(index, where, "index")
    values = raw_or_number(src, raw)
    if values.dtype is not raw.dtype:
        values = values.to(raw.dtype)
    if not isinstance(src, Tensor) or (values.dim() == 0 and positions.dim()):
        values = values.expand(positions.shape)
    if values.shape != positions.shape:
        raise ValueError(f"For '{where}', there must be a value for each index, but got the "
                         f"shapes {tuple(values.shape)} and {tuple(positions.shape)}.")
    length, kernel = raw.shape[axis] if raw.dim() else 1, _KERNELS[reduce]
    if kernel_checks(raw, positions, values):
        try:
            return wrap(kernel(raw, axis, positions, values))
        except RuntimeError:  # of an index that isn't in [0, length)
            pass
    positions = torch.where(positions < 0, positions + length, positions)
    # an update with an index out of range is dropped: it goes to an extra position at the end
    positions = torch.where((positions < 0) | (positions >= length), length, positions)
    longer = raw
    if raw.dim():
        spare = [1 if i == axis else n for i, n in enumerate(raw.shape)]
        longer = torch.cat([raw, raw.new_ones(spare)], axis)
    out = kernel(longer, axis, positions, values)
    return wrap(out.narrow(axis, 0, length) if raw.dim() else out)


@op
def tensor_scatter_elements(input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0,
                            reduction: str = "none") -> Tensor:
    """`input_x` with elements replaced: at the updates' positions, but at `indices` along `axis`.

    Args:
        input_x: rank 1 or more.
        indices: integers in ``[-n, n)`` for n elements along `axis`, of the rank of `input_x`;
            updates with others are left out.
        updates: of the shape of `indices`.
        axis: in ``[-rank, rank)``.
        reduction: ``"add"`` to add instead of replace.

    Raises:
        ValueError: if the shapes do not fit or `reduction` is another word.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.zeros((2, 3))
        >>> positions, updates = ms.Tensor([[0, 2]]), ms.Tensor([[5.0, 6.0]])
        >>> print(ms.ops.tensor_scatter_elements(x, positions, updates, 1))
        [[5. 0. 6.]
         [0. 0. 0.]]
    """
    one_of(reduction, ("none", "add"), "reduction", "tensor_scatter_elements")
    return _placed(input_x, axis, indices, updates, reduction, "tensor_scatter_elements")


@op
def scatter(input: Tensor, axis: int, index: Tensor, src: Any) -> Tensor:
    """`input` with elements replaced by those of `src`; as `tensor_scatter_elements`.

    Args:
        src: a Tensor of the shape of `index`, or a number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.scatter(ms.ops.zeros(3), 0, ms.Tensor([2, 0]), ms.Tensor([5.0, 6.0])))
        [6. 0. 5.]
    """
    return _placed(input, axis, index, src, "none", "scatter")


@op
def index_add(x: Any, indices: Tensor, y: Tensor, axis: int, use_lock: bool = True,
              check_index_bound: bool = True) -> Tensor:
    """`x` with the slices of `y` added to its slices along `axis` at `indices`.

    Args:
        x: a Parameter, which is changed, or a Tensor, which is not.
        indices: of rank 1.
        y: slices, as many as indices.
        axis: in ``[-rank, rank)``.
        use_lock, check_index_bound: accepted as MindSpore does.

    Raises:
        ValueError: if the shapes do not fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.ops.zeros((2, 2)), name="x")
        >>> print(ms.ops.index_add(x, ms.Tensor([1]), ms.ops.ones((1, 2)), 0))
        [[0. 0.]
         [1. 1.]]
    """
    return _index_added(x, axis, indices, y, 1, "index_add")


def _index_added(x: Any, axis: Any, indices: Any, y: Any, alpha: Any, where: str) -> Tensor:
    positions = indices_of(indices, where)
    def added(raw: torch.Tensor) -> torch.Tensor:
        along = axis_in(axis, raw.dim(), where)
        return raw.index_add(along, positions, raw_of(y, where, "y").to(raw.dtype), alpha=alpha)
    return store(x, added, where) if isinstance(x, Parameter) else wrap(added(raw_of(x, where)))


@op
def inplace_index_add(var: Any, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """As `index_add`, the axis last.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.ops.zeros(2), name="x")
        >>> print(ms.ops.inplace_index_add(x, ms.Tensor([1]), ms.Tensor([4.0]), 0))
        [0. 4.]
    """
    return _index_added(var, axis, indices, updates, 1, "inplace_index_add")


@op
def index_fill(x: Tensor, axis: int, index: Any, value: Any) -> Tensor:
    """`x` with `value` in its slices along `axis` at `index`.

    Args:
        x: any type.
        axis: in ``[-rank, rank)``.
        index: integers, of rank 0 or 1.
        value: a number, or a Tensor of rank 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.index_fill(ms.ops.zeros((2, 2)), 1, ms.Tensor([0], ms.int32), 9.0))
        [[9. 0.]
         [9. 0.]]
    """
    raw = raw_of(x, "index_fill", "x")
    return wrap(raw.index_fill(axis_in(axis, raw.dim(), "index_fill"),
                               indices_of(index, "index_fill", "index").reshape(-1),
                               getattr(value, "_raw", value)))


@op
def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """`input` with `src` as its slice number `index` along `axis`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.select_scatter(ms.ops.zeros((2, 2)), ms.Tensor([1.0, 2.0]), 0, 1))
        [[0. 0.]
         [1. 2.]]
    """
    raw = raw_of(input, "select_scatter")
    return wrap(torch.select_scatter(raw, src._raw.to(raw.dtype),
                                     axis_in(axis, raw.dim(), "select_scatter"), index))


@op
def slice_scatter(input: Tensor, src: Tensor, axis: int = 0, start: int | None = None,
                  end: int | None = None, step: int = 1) -> Tensor:
    """`input` with `src` as its part ``start:end:step`` along `axis`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.slice_scatter(ms.ops.zeros(4), ms.Tensor([1.0, 2.0]), 0, 0, 4, 2))
        [1. 0. 2. 0.]
    """
    raw = raw_of(input, "slice_scatter")
    axis = axis_in(axis, raw.dim(), "slice_scatter")
    part = torch.slice_scatter(raw, _fit(src._raw, raw, axis, start, end, step), axis,
                               start, end, step)
    return wrap(part)


def _fit(src: torch.Tensor, raw: torch.Tensor, axis: int, start: Any, end: Any,
         step: int) -> torch.Tensor:
    shape = list(raw.shape)
    shape[axis] = len(range(*slice(start, end, step).indices(shape[axis])))
    return src.to(raw.dtype).expand(shape)


def _rows(x: Any, v: Any, indices: Any, how: str, where: str) -> Tensor:
    positions = indices_of(as_ints(indices, where, "indices"), where).reshape(-1, 1)
    return wrap(scattered_rows(raw_of(x, where, "x"), positions, raw_of(v, where, "v"), how, where))


@op
def inplace_update(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """`x` with the rows `v` at `indices`, an int or a tuple of them; `x` itself stays.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inplace_update(ms.ops.zeros((2, 2)), ms.ops.ones((1, 2)), 0))
        [[1. 1.]
         [0. 0.]]
    """
    return _rows(x, v, indices, "update", "inplace_update")


@op
def inplace_add(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """`x` with the rows `v` added to those at `indices`; `x` itself stays.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inplace_add(ms.ops.ones((2, 2)), ms.ops.ones((1, 2)), 0))
        [[2. 2.]
         [1. 1.]]
    """
    return _rows(x, v, indices, "add", "inplace_add")


@op
def inplace_sub(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """`x` with the rows `v` subtracted from those at `indices`; `x` itself stays.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inplace_sub(ms.ops.ones((2, 2)), ms.ops.ones((1, 2)), 0))
        [[0. 0.]
         [1. 1.]]
    """
    return _rows(x, v, indices, "sub", "inplace_sub")


def _lowest(kind: torch.dtype) -> Any:
    return torch.finfo(kind).min if kind.is_floating_point else torch.iinfo(kind).min


def _highest(kind: torch.dtype) -> Any:
    return torch.finfo(kind).max if kind.is_floating_point else torch.iinfo(kind).max


def _segmented(x: Any, segment_ids: Any, num_segments: Any, where: str,
               start: Callable[[torch.dtype], Any], reduce: str | None) -> Tensor:
    raw, ids = raw_of(x, where, "x"), indices_of(segment_ids, where, "segment_ids")
    count = as_int(num_segments, where, "num_segments")
    if count <= 0:
        raise ValueError(f"For '{where}', 'num_segments' must be more than 0, but got {count}.")
    if raw.shape[:ids.dim()] != ids.shape:
        raise ValueError(f"For '{where}', the shape of 'segment_ids' {tuple(ids.shape)} must be "
                         f"that of the first dimensions of 'x' {tuple(raw.shape)}.")
    if raw.dtype is torch.uint64 and reduce in ("amax", "amin"):
        # in the order of int64: its least number stands for 0
        least = torch.iinfo(torch.int64).min
        found = _segmented(wrap(raw.view(torch.int64) ^ least), segment_ids, num_segments, where,
                           start, reduce)
        return wrap((found._raw ^ least).view(torch.uint64))
    rows = raw.reshape(math.prod(ids.shape), *raw.shape[ids.dim():])
    given = ids = ids.reshape(-1)
    # negative ids are left out: they go to a row of their own, behind the others
    ids = torch.where(ids < 0, count, torch.where(ids >= count, count + 1, ids))
    out = raw.new_full((count + 1, *rows.shape[1:]), start(raw.dtype))
    try:
        if reduce is None:
            out = out.index_add(0, ids, rows)
        else:
            position = ids.reshape(-1, *[1] * (rows.dim() - 1)).expand(rows.shape)
            out = out.scatter_reduce(0, position, rows, reduce)
    except (IndexError, RuntimeError) as error:
        if "out of range" not in str(error) and "out of bounds" not in str(error):
            raise
        raise RuntimeError(f"For '{where}', the numbers in 'segment_ids' must be less than "
                           f"'num_segments' {count}, but got {given[given >= count].tolist()[:8]}."
                           ) from error
    return wrap(out[:count])


@op
def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The sums of the slices that have one segment id.

    Args:
        input_x: any shape.
        segment_ids: integers below `num_segments`, of the shape of the first dimensions of
            `input_x`; slices with a negative one are left out.
        num_segments: how many segments, an int or a Tensor of one.

    Returns:
        Tensor of shape ``(num_segments,) + input_x.shape[segment_ids.ndim:]``; 0 without slices.

    Raises:
        ValueError: if the shapes do not fit, `num_segments` is not positive or an id too great.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unsorted_segment_sum(ms.Tensor([1, 2, 3]), ms.Tensor([0, 1, 0]), 2))
        [4 2]
    """
    return _segmented(input_x, segment_ids, num_segments, "unsorted_segment_sum", lambda _: 0, None)


@op
def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The greatest elements of the slices of one segment id; the type's least without slices.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unsorted_segment_max(ms.Tensor([1, 2, 3]), ms.Tensor([0, 1, 0]), 2))
        [3 2]
    """
    return _segmented(x, segment_ids, num_segments, "unsorted_segment_max", _lowest, "amax")


@op
def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The least elements of the slices of one segment id; the type's greatest without slices.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unsorted_segment_min(ms.Tensor([1, 2, 3]), ms.Tensor([0, 1, 0]), 2))
        [1 2]
    """
    return _segmented(x, segment_ids, num_segments, "unsorted_segment_min", _highest, "amin")


@op
def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The products of the slices that have one segment id; 1 without slices.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.unsorted_segment_prod(ms.Tensor([1, 2, 3]), ms.Tensor([0, 1, 0]), 2))
        [3 2]
    """
    return _segmented(x, segment_ids, num_segments, "unsorted_segment_prod", lambda _: 1, "prod")


def _tensor_scatter(self: Tensor, axis: Any = None, index: Any = None, src: Any = None,
                    reduce: str = "none", *, dim: Any = None, value: Any = None) -> Tensor:
    """`ops.scatter`; the axis also goes by the name ``dim``, a number for `src` by ``value``.

    `reduce` may be ``"add"`` or ``"multiply"``, to combine with what is there.
    """
    axis = dim if axis is None else axis
    if isinstance(axis, Tensor):
        axis = as_int(axis, "Tensor.scatter", "dim")
    one_of(reduce, ("none", "add", "multiply"), "reduce", "Tensor.scatter")
    return _placed(self, axis, index, value if src is None else src, reduce, "Tensor.scatter")


def _tensor_scatter_add(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """``scatter_add(dim, index, src)`` adds element by element, ``(indices, updates)`` by rows."""
    if len(args) + len(named) == 3:
        names = [n for n in ("dim", "index", "src") if n in named]
        dim, index, src = args + tuple(named[n] for n in names)
        return _placed(self, dim, index, src, "add", "Tensor.scatter_add")
    indices, updates = args + tuple(named[n] for n in ("indices", "updates") if n in named)
    return wrap(scattered_rows(self._raw, indices_of(indices, "Tensor.scatter_add"),
                               raw_of(updates, "Tensor.scatter_add", "updates"), "add",
                               "Tensor.scatter_add"))


def _tensor_index_add(self: Tensor, *args: Any, use_lock: bool = True,
                      check_index_bound: bool = True, alpha: Any = 1, **named: Any) -> Tensor:
    """``index_add(indices, y, axis)`` or ``index_add(dim, index, source, alpha=1)``."""
    if "dim" in named or (args and not isinstance(args[0], Tensor)):
        names = [n for n in ("dim", "index", "source") if n in named]
        axis, indices, y = args + tuple(named[n] for n in names)
    else:
        names = [n for n in ("indices", "y", "axis") if n in named]
        indices, y, axis = args[:3] + tuple(named[n] for n in names)
    return _index_added(wrap(self._raw), axis, indices, y, alpha, "Tensor.index_add")


def _index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with `values` at the positions that the tuple of Tensors `indices` names."""
    raw = self._raw
    positions = tuple(i._raw if i._raw.dtype is torch.bool else i._raw.long() for i in indices)
    return wrap(raw.index_put(positions, raw_of(values, "Tensor.index_put", "values").to(raw.dtype),
                              bool(accumulate)))


tensor_methods(scatter=op(_tensor_scatter), scatter_add=op(_tensor_scatter_add),
               index_add=op(_tensor_index_add), index_fill=index_fill, index_put=op(_index_put),
               select_scatter=select_scatter, slice_scatter=slice_scatter,
               inplace_update=inplace_update, unsorted_segment_max=unsorted_segment_max,
               unsorted_segment_min=unsorted_segment_min,
               unsorted_segment_prod=unsorted_segment_prod)
