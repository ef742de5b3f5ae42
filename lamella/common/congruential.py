"""The congruential generator of C++'s `std::default_random_engine`, as libstdc++ has it.

It is `std::minstd_rand0` (C++ standard, [rand.predef]): 16807 times the last number, modulo
2**31 - 1. Some of MindSpore's operators and the orders of MindRecord files draw from it, so that a
seed gives the same here.
"""

from __future__ import annotations

import numpy as np
import torch

from .philox import philox

__all__ = ["Congruential", "draws_between", "seed_of", "state_of"]

_MODULUS = 2**31 - 1
_FACTOR = 16807
_KEY = 0x02461E29_3EC8F720  # with which MindSpore's kernels mix seeds
_RANGE = _MODULUS - 1  # how many numbers it can give: 1 to 2**31 - 2


class Congruential:
    """The generator, and what libstdc++ makes of its numbers.

    Args:
        seed: 0 or more.

    Examples:
        >>> Congruential(1).permutation(4)
        array([2, 3, 1, 0])
    """

    def __init__(self, seed: int):
        self.word = seed % _MODULUS or 1

    def below(self, count: int) -> int:
        """`std::uniform_int_distribution<>(0, count - 1)`."""
        scale = (_RANGE - 1) // count
        while True:
            self.word = self.word * _FACTOR % _MODULUS
            if self.word - 1 < count * scale:
                return (self.word - 1) // scale

    def between(self) -> float:
        """`std::uniform_real_distribution<double>(0, 1)`."""
        found, scale = 0.0, 1.0
        for _ in range(2):
            self.word = self.word * _FACTOR % _MODULUS
            found += (self.word - 1) * scale
            scale *= _RANGE
        return found / scale  # below 1: two words that follow each other aren't both the largest

    def permutation(self, count: int) -> np.ndarray:
        """The numbers below `count`, in the order that `std::shuffle` gives them."""
        order = list(range(count))
        paired = count and (_RANGE - 1) // count >= count  # one draw for two places
        place = 1
        if paired and count % 2 == 0:
            self._swap(order, place, self.below(2))
            place = 2
        while place < count:
            if paired:
                first, second = divmod(self.below((place + 1) * (place + 2)), place + 2)
                self._swap(order, place, first)
                self._swap(order, place + 1, second)
                place += 2
            else:
                self._swap(order, place, self.below(place + 1))
                place += 1
        return np.array(order, np.int64)

    @staticmethod
    def _swap(order: list[int], one: int, other: int) -> None:
        order[one], order[other] = order[other], order[one]


def seed_of(seed: int, seed2: int = 0) -> int:
    """The seed that MindSpore's kernels make of an operator's two, by Philox's generator."""
    low, high = philox(seed2 % 2**64, 2, start=4 * (seed % 2**64), key=_KEY)
    return int(low) | int(high) << 32


def state_of(seed: int, device: torch.device) -> torch.Tensor:
    """The state of a generator as a tensor of rank 0, for `draws_between`."""
    return torch.tensor(seed % _MODULUS or 1, device=device)


def _powers(count: int) -> np.ndarray:
    """The first powers of the factor, each from a product of two smaller ones.

    >>> _powers(3).tolist() == [pow(_FACTOR, k, _MODULUS) for k in (1, 2, 3)]
    True
    """
    found = np.empty(count, np.int64)
    found[:1], known = _FACTOR, 1
    while known < count:
        more = found[:min(known, count - known)]
        found[known:known + len(more)] = more * found[known - 1] % _MODULUS
        known += len(more)
    return found


def draws_between(state: torch.Tensor, count: int) -> torch.Tensor:
    """`std::uniform_real_distribution<double>(0, 1)`, `count` times; the state goes on.

    Operations on tensors alone, so that a compiled function draws anew at each call.
    """
    words = state * torch.from_numpy(_powers(2 * count)).to(state.device) % _MODULUS
    if count:
        state.copy_(words[-1])
    low, high = (words - 1).double().view(count, 2).unbind(1)
    return (low + high * _RANGE) / float(_RANGE) ** 2
