"""Primitive classes of random numbers.

An object with a seed keeps a stream of its own: its calls differ, a new object starts again.
"""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...core.forking import Lock
from ...tensors.random import fresh_generator, seeded
from ...tensors.tensor import Tensor, wrap
from ..arguments import (
    FLOATS,
    as_int,
    as_ints,
    as_shape,
    raw_of,
    raw_or_number,
    require,
    require_values,
    typed,
)
from ..composite import prim_attr_register
from ..operands import flag, floating
from ..primitive import Primitive
from ..random import cauchy, draw, laplace_from, standard_gamma
from ..sampling import bernoulli, multinomial_with_replacement, randperm
from .attributes import with_attributes

__all__ = [
    "Bernoulli", "Cauchy", "Gamma", "LogNormalReverse", "Multinomial",
    "MultinomialWithReplacement", "NonDeterministicInts", "ParameterizedTruncatedNormal",
    "Poisson", "RandomGamma", "RandomPoisson", "RandomShuffle", "Randperm", "RandpermV2",
    "StandardLaplace", "StandardNormal", "TruncatedNormal", "UniformInt", "UniformReal",
]


_making = Lock()


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
        with _making:  # two threads with one each would draw the same numbers
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
    """Integers evenly distributed over ``[minval, maxval)``, int32, of the shape given.

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


class ParameterizedTruncatedNormal(_Seeded):
    """Numbers from normal distributions that are cut off, one distribution a row.

    Inputs:
        shape: of two lengths or more, the first one the number of rows, a Tensor of int32 or int64.
        mean, stdevs, min, max: float16, float32 or float64, with one element or one for each row.

    Examples:
        >>> import lamella as ms
        >>> mean, one, low, high = (ms.Tensor([x]) for x in (0.0, 1.0, 0.5, 0.6))
        >>> x = ms.ops.ParameterizedTruncatedNormal(1)(ms.Tensor([2, 3]), mean, one, low, high)
        >>> print(x.shape, bool((x >= 0.5).all()), bool((x <= 0.6).all()))
        (2, 3) True True
    """

    def __call__(self, shape: Tensor, mean: Tensor, stdevs: Tensor, min: Tensor,
                 max: Tensor) -> Tensor:
        name, size = self.name, as_shape(shape, self.name)
        require(len(size) > 1, ValueError,
                f"For '{name}', 'shape' must have two lengths or more, but got {size}.")
        given = {"mean": mean, "stdevs": stdevs, "min": min, "max": max}
        raws = [typed(value, name, argument, FLOATS) for argument, value in given.items()]
        require(len({raw.dtype for raw in raws}) == 1, TypeError,
                f"For '{name}', 'mean', 'stdevs', 'min' and 'max' must be of one type.")
        for argument, value in given.items():
            require(value.shape in ((), (1,), size[:1]), ValueError,
                    f"For '{name}', '{argument}' must have one element or {size[0]}, "
                    f"but got shape {value.shape}.")
        centre, wide, low, high = (raw.double().reshape(-1, *[1] * (len(size) - 1)) for raw in raws)
        require_values((wide > 0).all(), f"For '{name}', 'stdevs' must be positive.")
        require_values((low < high).all(), f"For '{name}', 'min' must be less than 'max'.")
        low, high = (torch.special.ndtr((end - centre) / wide) for end in (low, high))
        even = low + draw("rand", size, torch.float64, self._stream) * (high - low)
        return wrap((centre + wide * torch.special.ndtri(even)).to(raws[0].dtype))


class NonDeterministicInts(Primitive):
    """Integers evenly from all that the type has.

    Args:
        dtype: int32 or int64.

    Inputs:
        shape: of two lengths or more, a Tensor of int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.NonDeterministicInts(ms.int32)(ms.Tensor([3, 4])).shape
        (3, 4)
    """

    @prim_attr_register
    def __init__(self, dtype: Any = mstype.int64):
        require(dtype in (mstype.int32, mstype.int64), TypeError,
                f"For '{self.name}', 'dtype' must be int32 or int64, but got {dtype}.")

    def __call__(self, shape: Tensor) -> Tensor:
        kinds = (torch.int32, torch.int64)
        size = as_shape(wrap(typed(shape, self.name, "shape", kinds, 1)), self.name)
        require(len(size) > 1, ValueError,
                f"For '{self.name}', 'shape' must have two lengths or more, but got {size}.")
        words = [draw_int(size) for _ in range(self.dtype.itemsize // 4)]
        return wrap(words[0].int() if len(words) == 1 else words[0] << 32 | words[1] & 0xFFFFFFFF)


def draw_int(size: tuple[int, ...]) -> torch.Tensor:
    """Raw numbers of int64, evenly from those that 32 bits hold."""
    even = draw("rand", size, torch.float64, None)
    return (even * 2.0**32).floor().long() - 2**31


class Bernoulli(Primitive):
    """`ops.bernoulli` with the seeds as attributes.

    Args:
        seed: -1 for the default generator, else each call gives the same.
        offset: is added to the seed.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Bernoulli()(ms.Tensor([0.1, 0.2, 0.3]), ms.Tensor([0.0, 1.0, 1.0])))
        [0. 1. 1.]
    """

    @prim_attr_register
    def __init__(self, seed: int = -1, offset: int = 0):
        require(as_int(seed, self.name, "seed") >= -1, ValueError,
                f"For '{self.name}', 'seed' must be -1 or more, but got {seed}.")
        as_int(offset, self.name, "offset")

    def __call__(self, x: Tensor, p: Any = 0.5) -> Tensor:
        return bernoulli(x, p, None if self.seed < 0 else self.seed + self.offset)


class MultinomialWithReplacement(Primitive):
    """`ops.multinomial_with_replacement` with the number of draws as an attribute.

    Examples:
        >>> import lamella as ms
        >>> draw = ms.ops.MultinomialWithReplacement(3, True)
        >>> print(draw(ms.Tensor([[0.0, 1.0]]), ms.Tensor(2), ms.Tensor(5)))
        [[1 1 1]]
    """

    @prim_attr_register
    def __init__(self, numsamples: int, replacement: bool = False):
        require(as_int(numsamples, self.name, "numsamples") >= 0, ValueError,
                f"For '{self.name}', 'numsamples' must be 0 or more, but got {numsamples}.")
        flag(replacement, self.name, "replacement")

    def __call__(self, x: Tensor, seed: Any, offset: Any) -> Tensor:
        typed(x, self.name, "x", FLOATS)
        return multinomial_with_replacement(
            x, as_int(seed, self.name, "seed"), as_int(offset, self.name, "offset"),
            self.numsamples, self.replacement)


class Cauchy(Primitive):
    """Numbers from Cauchy's distribution, float32.

    Args:
        size: the result's shape, a list.
        median: the distribution's middle.
        sigma: half of its width at half of its height.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Cauchy([2, 3])().shape
        (2, 3)
    """

    @prim_attr_register
    def __init__(self, size: list[int], median: float = 0.0, sigma: float = 1.0):
        require(isinstance(size, list), TypeError,
                f"For '{self.name}', 'size' must be a list, but got {size!r}.")
        require(bool(size) and min(as_ints(size, self.name, "size")) > 0, ValueError,
                f"For '{self.name}', 'size' must hold positive lengths, but got {size}.")
        for argument in ("median", "sigma"):
            _check_float(self, argument)

    def __call__(self) -> Tensor:
        return wrap(cauchy(tuple(self.size), self.median, self.sigma))


def _check_float(self: Primitive, argument: str) -> None:
    value = getattr(self, argument)
    require(isinstance(value, float), TypeError,
            f"For '{self.name}', '{argument}' must be a float, but got {value!r}.")


class LogNormalReverse(Primitive):
    """Numbers whose logarithms are normally distributed, in the shape and type of the input.

    Args:
        mean, std: of the logarithms.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.LogNormalReverse(2.0, 1.0)(ms.ops.ones((3, 4))).shape
        (3, 4)
    """

    @prim_attr_register
    def __init__(self, mean: float = 1.0, std: float = 2.0):
        for argument in ("mean", "std"):
            _check_float(self, argument)

    def __call__(self, input: Tensor) -> Tensor:
        raw = typed(input, self.name, "input", FLOATS)
        drawn = draw("randn", tuple(raw.shape), torch.float64, None)
        return wrap((self.mean + self.std * drawn).exp().to(raw.dtype))


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
    """Positions drawn by weight, with replacement.

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


class Randperm(Primitive):
    """The numbers from 0 to n - 1 in random order, padded to a length.

    Args:
        max_length: the length of the result.
        pad: what follows the numbers.
        dtype: an integer type.

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


RandpermV2 = with_attributes("RandpermV2", randperm, seed=0, offset=0, dtype=mstype.int64)
