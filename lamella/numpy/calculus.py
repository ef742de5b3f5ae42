"""Differences, gradients, integrals, phases and interpolation of sampled functions."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..ops.arguments import axis_in
from ..tensors.tensor import Tensor, wrap
from .histograms import searchsorted
from .join import concatenate
from .shape import axes_in
from .types import as_tensor, as_tensors, cast, float32, floating, pi

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapz", "unwrap"]


@op
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """As `ops.diff`; `prepend` and `append` are numbers, or of `a`'s shape except along the axis.

    Raises:
        TypeError: if `n` is no int.
        ValueError: if `n` is below 0, or not below the length of the axis.
    """
    a = as_tensor(a, "diff", "a")
    axis = axis_in(axis, a.ndim, "diff")
    if not isinstance(n, int):
        raise TypeError(f"For 'diff', 'n' must be an int, but got {n!r}.")
    if n < 0:
        raise ValueError(f"For 'diff', 'n' must be 0 or more, but got {n}.")
    if n == 0:
        return a
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1:])
    ends = [None if e is None else as_tensor(e, "diff", name)
            for name, e in (("prepend", prepend), ("append", append))]
    ends = [ops.broadcast_to(e, shape) if e is not None and e.size == 1 else e for e in ends]
    a = concatenate([t for t in (ends[0], a, ends[1]) if t is not None], axis)
    if n >= a.shape[axis]:
        raise ValueError(f"For 'diff', 'n' must be below the length {a.shape[axis]} of the axis, "
                         f"but got {n}.")
    raw = a._raw
    if raw.dtype is torch.bool:
        return wrap(torch.diff(raw.int(), n, axis).bool())
    return wrap(torch.diff(raw, n, axis))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of the flattened array's neighbours, with numbers before and behind.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.ediff1d(np.array([1, 3, -1]), to_end=9))
        [ 2 -4  9]
    """
    ary = as_tensor(ary, "ediff1d", "ary")
    ends = [None if e is None else cast(ops.ravel(as_tensor(e, "ediff1d", name)), ary.dtype)
            for name, e in (("to_begin", to_begin), ("to_end", to_end))]
    parts = (ends[0], diff(ops.ravel(ary)), ends[1])
    return ops.cat([p for p in parts if p is not None])


@op
def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule; integers as float32.

    Args:
        y: samples of the function.
        x: where they were taken, a vector, or of the rank of `y`; default: `dx` apart.
        dx: their distance.
        axis: the axis to integrate along.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.trapz([1, 2, 3], x=[4, 6, 8]))
        8.0
    """
    y = floating(as_tensor(y, "trapz", "y"))
    axis = axis_in(axis, y.ndim, "trapz")
    given = None if x is None else as_tensor(x, "trapz")
    one_for_all = given is None or given.ndim == 1
    step = as_tensor(dx, "trapz", "dx") if given is None else diff(
        given, axis=-1 if one_for_all else axis - y.ndim)
    step = cast(step, y.dtype)._raw
    if one_for_all and step.dim():
        step = step.reshape(*step.shape, *[1] * (y.ndim - axis - 1))
    raw = y._raw
    length = raw.shape[axis] - 1
    pairs = raw.narrow(axis, 0, length) + raw.narrow(axis, 1, length)
    return wrap((pairs * step / 2).sum(axis))


@op
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes of a sampled function: central differences, at the ends to the one neighbour.

    Args:
        f: samples; float32 unless float64.
        *varargs: the distance of samples, one for all axes or one for each.
        axis: the axis or axes to differentiate along; None stands for all.
        edge_order: 1.

    Returns:
        a Tensor for one axis, else a list.

    Raises:
        TypeError: if the number of distances doesn't fit.
        ValueError: if an axis is shorter than 2.
        NotImplementedError: if distances vary, or `edge_order` isn't 1, as in MindSpore.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.gradient(np.array([1.0, 2.0, 4.0, 7.0]), 2))
        [0.5  0.75 1.25 1.5 ]
    """
    if edge_order != 1:
        raise NotImplementedError(f"For 'gradient', 'edge_order' must be 1, "
                                  f"but got {edge_order!r}.")
    f = as_tensor(f, "gradient", "f")
    raw = (f if f._raw.dtype is torch.float64 else cast(f, float32))._raw
    axes = axes_in(axis, f.ndim, "gradient")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"For 'gradient', there must be one distance, or one for each of the "
                        f"{len(axes)} axes, but got {len(varargs)}.")
    steps = varargs or (1,)
    steps = steps if len(steps) == len(axes) else steps * len(axes)
    out = []
    for ax, step in zip(axes, steps, strict=True):
        if isinstance(step, Tensor) and step.ndim == 0:
            step = step._raw
        elif not isinstance(step, (int, float)):
            raise NotImplementedError(f"For 'gradient', a distance must be one number, "
                                      f"but got {step!r}.")
        length = raw.shape[ax]
        if length < 2:
            raise ValueError(f"For 'gradient', every axis must have 2 samples or more, but got "
                             f"shape {f.shape}.")
        rise = torch.diff(raw, 1, ax)
        middle = (raw.narrow(ax, 2, length - 2) - raw.narrow(ax, 0, length - 2)) / 2
        slopes = (rise.narrow(ax, 0, 1), middle, rise.narrow(ax, length - 2, 1))
        out.append(wrap(torch.cat(slopes, ax) / step))
    return out[0] if len(out) == 1 else out


