"""Initializers: how the data of new Parameters is made.

`initializer` returns a Tensor whose data is made by `Tensor.init_data`. The distributions draw
MindSpore's numbers, by seeds from NumPy's generator, which `set_seed` seeds: a seed gives the same
network on every device, and in MindSpore. An Initializer of one's own fills a NumPy array in
`_initialize`.
"""

# ruff: noqa: F401 - all of MindSpore's names can be imported from here

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..core import dtype as mstype
from ..core.errors import op
from ..core.require import one_of
from ..tensors.random import drawing_from_numpy
from ..tensors.tensor import Tensor
from .drawing import (
    _calculate_correct_fan,
    _calculate_fan_in_and_fan_out,
    _calculate_gain,
    _calculate_in_and_out,
    _init_random_normal,
    _init_random_uniform,
    _init_truncated_normal,
    draw_normal,
    draw_truncated,
    draw_uniform,
)
from .filling import (
    _INITIALIZER_ALIAS,
    Constant,
    Dirac,
    Identity,
    Initializer,
    One,
    Zero,
    _assignment,
    _Kernel,
    _register,
    check_matrix,
)

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One",
    "Orthogonal", "Sparse", "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal",
    "XavierUniform", "Zero", "initializer",
]


@_register()
class Uniform(_Kernel):
    """Uniform in [-scale, scale].

    Args:
        scale: the bound.

    Examples:
        >>> from lamella.common.initializer import Uniform, initializer
        >>> w = initializer(Uniform(0.5), (100,)).init_data()
        >>> bool((abs(w) <= 0.5).asnumpy().all())
        True
    """

    def __init__(self, scale: float = 0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _fill(self, raw: torch.Tensor) -> None:
        if not isinstance(self.scale, numbers.Real):
            raise TypeError(f"For 'Uniform', 'scale' must be a number, but got {self.scale!r} of "
                            f"type {type(self.scale).__name__}.")
        draw_uniform(raw, -self.scale, self.scale)


@_register()
class Normal(_Kernel):
    """Normal, with standard deviation `sigma` around `mean`.

    Args:
        sigma: the standard deviation.
        mean: the mean.

    Raises:
        ValueError: if `sigma` is negative.

    Examples:
        >>> from lamella.common.initializer import Normal, initializer
        >>> initializer(Normal(0.02), (3, 4)).init_data().shape
        (3, 4)
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        super().__init__(sigma=sigma, mean=mean)
        self.sigma = sigma
        self.mean = mean

    def _fill(self, raw: torch.Tensor) -> None:
        draw_normal(raw, self.mean, self.sigma)


@_register()
class TruncatedNormal(_Kernel):
    """Normal, but only within [a, b].

    The bounds are absolute: the default ones cut nothing off so small a `sigma`.

    Args:
        sigma: the standard deviation before the cut.
        mean: the mean before the cut.
        a: the lower bound.
        b: the upper bound.

    Raises:
        ValueError: if `sigma` is negative or `a` is not less than `b`.

    Examples:
        >>> from lamella.common.initializer import TruncatedNormal, initializer
        >>> w = initializer(TruncatedNormal(1.0, a=-0.2, b=0.2), (100,)).init_data()
        >>> bool((abs(w) <= 0.2).asnumpy().all())
        True
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma = sigma
        self.mean = mean
        self.a = a
        self.b = b

    def _fill(self, raw: torch.Tensor) -> None:
        draw_truncated(raw, self.a, self.b, self.mean, self.sigma)


@_register("xavier_uniform")
class XavierUniform(_Kernel):
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)).

    After Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010), https://proceedings.mlr.press/v9/glorot10a.html.

    Args:
        gain: a factor.

    Examples:
        >>> from lamella.common.initializer import XavierUniform, initializer
        >>> initializer(XavierUniform(), (3, 4)).init_data().shape
        (3, 4)
    """

    def __init__(self, gain: float = 1):
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, raw: torch.Tensor) -> None:
        bound = self.gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(raw.shape)))
        draw_uniform(raw, -bound, bound)


@_register("xavier_normal")
class XavierNormal(_Kernel):
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)).

    Args:
        gain: a factor.

    Examples:
        >>> from lamella.common.initializer import XavierNormal, initializer
        >>> initializer(XavierNormal(gain=2), (3, 4)).init_data().shape
        (3, 4)
    """

    def __init__(self, gain: float = 1):
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, raw: torch.Tensor) -> None:
        fans = sum(_calculate_fan_in_and_fan_out(raw.shape))
        draw_normal(raw, 0.0, self.gain * math.sqrt(2.0 / fans))


