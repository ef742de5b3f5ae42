"""Error, gamma and zeta functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.tape import TapeFunction
from ..tensors.inplace import in_place
from ..tensors.promotion import promote
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, raw_of, require, typed
from .arithmetic import add
from .elementary import exp
from .operands import floats

__all__ = ["digamma", "erf", "erfc", "erfinv", "igamma", "igammac", "lgamma", "mvlgamma",
           "polygamma", "zeta"]


def _slope(function: Callable[[torch.Tensor], torch.Tensor], at: torch.Tensor, step: torch.Tensor
           ) -> torch.Tensor:
    """The derivative where there is no closed form: a central difference of fourth order."""
    below, left, right, above = (function(at + k * step) for k in (-2, -1, 1, 2))
    return (below - above + 8 * (right - left)) / (12 * step)


class _Igamma(TapeFunction):
    """`torch.special.gammainc` with a gradient for the first argument, which PyTorch lacks."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.special.gammainc(a, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        a, x = ctx.saved_tensors
        return _by_both(torch.special.gammainc, a, x, grad, grad)


class _Igammac(_Igamma):
    """`torch.special.gammaincc` likewise: 1 - `_Igamma` loses the digits of what is small."""

    @staticmethod
    def forward(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.special.gammaincc(a, x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        a, x = ctx.saved_tensors
        return _by_both(torch.special.gammaincc, a, x, grad, -grad)


def _by_both(kernel: Callable[..., torch.Tensor], a: torch.Tensor, x: torch.Tensor,
             grad: torch.Tensor, of_lower: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients by `a` and `x`; `of_lower` is that of the lower function."""
    wide, at = a.double(), x.double()
    in_a = _slope(lambda a: kernel(a, at), wide, 1e-3 * wide.clamp(min=1e-3)).to(a.dtype)
    in_x = torch.exp(torch.xlogy(a - 1, x) - x - torch.lgamma(a))
    return (grad * in_a).sum_to_size(a.shape), (of_lower * in_x).sum_to_size(x.shape)


class _Zeta(TapeFunction):
    """`torch.special.zeta` with gradients; that in `x` has no closed form, as that of `_Igamma`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.special.zeta(x, q)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        x, q = ctx.saved_tensors
        wide, at = x.double(), q.double()
        in_x = _slope(lambda x: torch.special.zeta(x, at), wide,
                      1e-3 * (wide - 1).clamp(min=1e-3)).to(x.dtype)
        in_q = -x * _Zeta.apply(x + 1, q)
        return (grad * in_x).sum_to_size(x.shape), (grad * in_q).sum_to_size(q.shape)


class _Betainc(TapeFunction):
    """The regularized incomplete beta function; as in MindSpore only `x` has a gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor,  # type: ignore[override]
                x: torch.Tensor) -> torch.Tensor:
        p, q, t = a.double(), b.double(), x.double()
        # the fraction converges fast below the mean; above it I_x(a, b) = 1 - I_{1-x}(b, a)
        turned = t > (p + 1) / (p + q + 2)
        p, q = torch.where(turned, q, p), torch.where(turned, p, q)
        t = torch.where(turned, 1 - t, t)
        front = (torch.xlogy(p, t) + torch.xlogy(q, 1 - t) - _log_beta(p, q)).exp() / p
        out = front / _beta_fraction(p, q, t)
        out = torch.where(t == 0, 0.0, out)
        valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
        return torch.where(valid, torch.where(turned, 1 - out, out), torch.nan).to(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        a, b, x = ctx.saved_tensors
        density = torch.xlogy(a - 1, x) + torch.xlogy(b - 1, 1 - x) - _log_beta(a, b)
        return torch.zeros_like(a), torch.zeros_like(b), grad * density.exp()


def _log_beta(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)


def _beta_fraction(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The continued fraction of I_x(a, b), DLMF 8.17.22, from its 400th term to its first."""
    out = torch.ones_like(x)
    for m in range(200, -1, -1):
        out = 1 - (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) / out
        if m:
            out = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / out
    return out


@op
def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularized incomplete beta function I_x(a, b), the part of the beta function up to x.

    Its gradient by `a` and `b` is 0, as in MindSpore.

    Args:
        a, b: positive.
        x: in [0, 1]; all three of float32 or float64, of one type and shape.

    Returns:
        Tensor of the shape of `a`, nan where an argument is outside of its domain.

    Raises:
        TypeError: if the types differ or are others.
        ValueError: if the shapes differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Betainc()(*map(ms.Tensor, ([0.5, 2.0], [0.5, 1.0], [0.5, 0.5]))))
        [0.5  0.25]
    """
    given = {"a": a, "b": b, "x": x}
    raws = [raw_of(value, "Betainc", name) for name, value in given.items()]
    for name, value in given.items():
        require(value.shape == a.shape, ValueError,
                f"For 'Betainc', '{name}' must have the shape of 'a', {a.shape}, "
                f"but got {value.shape}.")
    for name, value in given.items():
        typed(value, "Betainc", name, (torch.float32, torch.float64))
        require(value.dtype == a.dtype, TypeError,
                f"For 'Betainc', '{name}' must be of the type of 'a', {a.dtype}, "
                f"but got {value.dtype}.")
    return wrap(_Betainc.apply(*raws))


@documented_like(exp)
@op
def erf(input: Tensor) -> Tensor:
    """The error function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.erf(ms.Tensor([0.0, 1.0])))
        [0.        0.8427008]
    """
    return wrap(torch.erf(input._raw))


@documented_like(erf)
@op
def erfc(input: Tensor) -> Tensor:
    """1 - erf(x), accurate for large x.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.erfc(ms.Tensor([0.0, 1.0])))
        [1.        0.1572992]
    """
    return wrap(torch.erfc(input._raw))


@documented_like(erf)
@op
def erfinv(input: Tensor) -> Tensor:
    """The inverse of the error function on (-1, 1).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.erfinv(ms.Tensor([0.0, 0.5])))
        [0.         0.47693628]
    """
    return wrap(torch.erfinv(input._raw))


@documented_like(erf)
@op
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of the magnitude of the gamma function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lgamma(ms.Tensor([0.5, 5.0])))
        [0.5723649 3.1780539]
    """
    return wrap(torch.lgamma(input._raw))