@op
def unwrap(p: Any, discont: float = pi, axis: int = -1) -> Tensor:
    """Phases without their jumps: those of more than `discont` change by a multiple of 2 pi.

    Args:
        p: phases, in radians; integers as float32.
        discont: the greatest difference of neighbours that stays.
        axis: the axis that they run along.

    Raises:
        TypeError: if `discont` is no number.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.unwrap(np.array([0.0, 0.5, 6.5])))
        [0.       0.5      0.216815]
    """
    if not isinstance(discont, (int, float)):
        raise TypeError(f"For 'unwrap', 'discont' must be a number, but got {discont!r}.")
    p = as_tensor(p, "unwrap", "p")
    p = p if p._raw.dtype is torch.float64 else cast(p, float32)
    axis = axis_in(axis, p.ndim, "unwrap")
    raw = p._raw
    rise = torch.diff(raw, 1, axis)
    rest = torch.remainder(rise + pi, 2 * pi) - pi
    rest = torch.where((rest == -pi) & (rise > 0), pi, rest)
    change = torch.where(rise.abs() < discont, 0, rest - rise).to(raw.dtype)
    tail = raw.narrow(axis, 1, raw.shape[axis] - 1) + change.cumsum(axis)
    return wrap(torch.cat((raw.narrow(axis, 0, 1), tail), axis))


@op
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """Linear interpolation between samples.

    Args:
        x: where to evaluate.
        xp: where the samples were taken, ascending: a vector.
        fp: the samples: a vector of that length.
        left: the value below the first position; default: the first sample.
        right: the value above the last position; default: the last sample.

    Returns:
        Tensor of the shape of `x`, in float32 unless an argument is float64.

    Raises:
        ValueError: if `xp` and `fp` are no vectors of one length.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.interp(2.5, [1, 2, 3], [3, 2, 0]))
        1.0
    """
    at, positions, samples = as_tensors("interp", x=x, xp=xp, fp=fp)
    if positions.ndim != 1 or positions.shape != samples.shape:
        raise ValueError(f"For 'interp', 'xp' and 'fp' must be vectors of one length, but got "
                         f"shapes {positions.shape} and {samples.shape}.")
    kind = torch.float64 if torch.float64 in (at._raw.dtype, positions._raw.dtype,
                                              samples._raw.dtype) else torch.float32
    a, xs, ys = (t._raw.to(kind) for t in (at, positions, samples))
    after = searchsorted(positions, at)._raw.long().clamp(0, xs.numel() - 1)
    before = (after - 1).clamp(min=0)
    x0, x1, y0, y1 = xs[before], xs[after], ys[before], ys[after]
    flat = x0 == x1
    width = torch.where(flat, 1, x1 - x0)
    out = torch.where(flat, y0, (y0 * (x1 - a) + y1 * (a - x0)) / width)
    low = ys[0] if left is None else as_tensor(left, "interp", "left")._raw.to(kind)
    high = ys[-1] if right is None else as_tensor(right, "interp", "right")._raw.to(kind)
    return wrap(torch.where(a > xs[-1], high, torch.where(a < xs[0], low, out)))
