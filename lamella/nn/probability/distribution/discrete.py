"""Distributions of integers: Bernoulli, Categorical, Geometric, Poisson."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import ops
from ....core.dtype import Type, float32, int32
from ....tensors.tensor import Tensor
from ..checks import (
    FLOATING,
    WHOLE,
    require_categories,
    require_positive,
    require_probabilities,
    require_same_family,
)
from .base import Distribution, made_with
from .gamma import no_scalars


def _clamped(probs: Tensor) -> Tensor:
    eps = ops.eps(probs)
    return ops.clip_by_value(probs, eps, 1 - eps)


class _OfTrials(Distribution):
    """A distribution of trials that succeed with the probability `probs`."""

    arguments = ("probs1",)

    def __init__(self, probs: Any, seed: int | None, dtype: Type, name: str):
        super().__init__(seed, dtype, name,
                         made_with(dtype, (*WHOLE, *FLOATING), name, probs=probs))
        self._probs = self._add_parameter(probs, "probs")
        require_probabilities(self._probs)

    @property
    def probs(self) -> Tensor | None:
        """The probability of a success, which for `Bernoulli` is 1."""
        return self._probs

    def extend_repr(self) -> str:
        return self._shown(probs=self._probs)


class Bernoulli(_OfTrials):
    """0 or 1.

    Args:
        probs: the probability of 1.
        seed: the seed of `sample`.
        dtype: a type of numbers.
        name: its name.

    Raises:
        TypeError: if `dtype` is no type of numbers.
        ValueError: if `probs` isn't between 0 and 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Bernoulli(0.25).prob(ms.Tensor([0, 1])))
        [0.75 0.25]
    """

    family = "Bernoulli"

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: Type = int32,
                 name: str = "Bernoulli"):
        super().__init__(probs, seed, dtype, name)

    def _mean(self, probs1: Any = None) -> Tensor:
        return self._check_param_type(probs1)

    def _mode(self, probs1: Any = None) -> Tensor:
        return (self._check_param_type(probs1) > 0.5).astype(self.dtype)

    def _var(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return p * (1.0 - p)

    def _entropy(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return -(1.0 - p) * ops.log(1.0 - p) - p * ops.log(p)

    def _log_prob(self, value: Tensor, probs1: Any = None) -> Tensor:
        value = self._given(value, "value")
        p = _clamped(self._check_param_type(probs1))
        return ops.log(p) * value + ops.log(1.0 - p) * (1.0 - value)

    def _cdf(self, value: Tensor, probs1: Any = None) -> Tensor:
        value, p = self._given(value, "value"), self._check_param_type(probs1)
        below = ops.where(value < 1, 1.0 - p, ops.ones_like(p))
        return ops.where(value < 0, ops.zeros_like(below), below)

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Tensor:
        require_same_family(dist, "Bernoulli")
        q, p = self._given(probs1_b, "probs1_b"), self._check_param_type(probs1)
        return p * ops.log(p / q) + (1.0 - p) * ops.log((1.0 - p) / (1.0 - q))

    def _sample(self, shape: Any = (), probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return self._drawn(shape, p.shape, lambda whole: self._uniform(whole) < p)


class Geometric(_OfTrials):
    """The number of failures before the first success.

    Args:
        probs: the probability of a success.
        seed: the seed of `sample`.
        dtype: a type of numbers.
        name: its name.

    Raises:
        TypeError: if `dtype` is no type of numbers.
        ValueError: if `probs` isn't between 0 and 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.distribution.Geometric(0.5).prob(ms.Tensor([-1, 0, 2])))
        [0.    0.5   0.125]
    """

    family = "Geometric"

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: Type = int32,
                 name: str = "Geometric"):
        super().__init__(probs, seed, dtype, name)

    def _mean(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return (1.0 - p) / p

    def _mode(self, probs1: Any = None) -> Tensor:
        return ops.zeros(self._check_param_type(probs1).shape, self.dtype)

    def _var(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return (1.0 - p) / (p * p)

    def _entropy(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return (-(1.0 - p) * ops.log(1.0 - p) - p * ops.log(p)) / p

    def _prob(self, value: Tensor, probs1: Any = None) -> Tensor:
        value, p = ops.floor(self._given(value, "value")), self._check_param_type(probs1)
        mass = ops.exp(ops.log(1.0 - p) * value + ops.log(p))
        return ops.where(value < 0, ops.zeros_like(mass), mass)

    def _cdf(self, value: Tensor, probs1: Any = None) -> Tensor:
        value, p = ops.floor(self._given(value, "value")), self._check_param_type(probs1)
        below = 1.0 - (1.0 - p) ** (value + 1.0)
        return ops.where(value < 0, ops.zeros_like(below), below)

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Tensor:
        require_same_family(dist, "Geometric")
        q, p = self._given(probs1_b, "probs1_b"), self._check_param_type(probs1)
        return ops.log(p / q) + (1.0 - p) / p * ops.log((1.0 - p) / (1.0 - q))

    def _sample(self, shape: Any = (), probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return self._drawn(shape, p.shape, lambda whole: ops.floor(
            ops.log(self._uniform(whole)) / ops.log(1.0 - p)))


class Poisson(Distribution):
    """The number of events that happen at a constant rate.

    Args:
        rate: its mean, a list, an array or a Tensor.
        seed: the seed of `sample`.
        dtype: a type of numbers.
        name: its name.

    Raises:
        TypeError: if `dtype` is no type of numbers, or `rate` a plain number.
        ValueError: if `rate` isn't above 0.
    """

    family, arguments = "Poisson", ("rate",)

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: Type = float32,
                 name: str = "Poisson"):
        no_scalars(rate=rate)
        super().__init__(seed, dtype, name, made_with(dtype, (*WHOLE, *FLOATING), name, rate=rate))
        self._rate = self._add_parameter(rate, "rate")
        require_positive(self._rate, "rate")

    @property
    def rate(self) -> Tensor | None:
        """Its mean."""
        return self._rate

    def extend_repr(self) -> str:
        return self._shown(rate=self._rate)

    def _mean(self, rate: Any = None) -> Tensor:
        return self._check_param_type(rate)

    _var = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return ops.floor(self._check_param_type(rate))

    def _log_prob(self, value: Tensor, rate: Any = None) -> Tensor:
        value, rate = self._value(value), self._check_param_type(rate)
        count = ops.relu(value)
        mass = ops.log(rate) * count - ops.lgamma(count + 1.0) - rate
        return ops.where(value < 0, ops.full_like(mass, -math.inf), mass)

    def _cdf(self, value: Tensor, rate: Any = None) -> Tensor:
        value, rate = self._value(value), self._check_param_type(rate)
        below = ops.igammac(1.0 + ops.relu(value), rate)
        return ops.where(value < 0, ops.zeros_like(below), below)

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        rate = self._check_param_type(rate)
        return self._drawn(shape, rate.shape, lambda whole: ops.poisson(
            whole, rate, self.seed or None))


class Categorical(Distribution):
    """One of several numbered categories.

    Args:
        probs: the probabilities of the categories, along the last axis.
        seed: the seed of `sample`.
        dtype: a type of numbers.
        name: its name.

    Raises:
        TypeError: if `dtype` is no type of numbers.
        ValueError: if `probs` has no axis, holds numbers not between 0 and 1, or they don't add up
            to 1.

    Examples:
        >>> import lamella as ms
        >>> chance = ms.nn.probability.distribution.Categorical([0.25, 0.75])
        >>> print(chance.prob(ms.Tensor([0, 1])), chance.mode())
        [0.25 0.75] 1
    """

    family, arguments = "Categorical", ("probs",)

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: Type = int32,
                 name: str = "Categorical"):
        super().__init__(seed, dtype, name,
                         made_with(dtype, (*WHOLE, *FLOATING), name, probs=probs))
        self._probs = self._add_parameter(probs, "probs")
        require_probabilities(self._probs)
        require_categories(self._probs)
        if self._probs is not None:
            self._broadcast_shape = self._probs.shape[:-1]
            self._is_scalar_batch = not self._broadcast_shape

    @property
    def probs(self) -> Tensor | None:
        """The probabilities of the categories."""
        return self._probs

    def extend_repr(self) -> str:
        return self._shown(probs=self._probs)

    def _moment(self, probs: Tensor, power: int) -> Tensor:
        numbers = ops.arange(probs.shape[-1]).astype(float32)
        return ops.sum(numbers**power * probs, -1, True)

    def _mean(self, probs: Any = None) -> Tensor:
        return self._moment(self._check_param_type(probs), 1)

    def _var(self, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        return self._moment(p, 2) - self._moment(p, 1) ** 2

    def _mode(self, probs: Any = None) -> Tensor:
        return ops.argmax(self._check_param_type(probs), -1).astype(self.dtype)

    def _entropy(self, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        return ops.squeeze(-ops.sum(ops.log(p) * p, -1))

    def _kl_loss(self, dist: str, probs_b: Any, probs: Any = None) -> Tensor:
        require_same_family(dist, "Categorical")
        q = ops.log(self._given(probs_b, "probs_b"))
        p = ops.log(self._check_param_type(probs))
        excess = ops.log_softmax(p) - ops.log_softmax(q)
        return ops.squeeze(ops.sum(ops.softmax(p) * excess, -1))

    def _picked(self, value: Any, table: Tensor) -> tuple[Tensor, Tensor]:
        """The entries of a table at categories, and the categories; what is > -1 counts as 0."""
        value = self._given(value, "value")
        value = ops.where(ops.abs(value) < 1, ops.zeros_like(value), ops.floor(value))
        count = table.shape[-1]
        batch = ops.broadcast_to(value, np.broadcast_shapes(value.shape, table.shape[:-1]))
        rows = ops.broadcast_to(table, (*batch.shape, count))
        known = ops.where(ops.isnan(batch), ops.zeros_like(batch), batch)
        positions = ops.clamp(known, 0, count - 1).astype(int32)
        return ops.squeeze(ops.gather_elements(rows, -1, ops.expand_dims(positions, -1)), -1), batch

    def _log_prob(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        out, value = self._picked(value, ops.log(p))
        inside = ops.logical_and(value >= 0, value <= p.shape[-1] - 1)
        return ops.where(inside, out, ops.full_like(out, math.nan))

    def _cdf(self, value: Tensor, probs: Any = None) -> Tensor:
        out, value = self._picked(value, ops.cumsum(self._check_param_type(probs), -1))
        out = ops.where(ops.isnan(value), ops.full_like(out, math.nan), out)
        return ops.where(value < 0, ops.zeros_like(out), out)

    def _sample(self, shape: Any = (), probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)

        def draw(whole: tuple[int, ...]) -> Tensor:
            rows = ops.reshape(p, (-1, p.shape[-1]))
            count = math.prod(whole) // rows.shape[0]
            drawn = ops.multinomial(rows, count, True, self.seed or None)
            return ops.reshape(ops.transpose(drawn, (1, 0)), whole)

        return ops.stop_gradient(self._drawn(shape, p.shape[:-1], draw))
