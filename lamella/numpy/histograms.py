"""Counting values in bins, and positions in sorted arrays."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, wrap
from .creation import linspace
from .types import as_tensor, as_tensors, bool_, float32, promoted

__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges",
           "histogramdd", "searchsorted"]


@op
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values would have to be inserted for a vector to stay sorted, in int32.

    Args:
        a: a vector, ascending, or in the order of `sorter`.
        v: values, any shape.
        side: ``"left"``: before equal elements, ``"right"``: behind them.
        sorter: the positions that bring `a` into ascending order.

    Raises:
        ValueError: if `a` is no vector, `side` is another, or `sorter` has another shape than `a`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.searchsorted([1, 2, 3, 4, 5], [-10, 10, 2, 3]))
        [0 5 1 2]
    """
    one_of(side, ("left", "right"), "side", "searchsorted")
    x, values = as_tensors("searchsorted", a=a, v=v)
    if x.ndim != 1:
        raise ValueError(f"For 'searchsorted', 'a' must be a vector, but got shape {x.shape}.")
    kind = promoted(promoted(x.dtype, values.dtype), float32).raw
    if not x._raw.is_floating_point() and not values._raw.is_floating_point():
        kind = torch.int64
    raw = x._raw
    if sorter is not None:
        order = as_tensor(sorter, "searchsorted", "sorter")
        if order.shape != x.shape:
            raise ValueError(f"For 'searchsorted', 'sorter' must have the shape {x.shape} of 'a', "
                             f"but got {order.shape}.")
        raw = raw[order._raw.long()]
    return wrap(torch.searchsorted(raw.to(kind).contiguous(), values._raw.to(kind).contiguous(),
                                   right=side == "right", out_int32=True))


@op
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each value falls into, in int32.

    Args:
        x: values, any shape.
        bins: the bins' edges, ascending or descending: a vector.
        right: whether the upper edge belongs to a bin; else the lower one does.

    Raises:
        ValueError: if `bins` is no vector.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.digitize([1.2, 10.0, 12.4], [0, 5, 10, 15]))
        [1 3 3]
    """
    values, edges = as_tensors("digitize", x=x, bins=bins)
    if edges.ndim != 1:
        raise ValueError(f"For 'digitize', 'bins' must be a vector, but got shape {edges.shape}.")
    if values.size == 0:
        return values
    if edges.size == 0:
        return wrap(torch.zeros_like(values._raw, dtype=torch.int32))
    side = "left" if right else "right"
    up = searchsorted(edges, values, side)._raw
    down = edges.size - searchsorted(ops.flip(edges, (0,)), values, side)._raw
    return wrap(torch.where(edges._raw[0] <= edges._raw[-1], up, down).int())


@op
def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each integer from 0 on comes, or the sum of its weights, in float32.

    Numbers below 0 count as 0.

    Args:
        x: a vector of integers.
        weights: what each element counts; default: 1.
        minlength: the least number of counts.
        length: the number of counts; what is above isn't counted.

    Raises:
        ValueError: if `x` is no vector, or `weights` has another shape.
        TypeError: if `x` isn't of integers.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.bincount(np.array([0, 1, 1, 3])))
        [1. 2. 0. 1.]
    """
    x = as_tensor(x, "bincount")
    if x.ndim != 1:
        raise ValueError(f"For 'bincount', 'x' must be a vector, but got shape {x.shape}.")
    if x._raw.is_floating_point() or x.dtype is bool_:
        raise TypeError(f"For 'bincount', 'x' must be integers, but got {x.dtype}.")
    raw = x._raw.long().clamp(min=0)
    share = torch.ones_like(raw, dtype=torch.float32)
    if weights is not None:
        share = as_tensor(weights, "bincount", "weights")._raw.to(torch.float32)
        if share.shape != raw.shape:
            raise ValueError(f"For 'bincount', 'weights' must have the shape {x.shape} of 'x', "
                             f"but got {tuple(share.shape)}.")
    if length is None:
        length = max(int(raw.max()) + 1 if raw.numel() else 0, minlength)
    inside = raw < length
    counts = torch.zeros(length + 1, dtype=torch.float32, device=raw.device)
    return wrap(counts.index_add(0, torch.where(inside, raw, length), share)[:-1])


