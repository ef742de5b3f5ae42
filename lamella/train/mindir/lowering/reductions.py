"""MindIR nodes of operations that make one element of many."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..builder import Builder, Unwritable, Value
from .elementwise import two
from .table import TABLE, as_type, lowers

_REDUCED = {"mean": ("ReduceMean", ()), "amax": ("ReduceMax", ()), "amin": ("ReduceMin", ()),
            "sum": ("ReduceSum", (False,))}


def _axes(x: Value, dims: Any) -> tuple[int, ...]:
    rank = len(x.shape)
    dims = [dims] if isinstance(dims, int) else dims or range(rank)
    return tuple(dim % rank for dim in dims) if rank else ()


def reduced(graph: Builder, raw: Any, name: str, x: Value, dims: Any = None,
            keepdim: bool = False) -> Value:
    """A sum, mean, maximum or minimum over dimensions."""
    primitive, rest = _REDUCED[name]
    if not x.shape:
        return as_type(graph, x, raw.dtype)
    return graph.node(primitive, as_type(graph, x, raw.dtype), _axes(x, dims), keepdim, *rest,
                      raw=raw)


def _of(name: str) -> Any:
    def lowering(graph: Builder, raw: Any, x: Value, dim: Any = None, keepdim: bool = False,
                 **_: Any) -> Value:
        return reduced(graph, raw, name, x, dim, keepdim)
    return lowering


TABLE |= {"mean.default": _of("mean"), "mean.dim": _of("mean"), "amax.default": _of("amax"),
          "amin.default": _of("amin"), "sum.default": _of("sum"), "sum.dim_IntList": _of("sum")}


@lowers("any", "any.dim", "any.dims")
def any_(graph: Builder, raw: Any, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    """Whether one element is true."""
    x = as_type(graph, x, torch.bool)
    return graph.node("ReduceAny", x, _axes(x, dim), keepdim, raw=raw) if x.shape else x


@lowers("all", "all.dim", "all.dims")
def all_(graph: Builder, raw: Any, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    """Whether all elements are true."""
    x = as_type(graph, x, torch.bool)
    return graph.node("ReduceAll", x, _axes(x, dim), keepdim, raw=raw) if x.shape else x


@lowers("prod", "prod.dim_int")
def prod(graph: Builder, raw: Any, x: Value, dim: Any = None, keepdim: bool = False, **_: Any
         ) -> Value:
    """A product."""
    x = as_type(graph, x, raw.dtype)
    return graph.node("ReduceProd", x, _axes(x, dim), keepdim, raw=raw) if x.shape else x


@lowers("var.correction", "var.dim")
def var(graph: Builder, raw: Any, x: Value, dim: Any = None, *, correction: Any = 1,
        keepdim: bool = False) -> Value:
    """The variance."""
    axes = _axes(x, dim)
    sizes = [x.shape[axis] for axis in axes]
    if not all(isinstance(n, int) for n in sizes):
        raise Unwritable("a variance over a size that varies")
    left = math.prod(sizes) - (1 if correction is None else correction)
    around = x.raw.new_empty([1 if d in axes else n for d, n in enumerate(x.shape)])
    squares = _squares(graph, x, reduced(graph, around, "mean", x, axes, True))
    total = reduced(graph, raw, "sum", squares, axes, keepdim)
    return two(graph, raw, "Mul", total, 1 / left if left > 0 else math.inf)


def _squares(graph: Builder, x: Value, mean: Value) -> Value:
    apart = two(graph, x.raw, "Sub", x, mean)
    return two(graph, x.raw, "Mul", apart, apart)


@lowers("max.dim", "min.dim")
def max_with_place(graph: Builder, raw: Any, x: Value, dim: int, keepdim: bool = False,
                   primitive: str = "ArgMaxWithValue") -> list[Value]:
    """The largest elements of a dimension, and where they are."""
    found = graph.node(primitive, x, dim % max(len(x.shape), 1), keepdim)
    place = raw[1].to(torch.int32)
    return [graph.node("TupleGetItem", found, 1, raw=raw[0]),
            as_type(graph, graph.node("TupleGetItem", found, 0, raw=place), torch.int64)]


TABLE["min.dim"] = lambda graph, raw, x, dim, keepdim=False: max_with_place(
    graph, raw, x, dim, keepdim, "ArgMinWithValue")


@lowers("argmax", "argmin")
def argmax(graph: Builder, raw: Any, x: Value, dim: int | None = None, keepdim: bool = False,
           primitive: str = "Argmax") -> Value:
    """Where the largest element of a dimension is."""
    if dim is None:
        if keepdim:
            raise Unwritable("argmax or argmin over all elements with keepdim=True")
        x, dim = graph.node("Reshape", x, (-1,), raw=x.raw.reshape(-1)), 0
    shape = [1 if d == dim % len(x.shape) else n for d, n in enumerate(x.shape)]
    smaller = raw.new_empty(shape, dtype=torch.int32).squeeze(dim)
    found = as_type(graph, graph.node(primitive, x, dim % len(x.shape), torch.int32, raw=smaller),
                    torch.int64)
    return graph.node("ExpandDims", found, dim % len(x.shape), raw=raw) if keepdim else found


TABLE["argmin.default"] = lambda graph, raw, x, dim=None, keepdim=False: argmax(
    graph, raw, x, dim, keepdim, "Argmin")


@lowers("cumsum")
def cumsum(graph: Builder, raw: Any, x: Value, dim: int, **_: Any) -> Value:
    """Sums from the beginning."""
    return graph.node("CumSum", as_type(graph, x, raw.dtype), dim % len(x.shape), False, False,
                      raw=raw)


@lowers("cumprod")
def cumprod(graph: Builder, raw: Any, x: Value, dim: int, **_: Any) -> Value:
    """Products from the beginning."""
    return graph.node("CumProd", as_type(graph, x, raw.dtype), dim % len(x.shape), False, False,
                      raw=raw)


@lowers("_softmax")
def softmax(graph: Builder, raw: Any, x: Value, dim: int, half_to_float: bool = False) -> Value:
    """Positive numbers whose sum is 1."""
    return graph.node("Softmax", as_type(graph, x, raw.dtype), (dim % max(len(x.shape), 1),),
                      raw=raw)


@lowers("_log_softmax")
def log_softmax(graph: Builder, raw: Any, x: Value, dim: int, half_to_float: bool = False) -> Value:
    """The logarithm of softmax."""
    return graph.node("LogSoftmax", as_type(graph, x, raw.dtype), dim % max(len(x.shape), 1),
                      raw=raw)


@lowers("sort", "sort.stable")
def sort(graph: Builder, raw: Any, x: Value, dim: int = -1, descending: bool = False, *,
         stable: bool | None = None) -> list[Value]:
    """Elements in order, and where they were."""
    found = graph.node("Sort", x, axis=dim % len(x.shape), descending=bool(descending))
    return _with_places(graph, found, raw)


@lowers("topk")
def topk(graph: Builder, raw: Any, x: Value, k: Any, dim: int = -1, largest: bool = True,
         sorted: bool = True) -> list[Value]:  # noqa: A002
    """The largest elements, and where they are."""
    if dim % len(x.shape) != len(x.shape) - 1 or not isinstance(k, int):
        raise Unwritable("topk along another dimension than the last")
    if largest:
        return _with_places(graph, graph.node("TopK", x, k, sorted=True), raw)
    found = graph.node("TopK", _reversed(graph, x), k, sorted=True)
    values, places = _with_places(graph, found, raw)
    return [_reversed(graph, values), places]


def _reversed(graph: Builder, x: Value) -> Value:
    """Elements in the opposite order: -x, and of integers -x - 1, which all of them have."""
    found = graph.node("Neg", x, raw=x.raw)
    return found if x.dtype.is_floating_point else two(graph, x.raw, "Sub", found, 1)


def _with_places(graph: Builder, found: Value, raw: Any) -> list[Value]:
    place = graph.node("TupleGetItem", found, 1, raw=raw[1].to(torch.int32))
    return [graph.node("TupleGetItem", found, 0, raw=raw[0]), as_type(graph, place, torch.int64)]
