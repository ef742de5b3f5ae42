"""Distributions with a location and a scale: Cauchy, Laplace, Logistic, StudentT."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from .... import ops
from ....core.dtype import Type, float32
from ....tensors.tensor import Tensor
from ..checks import FLOATING, require_positive, require_same_family
from .base import Distribution, made_with


class _LocationScale(Distribution):
    """A distribution with a middle, `loc`, and a width, `scale`."""

    arguments = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, seed: int | None, dtype: Type, name: str):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, loc=loc, scale=scale))
        self._loc = self._add_parameter(loc, "loc")
        self._scale = self._add_parameter(scale, "scale")
        require_positive(self._scale, "scale")

    @property
    def loc(self) -> Tensor | None:
        """Its middle."""
        return self._loc

    @property
    def scale(self) -> Tensor | None:
        """Its width; for Cauchy's distribution half of that at half its height."""
        return self._scale

    def extend_repr(self) -> str:
        return self._shown(location=self._loc, scale=self._scale)

    def _standard(self, value: Any, loc: Any, scale: Any) -> tuple[Tensor, Tensor]:
        loc, scale = self._check_param_type(loc, scale)
        return (self._value(value) - loc) / scale, scale


class Cauchy(_LocationScale):
    """Cauchy's distribution, which has no mean and no variance.

    Args:
        loc: the location, its median.
        scale: the scale, half the width of the density at half its maximum.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `scale` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Cauchy(0.0, 1.0).cdf(ms.Tensor([0.0, 1.0])))
        [0.5  0.75]
    """

    family = "Cauchy"

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Cauchy"):
        super().__init__(loc, scale, seed, dtype, name)

    def _undefined(self, what: str) -> NoReturn:
        raise ValueError(f"{what} is undefined for Cauchy distribution.")

    def _mean(self, *args: Any, **kwargs: Any) -> Tensor:
        self._undefined("mean")

    def _sd(self, *args: Any, **kwargs: Any) -> Tensor:
        self._undefined("standard deviation")

    def _var(self, *args: Any, **kwargs: Any) -> Tensor:
        self._undefined("variance")

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._check_param_type(loc, scale)[0]

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.log(self._check_param_type(loc, scale)[1]) + math.log(4 * math.pi)

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        z, scale = self._standard(value, loc, scale)
        return -ops.log1p(z * z) - ops.log(math.pi * scale)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.atan(self._standard(value, loc, scale)[0]) / math.pi + 0.5

    def _log_cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        z = self._standard(value, loc, scale)[0]
        return ops.log1p(2.0 * ops.atan(z) / math.pi) - math.log(2.0)

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None,
                 scale_a: Any = None) -> Tensor:
        require_same_family(dist, "Cauchy")
        loc, scale = self._check_param_type(loc_a, scale_a)
        other, wide = self._given(loc_b, "loc_b"), self._given(scale_b, "scale_b")
        spread = (scale + wide) ** 2 + (loc - other) ** 2
        return ops.log(spread) - math.log(4.0) - ops.log(scale) - ops.log(wide)

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._check_param_type(loc, scale)
        return self._drawn(shape, loc.shape, lambda whole: loc + scale * ops.tan(
            math.pi * (self._uniform(whole) - 0.5)))


class Logistic(_LocationScale):
    """The logistic distribution.

    Args:
        loc: the location, its mean.
        scale: the scale.
        seed: the seed of `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `scale` isn't above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Logistic(3.0, 4.0).cdf(ms.Tensor([3.0, 7.0])))
        [0.5       0.7310586]
    """

    family = "Logistic"

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Logistic"):
        super().__init__(loc, scale, seed, dtype, name)

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._check_param_type(loc, scale)[0]

    _mode = _mean

    def _sd(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._check_param_type(loc, scale)[1] * (math.pi / math.sqrt(3))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.log(self._check_param_type(loc, scale)[1]) + 2.0

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        z, scale = self._standard(value, loc, scale)
        return -z + 2.0 * ops.logsigmoid(z) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.sigmoid(self._standard(value, loc, scale)[0])

    def _log_cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.logsigmoid(self._standard(value, loc, scale)[0])

    def _survival_function(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.sigmoid(-self._standard(value, loc, scale)[0])

    def _log_survival(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.logsigmoid(-self._standard(value, loc, scale)[0])

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._check_param_type(loc, scale)

        def draw(whole: tuple[int, ...]) -> Tensor:
            even = self._uniform(whole)
            return loc + scale * (ops.log(even) - ops.log1p(-even))

        return self._drawn(shape, loc.shape, draw)


class Laplace(Distribution):
    """Laplace's distribution; only its density is there, as in MindSpore.

    Args:
        mean: the location.
        sd: the scale.
        seed: the seed; there is no `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `sd` isn't above 0.
    """

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "Laplace"):
        super().__init__(seed, dtype, name, made_with(dtype, FLOATING, name, mean=mean, sd=sd))
        self._mean_value = self._add_parameter(mean, "mean")
        self._sd_value = self._add_parameter(sd, "sd")
        require_positive(self._sd_value, "Standard deviation")

    def _log_prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._check_param_type(mean, sd)
        return -ops.abs((self._value(value) - mean) / sd) - ops.log(2.0 * sd)


class StudentT(Distribution):
    """Student's t-distribution; only its density is there, as in MindSpore.

    Args:
        df: the degrees of freedom.
        mean: the location.
        sd: the scale.
        seed: the seed; there is no `sample`.
        dtype: a floating type.
        name: its name.

    Raises:
        TypeError: if `dtype` isn't floating.
        ValueError: if `sd` or `df` isn't above 0.
    """

    def __init__(self, df: Any = None, mean: Any = None, sd: Any = None, seed: int | None = None,
                 dtype: Type = float32, name: str = "StudentT"):
        super().__init__(seed, dtype, name,
                         made_with(dtype, FLOATING, name, df=df, mean=mean, sd=sd))
        self._df_value = self._add_parameter(df, "df")
        self._mean_value = self._add_parameter(mean, "mean")
        self._sd_value = self._add_parameter(sd, "sd")
        require_positive(self._sd_value, "Standard deviation")
        require_positive(self._df_value, "Degrees of freedom")

    def _log_prob(self, value: Tensor, df: Any = None, mean: Any = None, sd: Any = None) -> Tensor:
        df, mean, sd = self._check_param_type(df, mean, sd)
        z = (self._value(value) - mean) / sd
        scale = ops.log(sd) + 0.5 * ops.log(math.pi * df)
        return (ops.lgamma(0.5 * (df + 1.0)) - ops.lgamma(0.5 * df) - scale
                - 0.5 * (df + 1.0) * ops.log1p(z * z / df))
