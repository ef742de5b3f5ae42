"""Primitive classes of drawn classes and positions, whose seeds give MindSpore's own draws.

An object with a seed keeps a generator of its own: its calls differ, a new object starts again.
"""

from __future__ import annotations

from typing import Any

import torch

from ...common.congruential import Congruential, seed_of, state_of
from ...core import dtype as mstype
from ...core.context import current_device
from ...core.state import state
from ...tensors.tensor import Tensor
from ..arguments import as_int
from ..candidates import (
    Sampled,
    log_uniform_candidates,
    log_uniform_engine,
    uniform_candidates,
)
from ..composite import prim_attr_register
from ..primitive import Primitive
from ..sampling import categories, choice_with_mask, places_of_mask

__all__ = ["LogUniformCandidateSampler", "RandomCategorical", "RandomChoiceWithMask",
           "UniformCandidateSampler"]


class LogUniformCandidateSampler(Primitive):
    """`ops.log_uniform_candidate_sampler` with all but the true classes as attributes.

    Args:
        num_true, num_sampled, unique, range_max: as the function's.
        seed: of the draws of this object, which go on from call to call; 0 is one, too.

    Examples:
        >>> import lamella as ms
        >>> sample = ms.ops.LogUniformCandidateSampler(1, 3, True, 20)
        >>> (sample(ms.Tensor([[1]]))[0] == sample(ms.Tensor([[1]]))[0]).all().item()
        False
    """

    @prim_attr_register
    def __init__(self, num_true: int = 1, num_sampled: int = 5, unique: bool = True,
                 range_max: int = 5, seed: int = 0):
        self.__dict__["_engine"] = log_uniform_engine(seed)

    def __call__(self, true_classes: Tensor) -> Sampled:
        return log_uniform_candidates(true_classes, self.num_true, self.num_sampled, self.unique,
                                      self.range_max, self.__dict__["_engine"])


class RandomCategorical(Primitive):
    """Classes drawn from rows of unnormalised log-probabilities: ``(logits, num_sample, seed)``.

    See `ops.random_categorical`. Calls with the same seed go on where the last one ended.

    Args:
        dtype: int16, int32 or int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.RandomCategorical()(ms.Tensor([[0.0, 99.0]]), 3, 1))
        [[1 1 1]]
    """

    @prim_attr_register
    def __init__(self, dtype: Any = mstype.int64):
        self.__dict__["_begun"] = None  # the seed, and the generator's state

    def __call__(self, logits: Tensor, num_sample: int, seed: int = 0) -> Tensor:
        seed = as_int(seed, self.name, "seed")
        begun = self.__dict__["_begun"]
        if not seed:
            begun = None
        elif begun is None or begun[0] != seed:
            begun = seed, state_of(seed_of(0, seed), current_device())
        self.__dict__["_begun"] = begun
        return categories(logits, num_sample, begun and begun[1], self.dtype)


class RandomChoiceWithMask(Primitive):
    """`ops.choice_with_mask` with count and seeds as attributes.

    Args:
        count: how many positions; 0 for all.
        seed, seed2: op-level seeds; 0 for both means the default generator.

    Examples:
        >>> import lamella as ms
        >>> places, valid = ms.ops.RandomChoiceWithMask(3, seed=1)(ms.Tensor([True, False, True]))
        >>> print(places.flatten(), valid)
        [2 0 0] [ True  True False]
    """

    @prim_attr_register
    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0):
        self.__dict__["_engine"] = _engine(self, as_int(seed, self.name, "seed"),
                                           as_int(seed2, self.name, "seed2"))

    def __call__(self, input_x: Tensor) -> tuple[Tensor, Tensor]:
        engine = self.__dict__["_engine"]
        if engine is None:
            return choice_with_mask(input_x, self.count)
        if state.trace is not None:
            state.trace.refuse("draws random numbers one after the other")
        return places_of_mask(input_x, self.count,
                              lambda size: torch.from_numpy(engine.permutation(size)))


class UniformCandidateSampler(Primitive):
    """`ops.uniform_candidate_sampler` with all but the true classes as attributes.

    Args:
        num_true, num_sampled, unique, range_max, remove_accidental_hits: as the function's.
        seed: an op-level seed; 0 means the default generator.

    Examples:
        >>> import lamella as ms
        >>> sample = ms.ops.UniformCandidateSampler(1, 3, True, 20, seed=3)
        >>> print(sample(ms.Tensor([[1]]))[0], sample(ms.Tensor([[1]]))[0])
        [ 2 12 16] [ 9 14 16]
    """

    @prim_attr_register
    def __init__(self, num_true: int, num_sampled: int, unique: bool, range_max: int,
                 seed: int = 0, remove_accidental_hits: bool = False):
        if as_int(seed, self.name, "seed") < 0:
            raise ValueError(f"For '{self.name}', 'seed' must be 0 or more, but got {seed}.")
        self.__dict__["_engine"] = _engine(self, seed)

    def __call__(self, true_classes: Tensor) -> Sampled:
        return uniform_candidates(true_classes, self.num_true, self.num_sampled, self.unique,
                                  self.range_max, self.__dict__["_engine"],
                                  self.remove_accidental_hits)


def _engine(owner: Primitive, seed: int, seed2: int = 0) -> Congruential | None:
    return Congruential(seed_of(seed, seed2)) if seed or seed2 else None
