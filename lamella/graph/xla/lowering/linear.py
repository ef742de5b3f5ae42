"""Rows of products of vectors and matrices."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, of_type, row, wide


def _product(aval: Aval, x: Any, y: Any) -> Any:
    """The product, with sums in 32 bits at least."""
    kind = wide(aval.dtype)
    return jnp.matmul(x.astype(kind), y.astype(kind))


row("mm", "bmm", "mv", "dot", "matmul")(
    lambda aval, x, y: _product(aval, x, y).astype(aval.dtype))
row("vdot")(lambda aval, x, y: _product(aval, jnp.conj(x), y).astype(aval.dtype))


@row("addmm", "baddbmm", "addmv")
def _addmm(aval: Aval, bias: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    kind = wide(aval.dtype)
    found = _product(aval, x, y)
    if alpha != 1:
        found = found * of_type(alpha, kind)
    if beta != 0:  # what isn't added may be NaN
        bias = bias.astype(kind)
        found = found + (bias if beta == 1 else bias * of_type(beta, kind))
    return found.astype(aval.dtype)


row("addr")(
    lambda aval, bias, x, y, beta, alpha: _addmm(aval, bias, x[:, None], y[None, :], beta, alpha))
row("outer", "ger")(lambda aval, x, y: jnp.outer(x, y).astype(aval.dtype))


@row("_euclidean_dist")
def _distance(aval: Aval, x: Any, y: Any) -> Any:
    squares = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :]
    product = jnp.matmul(x, jnp.swapaxes(y, -1, -2))
    return jnp.sqrt(jnp.maximum(squares - 2 * product, 0)).astype(aval.dtype)
