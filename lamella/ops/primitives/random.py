"""Primitive classes of random numbers.

An object with a seed keeps a stream of its own: its calls differ, a new object starts again.
"""

from __future__ import annotations

from typing import Any

import torch

from ... import dtype as mstype
from ...dtype import to_raw
from ...random import fresh_generator, seeded
from ...tensor import Tensor, wrap
from ..arguments import as_int, as_shape, raw_of, raw_or_number
from ..composite import prim_attr_register
from ..operands import floating
from ..primitive import Primitive
from ..random import draw, laplace_from, standard_gamma
from ..sampling import choice_with_mask, random_categorical, randperm

__all__ = [
    "Gamma", "Multinomial", "Poisson", "RandomCategorical", "RandomChoiceWithMask", "RandomGamma",
    "RandomPoisson", "RandomShuffle", "Randperm", "RandpermV2", "StandardLaplace",
    "StandardNormal", "TruncatedNormal", "UniformInt", "UniformReal",
]


class _Seeded(Primitive):
    """A random operator with the attributes `seed` and `seed2`."""

    @prim_attr_register
    def __init__(self, seed: int = 0, seed2: int = 0):
        _check(self, seed, seed2)

    @property
    def _stream(self) -> torch.Generator | None:
        """The generator of this object; None, for the default one, where it has no seed."""
        return own_stream(self, self.seed, self.seed2)


def own_stream(owner: Primitive, seed: int, seed2: int) -> torch.Generator | None:
    """The generator that an object keeps; None, for the default one, where both seeds are 0."""
    if not seed and not seed2:
        return None
    if "_generator" not in owner.__dict__:
        owner.__dict__["_generator"] = fresh_generator(owner, seed, seed2)
    return owner.__dict__["_generator"]


def _check(self: Primitive, seed: Any, seed2: Any) -> None:
    for name, value in (("seed", seed), ("seed2", seed2)):
        if as_int(value, type(self).__name__, name) < 0:
            raise ValueError(f"For '{type(self).__name__}', '{name}' must be 0 or more, "
                             f"but got {value}.")


class StandardNormal(_Seeded):
    """Numbers from the standard normal distribution, float32, of the shape given.

    Args:
        seed, seed2: op-level seeds; 0 for both means the default generator.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.StandardNormal(seed=2)((3, 4)).shape
        (3, 4)
    """

    def __call__(self, shape: Any) -> Tensor:
        return wrap(draw("randn", as_shape(shape, self.name), torch.float32, self._stream))


class StandardLaplace(_Seeded):
    """Numbers from Laplace's distribution about 0 of scale 1, float32, of the shape given."""

    def __call__(self, shape: Any) -> Tensor:
        return wrap(laplace_from(draw("rand", as_shape(shape, self.name), torch.float32,
                                      self._stream)))


class UniformReal(_Seeded):
    """Numbers evenly distributed over [0, 1), float32, of the shape given.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.UniformReal(seed=2)((3, 4)).shape
        (3, 4)
    """

    def __call__(self, shape: Any) -> Tensor:
        return wrap(draw("rand", as_shape(shape, self.name), torch.float32, self._stream))


class UniformInt(_Seeded):
    """Whole numbers evenly distributed over ``[minval, maxval)``, int32, of the shape given.

    Examples:
        >>> import lamella as ms
        >>> low, high = ms.Tensor(0, ms.int32), ms.Tensor(5, ms.int32)
        >>> ms.ops.UniformInt(seed=2)((3, 4), low, high).dtype
        mindspore.int32
    """

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        low, high = (as_int(v, self.name, n) for v, n in ((minval, "minval"), (maxval, "maxval")))
        if low >= high:
            raise ValueError(f"For 'UniformInt', 'minval' must be less than 'maxval', "
                             f"but got {low} and {high}.")
        even = draw("rand", as_shape(shape, self.name), torch.float64, self._stream)
        return wrap((low + (even * (high - low)).floor()).int())


class TruncatedNormal(Primitive):
    """Numbers from the standard normal distribution cut off at 2, of the shape given.

    Args:
        dtype: a floating type.
        seed, seed2: op-level seeds.
    """

    @prim_attr_register
    def __init__(self, dtype: Any = mstype.float32, seed: int = 0, seed2: int = 0):
        _check(self, seed, seed2)

    _stream = _Seeded._stream

    def __call__(self, shape: Any) -> Tensor:
        # the inverse of the cumulative distribution, over the part between -2 and 2
        even = draw("rand", as_shape(shape, self.name), torch.float64, self._stream)
        low = torch.special.ndtr(torch.tensor(-2.0, dtype=torch.float64)).item()
        return wrap(torch.special.ndtri(low + even * (1 - 2 * low)).to(
            to_raw(self.dtype, self.name)))


