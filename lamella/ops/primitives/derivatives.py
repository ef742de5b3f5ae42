"""Further gradients as Primitive classes, and what gradients of broadcasting need."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, typed
from ..primitive import primitive
from ..python_values import broadcast_gradient_args
from ..random import uniform
from .attributes import with_attributes

__all__ = [
    "DynamicBroadcastGradientArgs", "DynamicStitch", "IgammaGradA", "MedianGrad", "ScaleGrad",
    "TileSize", "Uniform",
]


@op
def _igamma_by_a(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of the lower incomplete gamma function by its first argument.

    By Richardson's extrapolation of central differences in float64, to about 1e-9.
    """
    first, second = torch.broadcast_tensors(a._raw.double(), x._raw.double())

    def slope(step: torch.Tensor) -> torch.Tensor:
        return (torch.special.gammainc(first + step, second)
                - torch.special.gammainc(first - step, second)) / (2 * step)

    step = 1e-3 * first.clamp(min=1e-3)
    return wrap(((4 * slope(step / 2) - slope(step)) / 3).to(a._raw.dtype))


@op
def _median_gradient(y_grad: Tensor, x: Tensor, y: Tensor, indices: Tensor, *,
                     global_median: bool, axis: int, keep_dims: bool) -> Tensor:
    """The gradient of `Median`; of equal global medians each has its share."""
    raw, dout = x._raw, y_grad._raw
    kind = torch.float64 if raw.dtype is torch.float64 else torch.float32
    if global_median:
        same = raw == y._raw
        return wrap((same * dout / same.sum()).to(kind))
    at, dout = indices._raw.long(), dout.to(kind)
    if not keep_dims:
        at, dout = at.unsqueeze(axis), dout.unsqueeze(axis)
    return wrap(torch.zeros(raw.shape, dtype=kind, device=raw.device).scatter(axis, at, dout))


@op
def _stitched(indices: Any, data: Any) -> Tensor:
    """The slices of several Tensors, each at its index; of equal indices the last one counts."""
    places = torch.cat([index._raw.reshape(-1).long() for index in indices])
    inner = data[0].shape[indices[0].ndim:]
    rows = torch.cat([part._raw.reshape(-1, *inner) for part in data])
    out = rows.new_zeros((int(places.max()) + 1 if len(places) else 0, *inner))
    for place, row in zip(places.tolist(), rows, strict=True):
        out[place] = row
    return wrap(out)


@op
def _broadcast_axes(s0: Any, s1: Any) -> tuple[Tensor, ...]:
    """The axes over which the gradients of two shapes are summed, as Tensors."""
    shapes = [tuple(s.tolist()) if isinstance(s, Tensor) else tuple(s) for s in (s0, s1)]
    found = broadcast_gradient_args(*shapes)
    return tuple(wrap(torch.tensor(axes, dtype=torch.int64)) for axes in found)


@op
def _tile_size(shape: Any, out_shape: Any, ndim: Any) -> tuple[int, ...]:
    """How often each dimension is repeated to have the length of another shape's."""
    size = [1] * int(ndim)
    for i, (length, wanted) in enumerate(zip(shape, out_shape, strict=False)):
        if length != wanted:
            size[i] = wanted
    return tuple(size)


@op
def _scaled(gradients: Any) -> tuple[Tensor, ...]:
    """Gradients, all but the last one, times the loss scale, which is the last one."""
    *grads, scale = gradients
    return tuple(wrap(grad._raw * scale._raw) for grad in grads)


@op
def _uniform(x: Tensor, *, minval: float, maxval: float, seed: int, offset: int) -> Tensor:
    """Random numbers between two bounds, in the shape and floating type of `x`."""
    typed(x, "Uniform", "x", FLOATS)
    out = uniform(x.shape, wrap(torch.tensor(minval)), wrap(torch.tensor(maxval)),
                  seed or offset or None)
    return wrap(out._raw.to(x._raw.dtype))


def _bound(name: str, attribute: str, value: Any) -> None:
    if not isinstance(value, float):
        raise TypeError(f"For '{name}', '{attribute}' must be a float, but got {value!r}.")
    if value < 0:
        raise ValueError(f"For '{name}', '{attribute}' must be 0 or more, but got {value}.")


DynamicBroadcastGradientArgs = primitive("DynamicBroadcastGradientArgs", _broadcast_axes)
DynamicStitch = primitive("DynamicStitch", _stitched)
IgammaGradA = primitive("IgammaGradA", _igamma_by_a)
MedianGrad = with_attributes("MedianGrad", _median_gradient, global_median=False, axis=0,
                             keep_dims=False)
ScaleGrad = primitive("ScaleGrad", _scaled)
TileSize = primitive("TileSize", _tile_size)
Uniform = with_attributes("Uniform", _uniform, minval=0.0, maxval=1.0, seed=0, offset=0,
                          checks={"minval": _bound, "maxval": _bound})
