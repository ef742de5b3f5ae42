"""Rows of the operations that make tensors of given values."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, is_inexact, of_type, row

row("zeros", "zeros_like", "new_zeros", "zeros.names", "_new_zeros_with_same_feature_meta")(
    lambda aval, *_: jnp.zeros(aval.shape, aval.dtype))


@row("empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
     "empty_permuted")
def _empty(aval: Aval, *_: Any) -> Any:
    """Any values; the program writes others before it reads them."""
    return jnp.zeros(aval.shape, aval.dtype)


row("ones", "ones_like", "new_ones")(lambda aval, *_: jnp.ones(aval.shape, aval.dtype))
row("full", "full_like")(
    lambda aval, _, value, *rest: jnp.full(aval.shape, of_type(value, aval.dtype)))
row("new_full")(
    lambda aval, x, size, value, *rest: jnp.full(aval.shape, of_type(value, aval.dtype)))
row("scalar_tensor")(lambda aval, value, *_: of_type(value, aval.dtype))
row("arange")(lambda aval, end, *_: _range(aval, 0, 1))
row("arange.start")(lambda aval, start, end, *_: _range(aval, start, 1))
row("arange.start_step")(lambda aval, start, end, step, *_: _range(aval, start, step))


def _range(aval: Aval, start: Any, step: Any) -> Any:
    kind = ("float64" if aval.dtype == "float64" else "float32") if is_inexact(
        aval.dtype) else "int64"
    count = jnp.arange(aval.shape[0], dtype="int64").astype(kind)
    return (of_type(start, kind) + count * of_type(step, kind)).astype(aval.dtype)


row("eye", "eye.m")(lambda aval, *_: jnp.eye(*aval.shape, dtype=aval.dtype))


@row("linspace")
def _linspace(aval: Aval, start: Any, end: Any, steps: int, *_: Any) -> Any:
    kind = "float64" if aval.dtype == "float64" else "float32"
    return jnp.linspace(start, end, steps, dtype=kind).astype(aval.dtype)
