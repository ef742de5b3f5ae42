"""Rows of views, joins and other changes of shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .later import jnp, lax
from .table import Aval, NotLowered, cast, row


def _axis(dim: int, rank: int) -> int:
    return dim % rank


@row("view", "_reshape_alias", "unflatten.int", "view_as", view=True)
def _view(aval: Aval, x: Any, *_: Any) -> Any:
    return x.reshape(aval.shape)


row("reshape", "_unsafe_view", "flatten.using_ints", "squeeze_copy", "unsqueeze_copy")(
    lambda aval, x, *_: x.reshape(aval.shape))


row("squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze", view=True)(_view)


row("expand", "broadcast_to", "expand_as", view=True)(
    lambda aval, x, *_: jnp.broadcast_to(x, aval.shape))
row("permute", view=True)(lambda aval, x, dims: jnp.transpose(x, dims))
row("transpose.int", "swapaxes", view=True)(
    lambda aval, x, a, b: jnp.swapaxes(x, a, b) if x.ndim else x)
row("t", "numpy_T", "mT", view=True)(lambda aval, x: jnp.swapaxes(x, 0, 1) if x.ndim > 1 else x)
row("movedim.intlist", view=True)(lambda aval, x, source, to: jnp.moveaxis(x, source, to))


@row("select.int", view=True)
def _select(aval: Aval, x: Any, dim: int, index: int) -> Any:
    return lax.index_in_dim(x, index % x.shape[dim], _axis(dim, x.ndim), keepdims=False)


@row("slice.Tensor", view=True)
def _slice(aval: Aval, x: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    start, end = _bounds(start, end, x.shape[dim])
    return lax.slice_in_dim(x, start, end, step, _axis(dim, x.ndim))


def _bounds(start: Any, end: Any, length: int) -> tuple[int, int]:
    start, end = 0 if start is None else start, length if end is None else end
    start = min(max(start + length if start < 0 else start, 0), length)
    end = min(max(end + length if end < 0 else end, start), length)
    return start, end


@row("narrow", view=True)
def _narrow(aval: Aval, x: Any, dim: int, start: int, length: int) -> Any:
    return lax.slice_in_dim(x, start % x.shape[dim], start % x.shape[dim] + length, 1,
                            _axis(dim, x.ndim))


@row("unbind.int", view=True)
def _unbind(avals: list[Aval], x: Any, dim: int) -> list[Any]:
    return [lax.index_in_dim(x, i, _axis(dim, x.ndim), keepdims=False) for i in range(len(avals))]


@row("split.Tensor", "split_with_sizes", "chunk", "split.sizes", view=True)
def _split(avals: list[Aval], x: Any, _: Any, dim: int) -> list[Any]:
    found, start, axis = [], 0, _axis(dim, x.ndim)
    for aval in avals:
        found.append(lax.slice_in_dim(x, start, start + aval.shape[axis], 1, axis))
        start += aval.shape[axis]
    return found


row("diagonal", view=True)(lambda aval, x, offset, a, b: jnp.diagonal(x, offset, a, b))


@row("unfold", view=True)
def _unfold(aval: Aval, x: Any, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(aval.shape)
    axis = _axis(dim, x.ndim)
    starts = jnp.arange(aval.shape[axis]) * step
    parts = jnp.take(x, starts[:, None] + jnp.arange(size)[None, :], axis)
    return jnp.moveaxis(parts, axis + 1, -1)


@row("unfold_backward")
def _unfold_backward(aval: Aval, g: Any, sizes: list[int], dim: int, size: int, step: int) -> Any:
    if not sizes:
        return g.reshape(aval.shape)
    axis = _axis(dim, len(sizes))
    starts = jnp.arange(g.shape[axis]) * step
    at = starts[:, None] + jnp.arange(size)[None, :]
    zero = jnp.zeros(aval.shape, aval.dtype)
    index = (slice(None),) * axis + (at,)
    return zero.at[index].add(jnp.moveaxis(g, -1, axis + 1))


@row("cat", "concat")
def _cat(aval: Aval, parts: list[Any], dim: int) -> Any:
    parts = [cast(p, aval.dtype) for p in parts if p.shape != (0,) or aval.shape == (0,)]
    return jnp.concatenate(parts, _axis(dim, len(aval.shape)))


@row("stack")
def _stack(aval: Aval, parts: list[Any], dim: int) -> Any:
    return jnp.stack([p.astype(aval.dtype) for p in parts], _axis(dim, len(aval.shape)))


row("flip")(lambda aval, x, dims: jnp.flip(x, dims) if dims else x)
row("roll")(
    lambda aval, x, shifts, dims: jnp.roll(x, shifts, dims) if dims else jnp.roll(x, shifts[0]))
row("repeat")(
    lambda aval, x, times: jnp.tile(x.reshape((1,) * (len(times) - x.ndim) + x.shape), times))
row("tril")(lambda aval, x, diagonal: jnp.tril(x, diagonal))
row("triu")(lambda aval, x, diagonal: jnp.triu(x, diagonal))


@row("constant_pad_nd")
def _pad(aval: Aval, x: Any, pad: list[int], value: Any) -> Any:
    widths = [(0, 0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        widths[x.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1], 0
    return lax.pad(x, jnp.asarray(value).astype(aval.dtype), widths)


@row("select_backward")
def _select_backward(aval: Aval, g: Any, sizes: list[int], dim: int, index: int) -> Any:
    axis = _axis(dim, len(sizes))
    return _placed(jnp.expand_dims(g, axis), axis, index % sizes[axis], 1, sizes)


@row("slice_backward")
def _slice_backward(aval: Aval, g: Any, sizes: list[int], dim: int, start: int, end: int,
                    step: int) -> Any:
    axis = _axis(dim, len(sizes))
    return _placed(g, axis, _bounds(start, end, sizes[axis])[0], step, sizes)


def _placed(g: Any, axis: int, start: int, step: int, sizes: list[int]) -> Any:
    """Zeros with a part set: as padding, which XLA joins with what it is added to."""
    count = g.shape[axis]
    if not count:
        return jnp.zeros(sizes, g.dtype)
    last = start + (count - 1) * step
    widths = [(start, sizes[axis] - 1 - last, step - 1) if i == axis else (0, 0, 0)
              for i in range(g.ndim)]
    return lax.pad(g, jnp.zeros((), g.dtype), widths)


@row("diagonal_backward")
def _diagonal_backward(aval: Aval, g: Any, sizes: list[int], offset: int, a: int, b: int) -> Any:
    index = jnp.diagonal(jnp.arange(_count(sizes)).reshape(sizes), offset, a, b)
    return _scattered(aval, jnp.zeros(aval.shape, g.dtype), index, g)


@row("select_scatter")
def _select_scatter(aval: Aval, x: Any, part: Any, dim: int, index: int) -> Any:
    at = (slice(None),) * _axis(dim, x.ndim) + (index,)
    return x.at[at].set(part.astype(x.dtype))


@row("slice_scatter")
def _slice_scatter(aval: Aval, x: Any, part: Any, dim: int, start: Any, end: Any, step: int
                   ) -> Any:
    start, end = _bounds(start, end, x.shape[dim])
    at = (slice(None),) * _axis(dim, x.ndim) + (slice(start, end, step),)
    return x.at[at].set(part.astype(x.dtype))


@row("diagonal_scatter")
def _diagonal_scatter(aval: Aval, x: Any, part: Any, offset: int, a: int, b: int) -> Any:
    index = jnp.diagonal(jnp.arange(x.size).reshape(x.shape), offset, a, b)
    return _scattered(aval, x, index, part.astype(x.dtype))


@row("as_strided", view=True)
def _as_strided(aval: Aval, x: Any, size: list[int], stride: list[int], offset: Any) -> Any:
    """The elements of memory that is dense, row by row (`xla.text` has checked that)."""
    places = memory_places(size, stride, offset or 0)
    if places.size and int(places.max()) >= x.size:
        raise NotLowered("as_strided beyond the tensor")
    return x.reshape(-1)[places]


def memory_places(size: list[int], stride: list[int], offset: int = 0) -> Any:
    """Where in memory each element of a tensor of this layout lies, as an array of NumPy's."""
    places = np.full(size, offset)
    for steps in np.ix_(*[np.arange(n) * step for n, step in zip(size, stride, strict=True)]):
        places = places + steps
    return places


def _count(sizes: list[int]) -> int:
    found = 1
    for n in sizes:
        found *= n
    return found


def _scattered(aval: Aval, x: Any, index: Any, part: Any) -> Any:
    return x.reshape(-1).at[index.reshape(-1)].set(part.reshape(-1)).reshape(aval.shape)
