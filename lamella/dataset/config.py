"""Settings of data pipelines."""

from __future__ import annotations

import numpy as np

from ..random import get_seed as _global_seed

_seed: int | None = None
_draws = 0


def set_seed(seed: int) -> None:
    """Set the seed of shuffles and samplers, and start their order again.

    Raises:
        TypeError: if `seed` is not an int.
        ValueError: if it is negative or 2**32 or more.
    """
    global _seed, _draws
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"For 'set_seed', 'seed' must be an int, but got {seed!r}.")
    if not 0 <= seed < 2**32:
        raise ValueError(f"For 'set_seed', 'seed' must be in [0, 2**32), but got {seed}.")
    _seed, _draws = seed, 0


def get_seed() -> int | None:
    """The seed set here, else that of `lamella.set_seed`; None if neither was set."""
    return _global_seed() if _seed is None else _seed


def generator() -> np.random.Generator:
    """A generator for one epoch of one shuffle: reproducible where a seed is set."""
    global _draws
    seed = get_seed()
    _draws += 1
    return np.random.default_rng(None if seed is None else (seed, _draws))
