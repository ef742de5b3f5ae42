"""Random events, positions, classes and orders: the discrete distributions.

Seeds work as in `lamella.ops.random`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..core import dtype as mstype
from ..core.context import current_device
from ..core.dtype import to_raw
from ..core.errors import op
from ..core.state import state
from ..tensors.random import seeded
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, raw_of, raw_or_number, require_values
from .operands import flag
from .random import broadcast, draw, parameters, tuple_shape

__all__ = [
    "bernoulli", "choice_with_mask", "log_uniform_candidate_sampler", "multinomial",
    "multinomial_with_replacement", "poisson", "random_categorical", "random_poisson", "randperm",
    "shuffle", "uniform_candidate_sampler",
]


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
    if isinstance(shape, Tensor):
        shape = _given_shape(shape)
    (raw,) = parameters(rate, where="random_poisson")
    where = (*tuple_shape(shape, "random_poisson"), *raw.shape)
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
    if isinstance(p, Tensor):
        require_values(((chance >= 0) & (chance <= 1)).all(),
                       "For 'bernoulli', the numbers in 'p' must be in [0, 1].")
    out = draw("rand", tuple(raw.shape), torch.float32, seeded(seed))
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
        seed, offset: op-level seeds.
        numsamples: how many positions to draw of each row.
        replacement: whether a position may be drawn again.

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
    raw = raw_of(input_x, "choice_with_mask", "input_x")
    if raw.dtype is not torch.bool:
        raise TypeError(f"For 'choice_with_mask', 'input_x' must be a Tensor of bool, "
                        f"but got {input_x.dtype}.")
    positions = raw.nonzero()
    positions = positions[torch.randperm(len(positions), generator=seeded(seed), device=raw.device)]
    length = count or len(positions)
    if length * max(raw.dim(), 1) >= 2 ** 31:
        raise RuntimeError(f"For 'choice_with_mask', 'count' times the rank of 'input_x' must be "
                           f"below 2 ** 31, but got {length} * {raw.dim()}.")
    taken = positions[:length]
    out = torch.zeros(length, raw.dim(), dtype=torch.int32, device=raw.device)
    out[: len(taken)] = taken.int()
    return wrap(out), wrap(torch.arange(length, device=raw.device) < len(taken))


def _candidates(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                range_max: int, seed: int, chance: Callable[[torch.Tensor], torch.Tensor],
                where: str) -> tuple[Tensor, Tensor, Tensor]:
    raw = raw_of(true_classes, where, "true_classes")
    flag(unique, where, "unique")
    for name, value in (("num_true", num_true), ("num_sampled", num_sampled),
                        ("range_max", range_max)):
        if as_int(value, where, name) < 1:
            raise ValueError(f"For '{where}', '{name}' must be 1 or more, but got {value}.")
    if raw.dim() != 2 or raw.shape[1] != num_true:
        raise ValueError(f"For '{where}', 'true_classes' must have the shape (N, num_true), "
                         f"(N, {num_true}), but got {true_classes.shape}.")
    if unique and num_sampled > range_max:
        raise ValueError(f"For '{where}', 'num_sampled' must be at most 'range_max' {range_max} "
                         f"when 'unique', but got {num_sampled}.")
    weights = chance(torch.arange(range_max, dtype=torch.float64, device=raw.device))
    drawn, tries = _drawn(weights, num_sampled, unique, seeded(seed))

    def expected(classes: torch.Tensor) -> torch.Tensor:
        p = chance(classes.double())
        return (-torch.expm1(tries * torch.log1p(-p)) if unique else p * num_sampled).float()

    return wrap(drawn.to(raw.dtype)), wrap(expected(raw)), wrap(expected(drawn))


def _drawn(weights: torch.Tensor, count: int, unique: bool,
           source: torch.Generator | None) -> tuple[torch.Tensor, int]:
    """Classes drawn one after the other, and how many draws that took: more where repeats go."""
    if not unique:
        return torch.multinomial(weights, count, True, generator=source), count
    if state.trace is not None:
        state.trace.refuse("draws random numbers until enough of them differ")
    found: dict[int, None] = {}
    tries = 0
    while True:
        for value in torch.multinomial(weights, 4 * count, True, generator=source).tolist():
            tries += 1
            found[value] = None
            if len(found) == count:
                return torch.tensor(list(found), device=weights.device), tries


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
    return _candidates(true_classes, num_true, num_sampled, unique, range_max, seed,
                       lambda c: torch.full_like(c, 1 / range_max), "uniform_candidate_sampler")


@op
def log_uniform_candidate_sampler(true_classes: Tensor, num_true: int = 1, num_sampled: int = 5,
                                  unique: bool = True, range_max: int = 5, seed: int = 0,
                                  ) -> tuple[Tensor, Tensor, Tensor]:
    """Classes drawn from ``[0, range_max)`` by the chance log((c + 2)/(c + 1))/log(range_max + 1).

    Returns:
        The classes, the expected counts of the true classes, and those of the drawn ones.

    Examples:
        >>> import lamella as ms
        >>> classes = ms.Tensor([[1, 3], [0, 4]])
        >>> [x.shape for x in ms.ops.log_uniform_candidate_sampler(classes, 2, 3, True, 5)]
        [(3,), (2, 2), (3,)]
    """
    whole = math.log(range_max + 1.0)
    return _candidates(true_classes, num_true, num_sampled, unique, range_max, seed,
                       lambda c: ((c + 2) / (c + 1)).log() / whole, "log_uniform_candidate_sampler")


def _tensor_bernoulli(self: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    return wrap(torch.bernoulli(self._raw, generator=seeded(generator)))


tensor_methods(multinomial=multinomial, random_categorical=random_categorical,
               bernoulli=op(_tensor_bernoulli))
