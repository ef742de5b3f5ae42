"""Rows of matrix factorizations and of what is solved by them.

Where PyTorch's kernel says by a number whether it has succeeded, so does the row: 0 for success.
Which other number it is isn't known here, so only checks may read it (see `text.without_checks`).
"""

from __future__ import annotations

from typing import Any

from .later import jnp, lax
from .table import Aval, NotLowered, row


def _turned(x: Any) -> Any:
    return jnp.swapaxes(x, -1, -2)


def _triangular(a: Any, b: Any, lower: bool, turned: bool = False, unit: bool = False,
                conjugate: bool = False) -> Any:
    """The solution of ``a @ x = b``, or of ``a.T @ x = b``, for batches of triangular matrices, or
    their conjugates."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=turned,
                                       conjugate_a=conjugate, unit_diagonal=unit)


def _solved(lu: Any, order: Any, b: Any, turned: bool = False) -> Any:
    """The solution of ``a @ x = b``, or of ``a.T @ x = b``, by the factors of ``a[order]``."""
    batch = jnp.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = jnp.broadcast_to(b, batch + b.shape[-2:])
    order = jnp.broadcast_to(order, batch + order.shape[-1:])
    if turned:
        x = _triangular(lu, _triangular(lu, b, False, True), True, True, True)
        return jnp.take_along_axis(x, jnp.argsort(order, -1)[..., None], -2)
    b = jnp.take_along_axis(b, order[..., None], -2)
    return _triangular(lu, _triangular(lu, b, True, unit=True), False)


def _factors(x: Any) -> tuple[Any, Any, Any]:
    """The factors in one matrix, the pivots from 0 on, and the order of the rows."""
    if x.shape[-1] != x.shape[-2] or 0 in x.shape:
        raise NotLowered("a matrix that isn't square, or is empty")
    return lax.linalg.lu(x)


def _is_singular(lu: Any, aval: Aval) -> Any:
    diagonal = jnp.diagonal(lu, 0, -2, -1)
    return (diagonal == 0).any(-1).astype(aval.dtype).reshape(aval.shape)


@row("linalg_inv_ex")
def _inverse(avals: list[Aval], x: Any, _: bool) -> list[Any]:
    lu, _, order = _factors(x)
    one = jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)
    return [_solved(lu, order, one), _is_singular(lu, avals[1])]


@row("linalg_lu_factor_ex")
def _lu_factor(avals: list[Aval], x: Any, pivot: bool, _: bool) -> list[Any]:
    if not pivot:
        raise NotLowered("factors without pivots")
    lu, pivots, _ = _factors(x)
    return [lu, (pivots + 1).astype(avals[1].dtype), _is_singular(lu, avals[2])]


@row("_linalg_solve_ex")
def _solve(avals: list[Aval], x: Any, b: Any, left: bool, _: bool) -> list[Any]:
    lu, pivots, order = _factors(x)
    is_vector = b.ndim == 1 or b.shape == x.shape[:-1]
    wide = b[..., None] if is_vector else b
    found = _solved(lu, order, wide) if left or is_vector else _turned(
        _solved(lu, order, _turned(wide), True))
    return [found.reshape(avals[0].shape), lu, (pivots + 1).astype(avals[2].dtype),
            _is_singular(lu, avals[3])]


@row("linalg_lu_solve")
def _lu_solve(aval: Aval, lu: Any, pivots: Any, b: Any, left: bool, adjoint: bool) -> Any:
    order = lax.linalg.lu_pivots_to_permutation(pivots - 1, lu.shape[-1])
    b = b if left else _turned(b)
    if adjoint:
        found = jnp.conj(_solved(lu, order, jnp.conj(b), left))
    else:
        found = _solved(lu, order, b, not left)
    return found if left else _turned(found)


@row("_linalg_det")
def _determinant(avals: list[Aval], x: Any, is_turned: bool) -> list[Any]:
    sign, _, lu, pivots = _signs(_turned(x) if is_turned else x)
    value = sign * jnp.abs(jnp.diagonal(lu, 0, -2, -1)).prod(-1)
    return [value, lu, (pivots + 1).astype(avals[2].dtype)]


@row("_linalg_slogdet")
def _logarithm(avals: list[Aval], x: Any, is_turned: bool) -> list[Any]:
    sign, diagonal, lu, pivots = _signs(_turned(x) if is_turned else x)
    return [sign, jnp.log(jnp.abs(diagonal)).sum(-1), lu, (pivots + 1).astype(avals[3].dtype)]


def _signs(x: Any) -> tuple[Any, Any, Any, Any]:
    """The sign of the determinant, the factors' diagonal, the factors and the pivots."""
    lu, pivots, _ = _factors(x)
    diagonal = jnp.diagonal(lu, 0, -2, -1)
    swaps = (pivots != jnp.arange(pivots.shape[-1])).sum(-1)
    return (1 - 2 * (swaps % 2)).astype(x.dtype) * jnp.sign(diagonal).prod(-1), diagonal, lu, pivots


