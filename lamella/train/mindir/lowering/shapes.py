"""MindIR nodes of operations that move elements."""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

from ..builder import Builder, Unwritable, Value
from .table import as_type, constant, lowers, same_sizes

_SMALL = 4096  # elements of a constant in place of operations that make it


@lowers("view")
def view(graph: Builder, raw: Any, x: Value, sizes: Any) -> Value:
    """The same elements in another shape."""
    if same_sizes(x.shape, list(raw.shape)):
        return x
    return graph.node("Reshape", x, _with_one_open(sizes), raw=raw)


def _with_one_open(sizes: Any) -> tuple[Any, ...]:
    """Sizes, of which -1 stands for one that may vary, as long as it is the only one."""
    vary = [at for at, n in enumerate(sizes) if isinstance(n, Value)]
    if len(vary) == 1 and -1 not in [n for n in sizes if isinstance(n, int)]:
        return tuple(-1 if at == vary[0] else n for at, n in enumerate(sizes))
    return tuple(sizes)


@lowers("permute")
def permute(graph: Builder, raw: Any, x: Value, dims: Any) -> Value:
    """The dimensions in another order."""
    return graph.node("Transpose", x, tuple(dim % len(dims) for dim in dims), raw=raw)


@lowers("expand")
def expand(graph: Builder, raw: Any, x: Value, sizes: Any, implicit: bool = False) -> Value:
    """Spread over larger sizes."""
    if same_sizes(x.shape, list(raw.shape)):
        return x
    before = raw.dim() - len(x.shape)
    wanted = [size if isinstance(size, (int, Value)) else None for size in sizes]
    for at, there in enumerate(x.shape, before):
        if str(there) == str(raw.shape[at]):
            wanted[at] = -1
    if None in wanted:
        raise Unwritable("sizes that vary in a condition")
    return graph.node("BroadcastTo", x, tuple(wanted), raw=raw)


@lowers("unsqueeze")
def unsqueeze(graph: Builder, raw: Any, x: Value, dim: int) -> Value:
    """A dimension more."""
    return graph.node("ExpandDims", x, dim % raw.dim(), raw=raw)


@lowers("squeeze.dim", "squeeze.dims")
def squeeze(graph: Builder, raw: Any, x: Value, dims: Any) -> Value:
    """Without dimensions of one element."""
    dims = [dims] if isinstance(dims, int) else dims
    gone = tuple(d for d in sorted(dim % max(len(x.shape), 1) for dim in dims)
                 if x.shape[d:d + 1] == [1])
    return graph.node("Squeeze", x, gone, raw=raw) if gone else x


@lowers("slice.Tensor")
def slice_(graph: Builder, raw: Any, x: Value, dim: int = 0, start: Any = None, end: Any = None,
           step: int = 1) -> Value:
    """Every `step`-th element of a dimension, from `start` to before `end`."""
    if same_sizes(x.shape, list(raw.shape)):
        return x
    return _strided(graph, raw, x, dim % len(x.shape), 0 if start is None else start,
                    sys.maxsize if end is None else end, step)


def _strided(graph: Builder, raw: Any, x: Value, dim: int, start: Any, end: Any, step: int = 1,
             shrink: bool = False) -> Value:
    """A slice of dimension `dim`; the masks say that others are whole."""
    size = x.shape[dim]
    if isinstance(end, int) and end > 2 ** 31:
        end = size if isinstance(size, int) else 2 ** 31 - 1
    if isinstance(start, int) and start < 0 and isinstance(size, int):
        start = max(start + size, 0)
    if isinstance(end, int) and isinstance(size, int):
        end = min(end + size if end < 0 else end, size)
    whole = (1 << len(x.shape)) - 1 - (1 << dim)
    begin, until, steps = [0] * len(x.shape), [0] * len(x.shape), [1] * len(x.shape)
    begin[dim], until[dim], steps[dim] = start, end, step
    return graph.node("StridedSlice", x, tuple(begin), tuple(until), tuple(steps),
                      whole, whole, 0, 0, 1 << dim if shrink else 0, raw=raw)


@lowers("select.int")
def select(graph: Builder, raw: Any, x: Value, dim: int, index: Any) -> Value:
    """One place of a dimension."""
    dim %= len(x.shape)
    if not isinstance(index, int):
        raise Unwritable("a place that varies")
    if index < 0 and not isinstance(x.shape[dim], int):
        until = index + 1 if index < -1 else sys.maxsize
        part = list(raw.shape)
        one = _strided(graph, raw.new_empty([*part[:dim], 1, *part[dim:]]), x, dim, index, until)
        return squeeze(graph, raw, one, dim)
    start = index % x.shape[dim] if index < 0 else index
    return _strided(graph, raw, x, dim, start, start + 1, shrink=True)


