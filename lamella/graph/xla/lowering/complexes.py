"""Rows of complex numbers and of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

from .later import jnp, lax
from .table import Aval, row


def _as_given(aval: Aval, x: Any) -> Any:
    return x


@row("_conj", view=True)
@row("_conj_physical", "conj_physical")
def _conj(aval: Aval, x: Any) -> Any:
    return jnp.conj(x)


row("_neg_view", view=True)(lambda aval, x: -x)


row("resolve_conj", "resolve_neg")(_as_given)


row("view_as_real", view=True)(lambda aval, x: jnp.stack([jnp.real(x), jnp.imag(x)], -1))
row("view_as_complex", view=True)(lambda aval, x: lax.complex(x[..., 0], x[..., 1]))
row("complex")(lambda aval, x, y: lax.complex(*jnp.broadcast_arrays(x, y)))


@row("polar")
def _polar(aval: Aval, size: Any, angle: Any) -> Any:
    return lax.complex(*jnp.broadcast_arrays(size * jnp.cos(angle), size * jnp.sin(angle)))


@row("angle")
def _angle(aval: Aval, x: Any) -> Any:
    if str(x.dtype).startswith("complex"):
        return jnp.arctan2(jnp.imag(x), jnp.real(x))
    angle = jnp.where(x < 0, jnp.asarray(math.pi, aval.dtype), 0)
    return jnp.where(jnp.isnan(x), x, angle).astype(aval.dtype)


def _scale(lengths: list[int], kind: int) -> float:
    """The factor of a transform: none, by the root of the number of elements, or by the number."""
    count = math.prod(lengths)
    return 1.0 if kind == 0 else 1 / math.sqrt(count) if kind == 1 else 1 / count


def _transformed(x: Any, dims: list[int], forward: bool) -> Any:
    """A transform without a factor."""
    if not dims:
        return x
    if forward:
        return jnp.fft.fftn(x, axes=dims)
    return jnp.fft.ifftn(x, axes=dims, norm="forward")


@row("_fft_c2c")
def _fft_complex(aval: Aval, x: Any, dims: list[int], kind: int, forward: bool) -> Any:
    scale = _scale([x.shape[d] for d in dims], kind)
    return (_transformed(x, dims, forward) * scale).astype(aval.dtype)


@row("_fft_r2c")
def _fft_real(aval: Aval, x: Any, dims: list[int], kind: int, half: bool) -> Any:
    scale = _scale([x.shape[d] for d in dims], kind)
    if half:
        found = _transformed(jnp.fft.rfft(x, axis=dims[-1]), dims[:-1], True)
    else:
        found = _transformed(x.astype(aval.dtype), dims, True)
    return (found * scale).astype(aval.dtype)


@row("_fft_c2r")
def _fft_to_real(aval: Aval, x: Any, dims: list[int], kind: int, length: int) -> Any:
    scale = _scale([aval.shape[d] for d in dims], kind)
    found = jnp.fft.irfft(_transformed(x, dims[:-1], False), length, dims[-1], norm="forward")
    return (found * scale).astype(aval.dtype)