@documented_like(erf)
@op
def digamma(input: Tensor) -> Tensor:
    """Derivative of `lgamma`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.digamma(ms.Tensor([1.0, 2.0])))
        [-0.5772159  0.4227842]
    """
    return wrap(torch.digamma(input._raw))


@documented_like(erf)
@op
def polygamma(n: Any, input: Tensor) -> Tensor:
    """The `n`-th derivative of `digamma`.

    Args:
        n: the order, an int or a Tensor of one.
        input: any shape.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.polygamma(1, ms.Tensor([1.0, 2.0])))
        [1.644934   0.64493406]
    """
    return wrap(torch.polygamma(as_int(n, "polygamma", "n"), input._raw))


@op
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension `p`.

    Args:
        input: any shape, of elements above (p - 1) / 2.
        p: the dimension, at least 1.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        ValueError: if `p` is less than 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mvlgamma(ms.Tensor([3.0, 4.0]), 2))
        [1.550195  3.5650978]
    """
    if p < 1:
        raise ValueError(f"For 'mvlgamma', 'p' must be 1 or more, but got {p}.")
    return wrap(torch.mvlgamma(input._raw, p))


@documented_like(add)
@op
def zeta(input: Tensor, other: Tensor | float) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + `other`)^-`input` over k = 0, 1, ...

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.zeta(ms.Tensor([2.0]), ms.Tensor([1.0])))
        [1.644934]
    """
    return wrap(_Zeta.apply(*promote(*floats(input, other))))


def _incomplete(kernel: type[_Igamma], input: Any, other: Any) -> Tensor:
    a, b = floats(input, other)
    # PyTorch's kernels take nan for infinity
    return wrap(torch.where(a.isnan() | b.isnan(), torch.nan, kernel.apply(a, b)))


@documented_like(zeta)
@op
def igamma(input: Tensor, other: Tensor | float) -> Tensor:
    """The regularized lower incomplete gamma function P(a, x), with a = `input` and x =
    `other`.

    Its derivative in x is x^(a-1) e^-x / gamma(a); that in a has no closed form and is a
    central difference of fourth order in double precision.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.igamma(ms.Tensor([1.0, 2.0]), ms.Tensor([2.0, 3.0])))
        [0.86466473 0.8008517 ]
    """
    return _incomplete(_Igamma, input, other)


@documented_like(zeta)
@op
def igammac(input: Tensor, other: Tensor | float) -> Tensor:
    """The regularized upper incomplete gamma function, 1 - `igamma`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.igammac(ms.Tensor([1.0, 2.0]), ms.Tensor([2.0, 3.0])))
        [0.13533528 0.19914828]
    """
    return _incomplete(_Igammac, input, other)


def _tensor_erfinv_(self: Tensor) -> Tensor:
    return in_place(self, torch.Tensor.erfinv_)


tensor_methods(erf=erf, erfc=erfc, erfinv=erfinv, erfinv_=_tensor_erfinv_, lgamma=lgamma,
               digamma=digamma, mvlgamma=mvlgamma, igamma=igamma, igammac=igammac)
