"""Random events, positions, classes and orders: the discrete distributions.

Seeds work as in `lamella.ops.random`, but for those of `bernoulli`, `randperm`,
`multinomial_with_replacement` and `random_categorical`: each call with one gives the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..common.congruential import draws_between, seed_of, state_of
from ..common.mersenne_twister import Mt19937
from ..core import dtype as mstype
from ..core.context import current_device
from ..core.dtype import to_raw
from ..core.errors import op
from ..tensors.random import seeded
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, raw_of, raw_or_number, require_values
from .random import broadcast, draw, parameters, tuple_shape

__all__ = [
    "bernoulli", "choice_with_mask", "multinomial", "multinomial_with_replacement", "poisson",
    "random_categorical", "random_poisson", "randperm", "shuffle",
]


@op
def randperm(n: Any, seed: int = 0, offset: int = 0, dtype: Any = mstype.int64) -> Tensor:
    """The numbers from 0 to n - 1 in random order, which is MindSpore's for a seed.

    Args:
        n: an int or a Tensor of one.
        seed, offset: their sum is the seed of this call, so a call with the same ones gives the
            same order again. With the seed -1 and no offset the order is another in each call.
        dtype: an int type; default: int64.

    Raises:
        ValueError: if `n` or `offset` is negative, or `seed` less than -1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.randperm(4), ms.ops.randperm(4), ms.ops.randperm(4, 1))
        [0 2 1 3] [0 2 1 3] [1 0 2 3]
    """
    count, start = as_int(n, "randperm", "n"), as_int(seed, "randperm", "seed")
    more, kind = as_int(offset, "randperm", "offset"), to_raw(dtype, "randperm")
    for name, value, least in (("n", count, 0), ("seed", start, -1), ("offset", more, 0)):
        if value < least:
            raise ValueError(f"For 'randperm', '{name}' must be {least} or more, but got {value}.")
    if start < 0 and not more:
        return wrap(torch.randperm(count, device=current_device()).to(kind))
    order = Mt19937(max(start, 0) + more).permutation(count)
    return wrap(torch.from_numpy(order).to(current_device(), kind))


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
    (raw,) = parameters(mean, where="poisson")
    shape = broadcast(tuple_shape(shape, "poisson"), raw)
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
    if not isinstance(rate, Tensor):
        raise TypeError(f"For 'random_poisson', 'rate' must be a Tensor, but got {rate!r}.")
    if rate._raw.dtype is torch.bool or dtype == mstype.bool_:
        raise TypeError("For 'random_poisson', 'rate' and 'dtype' must be numbers, but got "
                        f"{rate.dtype} and {dtype}.")
    if not isinstance(shape, Tensor):
        raise TypeError(f"For 'random_poisson', 'shape' must be a Tensor, but got {shape!r}.")
    (raw,) = parameters(rate, where="random_poisson")
    where = (*_given_shape(shape), *raw.shape)
    return wrap(torch.poisson(raw.expand(where).contiguous(), seeded(seed)).to(
        to_raw(dtype, "random_poisson")))


def _given_shape(shape: Tensor) -> tuple[int, ...]:
    if shape._raw.is_floating_point() or shape._raw.dtype is torch.bool:
        raise TypeError(f"For 'random_poisson', 'shape' must hold integers, but got "
                        f"{shape.dtype}.")
    if shape.ndim != 1:
        raise ValueError(f"For 'random_poisson', 'shape' must have one dimension, but got shape "
                         f"{shape.shape}.")
    return tuple(shape.tolist())


@op
def bernoulli(input: Tensor, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability `p`, else 0, in the shape and type of `input`.

    Args:
        input: gives shape and type.
        p: a number, or a Tensor of the shape of `input` or with one element, in [0, 1].
        seed: each call with the same one gives the same; None or -1: from the default generator.

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
    if isinstance(p, Tensor):
        require_values(((chance >= 0) & (chance <= 1)).all(),
                       "For 'bernoulli', the numbers in 'p' must be in [0, 1].")
    if seed is None or seed < 0:
        out = draw("rand", tuple(raw.shape), torch.float32, None)
    else:
        out = _evenly(raw.numel(), seed).reshape(raw.shape)
    return wrap((out < chance.reshape(raw.shape if chance.numel() == raw.numel() else ())).to(
        raw.dtype))


@op
def multinomial(input: Tensor, num_samples: int, replacement: bool = True,
                seed: int | None = None) -> Tensor:
    """Positions drawn by weight, int32.

    Args:
        input: weights of 0 or more, of rank 1 or 2; the rows need not sum up to 1.
        num_samples: how many positions to draw of each row.
        replacement: whether a position may be drawn again.
        seed: an op-level seed.

    Raises:
        TypeError: if `num_samples` is no int.
        ValueError: if more positions are asked for than there are, without replacement.

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
    """Positions drawn by weight, int64.

    Args:
        x: weights of 0 or more, of rank 1 or 2.
        seed, offset: each call with the same ones gives the same, and both choose it; 0 for both:
            from the default generator.
        numsamples: how many positions to draw of each row.
        replacement: whether a position may be drawn again.

    Raises:
        ValueError: if weights are negative or not finite, all of a row are 0, or more positions
            are asked for than there are, without replacement.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.multinomial_with_replacement(ms.Tensor([[0.0, 1.0]]), 2, 5, 3, True))
        [[1 1 1]]
    """
    raw = raw_of(x, "multinomial_with_replacement", "x")
    weights = raw if raw.is_floating_point() else raw.float()
    if seed == offset == 0:
        return wrap(torch.multinomial(weights, numsamples, bool(replacement)))
    if numsamples < 1:
        raise ValueError(f"For 'multinomial_with_replacement', the number of samples must be 1 or "
                         f"more, but got {numsamples}.")
    return wrap(_by_weight(weights, numsamples, replacement, seed, offset))


