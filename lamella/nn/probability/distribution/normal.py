"""Normal and HalfNormal."""

from __future__ import annotations

import math
from typing import Any

from .... import ops
from ....core.dtype import Type, float32
from ....tensors.tensor import Tensor
from ..checks import FLOATING, require_positive, require_same_family
from .base import Distribution, made_with


class Normal(Distribution):
    """The normal distribution.

    Args:
        mean: the mean.
        sd: the standard deviation.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `sd` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> normal = ms.nn.probability.distribution.Normal(1.0, 2.0)
        >>> print(normal.cdf(ms.Tensor([1.0, 3.0])), normal.sample((2, 3)).shape)
        [0.5       0.8413447] (2, 3)
    """

    family, arguments = "Normal", ("mean", "sd")

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Normal"):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, mean=mean, sd=sd))
        self._mean_value = self._add_parameter(mean, "mean")
        self._sd_value = self._add_parameter(sd, "sd")
        require_positive(self._sd_value, "Standard deviation")

    def extend_repr(self) -> str:
        return self._shown(**{"mean": self._mean_value, "standard deviation": self._sd_value})

    def _mean(self, mean: Any = None, sd: Any = None) -> Tensor:
        return self._check_param_type(mean, sd)[0]

    _mode = _mean

    def _sd(self, mean: Any = None, sd: Any = None) -> Tensor:
        return self._check_param_type(mean, sd)[1]

    def _entropy(self, mean: Any = None, sd: Any = None) -> Tensor:
        return 0.5 * math.log(2 * math.pi * math.e) + ops.log(self._sd(mean, sd))

    def _log_prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._check_param_type(mean, sd)
        z = (self._value(value) - mean) / sd
        return -0.5 * z * z - 0.5 * math.log(2 * math.pi) - ops.log(sd)

    def _cdf(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._check_param_type(mean, sd)
        return 0.5 * (1.0 + ops.erf((self._value(value) - mean) / (sd * math.sqrt(2))))

    def _kl_loss(self, dist: str, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None
                 ) -> Tensor:
        require_same_family(dist, "Normal")
        other, wide = self._given(mean_b, "mean_b"), self._given(sd_b, "sd_b")
        mean, sd = self._check_param_type(mean, sd)
        ratio = ops.log(sd) - ops.log(wide)
        return 0.5 * ((mean - other) / wide) ** 2 + 0.5 * ops.expm1(2 * ratio) - ratio

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._check_param_type(mean, sd)
        return self._drawn(shape, mean.shape, lambda whole: mean + sd * ops.standard_normal(
            whole, self.seed or None).astype(mean.dtype))


class HalfNormal(Distribution):
    """What of a normal distribution lies above its mean.

    Args:
        mean: the least number.
        sd: the standard deviation of the whole normal distribution.
        seed: the seed; MindSpore's HalfNormal has no `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `sd` isn't above 0.
    """

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "HalfNormal"):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, mean=mean, sd=sd))
        self._mean_value = self._add_parameter(mean, "mean")
        self._sd_value = self._add_parameter(sd, "sd")
        require_positive(self._sd_value, "Standard deviation")

    def _prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        value = self._value(value)
        mean, sd = self._check_param_type(mean, sd)
        z = (value - mean) / sd
        density = math.sqrt(2 / math.pi) / sd * ops.exp(-0.5 * z * z)
        return ops.where(value < mean, ops.zeros_like(density), density)  # nan stays
