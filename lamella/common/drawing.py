"""How the numbers of initializers are drawn, and how widely, by the sizes of a layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["draw_normal", "draw_truncated", "draw_uniform"]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d")


def _check_sigma(sigma: float) -> None:
    if sigma < 0:
        raise ValueError(f"For 'initializer', 'sigma' must be 0 or more, but got {sigma}.")


def draw_normal(raw: torch.Tensor, mean: float, sigma: float) -> None:
    """Fill `raw` with normal numbers."""
    _check_sigma(sigma)
    raw.normal_(mean, sigma)


def draw_uniform(raw: torch.Tensor, low: float, high: float) -> None:
    """Fill `raw` with numbers uniform between two bounds."""
    if low > high:
        low, high = high, low
    raw.uniform_(low, high)


def draw_truncated(raw: torch.Tensor, a: float, b: float, mean: float, sigma: float) -> None:
    """Draw from a normal distribution cut to [a, b].

    Where most of the distribution lies within, what falls outside is drawn again; else its
    cumulative distribution is inverted, mirrored to the left tail, where that doesn't round to 1.
    """
    _check_sigma(sigma)
    if not a < b:
        raise ValueError(f"For 'TruncatedNormal', 'a' must be less than 'b', "
                         f"but got a={a} and b={b}.")
    if sigma == 0:
        raw.fill_(min(max(mean, a), b))
        return
    left, right = (a - mean) / sigma, (b - mean) / sigma
    low, high = (0.5 * math.erfc(-x / math.sqrt(2)) for x in (left, right))
    if high - low > 0.5:
        raw.normal_(mean, sigma)
        outside = ((raw < a) | (raw > b)).nonzero(as_tuple=True)
        while len(outside[0]) or raw.dim() == 0 and not a <= raw.item() <= b:
            again = raw[outside].normal_(mean, sigma)
            raw[outside] = again
            outside = tuple(place[(again < a) | (again > b)] for place in outside)
        return
    sign = -1.0 if left > 0 else 1.0
    if sign < 0:
        left, right = -right, -left
        low, high = (0.5 * math.erfc(-x / math.sqrt(2)) for x in (left, right))
    if not low < high:  # so far out that no probability is left: all of it is at the near bound
        raw.fill_(a if sign < 0 else b)
        return
    wide = torch.empty(raw.shape, dtype=torch.float64)
    wide.uniform_(low, high)
    wide = torch.special.ndtri(wide).clamp_(left, right).mul_(sign * sigma).add_(mean)
    raw.copy_(wide.clamp_(a, b))


def _drawn(shape: Sequence[int], draw: Callable[..., None], *options: float) -> np.ndarray:
    raw = torch.empty(tuple(shape), dtype=torch.float32)
    draw(raw, *options)
    return raw.numpy()


def _init_random_normal(mean: float, sigma: float, shape: Sequence[int]) -> np.ndarray:
    """A float32 array of normal numbers."""
    return _drawn(shape, draw_normal, mean, sigma)


def _init_random_uniform(a: float, b: float, shape: Sequence[int]) -> np.ndarray:
    """A float32 array of numbers uniform in [a, b)."""
    return _drawn(shape, draw_uniform, a, b)


def _init_truncated_normal(a: float, b: float, mean: float, sigma: float,
                           shape: Sequence[int]) -> np.ndarray:
    """A float32 array of normal numbers within [a, b]."""
    return _drawn(shape, draw_truncated, a, b, mean, sigma)


def _calculate_fan_in_and_fan_out(shape: Sequence[int]) -> tuple[int, int]:
    """How many numbers come into and go out of one unit of a layer with weights of this shape.

    Weights are (out, in) for a dense layer and (out, in, *kernel) for a convolution.
    """
    if len(shape) < 2:
        raise ValueError("For 'initializer', 'fan_in' and 'fan_out' need weights of 2 or more "
                         f"dimensions, but got shape {tuple(shape)}.")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(shape: Sequence[int], mode: str) -> int:
    """The number of inputs (``"fan_in"``) or outputs (``"fan_out"``) of a unit."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"For 'initializer', 'mode' must be 'fan_in' or 'fan_out', "
                         f"but got {mode!r}.")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
    return fan_in if mode.lower() == "fan_in" else fan_out


def _calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """What the standard deviation is multiplied with to make up for a nonlinearity.

    After He et al., "Delving deep into rectifiers" (2015), https://arxiv.org/abs/1502.01852.
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        if isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError("For 'initializer', 'negative_slope' must be an int or a float when "
                             f"'nonlinearity' is 'leaky_relu', but got {param!r}.")
        return math.sqrt(2.0 / (1 + param**2))
    raise ValueError("For 'initializer', 'nonlinearity' must be 'leaky_relu', 'relu', 'tanh', "
                     f"'sigmoid', 'linear' or a convolution's name, but got {nonlinearity!r}.")
