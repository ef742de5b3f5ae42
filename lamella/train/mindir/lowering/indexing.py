"""MindIR nodes of operations that read and write at places that tensors name."""

from __future__ import annotations

from typing import Any

import torch

from ..builder import Builder, Unwritable, Value
from .elementwise import select, two
from .shapes import expand, permute
from .table import as_type, lowers


@lowers("embedding")
def embedding(graph: Builder, raw: Any, table: Value, places: Value, *_: Any) -> Value:
    """Rows of a table."""
    return graph.node("Gather", table, places, 0, 0, raw=raw)


@lowers("index_select")
def index_select(graph: Builder, raw: Any, x: Value, dim: int, places: Value) -> Value:
    """Places of a dimension."""
    return graph.node("Gather", x, places, dim % len(x.shape), 0, raw=raw)


@lowers("gather")
def gather(graph: Builder, raw: Any, x: Value, dim: int, places: Value, **_: Any) -> Value:
    """Elements by their place in a dimension."""
    return graph.node("GatherD", x, dim % len(x.shape), places, raw=raw)


@lowers("index.Tensor")
def index(graph: Builder, raw: Any, x: Value, indices: Any) -> Value:
    """Elements by their places in some dimensions."""
    dims = [at for at, each in enumerate(indices) if each is not None]
    _no_masks(indices)
    if len(dims) == 1:
        places = _from_the_start(graph, indices[dims[0]], x.shape[dims[0]])
        return graph.node("Gather", x, places, dims[0], 0, raw=raw)
    places = _places(graph, x, indices, dims)
    return graph.node("GatherNd", x, places, raw=raw)


def _no_masks(indices: Any) -> None:
    if any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in indices):
        raise Unwritable("a mask as an index, which gives a size that varies")


def _from_the_start(graph: Builder, places: Value, size: Any) -> Value:
    """Places, of which negative ones were counted from the end."""
    if not isinstance(size, int):
        raise Unwritable("an index in a dimension whose size varies")
    negative = graph.node("Less", places, as_type(graph, 0, places.dtype),
                          raw=torch.empty_like(places.raw, dtype=torch.bool))
    return select(graph, places.raw, negative, two(graph, places.raw, "Add", places, size), places)


def _places(graph: Builder, x: Value, indices: Any, dims: list[int]) -> Value:
    """The places of several leading dimensions, side by side."""
    if dims != list(range(len(dims))):
        raise Unwritable("indices of dimensions that aren't the first ones")
    shape = torch.broadcast_shapes(*[tuple(indices[d].raw.shape) for d in dims])
    columns = []
    for d in dims:
        like = indices[d].raw.new_empty(shape, dtype=torch.int64)
        places = as_type(graph, _from_the_start(graph, indices[d], x.shape[d]), torch.int64)
        places = expand(graph, like, places, shape)
        columns.append(graph.node("ExpandDims", places, len(shape), raw=like.unsqueeze(-1)))
    last = columns[0].raw.new_empty([*shape, len(dims)])
    return graph.node("Concat", tuple(columns), len(shape), raw=last) if len(columns) > 1 \
        else columns[0]


@lowers("index_put")
def index_put(graph: Builder, raw: Any, x: Value, indices: Any, new: Value,
              accumulate: bool = False) -> Value:
    """Other elements at places of the first dimensions."""
    masked = indices[0] is not None and indices[0].dtype is torch.bool
    if masked and len(indices) == 1 and not accumulate and not new.shape:
        mask = indices[0]
        more = [*mask.shape, *[1] * (len(x.shape) - len(mask.shape))]
        wide = mask.raw.new_empty(more)
        return select(graph, raw, graph.node("Reshape", mask, tuple(more), raw=wide), new, x)
    _no_masks(indices)
    dims = [at for at, each in enumerate(indices) if each is not None]
    places = _places(graph, x, indices, dims)
    shape = [*places.shape[:-1], *x.shape[len(dims):]]
    updates = expand(graph, x.raw.new_empty(shape), new, shape)
    return graph.node("TensorScatterAdd" if accumulate else "TensorScatterUpdate", x, places,
                      updates, raw=raw)


@lowers("scatter.src", "scatter.value")
def scatter(graph: Builder, raw: Any, x: Value, dim: int, places: Value, new: Any,
            reduce: str = "none") -> Value:
    """Other elements by their places in a dimension."""
    if not isinstance(new, Value):
        like = torch.empty_like(places.raw, dtype=x.dtype)
        filled = as_type(graph, new, x.dtype)
        new = expand(graph, like, Value(graph.name_of(filled), filled), list(like.shape))
    if [str(n) for n in new.shape] != [str(n) for n in places.shape]:
        raise Unwritable("scatter with an index smaller than the new elements")
    return graph.node("TensorScatterElements", x, places, new, dim % len(x.shape),
                      _REDUCTIONS[reduce], raw=raw)


_REDUCTIONS = {"none": 0, "add": 1}


@lowers("scatter_add")
def scatter_add(graph: Builder, raw: Any, x: Value, dim: int, places: Value, new: Value) -> Value:
    """Added to elements by their places in a dimension."""
    return scatter(graph, raw, x, dim, places, new, "add")


@lowers("diagonal")
def diagonal(graph: Builder, raw: Any, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
             ) -> Value:
    """The diagonals of two dimensions."""
    rank = len(x.shape)
    one, other = dim1 % rank, dim2 % rank
    rows, columns = x.shape[one], x.shape[other]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Unwritable("a diagonal of sizes that vary")
    count = raw.shape[-1]
    at = torch.arange(count)
    places = torch.stack([at + max(-offset, 0), at + max(offset, 0)], dim=1)
    order = [one, other, *[d for d in range(rank) if d not in (one, other)]]
    first = permute(graph, x.raw.permute(order), x, order)
    found = graph.node("GatherNd", first, places,
                       raw=raw.permute([raw.dim() - 1, *range(raw.dim() - 1)]))
    return permute(graph, raw, found, [*range(1, raw.dim()), 0]) if raw.dim() > 1 else found