def _by_weight(weights: torch.Tensor, count: int, again: bool, seed: int,
               offset: int) -> torch.Tensor:
    """Positions drawn by weight, the same for the same seeds.

    Without repetition these are the smallest keys ``-log(u) / weight``: Efraimidis and Spirakis,
    "Weighted random sampling with a reservoir", 2006.
    """
    name = "multinomial_with_replacement"
    rows, wide = weights.shape[:-1], weights.double()
    require_values((wide.isfinite() & (wide >= 0)).all() & (wide.sum(-1) > 0).all(),
                   f"For '{name}', 'x' must hold weights of 0 or more, not all 0 in a row.")
    if again:
        drawn = _evenly(rows.numel() * count, seed, offset).reshape(*rows, count)
        sums = wide.cumsum(-1)
        return torch.searchsorted(sums, drawn * sums[..., -1:], right=True)
    if count > weights.shape[-1]:
        raise ValueError(f"For '{name}', 'numsamples' must be at most {weights.shape[-1]} without "
                         f"'replacement', but got {count}.")
    keys = -torch.log1p(-_evenly(weights.numel(), seed, offset)).reshape(weights.shape) / wide
    return keys.topk(count, largest=False)[1]


def _evenly(count: int, seed: int, offset: int = 0) -> torch.Tensor:
    """Numbers in [0, 1), the same for the same seeds."""
    return draws_between(state_of(seed_of(seed, offset), current_device()), count)


@op
def random_categorical(logits: Tensor, num_sample: int, seed: int = 0,
                       dtype: Any = mstype.int64) -> Tensor:
    """Classes drawn from rows of unnormalised log-probabilities.

    Args:
        logits: of shape (N, classes).
        num_sample: how many classes to draw of each row.
        seed: an op-level seed. With one, the draws are MindSpore's: each call begins anew, and
            all rows share their numbers; without, the rows are independent.
        dtype: int16, int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.random_categorical(ms.Tensor([[0.0, 99.0]]), 3))
        [[1 1 1]]
    """
    seed = as_int(seed, "random_categorical", "seed")
    begin = state_of(seed_of(0, seed), current_device()) if seed else None
    return categories(logits, num_sample, begin, dtype)


def categories(logits: Tensor, num_sample: int, begin: torch.Tensor | None, dtype: Any) -> Tensor:
    """`random_categorical` from the state of a congruential generator, which goes on, or None."""
    raw = raw_of(logits, "random_categorical", "logits")
    if raw.dim() != 2:
        raise ValueError(f"For 'random_categorical', 'logits' must have 2 dimensions, "
                         f"but got shape {tuple(raw.shape)}.")
    if begin is None:
        out = torch.multinomial(raw.float().softmax(-1), num_sample, True)
    else:  # in the type of the logits, as MindSpore's kernel adds up the chances
        least = (raw - raw.amax(-1, keepdim=True)).float().exp().to(raw.dtype).cumsum(-1)
        drawn = draws_between(begin, num_sample).float().to(raw.dtype)
        out = torch.searchsorted(least.double(), (least[:, -1:] * drawn).double())
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
    """Positions drawn from those where a mask holds.

    Args:
        input_x: bool, of rank 1 to 5.
        count: how many positions; 0 for all.
        seed: an op-level seed.

    Returns:
        The positions, int32, a row each, padded with zeros, and which rows are positions, bool.

    Examples:
        >>> import lamella as ms
        >>> positions, valid = ms.ops.choice_with_mask(ms.Tensor([False, True]), 2)
        >>> print(positions.flatten(), valid)
        [1 0] [ True False]
    """
    return places_of_mask(input_x, count, lambda size: torch.randperm(
        size, generator=seeded(seed), device=input_x._raw.device))


def places_of_mask(input_x: Tensor, count: int, order: Callable[[int], torch.Tensor],
                   ) -> tuple[Tensor, Tensor]:
    """`choice_with_mask` by a function that gives an order of so many positions."""
    raw = raw_of(input_x, "choice_with_mask", "input_x")
    if raw.dtype is not torch.bool:
        raise TypeError(f"For 'choice_with_mask', 'input_x' must be a Tensor of bool, "
                        f"but got {input_x.dtype}.")
    positions = raw.nonzero()
    positions = positions[order(len(positions))]
    length = count or len(positions)
    if length * max(raw.dim(), 1) >= 2 ** 31:
        raise RuntimeError(f"For 'choice_with_mask', 'count' times the rank of 'input_x' must be "
                           f"below 2 ** 31, but got {length} * {raw.dim()}.")
    taken = positions[:length]
    out = torch.zeros(length, raw.dim(), dtype=torch.int32, device=raw.device)
    out[: len(taken)] = taken.int()
    return wrap(out), wrap(torch.arange(length, device=raw.device) < len(taken))


def _tensor_bernoulli(self: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    return wrap(torch.bernoulli(self._raw, generator=seeded(generator)))


tensor_methods(multinomial=multinomial, random_categorical=random_categorical,
               bernoulli=op(_tensor_bernoulli))