class Gamma(_Seeded):
    """Numbers from gamma distributions: of shape `alpha` and rate `beta`, float32."""

    def __call__(self, shape: Any, alpha: Tensor, beta: Tensor) -> Tensor:
        a, b = raw_or_number(alpha), raw_or_number(beta)
        full = torch.broadcast_shapes(as_shape(shape, self.name), a.shape, b.shape)
        return wrap(standard_gamma(a.expand(full).contiguous(), self._stream) / b)


class RandomGamma(_Seeded):
    """Numbers from gamma distributions of scale 1: of shape ``shape + alpha.shape``."""

    def __call__(self, shape: Any, alpha: Tensor) -> Tensor:
        a = raw_of(alpha, self.name, "alpha")
        full = (*as_shape(shape, self.name), *a.shape)
        kind = torch.float32 if a.itemsize == 2 else a.dtype  # PyTorch has no kernel for float16
        drawn = standard_gamma(a.expand(full).to(kind).contiguous(), self._stream)
        return wrap(drawn.to(a.dtype))


class Poisson(_Seeded):
    """Numbers of events with the given mean, int32."""

    def __call__(self, shape: Any, mean: Tensor) -> Tensor:
        raw = raw_or_number(mean)
        full = torch.broadcast_shapes(as_shape(shape, self.name), raw.shape)
        return wrap(torch.poisson(raw.expand(full).contiguous(), self._stream).int())


class RandomPoisson(Primitive):
    """Numbers of events at the given rates: of shape ``shape + rate.shape``."""

    @prim_attr_register
    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = mstype.int64):
        _check(self, seed, seed2)

    _stream = _Seeded._stream

    def __call__(self, shape: Any, rate: Tensor) -> Tensor:
        raw = raw_of(rate, self.name, "rate")
        full = (*as_shape(shape, self.name), *raw.shape)
        return wrap(torch.poisson(raw.float().expand(full).contiguous(), self._stream).to(
            to_raw(self.dtype, self.name)))


class Multinomial(Primitive):
    """Places drawn by weight, with replacement.

    Args:
        seed, seed2: op-level seeds.
        dtype: int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Multinomial()(ms.Tensor([0.0, 1.0]), 3))
        [1 1 1]
    """

    @prim_attr_register
    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = mstype.int32):
        _check(self, seed, seed2)

    _stream = _Seeded._stream

    def __call__(self, x: Tensor, num_samples: int) -> Tensor:
        weights = floating(raw_of(x, self.name, "x"))
        out = torch.multinomial(weights, num_samples, True, generator=self._stream)
        return wrap(out.to(to_raw(self.dtype, self.name)))


class RandomShuffle(_Seeded):
    """The slices along dimension 0 in random order."""

    def __call__(self, x: Tensor) -> Tensor:
        raw = raw_of(x, self.name, "x")
        if not raw.dim():
            return wrap(raw.clone())
        return wrap(raw[torch.randperm(raw.shape[0], generator=self._stream, device=raw.device)])


class RandomCategorical(Primitive):
    """Classes drawn from rows of unnormalised log-probabilities: ``(logits, num_sample, seed)``."""

    @prim_attr_register
    def __init__(self, dtype: Any = mstype.int64):
        pass

    def __call__(self, logits: Tensor, num_sample: int, seed: int = 0) -> Tensor:
        return random_categorical(logits, num_sample, seed, self.dtype)


class RandomChoiceWithMask(Primitive):
    """`ops.choice_with_mask` with count and seeds as attributes."""

    @prim_attr_register
    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0):
        _check(self, seed, seed2)

    def __call__(self, input_x: Tensor) -> tuple[Tensor, Tensor]:
        return choice_with_mask(input_x, self.count, self.seed or self.seed2 or None)


class Randperm(Primitive):
    """The numbers from 0 to n - 1 in random order, padded to a length.

    Args:
        max_length: the length of the result.
        pad: what follows the numbers.
        dtype: a type of whole numbers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Randperm(3, pad=-1)(ms.Tensor([1], ms.int32)))
        [ 0 -1 -1]
    """

    @prim_attr_register
    def __init__(self, max_length: int = 1, pad: int = -1, dtype: Any = mstype.int32):
        pass

    def __call__(self, n: Any) -> Tensor:
        count = as_int(n, self.name, "n")
        if not 0 <= count <= self.max_length:
            raise ValueError(f"For 'Randperm', 'n' must be in [0, 'max_length' = "
                             f"{self.max_length}], but got {count}.")
        drawn = torch.randperm(count, generator=seeded(), device=raw_or_number(n).device)
        out = torch.full((self.max_length,), self.pad, device=drawn.device)
        out[:count] = drawn
        return wrap(out.to(to_raw(self.dtype, self.name)))


class RandpermV2(Primitive):
    """`ops.randperm` with seeds and type as attributes."""

    @prim_attr_register
    def __init__(self, seed: int = 0, offset: int = 0, dtype: Any = mstype.int64):
        pass

    def __call__(self, n: Any) -> Tensor:
        return randperm(n, self.seed, self.offset, self.dtype)
