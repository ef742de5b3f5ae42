"""Philox: the random generator of MindSpore's initializers, with the same numbers.

The generator is Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
(2011), https://doi.org/10.1145/2063384.2063405: a block of four numbers is a function of its index.
"""

from __future__ import annotations

import numpy as np

__all__ = ["philox"]

_BLOCKS = 1 << 14  # computed at once: as many as stay in a core's cache
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = 0xFFFFFFFF
_SHIFT = np.uint64(32)


def philox(seed: int, count: int, start: int = 0, key: int | None = None) -> np.ndarray:
    """`count` numbers of a seed, from the number `start` on.

    Args:
        seed: from 0 to 2**64 - 1.
        count: how many.
        start: how many are left out before them, a multiple of 4.
        key: of the generator, as `seed`, which is its counter; None: the seed, too.

    Returns:
        uint32 array of shape (count,).

    Examples:
        >>> from lamella.common.philox import philox
        >>> print(philox(1, 3))
        [ 117906450 1115841718  956895307]
    """
    key = seed if key is None else key
    blocks = -(-count // 4)
    out = np.empty((blocks, 4), np.uint32)
    for at in range(0, blocks, _BLOCKS):
        _fill(out[at:at + _BLOCKS], start // 4 + at, _halves(seed), _halves(key))
    return out.reshape(-1)[:count]


def _halves(number: int) -> tuple[int, int]:
    return number & _LOW, number >> 32


def _fill(out: np.ndarray, start: int, seed: tuple[int, int], key: tuple[int, int]) -> None:
    """Blocks from `start` on, for a seed and a key of two 32-bit halves each."""
    first = np.arange(start, start + len(out), dtype=np.uint64)
    second = first >> _SHIFT
    first &= np.uint64(_LOW)
    third, fourth = np.full_like(first, seed[0]), np.full_like(first, seed[1])
    for round_ in range(10):
        keys = [np.uint64(half + round_ * step & _LOW)
                for half, step in zip(key, _KEY_STEPS, strict=True)]
        first *= _FACTORS[0]
        third *= _FACTORS[1]
        second ^= third >> _SHIFT
        second ^= keys[0]
        fourth ^= first >> _SHIFT
        fourth ^= keys[1]
        third &= np.uint64(_LOW)
        first &= np.uint64(_LOW)
        first, second, third, fourth = second, third, fourth, first
    for column, numbers in enumerate((first, second, third, fourth)):
        out[:, column] = numbers
