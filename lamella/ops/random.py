"""Random numbers. Without a seed they come from the default generator, which `set_seed` seeds.

With a seed each call continues that seed's stream (see `lamella.random`). The numbers are not
MindSpore's, their distributions are.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import dtype as mstype
from ..context import current_device
from ..dtype import promote_types, to_raw
from ..errors import op
from ..random import seeded
from ..tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, as_shape, raw_of, raw_or_number

__all__ = [
    "bernoulli", "choice_with_mask", "gamma", "laplace", "log_uniform_candidate_sampler",
    "multinomial", "multinomial_with_replacement", "normal", "poisson", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "random_categorical", "random_gamma",
    "random_poisson", "randperm", "shuffle", "standard_laplace", "standard_normal", "uniform",
    "uniform_candidate_sampler",
]


def draw(kind: str, shape: tuple[int, ...], dtype: torch.dtype,
         generator: torch.Generator | None) -> torch.Tensor:
    """Raw numbers from [0, 1) (`kind` ``"rand"``) or the standard normal distribution (``"randn"``)."""
    make = torch.rand if kind == "rand" else torch.randn
    return make(shape, dtype=dtype, device=current_device(), generator=generator)


def _floating(dtype: Any, default: torch.dtype, where: str) -> torch.dtype:
    kind = default if dtype is None else to_raw(dtype, where)
    if not kind.is_floating_point:
        raise ValueError(f"For '{where}', 'dtype' must be a floating type, but got {kind}.")
    return kind


def _whole(dtype: Any, default: torch.dtype, where: str) -> torch.dtype:
    kind = default if dtype is None else to_raw(dtype, where)
    if kind.is_floating_point or kind.is_complex or kind is torch.bool:
        raise ValueError(f"For '{where}', 'dtype' must be an int type, but got {kind}.")
    return kind


def _size(size: tuple[Any, ...], where: str) -> tuple[int, ...]:
    if not size:
        return (1,)
    return as_shape(size[0] if len(size) == 1 else size, where, "size")


def _tuple_shape(shape: Any, where: str) -> tuple[int, ...]:
    if not isinstance(shape, (tuple, list, Tensor)):
        raise TypeError(f"For '{where}', 'shape' must be a tuple of ints, but got {shape!r} "
                        f"of type {type(shape).__name__}.")
    return as_shape(shape, where)


@op
def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers from the standard normal distribution.

    Args:
        size: the shape, as one tuple or int by int.
        dtype: a floating type; default: float32.
        seed: an op-level seed.

    Raises:
        ValueError: if `dtype` is no floating type or `seed` is negative.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randn(2, 3).shape
        (2, 3)
    """
    kind = _floating(dtype, torch.float32, "randn")
    return wrap(draw("randn", _size(size, "randn"), kind, seeded(seed)))


@op
def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers evenly distributed over [0, 1); arguments and errors as for `randn`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.rand(2, 3).shape
        (2, 3)
    """
    kind = _floating(dtype, torch.float32, "rand")
    return wrap(draw("rand", _size(size, "rand"), kind, seeded(seed)))


@op
def randn_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Numbers from the standard normal distribution, in the shape of `input`.

    Args:
        input: its type is used too where it is floating, else float32.
        seed: an op-level seed.
        dtype: a floating type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randn_like(ms.Tensor([1.0, 2.0])).shape
        (2,)
    """
    raw = raw_of(input, "randn_like")
    own = raw.dtype if raw.is_floating_point() else torch.float32
    return wrap(draw("randn", tuple(raw.shape), _floating(dtype, own, "randn_like"), seeded(seed)))


