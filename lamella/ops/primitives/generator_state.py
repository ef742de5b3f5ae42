"""The Primitive class that changes the seed and offset of a generator."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..assign import assign
from ..primitive import Primitive

__all__ = ["Generator"]

_STEP, _SEED, _GET, _SET, _MANUAL, _INITIAL = range(6)


class Generator(Primitive):
    """Reads and changes a generator's seed and offset, which are two Parameters of int64.

    Inputs:
        - **cmd** - 0 moves the offset on, 1 draws a seed, 2 reads the state, 3 restores one, 4 sets
          the seed, 5 reads it. A new seed begins with the offset 0.
        - **inputs** - seed and offset; for 0 the step as well, for 3 the state, for 4 the seed.

    Outputs:
        Seed and offset, int64, shape (1,), and both as 16 bytes, uint8; with 0 as they were before.

    Raises:
        ValueError: if `cmd` is another number, or there are fewer or more `inputs`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.generator_state import Generator
        >>> seed, offset = (ms.Parameter(ms.Tensor(n, ms.int64), name=str(n)) for n in (5, 8))
        >>> print(*Generator()(0, (seed, offset, ms.Tensor(12)))[:2], offset.value())
        [5] [8] 20
    """

    def __init__(self):
        super().__init__("Generator")
        self.add_prim_attr("side_effect_mem", True)

    def __call__(self, cmd: int, inputs: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
        one_of(cmd, range(6), "cmd", self.name)
        wanted = 3 if cmd in (_STEP, _SET, _MANUAL) else 2
        if len(inputs) != wanted:
            raise ValueError(f"For '{self.name}', 'inputs' must be {wanted} Tensors with 'cmd' "
                             f"{cmd}, but got {len(inputs)}.")
        seed, offset = inputs[:2]
        before = int(seed), int(offset)
        now = self._changed(cmd, before, inputs[2:])
        for parameter, old, new in zip((seed, offset), before, now, strict=True):
            if old != new:
                assign(parameter, Tensor(np.full(parameter.shape, new, np.int64)))
        shown = torch.tensor(before if cmd == _STEP else now, dtype=torch.int64)
        return wrap(shown[:1]), wrap(shown[1:]), wrap(shown.view(torch.uint8))

    def _changed(self, cmd: int, now: tuple[int, int], given: Sequence[Any]) -> tuple[int, int]:
        if cmd == _STEP:
            return now[0], now[1] + int(given[0])
        if cmd == _SEED:
            return secrets.randbits(32), 0
        if cmd == _MANUAL:
            return int(given[0]), 0
        if cmd == _SET:
            seed, offset = given[0]._raw.contiguous().view(torch.int64).tolist()
            return seed, offset
        return now
