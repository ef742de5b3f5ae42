"""Rows of the operations that make tensors of given values."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Form, is_inexact, of_type, row


@row("zeros", "zeros_like", "new_zeros", "zeros.names")
def _zeros(form: Form, *_: Any) -> Any:
    return jnp.zeros(form.shape, form.dtype)


@row("empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
     "empty_permuted")
def _empty(form: Form, *_: Any) -> Any:
    """Any values; the program writes others before it reads them."""
    return jnp.zeros(form.shape, form.dtype)


@row("ones", "ones_like", "new_ones")
def _ones(form: Form, *_: Any) -> Any:
    return jnp.ones(form.shape, form.dtype)


@row("full", "full_like")
def _full(form: Form, _: Any, value: Any, *rest: Any) -> Any:
    return jnp.full(form.shape, of_type(value, form.dtype))


@row("new_full")
def _new_full(form: Form, x: Any, size: Any, value: Any, *rest: Any) -> Any:
    return jnp.full(form.shape, of_type(value, form.dtype))


@row("scalar_tensor")
def _scalar(form: Form, value: Any, *_: Any) -> Any:
    return of_type(value, form.dtype)


@row("arange")
def _arange(form: Form, end: Any, *_: Any) -> Any:
    return _range(form, 0, 1)


@row("arange.start")
def _arange_start(form: Form, start: Any, end: Any, *_: Any) -> Any:
    return _range(form, start, 1)


@row("arange.start_step")
def _arange_step(form: Form, start: Any, end: Any, step: Any, *_: Any) -> Any:
    return _range(form, start, step)


def _range(form: Form, start: Any, step: Any) -> Any:
    kind = ("float64" if form.dtype == "float64" else "float32") if is_inexact(
        form.dtype) else "int64"
    count = jnp.arange(form.shape[0], dtype="int64").astype(kind)
    return (of_type(start, kind) + count * of_type(step, kind)).astype(form.dtype)


@row("eye", "eye.m")
def _eye(form: Form, *_: Any) -> Any:
    return jnp.eye(*form.shape, dtype=form.dtype)


@row("linspace")
def _linspace(form: Form, start: Any, end: Any, steps: int, *_: Any) -> Any:
    kind = "float64" if form.dtype == "float64" else "float32"
    return jnp.linspace(start, end, steps, dtype=kind).astype(form.dtype)