@op
def rand_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Numbers evenly distributed over [0, 1), in the shape and floating type of `input`.

    Raises:
        ValueError: if the type is no floating type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.rand_like(ms.Tensor([1.0, 2.0])).shape
        (2,)
    """
    raw = raw_of(input, "rand_like")
    kind = _floating(dtype, raw.dtype, "rand_like")
    return wrap(draw("rand", tuple(raw.shape), kind, seeded(seed)))


def _integers(low: Any, high: Any, shape: tuple[int, ...], kind: torch.dtype, seed: Any,
              where: str) -> Tensor:
    first, last = as_int(low, where, "low"), as_int(high, where, "high")
    if first >= last:
        raise ValueError(f"For '{where}', 'low' must be less than 'high', "
                         f"but got {first} and {last}.")
    return wrap(torch.randint(first, last, shape, generator=seeded(seed),
                              device=current_device()).to(kind))


@op
def randint(low: int, high: int, size: tuple, seed: int | None = None, *,
            dtype: Any = None) -> Tensor:
    """Whole numbers evenly distributed over ``[low, high)``.

    Args:
        low, high: ints.
        size: the shape, a tuple.
        seed: an op-level seed.
        dtype: an int type; default: int64.

    Raises:
        TypeError: if `low` or `high` is no int.
        ValueError: if `size` is no tuple, `dtype` no int type, or `low` not less than `high`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randint(0, 5, (2, 3)).dtype
        mindspore.int64
    """
    if not isinstance(size, (tuple, list)):
        raise ValueError(f"For 'randint', 'size' must be a tuple, but got {size!r}.")
    return _integers(low, high, as_shape(size, "randint", "size"),
                     _whole(dtype, torch.int64, "randint"), seed, "randint")


@op
def randint_like(input: Tensor, low: int, high: int, seed: int | None = None, *,
                 dtype: Any = None) -> Tensor:
    """Whole numbers evenly distributed over ``[low, high)``, in the shape and type of `input`.

    Raises:
        ValueError: if the type is no int type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.randint_like(ms.Tensor([1, 2]), 0, 5).shape
        (2,)
    """
    raw = raw_of(input, "randint_like")
    return _integers(low, high, tuple(raw.shape), _whole(dtype, raw.dtype, "randint_like"), seed,
                     "randint_like")


@op
def randperm(n: Any, seed: int = 0, offset: int = 0, dtype: Any = mstype.int64) -> Tensor:
    """The numbers from 0 to n - 1 in random order.

    Args:
        n: an int or a Tensor of one.
        seed, offset: op-level seeds.
        dtype: an int type; default: int64.

    Raises:
        ValueError: if `n` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.randperm(4).sort()[0])
        [0 1 2 3]
    """
    count = as_int(n, "randperm", "n")
    if count < 0:
        raise ValueError(f"For 'randperm', 'n' must be 0 or more, but got {n}.")
    # the seed -1 means none
    source = seeded(max(seed, 0), max(offset, 0)) if seed > 0 else None
    return wrap(torch.randperm(count, generator=source, device=current_device()).to(
        to_raw(dtype, "randperm")))


def _parameters(*values: Any, where: str) -> list[torch.Tensor]:
    raws = [raw_or_number(v) for v in values]
    kind = torch.float32
    for raw in raws:
        if raw.is_floating_point():
            kind = promote_types(kind, raw.dtype)
    return [raw.to(kind) for raw in raws]


def _broadcast(shape: tuple[int, ...], *raws: torch.Tensor) -> tuple[int, ...]:
    return tuple(torch.broadcast_shapes(shape, *[raw.shape for raw in raws]))


@op
def uniform(shape: Any, minval: Tensor, maxval: Tensor, seed: int | None = None,
            dtype: Any = mstype.float32) -> Tensor:
    """Numbers evenly distributed over ``[minval, maxval)``.

    Args:
        shape: a tuple, which broadcasts with the bounds.
        minval, maxval: Tensors.
        seed: an op-level seed.
        dtype: float32 or int32.

    Raises:
        TypeError: if a bound is no Tensor or `dtype` another type.
        ValueError: if `seed` is negative.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.uniform((100,), ms.Tensor(1.0), ms.Tensor(2.0), seed=1)
        >>> print((x >= 1).all(), (x < 2).all())
        True True
    """
    where = _tuple_shape(shape, "uniform")
    low, high = raw_of(minval, "uniform", "minval"), raw_of(maxval, "uniform", "maxval")
    kind = to_raw(dtype, "uniform")
    if kind not in (torch.float32, torch.int32):
        raise TypeError(f"For 'uniform', 'dtype' must be float32 or int32, but got {dtype}.")
    out = draw("rand", _broadcast(where, low, high), torch.float32 if kind.is_floating_point
               else torch.float64, seeded(seed))
    if kind is torch.int32:
        return wrap((low + (out * (high - low)).floor()).to(kind))
    return wrap(low + out * (high - low))


@op
def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Numbers from normal distributions.

    Args:
        shape: a tuple, which broadcasts with `mean` and `stddev`.
        mean, stddev: Tensors or numbers.
        seed: an op-level seed.

    Raises:
        TypeError: if `shape` is no tuple.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.normal((3, 2), ms.Tensor([0.0, 5.0]), 1.0).shape
        (3, 2)
    """
    where = _tuple_shape(shape, "normal")
    center, spread = _parameters(mean, stddev, where="normal")
    out = draw("randn", _broadcast(where, center, spread), center.dtype, seeded(seed))
    return wrap(center + out * spread)


