"""Distributions of transformed numbers: TransformedDistribution, Gumbel, LogNormal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import ops
from ....core.dtype import Type, float32, float64
from ....tensors.tensor import Tensor
from ..bijector import Bijector, Exp, GumbelCDF, Invert
from ..bijector.base import register_transform
from ..checks import FLOATING, require_same_family, require_type
from .base import Distribution
from .normal import Normal
from .uniform import Uniform

_EULER = 0.5772156649015329


class TransformedDistribution(Distribution):
    """The distribution of a bijector's images of a distribution's numbers.

    Args:
        bijector: the bijector.
        distribution: the distribution, of a floating type.
        seed: the seed; numbers are drawn by `distribution`.
        name: its name.

    Raises:
        TypeError: if an argument is of another type.

    Examples:
        >>> import lamella as ms
        >>> from lamella.nn.probability import bijector, distribution
        >>> log_normal = distribution.TransformedDistribution(
        ...     bijector.Exp(), distribution.Normal(0.0, 1.0), seed=0)
        >>> print(log_normal.prob(ms.Tensor([1.0, 2.0])))
        [0.3989423  0.15687402]
    """

    def __init__(self, bijector: Bijector, distribution: Distribution, seed: int | None = None,
                 name: str = "transformed_distribution"):
        for key, value, kind in (("bijector", bijector, Bijector),
                                 ("distribution", distribution, Distribution)):
            if not isinstance(value, kind):
                raise TypeError(f"For '{type(self).__name__}', the type of '{key}' must be "
                                f"{kind.__name__}, but got {type(value).__name__}.")
        require_type(distribution.dtype, FLOATING, type(self).__name__)
        super().__init__(seed, distribution.dtype, name,
                         {"bijector": bijector, "distribution": distribution, "name": name})
        self._bijector, self._distribution = bijector, distribution
        self._is_linear_transformation = bijector.is_constant_jacobian
        self._is_scalar_batch = distribution.is_scalar_batch and bijector.is_scalar_batch
        self._batch_shape = distribution.batch_shape
        self.default_parameters = distribution.default_parameters
        self.parameter_names = distribution.parameter_names
        self.parameter_type = distribution.parameter_type
        shapes = self._batch_shape, bijector.batch_shape
        self._broadcast_shape = None if None in shapes else tuple(
            np.broadcast_shapes(*shapes))  # type: ignore[arg-type]

    @property
    def bijector(self) -> Bijector:
        """The bijector."""
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        """The distribution that is transformed."""
        return self._distribution

    @property
    def is_linear_transformation(self) -> bool:
        """Whether the bijector's derivative is the same everywhere."""
        return self._is_linear_transformation

    def _cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.distribution.cdf(self.bijector.inverse(value), *args, **kwargs)

    def _log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        inner = self.distribution.log_prob(self.bijector.inverse(value), *args, **kwargs)
        total = inner + self.bijector.inverse_log_jacobian(value)
        # where the density is 0 it stays 0, also where the derivative is infinite
        return ops.where(inner == -math.inf, ops.full_like(total, -math.inf), total)

    def _sample(self, *args: Any, **kwargs: Any) -> Tensor:
        return self.bijector.forward(self.distribution.sample(*args, **kwargs))

    def _mean(self, *args: Any, **kwargs: Any) -> Tensor:
        if not self.is_linear_transformation:
            raise ValueError("mean function must be implemented for non-linear transformation")
        return self.bijector.forward(self.distribution.mean(*args, **kwargs))


register_transform(Distribution, TransformedDistribution)


