"""Rows of the operations that make tensors of given values."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, is_inexact, of_type, row


@row("zeros", "zeros_like", "new_zeros", "zeros.names", "_new_zeros_with_same_feature_meta")
def _zeros(aval: Aval, *_: Any) -> Any:
    return jnp.zeros(aval.shape, aval.dtype)


@row("empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
     "empty_permuted")
def _empty(aval: Aval, *_: Any) -> Any:
    """Any values; the program writes others before it reads them."""
    return jnp.zeros(aval.shape, aval.dtype)


@row("ones", "ones_like", "new_ones")
def _ones(aval: Aval, *_: Any) -> Any:
    return jnp.ones(aval.shape, aval.dtype)


@row("full", "full_like")
def _full(aval: Aval, _: Any, value: Any, *rest: Any) -> Any:
    return jnp.full(aval.shape, of_type(value, aval.dtype))


@row("new_full")
def _new_full(aval: Aval, x: Any, size: Any, value: Any, *rest: Any) -> Any:
    return jnp.full(aval.shape, of_type(value, aval.dtype))


@row("scalar_tensor")
def _scalar(aval: Aval, value: Any, *_: Any) -> Any:
    return of_type(value, aval.dtype)


@row("arange")
def _arange(aval: Aval, end: Any, *_: Any) -> Any:
    return _range(aval, 0, 1)


@row("arange.start")
def _arange_start(aval: Aval, start: Any, end: Any, *_: Any) -> Any:
    return _range(aval, start, 1)


@row("arange.start_step")
def _arange_step(aval: Aval, start: Any, end: Any, step: Any, *_: Any) -> Any:
    return _range(aval, start, step)


def _range(aval: Aval, start: Any, step: Any) -> Any:
    kind = ("float64" if aval.dtype == "float64" else "float32") if is_inexact(
        aval.dtype) else "int64"
    count = jnp.arange(aval.shape[0], dtype="int64").astype(kind)
    return (of_type(start, kind) + count * of_type(step, kind)).astype(aval.dtype)


@row("eye", "eye.m")
def _eye(aval: Aval, *_: Any) -> Any:
    return jnp.eye(*aval.shape, dtype=aval.dtype)


@row("linspace")
def _linspace(aval: Aval, start: Any, end: Any, steps: int, *_: Any) -> Any:
    kind = "float64" if aval.dtype == "float64" else "float32"
    return jnp.linspace(start, end, steps, dtype=kind).astype(aval.dtype)