@op
def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers from the standard normal distribution, float32.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.standard_normal((3, 2)).shape
        (3, 2)
    """
    return wrap(draw("randn", _tuple_shape(shape, "standard_normal"), torch.float32, seeded(seed)))


@op
def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers from Laplace's distribution about 0 of scale 1, float32.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.standard_laplace((3, 2)).shape
        (3, 2)
    """
    where = _tuple_shape(shape, "standard_laplace")
    return wrap(laplace_from(draw("rand", where, torch.float32, seeded(seed))))


def laplace_from(even: torch.Tensor) -> torch.Tensor:
    """Laplace's distribution from the even one over [0, 1), by the inverse of its cumulative one."""
    centered = even - 0.5
    tail = (1 - 2 * centered.abs()).clamp_min(torch.finfo(even.dtype).tiny)
    return -centered.sign() * tail.log()


@op
def laplace(shape: Any, mean: Tensor, lambda_param: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from Laplace's distributions about `mean`, of scale `lambda_param`.

    Args:
        shape: a tuple, which broadcasts with the Tensors.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.laplace((2, 2), ms.Tensor(0.0), ms.Tensor(1.0)).shape
        (2, 2)
    """
    where = _tuple_shape(shape, "laplace")
    center, scale = _parameters(mean, lambda_param, where="laplace")
    out = draw("rand", _broadcast(where, center, scale), center.dtype, seeded(seed))
    return wrap(center + scale * laplace_from(out))


def standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Raw numbers from gamma distributions of scale 1, differentiable in `alpha`."""
    return torch._standard_gamma(alpha, generator=generator)


@op
def gamma(shape: Any, alpha: Tensor, beta: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from gamma distributions of shape `alpha` and rate `beta`.

    Args:
        shape: a tuple, which broadcasts with the Tensors.
        seed: an op-level seed.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.gamma((3, 2), ms.Tensor([1.0, 2.0]), ms.Tensor([1.0])).shape
        (3, 2)
    """
    where = _tuple_shape(shape, "gamma")
    a, b = _parameters(alpha, beta, where="gamma")
    out = standard_gamma(a.expand(_broadcast(where, a, b)).contiguous(), seeded(seed))
    return wrap(out / b)


@op
def random_gamma(shape: Any, alpha: Tensor, seed: int | None = None) -> Tensor:
    """Numbers from gamma distributions of scale 1: of shape ``shape + alpha.shape``.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.random_gamma((3,), ms.Tensor([1.0, 2.0])).shape
        (3, 2)
    """
    raw = raw_of(alpha, "random_gamma", "alpha")
    where = (*_tuple_shape(shape, "random_gamma"), *raw.shape)
    return wrap(standard_gamma(raw.expand(where).contiguous(), seeded(seed)))


@op
def poisson(shape: Any, mean: Tensor, seed: int | None = None) -> Tensor:
    """Numbers of events with the given mean, int32.

    Args:
        shape: a tuple, which broadcasts with `mean`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.poisson((3, 2), ms.Tensor([1.0, 5.0])).dtype
        mindspore.int32
    """
    (raw,) = _parameters(mean, where="poisson")
    shape = _broadcast(_tuple_shape(shape, "poisson"), raw)
    return wrap(torch.poisson(raw.expand(shape).contiguous(), seeded(seed)).int())


@op
def random_poisson(shape: Any, rate: Tensor, seed: int | None = None,
                   dtype: Any = mstype.float32) -> Tensor:
    """Numbers of events at the given rates: of shape ``shape + rate.shape``.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.random_poisson(ms.Tensor([3]), ms.Tensor([1.0, 5.0])).shape
        (3, 2)
    """
    (raw,) = _parameters(rate, where="random_poisson")
    where = (*_tuple_shape(shape, "random_poisson"), *raw.shape)
    return wrap(torch.poisson(raw.expand(where).contiguous(), seeded(seed)).to(
        to_raw(dtype, "random_poisson")))


@op
def bernoulli(input: Tensor, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability `p`, else 0, in the shape and type of `input`.

    Args:
        input: gives shape and type.
        p: a number, or a Tensor of the shape of `input` or with one element, in [0, 1].
        seed: an op-level seed.

    Raises:
        ValueError: if `p` is out of range or has another shape.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bernoulli(ms.Tensor([0.0, 0.0]), 1.0))
        [1. 1.]
    """
    raw, chance = raw_of(input, "bernoulli"), raw_or_number(p)
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise ValueError(f"For 'bernoulli', 'p' must be in [0, 1], but got {p}.")
    if chance.numel() != 1 and chance.shape != raw.shape:
        raise ValueError(f"For 'bernoulli', 'p' must have the shape of 'input' "
                         f"{tuple(raw.shape)} or one element, but got {tuple(chance.shape)}.")
    out = draw("rand", tuple(raw.shape), torch.float32, seeded(seed))
    return wrap((out < chance.reshape(raw.shape if chance.numel() == raw.numel() else ())).to(
        raw.dtype))


@op
def multinomial(input: Tensor, num_samples: int, replacement: bool = True,
                seed: int | None = None) -> Tensor:
    """Places drawn by weight, int32.

    Args:
        input: weights of 0 or more, of rank 1 or 2; the rows need not sum up to 1.
        num_samples: how many places to draw of each row.
        replacement: whether a place may be drawn again.
        seed: an op-level seed.

    Raises:
        TypeError: if `num_samples` is no int.
        ValueError: if more places are asked for than there are, without replacement.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.multinomial(ms.Tensor([0.0, 1.0]), 3))
        [1 1 1]
    """
    raw = raw_of(input, "multinomial")
    count = as_int(num_samples, "multinomial", "num_samples")
    if raw.dim() not in (1, 2):
        raise ValueError(f"For 'multinomial', 'input' must have 1 or 2 dimensions, "
                         f"but got shape {tuple(raw.shape)}.")
    if not replacement and count > raw.shape[-1]:
        raise ValueError(f"For 'multinomial', 'num_samples' must be at most {raw.shape[-1]} "
                         f"without 'replacement', but got {count}.")
    weights = raw if raw.is_floating_point() else raw.float()
    return wrap(torch.multinomial(weights, count, bool(replacement),
                                  generator=seeded(seed)).int())


@op
def multinomial_with_replacement(x: Tensor, seed: int, offset: int, numsamples: int,
                                 replacement: bool = False) -> Tensor:
    """Places drawn by weight, int64.

    Args:
        x: weights of 0 or more, of rank 1 or 2.
        seed, offset: op-level seeds.
        numsamples: how many places to draw of each row.
        replacement: whether a place may be drawn again.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.multinomial_with_replacement(ms.Tensor([[0.0, 1.0]]), 2, 5, 3, True))
        [[1 1 1]]
    """
    raw = raw_of(x, "multinomial_with_replacement", "x")
    weights = raw if raw.is_floating_point() else raw.float()
    return wrap(torch.multinomial(weights, numsamples, bool(replacement),
                                  generator=seeded(seed, offset)))


@op
def random_categorical(logits: Tensor, num_sample: int, seed: int = 0,
                       dtype: Any = mstype.int64) -> Tensor:
    """Classes drawn from rows of unnormalised log-probabilities.

    Args:
        logits: of shape (N, classes).
        num_sample: how many classes to draw of each row.
        seed: an op-level seed.
        dtype: int16, int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.random_categorical(ms.Tensor([[0.0, 99.0]]), 3))
        [[1 1 1]]
    """
    raw = raw_of(logits, "random_categorical", "logits")
    if raw.dim() != 2:
        raise ValueError(f"For 'random_categorical', 'logits' must have 2 dimensions, "
                         f"but got shape {tuple(raw.shape)}.")
    out = torch.multinomial(raw.float().softmax(-1), num_sample, True, generator=seeded(seed))
    return wrap(out.to(to_raw(dtype, "random_categorical")))


@op
def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The slices along dimension 0 in random order.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.shuffle(ms.Tensor([1, 2, 3])).sort()[0])
        [1 2 3]
    """
    raw = raw_of(x, "shuffle", "x")
    if raw.dim() == 0:
        return wrap(raw.clone())
    return wrap(raw[torch.randperm(raw.shape[0], generator=seeded(seed), device=raw.device)])


@op
def choice_with_mask(input_x: Tensor, count: int = 256,
                     seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Places drawn from those where a mask holds.

    Args:
        input_x: bool, of rank 1 to 5.
        count: how many places; 0 for all.
        seed: an op-level seed.

    Returns:
        The places, int32, a row each, padded with zeros, and which rows are places, bool.

    Examples:
        >>> import lamella as ms
        >>> places, valid = ms.ops.choice_with_mask(ms.Tensor([False, True]), 2)
        >>> print(places.flatten(), valid)
        [1 0] [ True False]
    """
    raw = raw_of(input_x, "choice_with_mask", "input_x")
    if raw.dtype is not torch.bool:
        raise TypeError(f"For 'choice_with_mask', 'input_x' must be a Tensor of bool, "
                        f"but got {input_x.dtype}.")
    places = raw.nonzero()
    places = places[torch.randperm(len(places), generator=seeded(seed), device=raw.device)]
    length = count or len(places)
    taken = places[:length]
    out = torch.zeros(length, raw.dim(), dtype=torch.int32, device=raw.device)
    out[: len(taken)] = taken.int()
    return wrap(out), wrap(torch.arange(length, device=raw.device) < len(taken))


def _candidates(true_classes: Tensor, num_sampled: int, unique: bool, range_max: int, seed: int,
                chances: torch.Tensor, where: str) -> tuple[Tensor, Tensor, Tensor]:
    raw = raw_of(true_classes, where, "true_classes")
    if unique and num_sampled > range_max:
        raise ValueError(f"For '{where}', 'num_sampled' must be at most 'range_max' {range_max} "
                         f"when 'unique', but got {num_sampled}.")
    chances = chances.to(raw.device)
    drawn = torch.multinomial(chances, num_sampled, not unique, generator=seeded(seed))
    # expected counts; for distinct samples, the chance to be among as many independent draws
    expected = (1 - (1 - chances) ** num_sampled if unique else chances * num_sampled).float()
    return wrap(drawn.to(raw.dtype)), wrap(expected[raw.long()]), wrap(expected[drawn])


@op
def uniform_candidate_sampler(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                              range_max: int, seed: int = 0, remove_accidental_hits: bool = False,
                              ) -> tuple[Tensor, Tensor, Tensor]:
    """Classes drawn evenly from ``[0, range_max)``.

    Returns:
        The classes, the expected counts of the true classes, and those of the drawn ones.

    Examples:
        >>> import lamella as ms
        >>> out = ms.ops.uniform_candidate_sampler(ms.Tensor([[1], [3]]), 1, 3, False, 4)
        >>> print(out[2])
        [0.75 0.75 0.75]
    """
    chances = torch.full((range_max,), 1 / range_max, dtype=torch.float64)
    return _candidates(true_classes, num_sampled, unique, range_max, seed, chances,
                       "uniform_candidate_sampler")


@op
def log_uniform_candidate_sampler(true_classes: Tensor, num_true: int = 1, num_sampled: int = 5,
                                  unique: bool = True, range_max: int = 5, seed: int = 0,
                                  ) -> tuple[Tensor, Tensor, Tensor]:
    """Classes drawn from ``[0, range_max)`` with the chance log((c + 2)/(c + 1))/log(range_max + 1).

    Returns:
        The classes, the expected counts of the true classes, and those of the drawn ones.

    Examples:
        >>> import lamella as ms
        >>> classes = ms.Tensor([[1, 3], [0, 4]])
        >>> [x.shape for x in ms.ops.log_uniform_candidate_sampler(classes, 2, 3, True, 5)]
        [(3,), (2, 2), (3,)]
    """
    c = torch.arange(range_max, dtype=torch.float64)
    chances = ((c + 2) / (c + 1)).log() / torch.tensor(range_max + 1.0).log()
    return _candidates(true_classes, num_sampled, unique, range_max, seed, chances,
                       "log_uniform_candidate_sampler")


def _tensor_uniform(self: Tensor, from_: float = 0.0, to: float = 1.0,
                    generator: Any = None) -> Tensor:
    """Numbers evenly distributed over ``[from_, to)``, in this tensor's shape and type."""
    kind = _floating(None, self._raw.dtype, "Tensor.uniform")
    return wrap(from_ + (to - from_) * draw("rand", self.shape, kind, seeded(generator)))


def _tensor_bernoulli(self: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    return wrap(torch.bernoulli(self._raw, generator=seeded(generator)))


def _cauchy(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Numbers from Cauchy's distribution, in this tensor's shape, float32."""
    even = draw("rand", self.shape, torch.float32, None)
    return wrap(median + sigma * torch.tan(torch.pi * (even - 0.5)))


def _log_normal(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Numbers whose logarithms are normally distributed, in this tensor's shape and type."""
    kind = _floating(None, self._raw.dtype, "Tensor.log_normal")
    return wrap((mean + std * draw("randn", self.shape, kind, None)).exp())


tensor_methods(multinomial=multinomial, random_categorical=random_categorical,
               uniform=op(_tensor_uniform), bernoulli=op(_tensor_bernoulli), cauchy=_cauchy,
               log_normal=op(_log_normal))
