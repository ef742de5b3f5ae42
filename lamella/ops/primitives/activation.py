"""Primitive classes of activation functions."""

from __future__ import annotations

from typing import Any

from .. import activation as fn
from .. import piecewise
from ..primitive import primitive
from .attributed import Attributed

__all__ = [
    "CeLU", "Elu", "FastGeLU", "FastGelu", "GLU", "GeLU", "Gelu", "HShrink", "HSigmoid", "HSwish",
    "LogSoftmax", "LogSoftmaxExt", "Mish", "PReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid",
    "SoftShrink", "Softmax", "Softplus", "Softsign", "Tanh",
]

ReLU = primitive("ReLU", piecewise.relu)
ReLU6 = primitive("ReLU6", piecewise.relu6)
Sigmoid = primitive("Sigmoid", fn.sigmoid)
Tanh = primitive("Tanh", fn.tanh)
FastGeLU = primitive("FastGeLU", fn.fast_gelu)
SiLU = primitive("SiLU", fn.silu)
HSwish = primitive("HSwish", piecewise.hardswish)
HSigmoid = primitive("HSigmoid", piecewise.hardsigmoid)
SeLU = primitive("SeLU", fn.selu)
Mish = primitive("Mish", fn.mish)
PReLU = primitive("PReLU", piecewise.prelu)
Softplus = primitive("Softplus", fn.softplus)
Softsign = primitive("Softsign", fn.softsign)


def _gelu(x: Any) -> Any:
    """`gelu` by its tanh approximation, which is what the primitive stands for."""
    return fn.gelu(x, "tanh")


def _log_softmax(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """`log_softmax` with the type to compute in."""
    out = fn.log_softmax(x if dtype is None else x.astype(dtype), -1 if axis is None else axis)
    return out


GeLU = primitive("GeLU", _gelu)
LogSoftmaxExt = primitive("LogSoftmaxExt", _log_softmax)


class _OneAttribute(Attributed):
    """A primitive whose attribute is handed to a function behind its input."""

    _function: Any = None

    def __call__(self, x: Any) -> Any:
        return type(self)._function(x, *self.attrs.values())


class Softmax(Attributed):
    """`ops.softmax` with the axis, or a tuple of axes, as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Softmax()(ms.Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    def __init__(self, axis: int | tuple[int, ...] = -1):
        super().__init__()
        if not isinstance(axis, (int, tuple)):
            raise TypeError(f"For 'Softmax', 'axis' must be an int or a tuple, but got {axis!r}.")
        if isinstance(axis, tuple) and len(axis) == 0:
            raise ValueError("For 'Softmax', 'axis' must name an axis, but got ().")
        self.add_prim_attr("axis", axis if isinstance(axis, tuple) else (axis,))

    def __call__(self, logits: Any) -> Any:
        return fn.softmax(logits, self.axis)


class LogSoftmax(_OneAttribute):
    """`ops.log_softmax` with the axis as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.LogSoftmax()(ms.Tensor([0.0, 0.0])))
        [-0.6931472 -0.6931472]
    """

    _function = staticmethod(fn.log_softmax)

    def __init__(self, axis: int = -1):
        super().__init__(axis=axis)


class Elu(_OneAttribute):
    """`ops.elu` with alpha as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Elu()(ms.Tensor([1.0, 0.0])))
        [1. 0.]
    """

    _function = staticmethod(fn.elu)

    def __init__(self, alpha: float = 1.0):
        super().__init__(alpha=alpha)


class CeLU(_OneAttribute):
    """`ops.celu` with alpha as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.CeLU(2.0)(ms.Tensor([1.0, 0.0])))
        [1. 0.]
    """

    _function = staticmethod(fn.celu)

    def __init__(self, alpha: float = 1.0):
        super().__init__(alpha=alpha)


class HShrink(_OneAttribute):
    """`ops.hardshrink` with its threshold as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.HShrink()(ms.Tensor([0.5, 1.0])))
        [0. 1.]
    """

    _function = staticmethod(piecewise.hardshrink)

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=lambd)


class SoftShrink(_OneAttribute):
    """`ops.softshrink` with its threshold as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.SoftShrink()(ms.Tensor([0.25, 1.0])))
        [0.  0.5]
    """

    _function = staticmethod(piecewise.softshrink)

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=lambd)


class GLU(_OneAttribute):
    """`ops.glu` with the axis as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.GLU()(ms.Tensor([1.0, 0.0])))
        [0.5]
    """

    _function = staticmethod(fn.glu)

    def __init__(self, axis: int = -1):
        super().__init__(axis=axis)


FastGelu = primitive("FastGelu", fn.fast_gelu)
Gelu = primitive("Gelu", lambda x: fn.gelu(x, "tanh"))
