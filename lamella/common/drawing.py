"""How initializers draw numbers, and the range that follows from a layer's sizes.

The numbers are MindSpore's: `set_seed` gives a network the same initial weights here and there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..tensors.random import drawing_from_numpy
from .philox import philox

__all__ = ["draw_normal", "draw_truncated", "draw_uniform"]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d")


_AT_ONCE = 1 << 16
_PI = float(np.float32(3.1415926))  # MindSpore's constants have the digits of float32
_ROOT_TWO = float(np.float32(1.4142135))
_SMALLEST = float(np.float32(1e-7))  # of the numbers whose logarithm is taken


def _draw(raw: torch.Tensor, of_bits: Callable[[np.ndarray], torch.Tensor],
          seed: int | None) -> None:
    """Fill `raw` with what a function makes of random 32-bit numbers, as many as it gets.

    They are those of `seed`; None: of a seed that NumPy's generator gives.
    """
    if seed is None:
        with drawing_from_numpy():
            seed = int(np.random.randint(1, 1 << 63, dtype=np.int64))
    is_own = raw.dtype is torch.float32 and raw.is_contiguous() and raw.device.type == "cpu"
    flat = raw.view(-1) if is_own else torch.empty(raw.numel(), dtype=torch.float32)
    for start in range(0, len(flat), _AT_ONCE):
        piece = flat[start:start + _AT_ONCE]
        piece.copy_(of_bits(philox(seed, -(-len(piece) // 2) * 2, start))[:len(piece)])
    if not is_own:
        raw.copy_(flat.view(raw.shape))


def _uniform(bits: np.ndarray, low: float, high: float) -> torch.Tensor:
    return torch.from_numpy(bits.astype(np.float64)).mul_((high - low) / 2**32).add_(low)


def _single(*options: float) -> list[float]:
    """The options as MindSpore's kernels have them, rounded to float32."""
    return [float(np.float32(option)) for option in options]


def _check_sigma(sigma: float) -> None:
    if sigma < 0:
        raise ValueError(f"For 'initializer', 'sigma' must be 0 or more, but got {sigma}.")


def draw_normal(raw: torch.Tensor, mean: float, sigma: float, *, seed: int | None = None) -> None:
    """Fill `raw` with normal numbers, of two uniform ones each two.

    After Box and Muller, "A note on the generation of random normal deviates" (1958),
    https://doi.org/10.1214/aoms/1177706645.
    """
    _check_sigma(sigma)
    mean, sigma = _single(mean, sigma)

    def normal(bits: np.ndarray) -> torch.Tensor:
        uniform = torch.from_numpy((bits & np.uint32(0x7FFFFF)).astype(np.float64))
        uniform = uniform.div_(1 << 23).clamp_(min=_SMALLEST).view(-1, 2)
        radius = uniform[:, 0].log().mul_(-2).sqrt_().mul_(sigma)
        angle = uniform[:, 1] * (2 * _PI)
        return torch.stack((radius * angle.cos(), radius * angle.sin()), 1).add_(mean).view(-1)

    _draw(raw, normal, seed)


def draw_uniform(raw: torch.Tensor, low: float, high: float, *, seed: int | None = None) -> None:
    """Fill `raw` with numbers uniform between two bounds."""
    low, high = _single(low, high)
    _draw(raw, lambda bits: _uniform(bits, low, high), seed)


def draw_truncated(raw: torch.Tensor, a: float, b: float, mean: float, sigma: float, *,
                   seed: int | None = None) -> None:
    """Draw from a normal distribution cut to [a, b], by its inverse cumulative distribution."""
    _check_sigma(sigma)
    if not a < b:
        raise ValueError(f"For 'TruncatedNormal', 'a' must be less than 'b', "
                         f"but got a={a} and b={b}.")
    a, b, mean, sigma = _single(a, b, mean, sigma)
    if sigma == 0:
        raw.fill_(min(max(mean, a), b))
        return
    low, high = (0.5 * math.erfc((mean - x) / sigma / _ROOT_TWO) for x in (a, b))
    if not low < high:  # the interval is so far out that its probability rounds to 0
        raw.fill_(a if a > mean else b)
        return
    scale = _ROOT_TWO / math.sqrt(2) * sigma

    def truncated(bits: np.ndarray) -> torch.Tensor:
        probability = _uniform(bits, low, high)
        return torch.special.ndtri(probability).mul_(scale).add_(mean).clamp_(a, b)

    _draw(raw, truncated, seed)


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


def _calculate_in_and_out(arr: Any) -> tuple[int, int]:
    """The same of an array: MindSpore's older name for it."""
    return _calculate_fan_in_and_fan_out(arr.shape)


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
