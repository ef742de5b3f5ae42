"""Gradients of piecewise functions of three pieces, in one pass, and on the tape (`kinks.cpp`)."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch._C import _len_torch_function_stack  # type: ignore[attr-defined]

from ..core.state import is_plain_run
from .extension import Extension

extension = Extension("lamella_kinks", pathlib.Path(__file__).with_name("kinks.cpp"),
                      for_this_processor=True)

LARGE = 2**15  # elements for which memory counts, and not what a call costs


class Pieces(NamedTuple):
    """The derivative of a function of three pieces: one below a bound, one between two, one above.

    Attributes:
        low, high: the bounds, which may be equal.
        below: the derivative below `low`.
        at_low: that at `low` itself.
        factor, added: between the bounds it is x times `factor`, plus `added`.
        at_high: that at `high` itself.
        above: that above `high`.
        of_nan: that of NaN.
    """

    low: float
    high: float
    below: float
    at_low: float
    factor: float
    added: float
    at_high: float
    above: float
    of_nan: float

    def slope(self, x: torch.Tensor) -> torch.Tensor:
        """The derivative at x, which has derivatives itself: at a bound that of the middle piece.

        As one kernel it is `backward`; this is for any type, device and transformation.
        """
        middle = x * self.factor + self.added if self.factor else x.new_full((), self.added)
        found = middle
        for bound, value, at_bound, outside, outside_or_at in (
                (self.low, self.below, self.at_low, torch.lt, torch.le),
                (self.high, self.above, self.at_high, torch.gt, torch.ge)):
            beyond = outside_or_at if at_bound == value else outside
            found = torch.where(beyond(x, bound), value, found)
            inside = bound * self.factor + self.added
            if at_bound != value and (at_bound != inside or self.low == self.high):
                found = torch.where(x == bound, middle + (at_bound - inside), found)
        natural = math.nan if self.factor else self.added
        return found if _same(self.of_nan, natural) else torch.where(x != x, self.of_nan, found)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def taped(raw: torch.Tensor, kernel: Callable[[torch.Tensor], torch.Tensor], pieces: Pieces
          ) -> torch.Tensor | None:
    """What `kernel` gives, with this derivative on the tape; None where that can't be.

    The extension is built when that is first asked.
    """
    if (raw.dtype is not torch.float32 or type(raw) is not torch.Tensor or not raw.is_cpu
            or not raw.is_contiguous() or not is_plain_run()
            or _len_torch_function_stack()):  # what watches functions sees the kernel
        return None
    module = extension.obtain()
    if module is None:
        return None
    return module.kinked(raw, kernel(raw.detach()), pieces)


def suits(gradient: torch.Tensor, x: torch.Tensor) -> bool:
    """Whether `backward` may be called. The extension is built when that is first asked."""
    if x.dtype is not torch.float32 or x.numel() < LARGE or not x.is_cpu:
        return False
    if not is_plain_run() or type(x) is not torch.Tensor or not x.is_contiguous() or (
            gradient.dtype is not x.dtype):
        return False
    return extension.obtain() is not None


def backward(gradient: torch.Tensor, x: torch.Tensor, pieces: Pieces) -> torch.Tensor:
    """The gradient times the derivative at x."""
    return torch.ops.lamella.kinks_backward.default(gradient, x, pieces)