class Gumbel(TransformedDistribution):
    """Gumbel's distribution, of the maximum of many numbers.

    Args:
        loc: the location, its mode.
        scale: the scale.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` or a parameter isn't floating.
        ValueError: if `scale` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Gumbel(0.0, 1.0).cdf(ms.Tensor([0.0])))
        [0.36787945]
    """

    family, arguments = "Gumbel", ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, seed: int | None = 0, dtype: Type = float32,
                 name: str = "Gumbel"):
        require_type(dtype, FLOATING, name)
        inner = GumbelCDF(loc, scale)
        super().__init__(Invert(inner), Uniform(0.0, 1.0, seed, dtype), seed, name)
        self._reset_parameters()
        self.parameter_type = float64 if inner.loc.dtype is float64 else dtype
        self._loc = self._add_parameter(loc, "loc")
        self._scale = self._add_parameter(scale, "scale")

    @property
    def loc(self) -> Tensor:
        """Its most probable number."""
        return self._loc  # type: ignore[return-value]

    @property
    def scale(self) -> Tensor:
        """Its width."""
        return self._scale  # type: ignore[return-value]

    def extend_repr(self) -> str:
        return self._shown(loc=self._loc, scale=self._scale)

    def _mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    def _mode(self) -> Tensor:
        return self.loc * ops.ones_like(self.scale)

    def _sd(self) -> Tensor:
        return (self.scale + 0 * self.loc) * (math.pi / math.sqrt(6))

    def _entropy(self) -> Tensor:
        return 1.0 + ops.log(self.scale + 0 * self.loc) + _EULER

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (self._value(value) - self.loc) / self.scale
        return -(z + ops.exp(-z)) - ops.log(self.scale)

    def _cdf(self, value: Tensor) -> Tensor:
        return self.bijector.inverse(self._value(value))

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any) -> Tensor:
        require_same_family(dist, "Gumbel")
        other, wide = self._given(loc_b, "loc_b"), self._given(scale_b, "scale_b")
        ratio = self.scale / wide
        return (-ops.log(ratio) + _EULER * (ratio - 1.0) + (self.loc - other) / wide
                + ops.expm1((other - self.loc) / wide + ops.lgamma(ratio + 1.0)))

    def _sample(self, shape: Any = ()) -> Tensor:
        batch = (self.loc + self.scale).shape
        return self._drawn(shape, batch, lambda whole: self.loc - self.scale * ops.log(
            -ops.log(ops.clamp(self._uniform(whole), 1e-37, 1 - 6e-8))))


class LogNormal(TransformedDistribution):
    """The distribution of numbers whose logarithm is normal.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `scale` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.LogNormal(0.0, 1.0).prob(ms.Tensor([1.0, 2.0])))
        [0.3989423  0.15687402]
    """

    family, arguments = "LogNormal", ("loc", "scale")

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = 0,
                 dtype: Type = float32, name: str = "LogNormal"):
        super().__init__(Exp(), Normal(loc, scale, seed, dtype), seed, name)
        self._reset_parameters()
        self._loc = self._add_parameter(loc, "loc")
        self._scale = self._add_parameter(scale, "scale")

    @property
    def loc(self) -> Tensor | None:
        """The mean of the logarithm."""
        return self._loc

    @property
    def scale(self) -> Tensor | None:
        """The standard deviation of the logarithm."""
        return self._scale

    def extend_repr(self) -> str:
        return self._shown(loc=self._loc, scale=self._scale)

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        mean, sd = self._check_param_type(loc, scale)
        return ops.exp(mean + 0.5 * sd * sd)

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        mean, sd = self._check_param_type(loc, scale)
        return ops.exp(mean - sd * sd)

    def _var(self, loc: Any = None, scale: Any = None) -> Tensor:
        mean, sd = self._check_param_type(loc, scale)
        return ops.expm1(sd * sd) * ops.exp(2.0 * mean + sd * sd)

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        mean, sd = self._check_param_type(loc, scale)
        return mean + 0.5 + ops.log(sd) + 0.5 * math.log(2 * math.pi)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        mean, sd = self._check_param_type(loc, scale)
        value = self._value(value)
        positive = ops.where(value > 0, value, ops.ones_like(value))
        below = self.distribution.cdf(self.bijector.inverse(positive), mean, sd)
        return ops.where(value > 0, below, ops.zeros_like(below))

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return super()._log_prob(value, *self._check_param_type(loc, scale))

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None,
                 scale_a: Any = None) -> Tensor:
        require_same_family(dist, "LogNormal")
        return self.distribution.kl_loss("Normal", loc_b, scale_b,
                                         *self._check_param_type(loc_a, scale_a))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        return super()._sample(shape, *self._check_param_type(loc, scale))
