"""Piecewise activation functions: relu and its relatives, hard forms, thresholds.

Where two branches of an activation meet, MindSpore picks a derivative of its own. PyTorch's kernels
are used as they are where they agree with it. The others get its rule: as a table of three pieces
(`kinks.Pieces`) through `_of_pieces`, or as a function through `sloped`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.state import state
from ..core.tape import TapeFunction
from ..machine import kinks
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .clip import clamped

__all__ = [
    "relu", "relu_", "relu6", "leaky_relu", "hardsigmoid", "hardswish", "hardtanh", "hardshrink",
    "softshrink", "soft_shrink", "prelu", "rrelu", "threshold",
]

aten: Any = torch.ops.aten


class _Sloped(TapeFunction):
    """An elementwise kernel whose derivative is written out as a function of the input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(raw: torch.Tensor, kernel: Callable, slope: Callable, back: Callable
                ) -> torch.Tensor:
        return kernel(raw)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raw, _, ctx.slope, ctx.back = inputs
        ctx.save_for_backward(raw)
        ctx.save_for_forward(raw)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (gradient,), (raw,) = grads, ctx.saved_tensors
        if torch.is_grad_enabled() or torch._C._are_functorch_transforms_active():
            return gradient * ctx.slope(raw), None, None, None
        return ctx.back(gradient, raw), None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0] * ctx.slope(ctx.saved_tensors[0])


def sloped(raw: torch.Tensor, kernel: Callable, slope: Callable, back: Callable) -> torch.Tensor:
    """An elementwise function with a derivative of its own.

    Args:
        raw: where it is evaluated.
        kernel: the function.
        slope: its derivative, which has derivatives itself.
        back: a gradient times the derivative, of the gradient and `raw`, by kernels that take whole
            vectors; used where nothing asks for derivatives of it.
    """
    level = state.level
    recorded = raw.requires_grad or (level is not None and (
        level.forward or torch._C._are_functorch_transforms_active()))
    return _Sloped.apply(raw, kernel, slope, back) if recorded else kernel(raw)


def _of_pieces(raw: torch.Tensor, kernel: Callable, pieces: kinks.Pieces, back: Callable
               ) -> torch.Tensor:
    """A function of three pieces; `back` is used where `kinks` has no kernel of its own."""
    if raw.requires_grad and (found := kinks.taped(raw, kernel, pieces)) is not None:
        return found

    def fastest(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (kinks.backward(gradient, x, pieces) if kinks.suits(gradient, x)
                else back(gradient, x))

    return sloped(raw, kernel, pieces.slope, fastest)


def above_zero(raw: torch.Tensor) -> torch.Tensor:
    """The numbers, but for zero, which becomes the least number above it."""
    limits = torch.finfo(raw.dtype)
    return raw + limits.tiny * limits.eps


@op
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) of each element; the derivative at 0 is 0.

    Args:
        input: any shape, any number type.
        inplace: write the result into `input` and return that.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.relu(ms.Tensor([[-1.0, 4.0, -8.0], [2.0, -5.0, 9.0]])))
        [[0. 4. 0.]
         [2. 0. 9.]]
    """
    if inplace:
        return relu_(input)
    raw = input._raw
    return wrap(raw.clone() if raw.dtype is torch.bool else torch.relu(raw))


@op
def relu_(input: Tensor) -> Tensor:
    """`relu` in place.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([-1.0, 4.0])
        >>> y = ms.ops.relu_(x)
        >>> print(x)
        [0. 4.]
    """
    return in_place(input, torch.relu_)


@op
def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6) of each element; the derivative is 0 at 0 and 1 at 6.

    Args:
        x: any shape, floating.

    Returns:
        Tensor of the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.relu6(ms.Tensor([-1.0, 4.0, 8.0])))
        [0. 4. 6.]
    """
    raw = x._raw
    if not raw.is_floating_point():
        return wrap(clamped(torch.relu(raw), None, 6.0))
    return wrap(_of_pieces(raw, F.relu6, _RELU6, _relu6_back))


_RELU6 = kinks.Pieces(low=0.0, high=6.0, below=0.0, at_low=0.0, factor=0.0, added=1.0, at_high=1.0,
                      above=0.0, of_nan=0.0)


def _relu6_back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    next_to_six = 6 + 4 * torch.finfo(x.dtype).eps
    return aten.hardtanh_backward(gradient, x, 0.0, next_to_six)


