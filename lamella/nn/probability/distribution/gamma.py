"""Distributions around the gamma function: Beta, Exponential, Gamma."""

from __future__ import annotations

import math
from typing import Any

from .... import ops
from ....core.dtype import Type, float32
from ....tensors.tensor import Tensor
from ..checks import FLOATING, require_positive, require_same_family
from .base import Distribution, made_with


def no_scalars(kinds: Any = (int, float), **parameters: Any) -> None:
    """Raise TypeError for plain numbers, which MindSpore refuses here."""
    for name, value in parameters.items():
        if isinstance(value, kinds):
            raise TypeError(f"Input {name} can't be scalar")


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: its shape parameter, a list, an array or a Tensor.
        rate: the inverse of its scale.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating, or a parameter is a plain number.
        ValueError: if a parameter isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> gamma = ms.nn.probability.distribution.Gamma([3.0, 4.0], [1.0, 2.0])
        >>> print(gamma.mean(), gamma.var())
        [3. 2.] [3. 1.]
    """

    family, arguments = "Gamma", ("concentration", "rate")

    def __init__(self, concentration: Any = None, rate: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Gamma"):
        no_scalars(concentration=concentration, rate=rate)
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name,
                                                      concentration=concentration, rate=rate))
        self._concentration = self._add_parameter(concentration, "concentration")
        self._rate = self._add_parameter(rate, "rate")
        require_positive(self._concentration, "concentration")
        require_positive(self._rate, "rate")

    @property
    def concentration(self) -> Tensor | None:
        """Its shape parameter."""
        return self._concentration

    @property
    def rate(self) -> Tensor | None:
        """The inverse of its scale."""
        return self._rate

    def extend_repr(self) -> str:
        return self._shown(concentration=self._concentration, rate=self._rate)

    def _mean(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return a / b

    def _var(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return a / (b * b)

    def _mode(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return ops.where(a > 1.0, (a - 1.0) / b, ops.full_like(a, math.nan))

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return a - ops.log(b) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)

    def _log_prob(self, value: Tensor, concentration: Any = None, rate: Any = None) -> Tensor:
        value = self._value(value)
        a, b = self._check_param_type(concentration, rate)
        return (a - 1.0) * ops.log(value) - b * value - ops.lgamma(a) + a * ops.log(b)

    def _cdf(self, value: Tensor, concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return ops.igamma(a, b * self._value(value))

    def _kl_loss(self, dist: str, concentration_b: Any, rate_b: Any, concentration_a: Any = None,
                 rate_a: Any = None) -> Tensor:
        require_same_family(dist, "Gamma")
        a, b = self._check_param_type(concentration_a, rate_a)
        other = self._given(concentration_b, "concentration_b")
        speed = self._given(rate_b, "rate_b")
        return ((a - other) * ops.digamma(a) + ops.lgamma(other) - ops.lgamma(a)
                + other * (ops.log(b) - ops.log(speed)) + a * (speed / b - 1.0))

    def _sample(self, shape: Any = (), concentration: Any = None, rate: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration, rate)
        return self._drawn(shape, a.shape, lambda whole: ops.gamma(whole, a, b, self.seed or None))


class Beta(Distribution):
    """The beta distribution.

    Args:
        concentration1: its first shape parameter, an int, a list, an array or a Tensor.
        concentration0: its second shape parameter.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating, or a parameter is a plain number.
        ValueError: if a parameter isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Beta([3.0], [1.0]).mean())
        [0.75]
    """

    family, arguments = "Beta", ("concentration1", "concentration0")

    def __init__(self, concentration1: Any = None, concentration0: Any = None,
                 seed: int | None = None, dtype: Type = float32, name: str = "Beta"):
        no_scalars(float, concentration0=concentration0, concentration1=concentration1)
        super().__init__(seed, dtype, name, made_with(
            dtype, FLOATING, name, concentration1=concentration1, concentration0=concentration0))
        self._concentration1 = self._add_parameter(concentration1, "concentration1")
        self._concentration0 = self._add_parameter(concentration0, "concentration0")
        require_positive(self._concentration1, "concentration1")
        require_positive(self._concentration0, "concentration0")

    @property
    def concentration1(self) -> Tensor | None:
        """Its first shape parameter."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor | None:
        """Its second shape parameter."""
        return self._concentration0

    def extend_repr(self) -> str:
        return self._shown(concentration1=self._concentration1, concentration0=self._concentration0)

    def _mean(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration1, concentration0)
        return a / (a + b)

    def _var(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration1, concentration0)
        return a * b / ((a + b) ** 2 * (a + b + 1.0))

    def _mode(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration1, concentration0)
        inside = ops.logical_and(a > 1.0, b > 1.0)
        return ops.where(inside, (a - 1.0) / (a + b - 2.0), ops.full_like(a, math.nan))

    def _entropy(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._check_param_type(concentration1, concentration0)
        return (_log_beta(a, b) - (a - 1.0) * ops.digamma(a) - (b - 1.0) * ops.digamma(b)
                + (a + b - 2.0) * ops.digamma(a + b))

    def _log_prob(self, value: Tensor, concentration1: Any = None, concentration0: Any = None
                  ) -> Tensor:
        value = self._value(value)
        a, b = self._check_param_type(concentration1, concentration0)
        return (a - 1.0) * ops.log(value) + (b - 1.0) * ops.log1p(-value) - _log_beta(a, b)

    def _kl_loss(self, dist: str, concentration1_b: Any, concentration0_b: Any,
                 concentration1_a: Any = None, concentration0_a: Any = None) -> Tensor:
        require_same_family(dist, "Beta")
        a, b = self._check_param_type(concentration1_a, concentration0_a)
        c = self._given(concentration1_b, "concentration1_b")
        d = self._given(concentration0_b, "concentration0_b")
        return (_log_beta(c, d) - _log_beta(a, b) - ops.digamma(a) * (c - a)
                - ops.digamma(b) * (d - b) + ops.digamma(a + b) * (c + d - a - b))

    def _sample(self, shape: Any = (), concentration1: Any = None, concentration0: Any = None
                ) -> Tensor:
        a, b = self._check_param_type(concentration1, concentration0)
        one = ops.ones_like(a)

        def draw(whole: tuple[int, ...]) -> Tensor:
            first = ops.gamma(whole, a, one, self.seed or None)
            second = ops.gamma(whole, b, one, self.seed + 1 if self.seed else None)
            return first / (first + second)

        return self._drawn(shape, a.shape, draw)


class Exponential(Distribution):
    """The exponential distribution.

    Args:
        rate: the inverse of its mean.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `rate` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Exponential(0.5).prob(ms.Tensor([-1.0, 0.0])))
        [0.  0.5]
    """

    family, arguments = "Exponential", ("rate",)

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: Type = float32,
                 name: str = "Exponential"):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, rate=rate))
        self._rate = self._add_parameter(rate, "rate")
        require_positive(self._rate, "rate")

    @property
    def rate(self) -> Tensor | None:
        """The inverse of its mean."""
        return self._rate

    def extend_repr(self) -> str:
        return self._shown(rate=self._rate)

    def _mean(self, rate: Any = None) -> Tensor:
        return 1.0 / self._check_param_type(rate)

    _sd = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return ops.zeros(self._check_param_type(rate).shape, self.dtype)

    def _entropy(self, rate: Any = None) -> Tensor:
        return 1.0 - ops.log(self._check_param_type(rate))

    def _known(self, value: Any, rate: Any, below: float, form: Any) -> Tensor:
        """`form` of the rate and of values from 0 on, `below` for others."""
        value, rate = self._value(value), self._check_param_type(rate)
        out = form(rate, ops.relu(value))
        return ops.where(value < 0, ops.full_like(out, below), out)

    def _log_prob(self, value: Tensor, rate: Any = None) -> Tensor:
        return self._known(value, rate, -math.inf, lambda r, x: ops.log(r) - r * x)

    def _cdf(self, value: Tensor, rate: Any = None) -> Tensor:
        return self._known(value, rate, 0.0, lambda r, x: -ops.expm1(-r * x))

    def _log_survival(self, value: Tensor, rate: Any = None) -> Tensor:
        return self._known(value, rate, 0.0, lambda r, x: -r * x)

    def _kl_loss(self, dist: str, rate_b: Any, rate: Any = None) -> Tensor:
        require_same_family(dist, "Exponential")
        other, rate = self._given(rate_b, "rate_b"), self._check_param_type(rate)
        return ops.log(rate) - ops.log(other) + other / rate - 1.0

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        rate = self._check_param_type(rate)
        return self._drawn(shape, rate.shape, lambda whole: -ops.log(self._uniform(whole)) / rate)