@op
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of equal bins over the range of values; `bins` itself where that are edges.

    Args:
        a: values, any shape.
        bins: the number of bins, or their edges.
        range: the least and the greatest edge; default: of the values.
        weights: of the shape of `a`; not used.

    Raises:
        ValueError: if edges are no vector, or `range` is not two ascending numbers.
        NotImplementedError: if `bins` is the name of a rule, as in MindSpore.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.histogram_bin_edges(np.array([0, 4]), bins=4))
        [0. 1. 2. 3. 4.]
    """
    a = as_tensor(a, "histogram_bin_edges", "a")
    if weights is not None and as_tensor(weights, "histogram_bin_edges").shape != a.shape:
        raise ValueError(f"For 'histogram_bin_edges', 'weights' must have the shape {a.shape} of "
                         f"'a', but got {as_tensor(weights, 'histogram_bin_edges').shape}.")
    if isinstance(bins, str):
        raise NotImplementedError(f"For 'histogram_bin_edges', 'bins' must be a number or edges; "
                                  f"the rule {bins!r} is not there.")
    if isinstance(bins, (tuple, list, Tensor)):
        edges = as_tensor(bins, "histogram_bin_edges", "bins")
        if edges.ndim != 1:
            raise ValueError(f"For 'histogram_bin_edges', edges must be a vector, "
                             f"but got shape {edges.shape}.")
        return edges
    raw = a._raw.float()
    if range is None and not raw.numel():
        range = 0.0, 1.0  # as NumPy's
    if range is None:
        start, end = raw.min(), raw.max()
    else:
        if not isinstance(range, (list, tuple)) or len(range) != 2 or range[0] > range[1]:
            raise ValueError(f"For 'histogram_bin_edges', 'range' must be two ascending numbers, "
                             f"but got {range!r}.")
        start, end = (as_tensor(e, "histogram_bin_edges", "range")._raw.float() for e in range)
    flat = end == start
    return linspace(wrap(torch.where(flat, start - 0.5, start)),
                    wrap(torch.where(flat, end + 0.5, end)), bins + 1)


def _bin_of(values: Tensor, edges: Tensor) -> torch.Tensor:
    """The bin of each value from 1 on; the last edge belongs to the last bin."""
    number = searchsorted(edges, values, "right")._raw
    return torch.where(values._raw == edges._raw[-1], edges.size - 1, number)


@op
def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None,
              density: bool = False) -> tuple[Tensor, Tensor]:
    """How many values lie in each bin.

    Args:
        a: values, any shape.
        bins: the number of bins, or their edges.
        range: the least and the greatest edge; default: of the values.
        weights: what each value counts; default: 1.
        density: whether counts are divided by their sum and the width of the bin.

    Returns:
        (counts in float32, edges)

    Examples:
        >>> import lamella.numpy as np
        >>> counts, edges = np.histogram([1, 2, 1], bins=[0, 1, 2, 3])
        >>> print(counts, edges)
        [0. 2. 1.] [0 1 2 3]
    """
    a = as_tensor(a, "histogram", "a")
    if weights is not None:
        weights = as_tensor(weights, "histogram", "weights")
        if weights.shape != a.shape:
            raise ValueError(f"For 'histogram', 'weights' must have the shape {a.shape} of 'a', "
                             f"but got {weights.shape}.")
        weights = ops.ravel(weights)
    flat = ops.ravel(a)
    edges = histogram_bin_edges(flat, bins, range, weights)
    counts = bincount(wrap(_bin_of(flat, edges)), weights, length=edges.size)._raw[1:]
    if density:
        counts = counts / torch.diff(edges._raw) / counts.sum()
    return wrap(counts), edges


@op
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, list[Tensor]]:
    """How many points lie in each bin of several dimensions.

    Args:
        sample: points, one a row; or a tuple or list of the coordinates, one array a dimension.
        bins: the number of bins, or one number or edges for each dimension.
        range: for each dimension the least and the greatest edge, or None.
        weights: what each point counts; default: 1.
        density: whether counts are divided by their sum and the volume of the bin.

    Returns:
        (counts in float32, a list of edges)

    Raises:
        TypeError: if `sample` or `bins` is of another type.
        ValueError: if `bins` or `range` doesn't have one entry for each dimension.

    Examples:
        >>> import lamella.numpy as np
        >>> counts, edges = np.histogramdd(np.array([[0.0, 1.0], [2.0, 3.0]]), bins=2)
        >>> print(counts)
        [[1. 0.]
         [0. 1.]]
    """
    if isinstance(sample, (tuple, list)):
        sample = ops.stack([as_tensor(s, "histogramdd", "sample") for s in sample], -1)
    if not isinstance(sample, Tensor):
        raise TypeError(f"For 'histogramdd', 'sample' must be a Tensor, or a tuple or list of "
                        f"coordinates, but got {sample!r}.")
    if sample.ndim != 2:
        raise ValueError(f"For 'histogramdd', 'sample' must be a matrix, but got shape "
                         f"{sample.shape}.")
    rank = sample.shape[1]
    if not isinstance(bins, (int, tuple, list, Tensor)):
        raise TypeError(f"For 'histogramdd', 'bins' must be an int, or one for each dimension, "
                        f"but got {bins!r}.")
    kinds = [bins] * rank if isinstance(bins, int) else list(bins)
    limits = [None] * rank if range is None else list(range)
    if len(kinds) != rank or len(limits) != rank:
        raise ValueError(f"For 'histogramdd', 'bins' and 'range' must have an entry for each of "
                         f"the {rank} dimensions, but got {len(kinds)} and {len(limits)}.")
    columns = ops.unbind(sample, 1)
    edges = [histogram_bin_edges(c, int(k) if isinstance(k, Tensor) and k.ndim == 0 else k, r)
             for c, k, r in zip(columns, kinds, limits, strict=True)]
    shape = [e.size + 1 for e in edges]  # with a bin below and one above
    position = torch.zeros(sample.shape[0], dtype=torch.int64, device=sample._raw.device)
    for column, edge, length in zip(columns, edges, shape, strict=True):
        position = position * length + _bin_of(column, edge)
    total = 1
    for length in shape:
        total *= length
    counts = bincount(wrap(position), weights, length=total)._raw.reshape(shape)
    counts = counts[tuple(slice(1, -1) for _ in shape)]
    if density:
        share = counts.sum()
        for axis, edge in enumerate(edges):
            widths = [1] * rank
            widths[axis] = -1
            counts = counts / torch.diff(edge._raw).reshape(widths)
        counts = counts / share
    return wrap(counts), edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """As `histogramdd` for points with coordinates `x` and `y`: (counts, edges of x, edges of y).

    Examples:
        >>> import lamella.numpy as np
        >>> counts, _, _ = np.histogram2d([0, 2, 2], [1, 3, 3], bins=2)
        >>> print(counts)
        [[1. 0.]
         [0. 2.]]
    """
    counts, edges = histogramdd((x, y), bins, range, weights, density)
    return counts, edges[0], edges[1]
