"""Rows of normalizations and their derivatives."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, row, wide


@row("native_layer_norm")
def _layer_norm(avals: list[Aval], x: Any, shape: list[int], weight: Any, bias: Any, eps: float
                ) -> list[Any]:
    kind = wide(avals[0].dtype)
    wider, axes = x.astype(kind), tuple(range(x.ndim - len(shape), x.ndim))
    mean = wider.mean(axes, keepdims=True)
    centred = wider - mean
    scale = 1 / jnp.sqrt((centred * centred).mean(axes, keepdims=True) + eps)
    found = centred * scale
    if weight is not None:
        found = found * weight.astype(kind)
    if bias is not None:
        found = found + bias.astype(kind)
    return [found.astype(avals[0].dtype), mean.astype(avals[1].dtype),
            scale.astype(avals[2].dtype)]


@row("native_layer_norm_backward")
def _layer_norm_backward(avals: list[Aval | None], g: Any, x: Any, shape: list[int], mean: Any,
                         scale: Any, weight: Any, bias: Any, wanted: list[bool]) -> list[Any]:
    kind = wide(str(x.dtype))
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    outer = tuple(range(x.ndim - len(shape)))
    own = g.astype(kind)
    normal = (x.astype(kind) - mean.astype(kind)) * scale.astype(kind)
    back = own if weight is None else own * weight.astype(kind)
    found = scale.astype(kind) * (back - back.mean(inner, keepdims=True) - normal
                                  * (back * normal).mean(inner, keepdims=True))
    return [value.astype(aval.dtype).reshape(aval.shape) if aval is not None else None
            for aval, value in zip(avals, (found, (own * normal).sum(outer), own.sum(outer)),
                                   strict=True)]