@op
def leaky_relu(input: Tensor, alpha: float = 0.2) -> Tensor:
    """x where x >= 0 (for `alpha` <= 1), `alpha` x elsewhere.

    It is max(x, alpha x), or the min for alpha > 1, so the derivative at 0 is (1 + alpha) / 2.

    Args:
        input: any shape, any number type.
        alpha: the slope below 0.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `alpha` is no number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.leaky_relu(ms.Tensor([-1.0, 4.0, -8.0])))
        [-0.2  4.  -1.6]
    """
    if not isinstance(alpha, (int, float)):
        raise TypeError(f"For 'leaky_relu', the type of 'alpha' should be float or int, "
                        f"but got type '{type(alpha).__name__}'.")
    raw = input._raw
    if not raw.is_floating_point():
        pick = torch.maximum if alpha <= 1 else torch.minimum
        return wrap(pick(raw, (raw * int(alpha)).to(raw.dtype)))  # the slope is cut, too

    def back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        # the kernel takes 0 for one side or the other; elsewhere the mean of equals is exact
        left = aten.leaky_relu_backward(gradient, x, alpha, False)
        return (left + aten.leaky_relu_backward(gradient, above_zero(x), alpha, False)) * 0.5

    return wrap(_of_pieces(raw, lambda x: F.leaky_relu(x, alpha), _leaky_relu_pieces(alpha), back))


@functools.lru_cache(64)
def _leaky_relu_pieces(alpha: float) -> kinks.Pieces:
    middle = (1.0 + alpha) / 2
    return kinks.Pieces(low=0.0, high=0.0, below=alpha, at_low=middle, factor=0.0, added=alpha,
                        at_high=middle, above=1.0, of_nan=alpha)


@op
def hardsigmoid(input: Tensor) -> Tensor:
    """x / 6 + 1 / 2, kept within 0 and 1.

    Args:
        input: any shape, floating or integers.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardsigmoid(ms.Tensor([-3.5, 0.0, 4.3])))
        [0.  0.5 1. ]
    """
    return wrap(_floating(lambda x: _of_pieces(
        x, F.hardsigmoid, _HARDSIGMOID, _hardsigmoid_back), input._raw))


_HARDSIGMOID = kinks.Pieces(low=-3.0, high=3.0, below=0.0, at_low=0.0, factor=0.0, added=1 / 6,
                            at_high=0.0, above=0.0, of_nan=0.0)


def _hardsigmoid_back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    if x.dtype is torch.float64:  # the kernel divides by 6 in float32
        return gradient * _HARDSIGMOID.slope(x)
    return aten.hardsigmoid_backward(gradient, x)


def _floating(kernel: Callable, raw: torch.Tensor) -> torch.Tensor:
    """A floating kernel on integers: the result is cut to their type, as MindSpore's is."""
    return kernel(raw) if raw.is_floating_point() else kernel(raw.float()).to(raw.dtype)


_HARDSWISH = kinks.Pieces(low=-3.0, high=3.0, below=0.0, at_low=-0.5, factor=1 / 3, added=0.5,
                          at_high=1.5, above=1.0, of_nan=math.nan)


def _hardswish_back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    # at the bounds themselves PyTorch's kernels differ from version to version: one unit inwards
    return aten.hardswish_backward(gradient, x * (1 - torch.finfo(x.dtype).eps / 2))


@documented_like(hardsigmoid)
@op
def hardswish(input: Tensor) -> Tensor:
    """x times `hardsigmoid` of x; the derivative at -3 and 3 is that of the middle piece.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardswish(ms.Tensor([-2.0, 0.0, 4.0])))
        [-0.33333334  0.          4.        ]
    """
    return wrap(_floating(lambda x: _of_pieces(
        x, F.hardswish, _HARDSWISH, _hardswish_back), input._raw))


