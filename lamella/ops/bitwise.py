"""Operations on the bits of integers."""

from __future__ import annotations

import operator
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.dtype import from_raw, is_inexact
from ..core.errors import op
from ..tensors.kernels import left_shift, right_shift
from ..tensors.operators import python_syntax
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .operands import operands

__all__ = ["bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
           "bitwise_xor", "invert", "population_count"]


def _both_integers(input: Any, other: Any, where: str) -> tuple[Any, Any]:
    a, b = operands(input, other)
    tensors = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    kind = a.dtype if tensors else torch.result_type(a, b)
    if is_inexact(kind):
        raise TypeError(f"For '{where}', the tensors must hold integers or booleans, "
                        f"but got {from_raw.get(kind, kind)}.")
    return a, b


@op
def bitwise_and(input: Tensor, other: Tensor | float) -> Tensor:
    """The bits set in both numbers.

    Args:
        input: integers or booleans.
        other: a Tensor that broadcasts with the first one, or a number.

    Returns:
        Tensor of the shape that the two broadcast to.

    Raises:
        TypeError: if a tensor is floating.
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bitwise_and(ms.Tensor([12, 10]), 6))
        [4 2]
    """
    return wrap(operator.and_(*_both_integers(input, other, "bitwise_and")))


@documented_like(bitwise_and)
@op
def bitwise_or(input: Tensor, other: Tensor | float) -> Tensor:
    """The bits set in either number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bitwise_or(ms.Tensor([12, 10]), 6))
        [14 14]
    """
    return wrap(operator.or_(*_both_integers(input, other, "bitwise_or")))


@documented_like(bitwise_and)
@op
def bitwise_xor(input: Tensor, other: Tensor | float) -> Tensor:
    """The bits set in exactly one of the numbers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bitwise_xor(ms.Tensor([12, 10]), 6))
        [10 12]
    """
    return wrap(operator.xor(*_both_integers(input, other, "bitwise_xor")))


@documented_like(bitwise_and)
@op
def bitwise_left_shift(input: Tensor, other: Tensor | float) -> Tensor:
    """`input` shifted to the left by `other` bits, modulo the width of the type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bitwise_left_shift(ms.Tensor([1, 3]), 2))
        [ 4 12]
    """
    return wrap(left_shift(*_both_integers(input, other, "bitwise_left_shift")))


@documented_like(bitwise_and)
@op
def bitwise_right_shift(input: Tensor, other: Tensor | float) -> Tensor:
    """`input` shifted to the right by `other` bits, modulo the width of the type; the sign stays.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bitwise_right_shift(ms.Tensor([8, -8]), 2))
        [ 2 -2]
    """
    return wrap(right_shift(*_both_integers(input, other, "bitwise_right_shift")))


@op
def invert(x: Tensor) -> Tensor:
    """Each bit changed.

    Args:
        x: integers or booleans.

    Returns:
        Tensor of the shape of `x`.

    Raises:
        TypeError: if `x` is floating.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.invert(ms.Tensor([0, 7])))
        [-1 -8]
    """
    return wrap(torch.bitwise_not(x._raw))


@op
def population_count(input_x: Tensor) -> Tensor:
    """The number of bits set in each integer.

    Args:
        input_x: integers.

    Returns:
        UInt8 Tensor of the shape of `input_x`

    Raises:
        TypeError: if `input_x` is floating.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.population_count(ms.Tensor([3, 7])))
        [2 3]
    """
    raw = input_x._raw
    raw = raw.view(torch.int64) if raw.dtype is torch.uint64 else raw
    positions = torch.arange(8 * raw.itemsize, device=raw.device).to(raw.dtype)
    bits = torch.bitwise_right_shift(raw.unsqueeze(-1), positions).bitwise_and(1)
    return wrap(bits.sum(-1).to(torch.uint8))


tensor_methods(bitwise_and=bitwise_and, bitwise_or=bitwise_or, bitwise_xor=bitwise_xor,
               bitwise_not=invert, invert=invert, bitwise_left_shift=bitwise_left_shift,
               bitwise_right_shift=bitwise_right_shift)
python_syntax(**{"and": (operator.and_, bitwise_and), "or": (operator.or_, bitwise_or)},
              xor=(operator.xor, bitwise_xor), lshift=(left_shift, bitwise_left_shift),
              rshift=(right_shift, bitwise_right_shift))
