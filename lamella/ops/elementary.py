"""Exponentials, logarithms and rounding of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, tensor_methods, wrap

__all__ = ["ceil", "eps", "exp", "exp2", "expm1", "floor", "frac", "log", "log10", "log1p",
           "log2", "logit", "nan_to_num", "round", "tensor_exp", "tensor_expm1", "trunc"]


def _rounded(kernel: Callable[[torch.Tensor], torch.Tensor], raw: torch.Tensor) -> torch.Tensor:
    """`kernel` of a floating tensor; booleans and integers are round already."""
    return kernel(raw) if raw.is_floating_point() else raw.clone()


@op
def exp(input: Tensor) -> Tensor:
    """e to the power of each element.

    Args:
        input: any shape; integers are computed in float32.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.exp(ms.Tensor([0.0, 1.0])))
        [1.        2.7182817]
    """
    return wrap(torch.exp(input._raw))


tensor_exp = exp


@documented_like(exp)
@op
def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, accurate near 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.expm1(ms.Tensor([0.0, 1.0])))
        [0.        1.7182819]
    """
    return wrap(torch.expm1(input._raw))


tensor_expm1 = expm1


@documented_like(exp)
@op
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.exp2(ms.Tensor([0.0, 3.0])))
        [1. 8.]
    """
    raw = input._raw
    return wrap(torch.exp2(raw.float() if raw.dtype is torch.bfloat16 else raw))


@documented_like(exp)
@op
def log(input: Tensor) -> Tensor:
    """Natural logarithm; -inf at 0, nan below.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.log(ms.Tensor([1.0, 2.0])))
        [0.        0.6931472]
    """
    return wrap(torch.log(input._raw))


@documented_like(exp)
@op
def log1p(input: Tensor) -> Tensor:
    """log(1 + x), accurate near 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.log1p(ms.Tensor([0.0, 1.0])))
        [0.        0.6931472]
    """
    return wrap(torch.log1p(input._raw))


@documented_like(exp)
@op
def log2(input: Tensor) -> Tensor:
    """Logarithm to base 2.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.log2(ms.Tensor([1.0, 8.0])))
        [0. 3.]
    """
    return wrap(torch.log2(input._raw))


@documented_like(exp)
@op
def log10(input: Tensor) -> Tensor:
    """Logarithm to base 10.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.log10(ms.Tensor([1.0, 100.0])))
        [0. 2.]
    """
    return wrap(torch.log10(input._raw))


@documented_like(exp)
@op
def logit(input: Tensor, eps: Any = None) -> Tensor:
    """log(x / (1 - x)), the inverse of the sigmoid.

    Args:
        input: probabilities.
        eps: if given, elements are first clamped to [eps, 1 - eps].

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logit(ms.Tensor([0.25, 0.5])))
        [-1.0986123  0.       ]
    """
    return wrap(torch.logit(input._raw, eps))


@documented_like(exp)
@op
def ceil(input: Tensor) -> Tensor:
    """The least integer not below each element.

    Args:
        input: any shape.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ceil(ms.Tensor([1.1, -1.1])))
        [ 2. -1.]
    """
    return wrap(_rounded(torch.ceil, input._raw))


@documented_like(ceil)
@op
def floor(input: Tensor) -> Tensor:
    """The largest integer not above each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.floor(ms.Tensor([1.1, -1.1])))
        [ 1. -2.]
    """
    return wrap(_rounded(torch.floor, input._raw))


@documented_like(ceil)
@op
def trunc(input: Tensor) -> Tensor:
    """Each element without its fraction.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.trunc(ms.Tensor([1.7, -1.7])))
        [ 1. -1.]
    """
    return wrap(_rounded(torch.trunc, input._raw))


@documented_like(ceil)
@op
def frac(x: Tensor) -> Tensor:
    """The fraction of each element, with its sign.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.frac(ms.Tensor([1.5, -1.5])))
        [ 0.5 -0.5]
    """
    return wrap(torch.frac(x._raw) if x._raw.is_floating_point() else torch.zeros_like(
        x._raw, dtype=torch.int64 if x._raw.dtype is torch.bool else None))


@documented_like(exp)
@op
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, of two the even one.

    Args:
        input: any shape.
        decimals: how many decimal places to keep; a negative number rounds to tens, hundreds, ....

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.round(ms.Tensor([0.5, 1.5, 2.7])))
        [0. 2. 3.]
        >>> print(ms.ops.round(ms.Tensor([1.234]), decimals=1))
        [1.2]
    """
    return wrap(_rounded(torch.round, input._raw) if decimals == 0
                else torch.round(input._raw, decimals=decimals))


@documented_like(exp)
@op
def nan_to_num(input: Tensor, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    """Each element, with other values in place of nan and the infinities.

    Args:
        input: any shape.
        nan: in place of nan; default 0.
        posinf: in place of inf; default: the largest value of the type.
        neginf: in place of -inf; default: the least value of the type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nan_to_num(ms.Tensor([1.0, float("nan")]), 7.0))
        [1. 7.]
    """
    return wrap(torch.nan_to_num(input._raw, nan, posinf, neginf))


@documented_like(ceil)
@op
def eps(x: Tensor) -> Tensor:
    """For each element, the distance from 1 to the next number of its type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.eps(ms.Tensor([1.0, 2.0])))
        [1.1920929e-07 1.1920929e-07]
    """
    return wrap(torch.full_like(x._raw, torch.finfo(x._raw.dtype).eps))


def _tensor_round(self: Tensor, decimals: int = 0) -> Tensor:
    return round(self, decimals=decimals)


def _tensor_exp_(self: Tensor) -> Tensor:
    return in_place(self, torch.Tensor.exp_)


def _tensor_log_(self: Tensor) -> Tensor:
    return in_place(self, torch.Tensor.log_)


def _tensor_floor_(self: Tensor) -> Tensor:
    return in_place(self, torch.Tensor.floor_)


tensor_methods(exp=exp, expm1=expm1, log=log, log1p=log1p, log2=log2, log10=log10, logit=logit,
               ceil=ceil, floor=floor, trunc=trunc, frac=frac, round=_tensor_round,
               nan_to_num=nan_to_num, exp_=_tensor_exp_, log_=_tensor_log_, floor_=_tensor_floor_)
