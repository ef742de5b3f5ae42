"""Functions of several tensors, element by element: addcmul, lerp, hypot, xlogy, ..."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from ..core import context
from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.state import is_nested
from ..tensors.kernels import trunc_quotient
from ..tensors.promotion import promote
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import tensors
from .arithmetic import add
from .operands import both, floats

__all__ = ["accumulate_n", "addcdiv", "addcmul", "addn", "copysign", "heaviside", "hypot",
           "ldexp", "lerp", "logaddexp", "logaddexp2", "nextafter", "xlogy"]


@op
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | float = 1) -> Tensor:
    """`input` + `value` * `tensor1` * `tensor2`.

    Args:
        input: any shape.
        tensor1: a factor.
        tensor2: the other factor.
        value: a number or a Tensor.

    Returns:
        Tensor of the shape that all broadcast to

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.addcmul(ms.Tensor([1.0]), ms.Tensor([2.0]), ms.Tensor([3.0]), 0.5))
        [4.]
    """
    if isinstance(value, Tensor):
        return wrap(input._raw + value._raw * tensor1._raw * tensor2._raw)
    return wrap(torch.addcmul(input._raw, tensor1._raw, tensor2._raw, value=value))


@documented_like(addcmul)
@op
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | float = 1) -> Tensor:
    """`input` + `value` * `tensor1` / `tensor2`.

    Args:
        input: any shape.
        tensor1: the numerator.
        tensor2: the denominator.
        value: a number or a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.addcdiv(ms.Tensor([1.0]), ms.Tensor([6.0]), ms.Tensor([3.0]), 0.5))
        [2.]
    """
    if not is_inexact(tensor2._raw.dtype):
        factor = value._raw if isinstance(value, Tensor) else int(value)
        return wrap(input._raw + trunc_quotient(tensor1._raw * factor, tensor2._raw))
    if isinstance(value, Tensor):
        return wrap(input._raw + value._raw * tensor1._raw / tensor2._raw)
    return wrap(torch.addcdiv(input._raw, tensor1._raw, tensor2._raw, value=value))


@documented_like(addcmul)
@op
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """`input` + `weight` * (`end` - `input`): linear interpolation.

    Args:
        input: any shape.
        end: the tensor at weight 1.
        weight: a number, or a Tensor that broadcasts with both.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lerp(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]), 0.25))
        [1.5 2.5]
    """
    a, b = both(input, end)
    w: Any = weight
    if isinstance(weight, Tensor):
        if weight._raw.is_complex() and not a.is_complex():
            raise TypeError(f"For 'lerp', 'weight' must be real as the others are, but got "
                            f"{weight.dtype}.")
        w = weight._raw.to(a.dtype)
    return wrap(torch.lerp(a, b, w))


@op
def addn(x: Sequence[Tensor]) -> Tensor:
    """Sum of several tensors of one shape.

    Args:
        x: a tuple or list of Tensors.

    Returns:
        Tensor of their shape

    Raises:
        TypeError: if `x` is not a tuple or list of Tensors.
        ValueError: if their shapes differ or there are none.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.addn([ms.Tensor([1.0]), ms.Tensor([2.0]), ms.Tensor([3.0])]))
        [6.]
    """
    if isinstance(x, (tuple, list)) and not x:
        raise ValueError("For 'addn', 'x' must hold at least one Tensor, but it is empty.")
    raws = tensors(x, "addn", "x")
    if len({raw.shape for raw in raws}) > 1:
        raise ValueError(f"For 'addn', the tensors must have one shape, but got "
                         f"{[tuple(raw.shape) for raw in raws]}.")
    return wrap(functools.reduce(lambda a, b: torch.add(*promote(a, b)), raws))


accumulate_n = addn


@documented_like(add)
@op
def hypot(input: Tensor, other: Tensor | float) -> Tensor:
    """Length of the hypotenuse over two legs, without overflow in between.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hypot(ms.Tensor([3.0]), ms.Tensor([4.0])))
        [5.]
    """
    return wrap(torch.hypot(*floats(input, other)))


_BRAIN = torch.bfloat16


@documented_like(hypot)
@op
def copysign(x: Tensor, other: Tensor | float) -> Tensor:
    """The magnitude of `x` with the sign of `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.copysign(ms.Tensor([1.0, 2.0]), ms.Tensor([-1.0, 1.0])))
        [-1.  2.]
    """
    raw, sign = x._raw, getattr(other, "_raw", other)
    if isinstance(sign, torch.Tensor):
        kept = raw.is_floating_point() and (raw.dtype is sign.dtype or raw.dtype is not _BRAIN)
        raw = raw if kept else raw.float()  # the type is that of `x`
        return wrap(torch.copysign(raw, sign.to(raw.dtype)))
    if type(sign) not in (int, float):
        return wrap(torch.copysign(*both(x, other)))
    raw = raw.float() if raw.dtype is _BRAIN else raw
    return wrap(torch.copysign(raw, float(sign)))  # unsigned types don't hold -1


@documented_like(hypot)
@op
def ldexp(x: Tensor, other: Tensor | float) -> Tensor:
    """`x` * 2^`other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ldexp(ms.Tensor([1.0, 3.0]), ms.Tensor([2, 1])))
        [4. 6.]
    """
    if type(other) is int:
        other = float(other)  # unsigned types don't hold numbers below 0
    return wrap(torch.ldexp(*both(x, other)))


def _with_float32(input: Any, other: Any) -> tuple[Any, Any]:
    """Both sides, a number as a Tensor of float32, which widens float16."""
    def of(value: Any) -> Any:
        if type(value) not in (int, float):
            return value
        return wrap(torch.tensor(float(value), device=context.current_device()))

    return (input, of(other)) if type(other) in (int, float) else (of(input), other)


@documented_like(hypot)
@op
def xlogy(input: Tensor, other: Tensor | float) -> Tensor:
    """`input` * log(`other`), and 0 where `input` is 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.xlogy(ms.Tensor([2.0, 0.0]), ms.Tensor([1.0, 0.0])))
        [0. 0.]
    """
    a, b = both(*_with_float32(input, other))
    if a.is_complex():  # which PyTorch's kernel doesn't take
        return wrap(torch.where(a == 0, 0, a * torch.where(a == 0, 1, b).log()))
    return wrap(torch.xlogy(a, b))


@documented_like(hypot)
@op
def logaddexp(input: Tensor, other: Tensor | float) -> Tensor:
    """log(e^`input` + e^`other`), without overflow in between.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logaddexp(ms.Tensor([1.0, 1000.0]), ms.Tensor([1.0, 1000.0])))
        [   1.6931472 1000.6932   ]
    """
    return wrap(log_of_sum(*floats(input, other)))


def log_of_sum(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """`torch.logaddexp`, whose second derivatives are NaN where two numbers lie far apart."""
    if not is_nested() or first.is_complex():
        return torch.logaddexp(first, second)
    pair = torch.stack(torch.broadcast_tensors(first, second))
    endless = (pair == torch.inf).any(0)  # with slopes of NaN
    found = torch.logsumexp(pair.masked_fill(endless, 0), 0)
    return torch.where(endless, torch.maximum(first, second), found)


@documented_like(hypot)
@op
def logaddexp2(input: Tensor, other: Tensor | float) -> Tensor:
    """log2(2^`input` + 2^`other`), without overflow in between.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logaddexp2(ms.Tensor([1.0, 1000.0]), ms.Tensor([1.0, 1000.0])))
        [   2. 1001.]
    """
    first, second = floats(input, other)
    if not is_nested() or first.is_complex():
        return wrap(torch.logaddexp2(first, second))
    scale = math.log(2)
    return wrap(log_of_sum(first * scale, second * scale) / scale)


@op
def heaviside(input: Tensor, values: Tensor | float) -> Tensor:
    """The step function: 0 for negative elements, 1 for positive ones, `values` where `input`
    is 0.

    Args:
        input: any shape.
        values: a Tensor that broadcasts with `input`.

    Returns:
        Tensor of the shape that the two broadcast to

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.heaviside(ms.Tensor([-1.0, 0.0, 1.0]), ms.Tensor([0.5])))
        [0.  0.5 1. ]
    """
    return wrap(torch.heaviside(*both(input, values)))


@documented_like(hypot)
@op
def nextafter(input: Tensor, other: Tensor | float) -> Tensor:
    """The next number after `input` that its type can hold, in the direction of `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nextafter(ms.Tensor([1.0]), ms.Tensor([2.0])) > 1)
        [ True]
    """
    return wrap(torch.nextafter(*floats(input, other)))


tensor_methods(addcmul=addcmul, addcdiv=addcdiv, lerp=lerp, hypot=hypot, copysign=copysign,
               ldexp=ldexp, xlogy=xlogy, logaddexp=logaddexp, logaddexp2=logaddexp2,
               heaviside=heaviside, nextafter=nextafter)
