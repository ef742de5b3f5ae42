"""Trigonometric and hyperbolic functions of each element."""

from __future__ import annotations

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.state import is_nested
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arithmetic import add
from .elementary import exp
from .operands import floats

__all__ = ["acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
           "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad",
           "rad2deg", "sin", "sinc", "sinh", "tan"]


@documented_like(exp)
@op
def sin(input: Tensor) -> Tensor:
    """Sine of each element, in radians.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sin(ms.Tensor([0.0, 1.0])))
        [0.         0.84147096]
    """
    return wrap(torch.sin(input._raw))


@documented_like(sin)
@op
def cos(input: Tensor) -> Tensor:
    """Cosine of each element, in radians.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cos(ms.Tensor([0.0, 1.0])))
        [1.         0.54030234]
    """
    return wrap(torch.cos(input._raw))


@documented_like(sin)
@op
def tan(input: Tensor) -> Tensor:
    """Tangent of each element, in radians.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tan(ms.Tensor([0.0, 1.0])))
        [0.        1.5574077]
    """
    return wrap(torch.tan(input._raw))


@documented_like(sin)
@op
def asin(input: Tensor) -> Tensor:
    """The angle whose sine each element is; nan outside [-1, 1].

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.asin(ms.Tensor([0.0, 1.0])))
        [0.        1.5707964]
    """
    return wrap(torch.asin(input._raw))


@documented_like(sin)
@op
def acos(input: Tensor) -> Tensor:
    """The angle whose cosine each element is; nan outside [-1, 1].

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.acos(ms.Tensor([0.0, 1.0])))
        [1.5707964 0.       ]
    """
    return wrap(torch.acos(input._raw))


arccos = acos


@documented_like(sin)
@op
def atan(input: Tensor) -> Tensor:
    """The angle whose tangent each element is.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.atan(ms.Tensor([0.0, 1.0])))
        [0.        0.7853982]
    """
    return wrap(torch.atan(input._raw))


arctan = atan


@documented_like(sin)
@op
def arcsin(x: Tensor) -> Tensor:
    """The angle whose sine each element is; nan outside [-1, 1].

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.arcsin(ms.Tensor([0.0, 1.0])))
        [0.        1.5707964]
    """
    return wrap(torch.asin(x._raw))


@documented_like(add)
@op
def atan2(input: Tensor, other: Tensor | float) -> Tensor:
    """The angle, in (-pi, pi], of the point with ordinate `input` and abscissa `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.atan2(ms.Tensor([1.0, -1.0]), ms.Tensor([1.0, -1.0])))
        [ 0.7853982 -2.3561945]
    """
    return wrap(torch.atan2(*floats(input, other)))


arctan2 = atan2


@documented_like(sin)
@op
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sinh(ms.Tensor([0.0, 1.0])))
        [0.        1.1752012]
    """
    return wrap(torch.sinh(input._raw))


@documented_like(sin)
@op
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cosh(ms.Tensor([0.0, 1.0])))
        [1.        1.5430806]
    """
    return wrap(torch.cosh(input._raw))


@documented_like(sin)
@op
def asinh(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.asinh(ms.Tensor([0.0, 1.0])))
        [0.        0.8813736]
    """
    return wrap(torch.asinh(input._raw))


arcsinh = asinh


@documented_like(sin)
@op
def acosh(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine; nan below 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.acosh(ms.Tensor([1.0, 2.0])))
        [0.       1.316958]
    """
    return wrap(torch.acosh(input._raw))


arccosh = acosh


@documented_like(sin)
@op
def atanh(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent; nan outside [-1, 1].

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.atanh(ms.Tensor([0.0, 0.5])))
        [0.         0.54930615]
    """
    return wrap(torch.atanh(input._raw))


arctanh = atanh


@documented_like(sin)
@op
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sinc(ms.Tensor([0.0, 0.5])))
        [1.         0.63661975]
    """
    raw = input._raw
    if not is_nested():
        return wrap(torch.sinc(raw))
    angle = raw * torch.pi  # PyTorch's derivatives at 0 and near it are wrong beyond the first
    near = angle.abs() < 0.1
    far, square = torch.where(near, 1, angle), torch.where(near, angle, 0).square()
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    return wrap(torch.where(near, series, far.sin() / far))


@documented_like(sin)
@op
def deg2rad(x: Tensor) -> Tensor:
    """Radians from degrees.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.deg2rad(ms.Tensor([0.0, 180.0])))
        [0.        3.1415927]
    """
    return wrap(torch.deg2rad(x._raw))


@documented_like(sin)
@op
def rad2deg(x: Tensor) -> Tensor:
    """Degrees from radians.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rad2deg(ms.Tensor([0.0, 3.1415927])))
        [  0. 180.]
    """
    return wrap(torch.rad2deg(x._raw))


tensor_methods(sin=sin, cos=cos, tan=tan, asin=asin, arcsin=asin, acos=acos, arccos=acos,
               atan=atan, arctan=atan, atan2=atan2, arctan2=atan2, sinh=sinh, cosh=cosh,
               asinh=asinh, arcsinh=asinh, acosh=acosh, arccosh=acosh, atanh=atanh,
               arctanh=atanh, sinc=sinc, deg2rad=deg2rad, rad2deg=rad2deg)
