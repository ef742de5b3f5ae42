"""Functions of Python's numbers as operations of a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

WIDE: dict[type, torch.dtype] = {float: torch.float64, int: torch.int64}


class NumberFunction:
    """A function of Python's numbers, which Python computes in each replay.

    PyTorch's kernels round some functions otherwise than Python, and raise no errors.

    Args:
        function: such as `round` or `math.exp`.
        kind: the type of its result, int or float.

    Attributes:
        is_python: True, by which graphs recognize it.
    """

    is_python = True

    def __init__(self, function: Callable[..., Any], kind: type):
        self.function, self.kind = function, kind

    def __str__(self) -> str:
        return f"python.{self.function.__name__}"

    def __call__(self, operands: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """The result of numbers and tensors of one element, and whether the result holds.

        It doesn't if the function raises an error, or gives another type or a too large int.
        """
        numbers = [raw.item() if isinstance(raw, torch.Tensor) else raw for raw in operands]
        try:
            found = self.function(*numbers)
            holds = type(found) is self.kind
            value = torch.scalar_tensor(found if holds else 0, dtype=WIDE[self.kind])
        except (ArithmeticError, RuntimeError, TypeError, ValueError):
            holds, value = False, torch.zeros((), dtype=WIDE[self.kind])
        return value, torch.scalar_tensor(holds, dtype=torch.bool)


@functools.lru_cache(256)
def number_function(function: Callable[..., Any], kind: type) -> NumberFunction:
    """A function of numbers whose result has the given type, always the same object."""
    return NumberFunction(function, kind)
