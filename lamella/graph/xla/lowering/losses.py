"""Rows of loss functions and their derivatives."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, of_type, row, wide

NONE, MEAN, SUM = 0, 1, 2  # the reductions, as PyTorch numbers them


def _reduced(aval: Aval, x: Any, reduction: int) -> Any:
    found = x.mean() if reduction == MEAN else x.sum() if reduction == SUM else x
    return found.astype(aval.dtype)


def _weight(g: Any, x: Any, reduction: int) -> Any:
    """The gradient of each element's loss."""
    return g / x.size if reduction == MEAN else g


def _wide(aval: Aval, *values: Any) -> list[Any]:
    return [v.astype(wide(aval.dtype)) for v in values]


@row("mse_loss")
def _mse(aval: Aval, x: Any, y: Any, reduction: int) -> Any:
    x, y = _wide(aval, x, y)
    return _reduced(aval, (x - y) * (x - y), reduction)


@row("mse_loss_backward")
def _mse_backward(aval: Aval, g: Any, x: Any, y: Any, reduction: int) -> Any:
    g, x, y = _wide(aval, g, x, y)
    return (2 * (x - y) * _weight(g, x, reduction)).astype(aval.dtype)


@row("smooth_l1_loss")
def _smooth_l1(aval: Aval, x: Any, y: Any, reduction: int, beta: float) -> Any:
    x, y = _wide(aval, x, y)
    z = jnp.abs(x - y)
    return _reduced(aval, jnp.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta), reduction)


@row("smooth_l1_loss_backward")
def _smooth_l1_backward(aval: Aval, g: Any, x: Any, y: Any, reduction: int, beta: float) -> Any:
    g, x, y = _wide(aval, g, x, y)
    z, g = x - y, _weight(g, x, reduction)
    found = jnp.where(z <= -beta, -1, jnp.where(z >= beta, 1, z / beta))
    return (found * g).astype(aval.dtype)


@row("huber_loss")
def _huber(aval: Aval, x: Any, y: Any, reduction: int, delta: float) -> Any:
    x, y = _wide(aval, x, y)
    z = jnp.abs(x - y)
    return _reduced(aval, jnp.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), reduction)


@row("huber_loss_backward")
def _huber_backward(aval: Aval, g: Any, x: Any, y: Any, reduction: int, delta: float) -> Any:
    g, x, y = _wide(aval, g, x, y)
    return (jnp.clip(x - y, -delta, delta) * _weight(g, x, reduction)).astype(aval.dtype)


@row("binary_cross_entropy")
def _bce(aval: Aval, x: Any, y: Any, weight: Any, reduction: int) -> Any:
    x, y = _wide(aval, x, y)
    found = (y - 1) * jnp.maximum(jnp.log1p(-x), -100) - y * jnp.maximum(jnp.log(x), -100)
    return _reduced(aval, found if weight is None else found * weight, reduction)


@row("binary_cross_entropy_backward")
def _bce_backward(aval: Aval, g: Any, x: Any, y: Any, weight: Any, reduction: int) -> Any:
    g, x, y = _wide(aval, g, x, y)
    found = _weight(g, x, reduction) * (x - y) / jnp.maximum((1 - x) * x, 1e-12)
    return (found if weight is None else found * weight).astype(aval.dtype)


@row("binary_cross_entropy_with_logits")
def _bce_logits(aval: Aval, x: Any, y: Any, weight: Any, positive: Any, reduction: int) -> Any:
    x, y = _wide(aval, x, y)
    log = jnp.minimum(x, 0) - jnp.log1p(jnp.exp(-jnp.abs(x)))  # of the sigmoid
    if positive is None:
        found = (1 - y) * x - log
    else:
        found = (1 - y) * x - ((positive - 1) * y + 1) * log
    return _reduced(aval, found if weight is None else found * weight, reduction)


@row("nll_loss_forward", "nll_loss2d_forward")
def _nll(avals: list[Aval], x: Any, target: Any, weight: Any, reduction: int, ignored: int
         ) -> list[Any]:
    kind = wide(avals[0].dtype)
    axis = 0 if x.ndim == 1 else 1
    kept, counts, at = _factors(target, weight, ignored, kind, axis)
    found = -jnp.squeeze(jnp.take_along_axis(x.astype(kind), at, axis), axis)
    found = jnp.where(kept, found * counts, 0)
    total = counts.sum()
    if reduction == MEAN:
        found = found.sum() / total
    elif reduction == SUM:
        found = found.sum()
    if reduction == NONE and x.ndim > 1:
        total = jnp.zeros(avals[1].shape)
    return [found.astype(avals[0].dtype), total.astype(avals[1].dtype).reshape(avals[1].shape)]


@row("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(aval: Aval, g: Any, x: Any, target: Any, weight: Any, reduction: int,
                  ignored: int, total: Any) -> Any:
    kind = wide(aval.dtype)
    axis = 0 if x.ndim == 1 else 1
    kept, counts, at = _factors(target, weight, ignored, kind, axis)
    each = -g.astype(kind) * counts
    if reduction == MEAN:
        each = each / total.astype(kind)
    each = jnp.where(kept, each, 0)
    classes = jnp.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return jnp.where(classes == at, jnp.expand_dims(each, axis), 0).astype(aval.dtype)


def _factors(target: Any, weight: Any, ignored: int, kind: str, axis: int
             ) -> tuple[Any, Any, Any]:
    """Which samples count, how much, and their classes as an index along `axis`."""
    kept = target != ignored
    at = jnp.where(kept, target, 0)
    counts = (jnp.ones(target.shape, kind) if weight is None
              else jnp.take(of_type(weight, kind), at))
    return kept, jnp.where(kept, counts, 0), jnp.expand_dims(at, axis)
