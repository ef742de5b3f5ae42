"""Reads and writes of boxes: parts of a tensor that begin at a place and have a size.

A program's loop writes ``table[i, t] = h`` and reads ``table[i - 1, t]``: the same operations in
each step, at another place. Their gradients read and write there, too. So that a loop is found
(`rolling`), each chain of such views becomes one operation whose places are arguments. They may be
numbers that differ between steps (`step_numbers`), and in XLA's loop the table is written in place.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .later import jnp, lax
from .table import Aval, Step, row

TAKE = "lamella.take"  # source, starts, sizes
PUT = "lamella.put"  # whole, part, starts, sizes
PLACE = "lamella.place"  # part, starts, sizes: zeros elsewhere
ADD = "lamella.add_to"  # whole, part, starts, sizes
FILL = "lamella.fill"  # source, [length], dim, what lies beyond, inner, most

READS = ("select.int", "slice.Tensor", "narrow.default", "as_strided.default")
_SAME = ("squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default", "view.default",
         "_reshape_alias.default", "alias.default", "detach.default")


class Box(NamedTuple):
    """A part of a tensor.

    Args:
        whole: the shape of the tensor.
        starts: where the part begins in each of its dimensions.
        sizes: how long it is there.
        axes: of each dimension of the part as a tensor, the dimension of the whole, or None for one
            that was added.
    """

    whole: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    axes: tuple[int | None, ...]

    @classmethod
    def all_of(cls, shape: list[int]) -> Box:
        """The box that is the whole tensor."""
        return cls(tuple(shape), (0,) * len(shape), tuple(shape), tuple(range(len(shape))))

    @classmethod
    def read_by(cls, step: Step, shape: list[int]) -> Box | None:
        """The box that a step reads of a value of a shape; None if it reads another way."""
        if step["op"] == TAKE:
            _, starts, sizes = step["args"]
            return cls.all_of(shape)._replace(starts=tuple(starts), sizes=tuple(sizes))
        return cls.all_of(shape).view(step["op"], step["args"][1:], step["aval"][0])

    def view(self, name: str, rest: list[Any], shape: list[int]) -> Box | None:
        """A view of this part, as a box of the whole; None if it is no box.

        Args:
            name: the operation that makes the view.
            rest: its arguments after the tensor.
            shape: the shape of the view.
        """
        if name in _SAME:
            return self._with_ones(shape)
        if name == "as_strided.default":
            return self._strided(*rest) if self == Box.all_of([*self.whole]) else None
        if name not in READS:
            return None
        own = [self.sizes[axis] if axis is not None else 1 for axis in self.axes]
        dim = rest[0] % len(own)
        if name == "select.int":
            start, length = rest[1] % own[dim], 1
        elif name == "narrow.default":
            start, length = rest[1] + own[dim] * (rest[1] < 0), rest[2]
        else:
            if rest[3] != 1:
                return None
            start = rest[1] or 0
            start, length = max(start + own[dim] * (start < 0), 0), shape[dim]
        if not length:
            return None
        found, axis = self, self.axes[dim]
        if axis is not None:
            found = self._replace(
                starts=_changed(self.starts, axis, self.starts[axis] + start),
                sizes=_changed(self.sizes, axis, length))
        if name == "select.int":
            found = found._replace(axes=self.axes[:dim] + self.axes[dim + 1:])
        return found

    def within(self, inner: Box) -> Box:
        """A box of this part, as a box of the whole."""
        starts, sizes = [*self.starts], [*self.sizes]
        for axis, start, size in zip(self.axes, inner.starts, inner.sizes, strict=True):
            if axis is not None:
                starts[axis] += start
                sizes[axis] = size
        return Box(self.whole, tuple(starts), tuple(sizes), tuple(
            None if axis is None else self.axes[axis] for axis in inner.axes))

    def _with_ones(self, shape: list[int]) -> Box | None:
        """The same part with other dimensions of one element."""
        longer = [axis for axis in self.axes if axis is not None and self.sizes[axis] != 1]
        if [self.sizes[axis] for axis in longer] != [n for n in shape if n != 1]:
            return None
        return self._replace(axes=tuple(longer.pop(0) if n != 1 else None for n in shape))

    def _strided(self, sizes: list[int], strides: list[int], offset: int | None) -> Box | None:
        """The part of memory, row by row, that has a layout."""
        if not math.prod(self.whole) or not math.prod(sizes):
            return None
        rest, at, starts = offset or 0, 0, []
        steps = [math.prod(self.whole[d + 1:]) for d in range(len(self.whole))]
        for step in steps:
            starts.append(rest // step)
            rest %= step
        own, axes = [1] * len(self.whole), []
        for size, stride in zip(sizes, strides, strict=True):
            if size == 1:
                axes.append(None)
                continue
            while at < len(steps) and (steps[at] != stride or self.whole[at] == 1):
                at += 1
            if at == len(steps):
                return None
            own[at] = size
            axes.append(at)
            at += 1
        if any(s + n > most for s, n, most in zip(starts, own, self.whole, strict=True)):
            return None
        return Box(self.whole, tuple(starts), tuple(own), tuple(axes))


def _changed(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return values[:at] + (value,) + values[at + 1:]


@row(TAKE)
def _take(aval: Aval, x: Any, starts: list[Any], sizes: list[int]) -> Any:
    return _cut(x, starts, sizes).reshape(aval.shape)


@row(PUT)
def _put(aval: Aval, x: Any, part: Any, starts: list[Any], sizes: list[int]) -> Any:
    return _with(x, part.reshape(sizes), starts)


@row(PLACE)
def _placed(aval: Aval, part: Any, starts: list[Any], sizes: list[int]) -> Any:
    zero, part = jnp.zeros((), aval.dtype), part.reshape(sizes)
    if _are_known(starts):  # as padding, which XLA joins with what it is added to
        return lax.pad(part, zero, [(s, whole - s - n, 0) for s, n, whole in zip(
            starts, sizes, aval.shape, strict=True)])
    return _with(jnp.zeros(aval.shape, aval.dtype), part, starts)


@row(ADD)
def _added(aval: Aval, x: Any, part: Any, starts: list[Any], sizes: list[int]) -> Any:
    return _with(x, _cut(x, starts, sizes) + part.reshape(sizes), starts)


@row(FILL)
def _filled(aval: Aval, x: Any, lengths: list[Any], dim: int, beyond: Any, inner: int, most: int
            ) -> Any:
    """What counts of a value (`growing_rules.Length`), and something else beyond it."""
    place = lax.broadcasted_iota("int32", x.shape, dim)
    if x.shape[dim] != most:
        place = place // inner % most
    return jnp.where(place < lengths[0], x, jnp.asarray(beyond, x.dtype))


def _are_known(starts: list[Any]) -> bool:
    return all(isinstance(start, int) for start in starts)


def _cut(x: Any, starts: list[Any], sizes: list[int]) -> Any:
    if _are_known(starts):
        return lax.slice(x, starts, [s + n for s, n in zip(starts, sizes, strict=True)])
    return lax.dynamic_slice(x, _indices(starts), sizes)


def _with(x: Any, part: Any, starts: list[Any]) -> Any:
    return lax.dynamic_update_slice(x, part, _indices(starts)) if starts else part


def _indices(starts: list[Any]) -> list[Any]:
    return [jnp.asarray(start, "int32") for start in starts]
