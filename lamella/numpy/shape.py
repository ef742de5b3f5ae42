"""Shapes: reshaping, axes, repetition, broadcasting; nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..ops.arguments import as_ints, axis_in
from ..tensors.tensor import Tensor
from .types import as_tensor

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to",
           "expand_dims", "flip", "fliplr", "flipud", "moveaxis", "ravel", "repeat", "reshape",
           "roll", "rollaxis", "rot90", "size", "squeeze", "swapaxes", "tile", "transpose"]


def axes_in(axis: Any, rank: int, where: str) -> tuple[int, ...]:
    """Axes as different counts from the front; None stands for all.

    Raises:
        ValueError: if there is no such axis, or one comes twice.
    """
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis_in(a, rank, where) for a in as_ints(axis, where, "axis"))
    if len(set(axes)) < len(axes):
        raise ValueError(f"For '{where}', the axes must differ, but got {axis}.")
    return axes


def reshape(x: Any, new_shape: Any) -> Tensor:
    """As `ops.reshape`."""
    return ops.reshape(as_tensor(x, "reshape"), as_ints(new_shape, "reshape", "new_shape"))


def ravel(x: Any) -> Tensor:
    """As `ops.ravel`."""
    return ops.ravel(as_tensor(x, "ravel"))


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """As `ops.squeeze`."""
    return ops.squeeze(as_tensor(a, "squeeze", "a"), axis)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """As `ops.expand_dims`; a tuple or list of axes counts those of the result.

    Raises:
        TypeError: if `axis` is no int, tuple or list.
        ValueError: if the result has no such axis.

    Examples:
        >>> import lamella as ms
        >>> ms.numpy.expand_dims(ms.Tensor([1, 2]), 0).shape
        (1, 2)
    """
    a = as_tensor(a, "expand_dims", "a")
    if not isinstance(axis, (int, tuple, list)):
        raise TypeError(f"For 'expand_dims', 'axis' must be an int, a tuple or a list, "
                        f"but got {axis!r}.")
    if isinstance(axis, int):
        return ops.expand_dims(a, axis)
    for ax in sorted(axes_in(axis, a.ndim + len(axis), "expand_dims")):
        a = ops.expand_dims(a, ax)
    return a


def transpose(a: Any, axes: Any = None) -> Tensor:
    """As `ops.transpose`; without `axes` in reverse order."""
    a = as_tensor(a, "transpose", "a")
    return ops.transpose(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """As `ops.swapaxes`."""
    return ops.swapaxes(as_tensor(x, "swapaxes"), axis1, axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """As `ops.movedim`."""
    a = as_tensor(a, "moveaxis", "a")
    origin = axes_in(source, a.ndim, "moveaxis")
    target = axes_in(destination, a.ndim, "moveaxis")
    if len(origin) != len(target):
        raise ValueError(f"For 'moveaxis', 'source' and 'destination' must have one length, "
                         f"but got {source} and {destination}.")
    return ops.movedim(a, origin, target)


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """`x` with one axis moved back, until it lies before `start`.

    Raises:
        TypeError: if `axis` or `start` is no int.
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella.numpy as np
        >>> np.rollaxis(np.ones((3, 4, 5)), 2).shape
        (5, 3, 4)
    """
    x = as_tensor(x, "rollaxis")
    axis = axis_in(axis, x.ndim, "rollaxis")
    if not isinstance(start, int):
        raise TypeError(f"For 'rollaxis', 'start' must be an int, but got {start!r}.")
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"For 'rollaxis', 'start' must be in [{-x.ndim}, {x.ndim}], "
                         f"but got {start}.")
    start = start + x.ndim if start < 0 else start
    return ops.movedim(x, axis, start - 1 if axis < start else start)


def flip(m: Any, axis: Any = None) -> Tensor:
    """As `ops.flip`; without `axis` along all axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.flip(ms.Tensor([1, 2, 3])))
        [3 2 1]
    """
    m = as_tensor(m, "flip", "m")
    return ops.flip(m, axes_in(axis, m.ndim, "flip"))


def flipud(m: Any) -> Tensor:
    """As `flip` along the first axis."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """As `flip` along the second axis."""
    return flip(m, 1)


def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """As `ops.rot90`."""
    a = as_tensor(a, "rot90", "a")
    if not isinstance(k, int) or not isinstance(axes, (tuple, list)):
        raise TypeError(f"For 'rot90', 'k' must be an int and 'axes' a tuple or list, "
                        f"but got {k!r} and {axes!r}.")
    plane = axes_in(axes, a.ndim, "rot90")
    if len(plane) != 2:
        raise ValueError(f"For 'rot90', 'axes' must be two axes, but got {axes}.")
    return ops.rot90(a, k, plane)


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """As `ops.roll`; one shift goes with several axes, and one axis with several shifts.

    Raises:
        TypeError: if `shift` or `axis` is no int, tuple or list.
        ValueError: if there is no such axis, or the two don't go together.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.roll(ms.Tensor([1, 2, 3]), 1))
        [3 1 2]
    """
    a = as_tensor(a, "roll", "a")
    for name, value in (("shift", shift), ("axis", axis)):
        if not isinstance(value, (int, tuple, list)) and (name == "shift" or value is not None):
            raise TypeError(f"For 'roll', '{name}' must be an int, a tuple or a list, "
                            f"but got {value!r}.")
    if axis is None:
        return ops.reshape(roll(ops.ravel(a), shift, 0), a.shape)
    shifts, axes = as_ints(shift, "roll", "shift"), as_ints(axis, "roll", "axis")
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"For 'roll', 'shift' and 'axis' must have one length, "
                         f"but got {shift} and {axis}.")
    count = max(len(shifts), len(axes))
    positions = tuple(axis_in(ax, a.ndim, "roll") for ax in axes)
    return ops.roll(a, shifts if len(shifts) == count else shifts * count,
                    positions if len(positions) == count else positions * count)


def tile(a: Any, reps: Any) -> Tensor:
    """As `ops.tile`, also with fewer repetitions than axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.tile(ms.Tensor([1, 2]), 2))
        [1 2 1 2]
    """
    a = as_tensor(a, "tile", "a")
    counts = as_ints(reps, "tile", "reps")
    return ops.tile(a, (1,) * (a.ndim - len(counts)) + counts)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """As `ops.repeat_interleave`."""
    a = as_tensor(a, "repeat", "a")
    if isinstance(repeats, (list, tuple)):
        repeats = as_tensor(repeats, "repeat", "repeats") if len(repeats) != 1 else repeats[0]
    return ops.repeat_interleave(ops.ravel(a) if axis is None else a, repeats, axis or 0)


def broadcast_to(array: Any, shape: Any) -> Tensor:
    """As `ops.broadcast_to`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.broadcast_to(ms.Tensor([1, 2]), (2, 2)))
        [[1 2]
         [1 2]]
    """
    return ops.broadcast_to(as_tensor(array, "broadcast_to", "array"),
                            as_ints(shape, "broadcast_to"))


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """The arrays, each in the shape that all broadcast to.

    Raises:
        ValueError: if they don't broadcast.

    Examples:
        >>> import lamella.numpy as np
        >>> [a.shape for a in np.broadcast_arrays(np.ones(2), np.ones((3, 1)))]
        [(3, 2), (3, 2)]
    """
    arrays = [as_tensor(a, "broadcast_arrays", "args") for a in args]
    shape = broadcast_shape("broadcast_arrays", *[a.shape for a in arrays])
    return [ops.broadcast_to(a, shape) for a in arrays]


def broadcast_shape(where: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    Raises:
        ValueError: if they don't.
    """
    rank = max(map(len, shapes), default=0)
    out = []
    for lengths in zip(*[(1,) * (rank - len(s)) + tuple(s) for s in shapes], strict=True):
        kinds = {n for n in lengths if n != 1}
        if len(kinds) > 1:
            raise ValueError(f"For '{where}', the shapes must broadcast, "
                             f"but got {', '.join(map(str, shapes))}.")
        out.append(kinds.pop() if kinds else 1)
    return tuple(out)


def _at_least(rank: int, where: str, arys: Any) -> Any:
    out = []
    for a in arys:
        a = as_tensor(a, where, "arys")
        if rank == 3 and a.ndim in (1, 2):
            out.append(ops.reshape(a, (1,) * (2 - a.ndim) + a.shape + (1,)))
        else:
            out.append(ops.reshape(a, (1,) * (rank - a.ndim) + a.shape))
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys: Any) -> Any:
    """The arrays with one dimension or more: a Tensor of one, a list of several."""
    return _at_least(1, "atleast_1d", arys)


def atleast_2d(*arys: Any) -> Any:
    """The arrays with two dimensions or more: a Tensor of one, a list of several."""
    return _at_least(2, "atleast_2d", arys)


def atleast_3d(*arys: Any) -> Any:
    """The arrays with three dimensions or more: a Tensor of one, a list of several.

    A vector lies along the second axis, a matrix in the first two.
    """
    return _at_least(3, "atleast_3d", arys)


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis.

    Raises:
        TypeError: if `axis` is no int.
    """
    a = as_tensor(a, "size", "a")
    return a.size if axis is None else a.shape[axis_in(axis, a.ndim, "size")]
