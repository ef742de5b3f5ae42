"""Elementwise functions of `mint` that differ from those of `ops`."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.adapters import adapted
from ..core.errors import op
from ..core.require import of_type
from ..ops.arithmetic import add_scaled, sub_scaled
from ..tensors.overloads import shortcut
from ..tensors.tensor import Tensor
from .forms import with_forms

__all__ = ["add", "addcdiv", "addcmul", "allclose", "bitwise_not", "cdist", "clamp", "clip",
           "clone", "div", "eq", "equal", "fix", "floor_divide", "fmod", "frac", "ge",
           "greater_equal", "histc", "isnan", "item", "lerp", "less", "lt", "mul", "npu_gelu",
           "remainder", "sqrt", "sub", "triangular_solve", "vdot", "where", "xlogy"]

_methods: Any = Tensor

# as in `ops`, but for what is said of wrong calls
clamp = clip = with_forms(ops.clamp)
div = with_forms(ops.div)
eq = with_forms(ops.eq, "eq")
floor_divide = with_forms(ops.floor_divide)
fmod = with_forms(ops.fmod)
ge = greater_equal = with_forms(ops.greater_equal)
lerp = with_forms(ops.lerp)
less = lt = with_forms(ops.less)
mul = with_forms(ops.mul, "mul")
remainder = with_forms(ops.remainder)
xlogy = with_forms(ops.xlogy)

addcdiv = adapted(ops.addcdiv, "input, tensor1, tensor2, *, value=1")
addcmul = adapted(ops.addcmul, "input, tensor1, tensor2, *, value=1")
allclose = adapted(_methods.allclose, "input:self, other, rtol=1e-05, atol=1e-08, equal_nan=False")
bitwise_not = adapted(ops.invert, "input:x", "bitwise_not")
clone = adapted(_methods.clone, "input:self")
fix = adapted(ops.trunc, "input", "fix")
frac = adapted(ops.frac, "input:x")
histc = adapted(ops.histc, "input, bins=100, min=0, max=0")
isnan = adapted(ops.isnan, "tensor:input")
npu_gelu = adapted(ops.gelu, "input, approximate='none'", "npu_gelu")
sqrt = adapted(ops.sqrt, "input:x")
triangular_solve = adapted(_methods.triangular_solve, "b:self, A, upper=True, transpose=False, "
                           "unitriangular=False")


@with_forms
@shortcut(ops.add, 2)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """As `ops.add`; `other` is multiplied by `alpha` first.

    >>> import lamella as ms
    >>> print(ms.mint.add(ms.Tensor([1.0, 2.0]), 3, alpha=2))
    [7. 8.]
    """
    return add_scaled(input, other, alpha=alpha)


@with_forms
@shortcut(ops.sub, 2)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """As `ops.sub`; `other` is multiplied by `alpha` first.

    >>> import lamella as ms
    >>> print(ms.mint.sub(ms.Tensor([1.0, 2.0]), 3, alpha=2))
    [-5. -4.]
    """
    return sub_scaled(input, other, alpha=alpha)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two Tensors have the same shape and elements, a bool (`eq` compares by element).

    >>> import lamella as ms
    >>> ms.mint.equal(ms.Tensor([1, 2]), ms.Tensor([1, 2]))
    True
    """
    for name, value in (("input", input), ("other", other)):
        of_type(value, Tensor, name, "equal")
    return input.shape == other.shape and bool(ops.eq(input, other).all())


@with_forms
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """As `ops.where`; with a condition alone, the positions where it holds, by axis.

    >>> import lamella as ms
    >>> print(ms.mint.where(ms.Tensor([0, 3, 5]))[0])
    [1 2]
    """
    if input is None and other is None:
        return ops.nonzero(condition, as_tuple=True)
    return ops.where(condition, input, other)


@op
def item(input: Tensor) -> Any:
    """The element of a one-element Tensor, as a Python number.

    >>> import lamella as ms
    >>> ms.mint.item(ms.Tensor([3]))
    3
    """
    return input.item()


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0,
          compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """As `ops.cdist`; `compute_mode`, a matter of speed, is accepted."""
    return ops.cdist(x1, x2, p)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The product of two vectors, the first of which is conjugated.

    >>> import lamella as ms
    >>> print(ms.mint.vdot(ms.Tensor([1 + 2j, 3j]), ms.Tensor([1j, 1.0 + 0j])))
    (2-2j)
    """
    return ops.dot(ops.conj(input), other)