@row("linalg_cholesky_ex")
def _cholesky(avals: list[Aval], x: Any, upper: bool, _: bool) -> list[Any]:
    if 0 in x.shape:
        raise NotLowered("an empty matrix")
    lower = lax.linalg.cholesky(_turned(x) if upper else x, symmetrize_input=False)
    failed = jnp.isnan(lower).any((-2, -1)).astype(avals[1].dtype)
    return [_turned(lower) if upper else lower, failed.reshape(avals[1].shape)]


@row("cholesky_solve")
def _cholesky_solve(aval: Aval, b: Any, factor: Any, upper: bool) -> Any:
    lower = not upper
    found = _triangular(factor, b, lower, upper, conjugate=upper)
    return _triangular(factor, found, lower, lower, conjugate=lower)


@row("cholesky_inverse")
def _cholesky_inverse(aval: Aval, factor: Any, upper: bool) -> Any:
    one = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    return _cholesky_solve(aval, one, factor, upper)


@row("linalg_solve_triangular")
def _solve_triangular(aval: Aval, a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    if 0 in aval.shape:
        return jnp.zeros(aval.shape, aval.dtype)
    if left:
        return _triangular(a, b, not upper, unit=unit)
    return _turned(_triangular(a, _turned(b), not upper, True, unit))


@row("_linalg_eigh")
def _eigh(avals: list[Aval], x: Any, part: str, vectors: bool) -> list[Any]:
    if 0 in x.shape or part.upper() != "L":
        raise NotLowered("an empty matrix, or the upper half of one")
    v, w = lax.linalg.eigh(x, lower=True, symmetrize_input=False)
    return [w, v if vectors else jnp.zeros(avals[1].shape, avals[1].dtype)]


@row("linalg_qr")
def _qr(avals: list[Aval], x: Any, mode: str) -> list[Any]:
    if mode not in ("reduced", "complete") or 0 in x.shape:
        raise NotLowered("an empty matrix, or half of a factorization")
    return list(lax.linalg.qr(x, full_matrices=mode == "complete"))


@row("_linalg_svd")
def _svd(avals: list[Aval], x: Any, full: bool, vectors: bool, _: Any) -> list[Any]:
    if 0 in x.shape:
        raise NotLowered("an empty matrix")
    if vectors:
        u, s, v = lax.linalg.svd(x, full_matrices=full, compute_uv=True)
        return [u, s, v]
    s = lax.linalg.svd(x, full_matrices=full, compute_uv=False)
    return [jnp.zeros(f.shape, f.dtype) if i != 1 else s for i, f in enumerate(avals)]


@row("lu_unpack")
def _lu_unpack(avals: list[Aval], lu: Any, pivots: Any, data: bool, pivoted: bool) -> list[Any]:
    if not (data and pivoted) or lu.shape[-1] != lu.shape[-2] or 0 in lu.shape:
        raise NotLowered("a part of the factors, or those of a matrix that isn't square")
    one = jnp.eye(lu.shape[-1], dtype=lu.dtype)
    order = lax.linalg.lu_pivots_to_permutation(pivots - 1, lu.shape[-1])
    return [_turned(one[order]), jnp.tril(lu, -1) + one, jnp.triu(lu)]


row("trace")(lambda aval, x: jnp.trace(x).astype(aval.dtype))


@row("diag_embed")
def _diag_embed(aval: Aval, x: Any, offset: int, a: int, b: int) -> Any:
    places = jnp.diagonal(jnp.arange(_count(aval.shape)).reshape(aval.shape), offset, a, b)
    made = jnp.zeros(_count(aval.shape), aval.dtype)
    return made.at[places.reshape(-1)].set(x.reshape(-1)).reshape(aval.shape)


def _count(shape: tuple[int, ...]) -> int:
    found = 1
    for n in shape:
        found *= n
    return found


@row("linalg_cross")
def _cross(aval: Aval, x: Any, y: Any, dim: int) -> Any:
    x, y = jnp.broadcast_to(x, aval.shape), jnp.broadcast_to(y, aval.shape)
    return jnp.cross(x, y, axis=dim)
