"""Candidate sampling: classes drawn at random for losses of very many classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator

import torch

from ..common.congruential import Congruential, seed_of
from ..core.errors import op
from ..core.state import state
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, raw_of
from .operands import flag

__all__ = ["log_uniform_candidate_sampler", "uniform_candidate_sampler"]

Chance = Callable[[torch.Tensor], torch.Tensor]
Sampled = tuple[Tensor, Tensor, Tensor]


@op
def uniform_candidate_sampler(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                              range_max: int, seed: int = 0, remove_accidental_hits: bool = False,
                              ) -> Sampled:
    """Classes drawn evenly from ``[0, range_max)``.

    Args:
        true_classes: int32 or int64, shape (N, num_true).
        num_true: how many true classes each row has.
        num_sampled: how many classes to draw.
        unique: whether each class is drawn at most once.
        range_max: the number of classes.
        seed: an op-level seed. With one, the draws are MindSpore's, and each call begins anew.
        remove_accidental_hits: whether no true class is drawn, if `unique`, and if enough classes
            are left.

    Returns:
        The classes, the expected counts of the true classes, and those of the drawn ones.

    Examples:
        >>> import lamella as ms
        >>> out = ms.ops.uniform_candidate_sampler(ms.Tensor([[1], [3]]), 1, 3, False, 4)
        >>> print(out[2])
        [0.75 0.75 0.75]
    """
    seed = as_int(seed, "uniform_candidate_sampler", "seed")
    if seed < 0:
        raise ValueError(f"For 'uniform_candidate_sampler', 'seed' must be 0 or more, "
                         f"but got {seed}.")
    engine = Congruential(seed_of(seed)) if seed else None
    return uniform_candidates(true_classes, num_true, num_sampled, unique, range_max, engine,
                              remove_accidental_hits)


def uniform_candidates(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                       range_max: int, engine: Congruential | None,
                       remove_accidental_hits: bool) -> Sampled:
    """`uniform_candidate_sampler` from a generator, which goes on; None: from the default one."""
    name = "uniform_candidate_sampler"
    flag(remove_accidental_hits, name, "remove_accidental_hits")
    hits: Container[int] = ()
    if remove_accidental_hits and unique:
        hits = set(raw_of(true_classes, name, "true_classes").flatten().tolist())
        if num_sampled + len(hits) > range_max:
            hits = ()
    return _candidates(true_classes, num_true, num_sampled, unique, range_max,
                       lambda c: torch.full_like(c, 1 / range_max), name,
                       None if engine is None else _even(engine, range_max), hits=hits)


@op
def log_uniform_candidate_sampler(true_classes: Tensor, num_true: int = 1, num_sampled: int = 5,
                                  unique: bool = True, range_max: int = 5, seed: int = 0,
                                  ) -> Sampled:
    """Classes drawn from ``[0, range_max)`` by the chance log((c + 2)/(c + 1))/log(range_max + 1).

    Args:
        true_classes, num_true, num_sampled, unique, range_max: as `uniform_candidate_sampler`'s.
        seed: each call with the same one, 0 too, gives the same.

    Returns:
        The classes, the expected counts of the true classes, and those of the drawn ones.

    Raises:
        ValueError: if a number is out of range, or `true_classes` has another shape.

    Examples:
        >>> import lamella as ms
        >>> classes = ms.Tensor([[1, 3], [0, 4]])
        >>> [x.shape for x in ms.ops.log_uniform_candidate_sampler(classes, 2, 3, True, 5)]
        [(3,), (2, 2), (3,)]
    """
    return log_uniform_candidates(true_classes, num_true, num_sampled, unique, range_max,
                                  log_uniform_engine(seed))


def log_uniform_engine(seed: int) -> Congruential:
    """The generator of `log_uniform_candidate_sampler` for a seed.

    Raises:
        ValueError: if the seed is negative.
    """
    if as_int(seed, "log_uniform_candidate_sampler", "seed") < 0:
        raise ValueError(f"For 'log_uniform_candidate_sampler', 'seed' must be 0 or more, but got "
                         f"{seed}.")
    return Congruential(seed_of(seed))


def log_uniform_candidates(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                           range_max: int, engine: Congruential) -> Sampled:
    """`log_uniform_candidate_sampler` from a generator, which goes on."""
    whole = math.log(range_max + 1.0) if range_max > 0 else math.nan

    def draws() -> Iterator[int]:
        while True:
            yield min(int(math.expm1(engine.between() * whole)), range_max - 1)

    return _candidates(true_classes, num_true, num_sampled, unique, range_max,
                       lambda c: ((c + 2) / (c + 1)).log() / whole,
                       "log_uniform_candidate_sampler", draws())


def _candidates(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool,
                range_max: int, chance: Chance, where: str, draws: Iterator[int] | None = None,
                hits: Container[int] = ()) -> Sampled:
    """Candidates from an iterator of draws, or by their chances from the default generator."""
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
    tries = num_sampled
    if draws is None and not unique:
        drawn = torch.multinomial(weights, num_sampled, True)
    else:
        if state.trace is not None:
            state.trace.refuse("draws random numbers one after the other")
        if draws is None:
            draws = _by_chance(weights, 4 * num_sampled)
        found, tries = _taken(draws, num_sampled, unique, hits)
        drawn = torch.tensor(found, device=raw.device)

    def expected(classes: torch.Tensor) -> torch.Tensor:
        p = chance(classes.double())
        once = tries == num_sampled  # no draw was left out
        return (p * num_sampled if once else -torch.expm1(tries * torch.log1p(-p))).float()

    return wrap(drawn.to(raw.dtype)), wrap(expected(raw)), wrap(expected(drawn))


def _taken(draws: Iterator[int], count: int, unique: bool, hits: Container[int],
           ) -> tuple[list[int], int]:
    """The first draws that count, and how many there were with those that don't."""
    taken: list[int] = []
    for tries, drawn in enumerate(draws, 1):
        if not (unique and (drawn in taken or drawn in hits)):
            taken.append(drawn)
            if len(taken) == count:
                return taken, tries
    raise AssertionError  # draws don't end


def _even(engine: Congruential, count: int) -> Iterator[int]:
    while True:
        yield engine.below(count)


def _by_chance(weights: torch.Tensor, at_once: int) -> Iterator[int]:
    while True:
        yield from torch.multinomial(weights, at_once, True).tolist()