@op
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x kept within `min_val` and `max_val`; the derivative at either is 1/2.

    Args:
        input: any shape, any number type.
        min_val, max_val: the bounds.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardtanh(ms.Tensor([-3.0, 0.5, 2.0])))
        [-1.   0.5  1. ]
    """
    raw = input._raw
    if not is_inexact(raw.dtype):
        if raw.dtype is torch.bool:
            return wrap(raw)
        low = int(min_val) if raw.dtype.is_signed else max(int(min_val), 0)
        return wrap(raw.clamp(low, int(max_val)))
    if not (raw.is_floating_point() and min_val < max_val):
        # maximum and minimum share a tie's gradient between both sides
        low = torch.maximum(raw, raw.new_full((), min_val))
        return wrap(torch.minimum(low, raw.new_full((), max_val)))

    pieces, below, above = _hardtanh_pieces(raw.dtype, min_val, max_val)
    low, high = pieces.low, pieces.high

    def back(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        # the kernel takes 0 at the bounds; 1 if they are the next numbers outside
        inside = aten.hardtanh_backward(gradient, x, low, high)
        wider = aten.hardtanh_backward(gradient, x, below, above)
        found = torch.lerp(inside, wider, 0.5)
        return torch.where(x == x, found, gradient)  # of NaN it takes 0 in vectors, 1 elsewhere

    return wrap(_of_pieces(raw, lambda x: F.hardtanh(x, low, high), pieces, back))


@functools.lru_cache(64)
def _hardtanh_pieces(dtype: torch.dtype, min_val: float, max_val: float
                     ) -> tuple[kinks.Pieces, float, float]:
    """The pieces, with bounds that are numbers of a type, and the next numbers outside of them."""
    bounds = torch.tensor([min_val, max_val], dtype=dtype)
    beside = torch.nextafter(bounds, bounds.new_tensor([-math.inf, math.inf]))
    (low, high), (below, above) = bounds.tolist(), beside.tolist()
    return kinks.Pieces(low, high, below=0.0, at_low=0.5, factor=0.0, added=1.0, at_high=0.5,
                        above=0.0, of_nan=1.0), below, above


@op
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, or 0 where |x| <= `lambd`.

    Args:
        input: any shape, floating.
        lambd: the threshold.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hardshrink(ms.Tensor([0.5, 1.0, -2.0])))
        [ 0.  1. -2.]
    """
    return wrap(F.hardshrink(input._raw, lambd))


@op
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, and 0 where |x| <= `lambd`.

    Args:
        input: any shape, floating.
        lambd: the threshold, 0 or more.

    Returns:
        Tensor of the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.softshrink(ms.Tensor([0.25, 1.0, -2.0])))
        [ 0.   0.5 -1.5]
    """
    return wrap(F.softshrink(input._raw, lambd))


soft_shrink = softshrink


@op
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, `weight` x elsewhere, with one weight in all or one a channel.

    Args:
        input: shape (N, C, ...), floating.
        weight: shape (1,) or (C,).

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `weight` fits neither.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[-1.0, 2.0], [3.0, -4.0]])
        >>> print(ms.ops.prelu(x, ms.Tensor([0.25, 0.5])))
        [[-0.25  2.  ]
         [ 3.   -2.  ]]
    """
    raw, slopes = input._raw, weight._raw
    if slopes.dim() != 1 or slopes.numel() not in (1, raw.shape[1] if raw.dim() > 1 else 1):
        raise ValueError(f"For 'prelu', 'weight' must have the shape (1,) or (C,) for the C "
                         f"channels of 'input' {input.shape}, but got {weight.shape}.")
    return wrap(torch.prelu(raw, slopes.to(raw.dtype)))


@op
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """x where x >= 0, elsewhere a x with a random slope a between `lower` and `upper`.

    Args:
        input: any shape.
        lower, upper: the range of the slopes.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `lower` exceeds `upper`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rrelu(ms.Tensor([-2.0, 3.0]), 0.5, 0.5))
        [-1.  3.]
    """
    if lower > upper:
        raise ValueError(f"For 'rrelu', 'upper' must be 'lower' or more, but got upper: {upper}, "
                         f"lower: {lower}.")
    raw = input._raw
    slopes = torch.empty_like(raw, dtype=torch.float32).uniform_(lower, upper)
    slopes = slopes.masked_fill(raw == 0, 0)  # which is the gradient at 0, as in MindSpore
    return wrap(torch.where(raw > 0, raw, (slopes * raw).to(raw.dtype)))


@op
def threshold(input: Tensor, thr: float, value: float) -> Tensor:
    """x where x > `thr`, `value` elsewhere.

    Args:
        input: any shape.
        thr: the threshold.
        value: what replaces the rest.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        TypeError: if `thr` or `value` is no number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.threshold(ms.Tensor([0.0, 2.0, 3.0]), 1, 20))
        [20.  2.  3.]
    """
    for name, given in (("thr", thr), ("value", value)):
        if not isinstance(given, (int, float)):
            raise TypeError(f"For 'threshold', the type of '{name}' should be float or int, "
                            f"but got type '{type(given).__name__}'.")
    raw = input._raw
    return wrap(torch.where(raw > thr, raw, raw.new_full((), value)))


tensor_methods(hardshrink=hardshrink, soft_shrink=soft_shrink)
