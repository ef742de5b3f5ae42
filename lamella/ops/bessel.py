"""Bessel functions, with gradients to any order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.tape import TapeFunction
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .elementary import exp
from .operands import floating

__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1",
           "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "i0"]


class _Bessel(TapeFunction):
    """A kernel of PyTorch that has no derivative, with one made of kernels like it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, name: str) -> torch.Tensor:  # type: ignore[override]
        return _KERNELS[name](x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.name = inputs[1]
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return grad * _SLOPES[ctx.name](x), None


def _f(name: str, x: torch.Tensor) -> Any:
    return _Bessel.apply(x, name)


def _j1_over_x(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, 0.5, _f("j1", x) / torch.where(x == 0, 1, x))


_DIRECT = {"i0": torch.special.i0, "i0e": torch.special.i0e, "i1": torch.special.i1,
           "i1e": torch.special.i1e}
# without a derivative in PyTorch
_KERNELS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "j0": torch.special.bessel_j0, "j1": torch.special.bessel_j1,
    "y0": torch.special.bessel_y0, "y1": torch.special.bessel_y1,
    "k0": torch.special.modified_bessel_k0, "k1": torch.special.modified_bessel_k1,
    "k0e": torch.special.scaled_modified_bessel_k0,
    "k1e": torch.special.scaled_modified_bessel_k1,
}
# Abramowitz and Stegun, Handbook of Mathematical Functions, 9.1.27-28 and 9.6.26-27
_SLOPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "j0": lambda x: -_f("j1", x),
    "j1": lambda x: _f("j0", x) - _j1_over_x(x),
    "y0": lambda x: -_f("y1", x),
    "y1": lambda x: _f("y0", x) - _f("y1", x) / x,
    "k0": lambda x: -_f("k1", x),
    "k1": lambda x: -_f("k0", x) - _f("k1", x) / x,
    "k0e": lambda x: _f("k0e", x) - _f("k1e", x),
    "k1e": lambda x: _f("k1e", x) - _f("k0e", x) - _f("k1e", x) / x,
}


def _bessel(name: str, x: Tensor) -> Any:
    raw = floating(x._raw)
    kernel = _DIRECT.get(name) or functools.partial(_f, name)
    if raw.dtype in (torch.float16, torch.bfloat16):
        return kernel(raw.float()).to(raw.dtype)
    return kernel(raw)


@documented_like(exp)
@op
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.i0(ms.Tensor([0.0, 1.0])))
        [0.99999994 1.266066  ]
    """
    return wrap(torch.special.i0(input._raw))


class OfOne(Protocol):
    """A function of each element."""

    def __call__(self, x: Tensor) -> Tensor: ...


def _face(kind: str, words: str, shown: str) -> OfOne:
    """The function ``bessel_kind``; `shown` is what it gives for [1, 2]."""
    name = f"bessel_{kind}"

    def face(x: Tensor) -> Tensor:
        return wrap(_bessel(kind, x))

    face.__name__ = face.__qualname__ = name
    face.__doc__ = f"""{words}

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.{name}(ms.Tensor([1.0, 2.0])))
        {shown}
    """
    return documented_like(i0)(op(face))


bessel_i0 = _face(
    "i0", "The modified Bessel function of the first kind of order 0.", "[1.266066  2.2795851]")
bessel_i0e = _face("i0e", "`bessel_i0` times e^-|x|.", "[0.46575963 0.3085083 ]")
bessel_i1 = _face(
    "i1", "The modified Bessel function of the first kind of order 1.", "[0.5651591 1.5906368]")
bessel_i1e = _face("i1e", "`bessel_i1` times e^-|x|.", "[0.20791042 0.21526928]")
bessel_j0 = _face(
    "j0", "The Bessel function of the first kind of order 0.", "[0.76519763 0.22389077]")
bessel_j1 = _face(
    "j1", "The Bessel function of the first kind of order 1.", "[0.44005063 0.5767247 ]")
bessel_y0 = _face(
    "y0", "The Bessel function of the second kind of order 0.", "[0.08825695 0.5103756 ]")
bessel_y1 = _face(
    "y1", "The Bessel function of the second kind of order 1.", "[-0.7812128  -0.10703249]")
bessel_k0 = _face(
    "k0", "The modified Bessel function of the second kind of order 0.", "[0.42102447 0.11389388]")
bessel_k1 = _face(
    "k1", "The modified Bessel function of the second kind of order 1.", "[0.6019073  0.13986589]")
bessel_k0e = _face("k0e", "`bessel_k0` times e^x.", "[1.1444632 0.8415683]")
bessel_k1e = _face("k1e", "`bessel_k1` times e^x.", "[1.6361537 1.033477 ]")

tensor_methods(i0=i0)