class _He(_Kernel):
    def __init__(self, negative_slope: float = 0, mode: str = "fan_in",
                 nonlinearity: str = "leaky_relu"):
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.negative_slope = negative_slope
        self.mode = mode
        self.nonlinearity = nonlinearity

    def _std(self, shape: Sequence[int]) -> float:
        fan = _calculate_correct_fan(shape, self.mode)
        return _calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(fan)


@_register("he_uniform")
class HeUniform(_He):
    """Uniform within gain * sqrt(3 / fan), after He et al., https://arxiv.org/abs/1502.01852.

    Args:
        negative_slope: the slope below zero of the ``"leaky_relu"`` that follows the layer.
        mode: ``"fan_in"`` keeps the variance of activations, ``"fan_out"`` that of gradients.
        nonlinearity: what follows the layer: ``"leaky_relu"``, ``"relu"``, ``"tanh"``,
            ``"sigmoid"``, ``"linear"`` or a convolution's name.

    Examples:
        >>> from lamella.common.initializer import HeUniform, initializer
        >>> w = initializer(HeUniform(), (100, 6)).init_data()
        >>> bool((abs(w) <= 1.0).asnumpy().all())
        True
    """

    def _fill(self, raw: torch.Tensor) -> None:
        bound = math.sqrt(3.0) * self._std(raw.shape)
        draw_uniform(raw, -bound, bound)


@_register("he_normal")
class HeNormal(_He):
    """Normal with standard deviation gain / sqrt(fan), after He et al.,
    https://arxiv.org/abs/1502.01852.

    Args:
        negative_slope: the slope below zero of the ``"leaky_relu"`` that follows the layer.
        mode: ``"fan_in"`` keeps the variance of activations, ``"fan_out"`` that of gradients.
        nonlinearity: as for `HeUniform`.

    Examples:
        >>> from lamella.common.initializer import HeNormal, initializer
        >>> initializer(HeNormal(nonlinearity="relu"), (8, 3, 3, 3)).init_data().shape
        (8, 3, 3, 3)
    """

    def _fill(self, raw: torch.Tensor) -> None:
        draw_normal(raw, 0.0, self._std(raw.shape))


@_register()
class Sparse(_Kernel):
    """A matrix of normal numbers, where a fraction of each column is zero.

    Args:
        sparsity: the fraction of zeros in each column, rounded up to whole rows.
        sigma: the standard deviation of the others.

    Raises:
        ValueError: if the shape is not that of a matrix.

    Examples:
        >>> from lamella.common.initializer import Sparse, initializer
        >>> w = initializer(Sparse(0.5), (4, 3)).init_data()
        >>> (w.asnumpy() == 0).sum(0)
        array([2, 2, 2])
    """

    def __init__(self, sparsity: float, sigma: float = 0.01):
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity = sparsity
        self.sigma = sigma

    def _fill(self, raw: torch.Tensor) -> None:
        check_matrix("Sparse", raw)
        draw_normal(raw, 0.0, self.sigma)
        zeros = min(math.ceil(self.sparsity * raw.shape[0]), raw.shape[0])
        with drawing_from_numpy():
            rows = [np.random.permutation(len(raw))[:zeros] for _ in range(raw.shape[1])]
        raw.scatter_(0, torch.from_numpy(np.stack(rows, 1)), 0.0)


@_register()
class Orthogonal(_Kernel):
    """A matrix with orthogonal rows or columns, whichever are fewer; more dimensions are flattened.

    After Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks" (2013), https://arxiv.org/abs/1312.6120.

    Args:
        gain: a factor.

    Raises:
        ValueError: if the shape has fewer than 2 dimensions.

    Examples:
        >>> from lamella.common.initializer import Orthogonal, initializer
        >>> w = initializer(Orthogonal(), (2, 8)).init_data().asnumpy()
        >>> bool(abs(w @ w.T - [[1, 0], [0, 1]]).max() < 1e-6)
        True
    """

    def __init__(self, gain: float = 1.0):
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, raw: torch.Tensor) -> None:
        if raw.dim() < 2:
            raise ValueError("For 'Orthogonal', the shape must have 2 dimensions or more, "
                             f"but got {tuple(raw.shape)}.")
        flat = torch.empty(raw.shape[0], math.prod(raw.shape[1:]), dtype=raw.dtype)
        draw_normal(flat, 0.0, 1.0)
        wide = flat.shape[0] < flat.shape[1]
        q, r = torch.linalg.qr(flat.T if wide else flat)
        q *= torch.where(r.diagonal() < 0, -1.0, 1.0)  # uniform over the orthogonal group
        raw.copy_((q.T if wide else q).reshape(raw.shape)).mul_(self.gain)


