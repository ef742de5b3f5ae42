"""Uniform."""

from __future__ import annotations

import math
from typing import Any

from .... import ops
from ....core.dtype import Type, float32
from ....tensors.tensor import Tensor
from ..checks import FLOATING, require_less, require_same_family
from .base import Distribution, made_with


class Uniform(Distribution):
    """The uniform distribution between two bounds.

    Args:
        low: the lower bound.
        high: the upper bound.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `low` isn't below `high`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Uniform(0.0, 4.0).cdf(ms.Tensor([-1.0, 1.0, 5.0])))
        [0.   0.25 1.  ]
    """

    family, arguments = "Uniform", ("low", "high")

    def __init__(self, low: Any = None, high: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Uniform"):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, low=low, high=high))
        self._low = self._add_parameter(low, "low")
        self._high = self._add_parameter(high, "high")
        require_less(self._low, self._high, "low", "high")

    @property
    def low(self) -> Tensor | None:
        """The lower bound."""
        return self._low

    @property
    def high(self) -> Tensor | None:
        """The upper bound."""
        return self._high

    def extend_repr(self) -> str:
        return self._shown(low=self._low, high=self._high)

    def _mean(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._check_param_type(low, high)
        return (low + high) / 2.0

    def _var(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._check_param_type(low, high)
        return (high - low) ** 2 / 12.0

    def _entropy(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._check_param_type(low, high)
        return ops.log(high - low)

    def _prob(self, value: Tensor, low: Any = None, high: Any = None) -> Tensor:
        value = self._value(value)
        low, high = self._check_param_type(low, high)
        inside = ops.logical_and(value >= low, value <= high)
        density = 1.0 / (high - low) + 0 * value
        return ops.where(inside, density, ops.zeros_like(density))

    def _cdf(self, value: Tensor, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._check_param_type(low, high)
        return ops.clamp((self._value(value) - low) / (high - low), 0.0, 1.0)

    def _kl_loss(self, dist: str, low_b: Any, high_b: Any, low: Any = None, high: Any = None
                 ) -> Tensor:
        require_same_family(dist, "Uniform")
        start, end = self._given(low_b, "low_b"), self._given(high_b, "high_b")
        low, high = self._check_param_type(low, high)
        out = ops.log(end - start) - ops.log(high - low)
        inside = ops.logical_and(start <= low, high <= end)
        return ops.where(inside, out, ops.full_like(out, math.inf))

    def _sample(self, shape: Any = (), low: Any = None, high: Any = None) -> Tensor:
        low, high = self._check_param_type(low, high)

        def draw(whole: tuple[int, ...]) -> Tensor:
            return ops.uniform(whole, low, high, self.seed or None)

        return self._drawn(shape, low.shape, draw)