@lowers("cat")
def cat(graph: Builder, raw: Any, parts: Any, dim: int = 0) -> Value:
    """One after the other along a dimension."""
    parts = [as_type(graph, each, raw.dtype) for each in parts if each.shape != [0]]
    if len(parts) == 1:
        return parts[0]
    return graph.node("Concat", tuple(parts), dim % raw.dim(), raw=raw)


@lowers("split_with_sizes")
def split_with_sizes(graph: Builder, raw: Any, x: Value, sizes: Any, dim: int = 0
                     ) -> list[Value]:
    """Parts of a dimension."""
    if not all(isinstance(size, int) for size in sizes):
        raise Unwritable("parts whose sizes vary")
    dim %= len(x.shape)
    ends = [sum(sizes[:at + 1]) for at in range(len(sizes))]
    return [_strided(graph, part, x, dim, end - size, end)
            for part, size, end in zip(raw, sizes, ends, strict=True)]


@lowers("unbind.int")
def unbind(graph: Builder, raw: Any, x: Value, dim: int = 0) -> list[Value]:
    """Every place of a dimension."""
    return [select(graph, part, x, dim, at) for at, part in enumerate(raw)]


@lowers("flip")
def flip(graph: Builder, raw: Any, x: Value, dims: Any) -> Value:
    """Backwards."""
    return graph.node("ReverseV2", x, tuple(dim % len(x.shape) for dim in dims), raw=raw)


@lowers("repeat")
def repeat(graph: Builder, raw: Any, x: Value, times: Any) -> Value:
    """Several times, along each dimension."""
    return graph.node("Tile", x, tuple(times), raw=raw)


@lowers("constant_pad_nd")
def constant_pad(graph: Builder, raw: Any, x: Value, pad: Any, value: Any = 0) -> Value:
    """With elements around it, or without some where `pad` is negative."""
    if not all(isinstance(n, int) for n in pad):
        raise Unwritable("a padding that varies")
    if any(n < 0 for n in pad):
        raise Unwritable("a negative padding")
    return padded(graph, raw, x, pad, value)


def padded(graph: Builder, raw: Any, x: Value, pad: Any, value: Any = 0,
           mode: str = "constant") -> Value:
    """`x` padded; `pad` begins with the last dimension, as PyTorch's does."""
    if not any(pad):
        return x
    given = [constant(value, x.dtype)] if mode == "constant" else []
    all_pads = tuple(pad) + (0,) * (2 * len(x.shape) - len(pad) if mode == "constant" else 0)
    paddings = torch.tensor(all_pads, dtype=torch.int64)
    return graph.node("PadV3", x, paddings, *given, raw=raw, mode=mode, paddings_contiguous=True)


@lowers("reflection_pad1d", "reflection_pad2d")
def reflection_pad(graph: Builder, raw: Any, x: Value, pad: Any) -> Value:
    """With its own elements around it, mirrored at the edge."""
    return padded(graph, raw, x, pad, mode="reflect")


@lowers("replication_pad2d", "replication_pad3d")
def replication_pad(graph: Builder, raw: Any, x: Value, pad: Any) -> Value:
    """With the elements of the edge around it."""
    return padded(graph, raw, x, pad, mode="edge")


@lowers("full")
def full(graph: Builder, raw: Any, sizes: Any, number: Any, **_: Any) -> Value:
    """Equal elements."""
    if isinstance(number, Value):
        raise Unwritable("a size that varies as an element")
    value = constant(number, raw.dtype)
    if all(isinstance(n, int) for n in raw.shape) and math.prod(raw.shape) <= _SMALL:
        return kept(graph, value.expand(tuple(raw.shape)).contiguous())
    return graph.node("FillV2", tuple(sizes) if isinstance(sizes, list) else sizes, value, raw=raw)


def kept(graph: Builder, held: torch.Tensor) -> Value:
    """A Tensor that the file holds."""
    return Value(graph.name_of(held), held)


@lowers("full_like", "fill.Scalar")
def full_like(graph: Builder, raw: Any, x: Value, number: Any, **_: Any) -> Value:
    """Equal elements in the shape of `x`."""
    fixed = all(isinstance(n, int) for n in raw.shape)
    return full(graph, raw, list(raw.shape) if fixed else graph.node("Shape", x), number)


@lowers("scalar_tensor")
def scalar_tensor(graph: Builder, raw: Any, number: Any, **_: Any) -> Value:
    """A number."""
    return full(graph, raw, [], number)


@lowers("arange.start_step")
def arange(graph: Builder, raw: Any, start: Any, end: Any, step: Any = 1, **_: Any) -> Value:
    """Numbers at equal distances."""
    if not any(isinstance(each, Value) for each in (start, end, step)):
        return kept(graph, torch.arange(start, end, step, dtype=raw.dtype))
    if not all(isinstance(each, (int, Value)) for each in (start, step)):
        raise Unwritable("a range of floats whose length varies")
    whole = torch.empty_like(raw, dtype=torch.int64)
    return as_type(graph, graph.node("Range", start, end, step, 1_000_000, raw=whole), raw.dtype)