@_register()
class VarianceScaling(_Kernel):
    """Numbers of variance scale / fan.

    Args:
        scale: a positive factor.
        mode: ``"fan_in"``, ``"fan_out"`` or their mean, ``"fan_avg"``.
        distribution: ``"truncated_normal"`` (within two standard deviations, scaled up so that the
            variance holds after the cut), ``"untruncated_normal"`` or ``"uniform"``.

    Raises:
        ValueError: if an option is none of these.

    Examples:
        >>> from lamella.common.initializer import VarianceScaling, initializer
        >>> initializer(VarianceScaling(2.0, mode="fan_avg"), (3, 4)).init_data().shape
        (3, 4)
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in",
                 distribution: str = "truncated_normal"):
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if not isinstance(scale, (int, float)):
            raise TypeError(f"For 'VarianceScaling', 'scale' must be a number, but got {scale!r}.")
        if scale <= 0:
            raise ValueError("For 'VarianceScaling', 'scale' must be greater than 0, "
                             f"but got {scale}.")
        one_of(mode, ("fan_in", "fan_out", "fan_avg"), "mode", "VarianceScaling")
        one_of(distribution, ("uniform", "truncated_normal", "untruncated_normal"),
               "distribution", "VarianceScaling")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def _fill(self, raw: torch.Tensor) -> None:
        fan_in, fan_out = _calculate_fan_in_and_fan_out(raw.shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "truncated_normal":
            # 0.8796... is the standard deviation of a unit normal cut at +-2
            sigma = math.sqrt(variance) / 0.87962566103423978
            draw_truncated(raw, -2 * sigma, 2 * sigma, 0.0, sigma)
        elif self.distribution == "untruncated_normal":
            draw_normal(raw, 0.0, math.sqrt(variance))
        else:
            bound = math.sqrt(3.0 * variance)
            draw_uniform(raw, -bound, bound)


@op
def initializer(init: Any, shape: Any = None, dtype: Any = mstype.float32) -> Tensor:
    """A Tensor whose data an initializer makes when `init_data` is called.

    Args:
        init: an Initializer, the name of one in any letters (``"zeros"``, ``"ones"``,
            ``"normal"``, ``"he_uniform"``, ``"xavier_uniform"``, ...), a number, or a Tensor, which
            comes back as it is.
        shape: the shape: a tuple, a list or one number. May be left out when `init` is a Tensor.
        dtype: the data type.

    Returns:
        Tensor that has no data until its `init_data`; a Parameter made from it calls that.

    Raises:
        TypeError: if `init` is none of these.
        ValueError: if no initializer has the name, or the shape is not made of positive numbers or
            not that of the Tensor `init`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.common.initializer import initializer
        >>> ms.Parameter(initializer("he_normal", [8, 4], ms.float16), name="w")
        Parameter (name=w, shape=(8, 4), dtype=Float16, requires_grad=True)
    """
    if not isinstance(init, (Tensor, numbers.Number, str, Initializer)):
        raise TypeError("For 'initializer', 'init' must be a Tensor, a number, a str or an "
                        f"Initializer, but got {init!r} of type {type(init).__name__}.")
    if isinstance(shape, numbers.Number):
        shape = (shape,)
    if isinstance(init, Tensor):
        if shape is not None and init.shape != tuple(shape):
            raise ValueError("For 'initializer', 'shape' must be that of the Tensor 'init', "
                             f"{init.shape}, but got {tuple(shape)}.")
        return init
    if shape is None:
        raise ValueError("For 'initializer', 'shape' must be given unless 'init' is a Tensor.")
    shape = tuple(shape)
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in shape):
        raise ValueError("For 'initializer', 'shape' must be made of positive ints, "
                         f"but got {shape}.")
    if isinstance(init, str):
        if init.lower() not in _INITIALIZER_ALIAS:
            raise ValueError(f"For 'initializer', no initializer is called {init!r}. "
                             f"Names: {', '.join(sorted(_INITIALIZER_ALIAS))}.")
        init = _INITIALIZER_ALIAS[init.lower()]()
    elif isinstance(init, numbers.Number):
        init = Constant(init)
    return Tensor(dtype=dtype, shape=tuple(int(n) for n in shape), init=init)
