"""Polynomials as vectors of coefficients, the one of the highest power first."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arithmetic import true_divide
from .products import convolve
from .types import as_tensor, bool_, cast, float32, int32, promoted, together

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


def _polynomial(p: Any, where: str, name: str) -> Tensor:
    p = as_tensor(p, where, name)
    if p.ndim > 1:
        raise ValueError(f"For '{where}', '{name}' must be a number or a vector, but got shape "
                         f"{p.shape}.")
    return ops.reshape(p, (-1,))


def _lined_up(where: str, a1: Any, a2: Any) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = together(_polynomial(a1, where, "a1"), _polynomial(a2, where, "a2"))
    size = max(a.size, b.size)
    pad = torch.nn.functional.pad
    return pad(a._raw, (size - a.size, 0)), pad(b._raw, (size - b.size, 0))


@op
def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polyadd([1, 2], [9, 5, 4]))
        [9 6 6]
    """
    a, b = _lined_up("polyadd", a1, a2)
    return wrap(a + b)


@op
def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polysub([2, 10, -2], [3, 10, -4]))
        [-1  0  2]
    """
    a, b = _lined_up("polysub", a1, a2)
    return wrap(a - b)


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polymul([3, 1, 2], [2, 5]))
        [ 6 17  9 10]
    """
    return convolve(_polynomial(a1, "polymul", "a1"), _polynomial(a2, "polymul", "a2"))


@op
def polyval(p: Any, x: Any) -> Tensor:
    """The values of a polynomial, in float32 unless an argument is float64 (Horner's rule).

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polyval([3, 0, 1], [5, 1]))
        [76.  4.]
    """
    p, x = _polynomial(p, "polyval", "p"), as_tensor(x, "polyval")
    kind = promoted(promoted(p.dtype, x.dtype), float32).raw
    coefficients, at = p._raw.to(kind), x._raw.to(kind)
    out = torch.zeros_like(at)
    for coefficient in coefficients:
        out = out * at + coefficient
    return wrap(out)


@op
def polyder(p: Any, m: int = 1) -> Tensor:
    """The derivative of order `m` of a polynomial.

    Raises:
        ValueError: if `m` is below 0.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polyder([1, 1, 1, 1]), np.polyder([1, 1, 1, 1], 2))
        [3 2 1] [6 2]
    """
    p = _polynomial(p, "polyder", "p")
    if m < 0:
        raise ValueError(f"For 'polyder', 'm' must be 0 or more, but got {m}.")
    if m >= p.size:
        return Tensor([])
    raw = p._raw if m == 0 else cast(p, promoted(p.dtype, int32))._raw
    for _ in range(m):
        powers = torch.arange(raw.numel() - 1, 0, -1, device=raw.device).to(raw.dtype)
        raw = raw[:-1] * powers
    return wrap(raw)


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The integral of order `m` of a polynomial.

    Args:
        p: the coefficients.
        m: how often to integrate.
        k: the constants of integration, one for each time, or one for all; default: 0.

    Raises:
        ValueError: if `m` is below 0, or there are not as many constants.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.polyint([3, 2]), np.polyint([3, 2], k=5))
        [1.5 2.  0. ] [1.5 2.  5. ]
    """
    p = _polynomial(p, "polyint", "p")
    if m < 0:
        raise ValueError(f"For 'polyint', 'm' must be 0 or more, but got {m}.")
    if m == 0:
        return p
    constants = _polynomial([0] if k is None else k, "polyint", "k")
    constants = ops.tile(constants, (m,)) if constants.size == 1 else constants
    if constants.size < m:
        raise ValueError(f"For 'polyint', 'k' must have {m} constants, but got {constants.size}.")
    for i in range(m):
        powers = as_tensor(list(range(p.size, 0, -1)), "polyint")
        p = true_divide(cast(p, int32) if p.dtype is bool_ else p, powers)
        p = ops.cat(together(p, ops.reshape(constants[i], (1,))))
    return p
