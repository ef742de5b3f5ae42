"""Parts of complex numbers."""

from __future__ import annotations

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .operands import both

__all__ = ["angle", "conj", "imag", "polar", "real", "view_as_real"]


@op
def real(input: Tensor) -> Tensor:
    """The real part of each element.

    Args:
        input: any shape.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.real(ms.Tensor([1 + 2j])))
        [1.]
    """
    raw = input._raw
    return wrap_view(raw.real if raw.is_complex() else raw)


@documented_like(real)
@op
def imag(input: Tensor) -> Tensor:
    """The imaginary part of each element; 0 for real ones.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.imag(ms.Tensor([1 + 2j])))
        [2.]
    """
    raw = input._raw
    return wrap_view(raw.imag if raw.is_complex() else torch.zeros_like(raw))


@documented_like(real)
@op
def conj(input: Tensor) -> Tensor:
    """Each element with its imaginary part negated.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.conj(ms.Tensor([1 + 2j])))
        [1.-2.j]
    """
    raw = input._raw
    return wrap(torch.conj_physical(raw) if raw.is_complex() else raw.clone())


@documented_like(real)
@op
def angle(input: Tensor) -> Tensor:
    """The argument of each complex number, in radians.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.angle(ms.Tensor([1j, -1 + 0j])))
        [1.57079633 3.14159265]
    """
    return wrap(torch.angle(input._raw))


@op
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of given magnitude and argument.

    Args:
        abs: the magnitudes, of float32 or float64.
        angle: the arguments in radians, of the type of `abs`.

    Returns:
        Complex Tensor of the shape that the two broadcast to

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.polar(ms.Tensor([2.0]), ms.Tensor([0.0])))
        [2.+0.j]
    """
    return wrap(torch.polar(*both(abs, angle)))


@op
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones.

    Args:
        input: complex, any shape.

    Returns:
        real Tensor with one more dimension, of length 2, at the end

    Raises:
        TypeError: if `input` is not complex.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.view_as_real(ms.Tensor([1 + 2j])))
        [[1. 2.]]
    """
    if not input._raw.is_complex():
        raise TypeError(f"For 'view_as_real', 'input' must be complex, but got {input.dtype}.")
    return wrap_view(torch.view_as_real(input._raw.resolve_conj()))


tensor_methods(real=real, imag=imag, conj=conj, angle=angle)
