"""Whether two runs of a graph by different kernels agree, up to rounding."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.dtype import is_inexact

UNITS = 256.0  # in the last place: allowed between kernels that add in different orders
FACTOR = 8.0  # allowed, as a multiple of the difference that one unit in the inputs makes
OTHER_ORDER = 64.0  # the same for a kernel that adds its terms in another order
UNITS_OF_HALVES = 16.0  # allowed in 16 bits, where compiled code rounds less often
PART = 2**16  # elements that are compared at a time: what the comparison computes takes memory
PART_OF_OTHERS = 2**24  # the same on an accelerator, for which the host waits after each part

Values = Sequence[torch.Tensor]


def agree(wanted: Values, got: Values) -> bool:
    """Whether each element of the results is the same up to rounding.

    Args:
        wanted, got: the results of the two runs.
    """
    return len(wanted) == len(got) and all(
        _are_near(a, b, _usual(a)) or units(a, b) <= _usual(a)
        for a, b in zip(wanted, got, strict=True))


def agree_but_for_kinks(wanted: Values, got: list[torch.Tensor], again: Callable[[], Values],
                        factor: float = FACTOR) -> bool:
    """Whether the results agree, also where the function is sensitive to rounding.

    Rounding decides on which side of a kink a nearby value falls, and a gradient that should be
    zero consists of rounding errors. So results may differ as much as those of the graph itself do
    when its inputs differ by one unit.

    Args:
        wanted, got: the results of the two runs; `got` is emptied, to free memory for another run.
        again: runs the graph that computed `wanted` on inputs changed by `next_to`.
        factor: allowed, as a multiple of the difference that this makes. Above `OTHER_ORDER`, the
            usual rounding is allowed in proportion, but for 16 bits, which are added in 32.
    """
    if len(wanted) != len(got):
        return False
    usual = [_usual(a, factor) for a in wanted]
    found = [0.0 if _are_near(a, b, most) else units(a, b)
             for a, b, most in zip(wanted, got, usual, strict=True)]
    got.clear()
    if all(map(operator.le, found, usual)):
        return True
    if not all(map(math.isfinite, found)):
        return False
    limits = [factor * units(a, b) for a, b in zip(wanted, again(), strict=True)]
    return all(its <= max(most, limit if math.isfinite(limit) else 0.0)
               for its, most, limit in zip(found, usual, limits, strict=True))


def is_same_number(found: Any, expected: Any) -> bool:
    """Whether a guard has its expected value; 0.0 and -0.0 differ, and NaN equals NaN."""
    if type(found) is complex:
        return repr(found) == repr(expected)
    if found == expected:
        return bool(found) or repr(found) == repr(expected)
    return found != found and expected != expected


def in_another_order(read: Values, made: Values) -> float:
    """The factor for a kernel that adds terms in another order, given what it reads and makes.

    The errors of n terms grow with their number's square root: each result is the sum of as many
    terms as there are elements read for one that is made.
    """
    terms = max((x.numel() for x in read), default=0) / max(
        1, min((x.numel() for x in made if is_inexact(x.dtype)), default=1))
    return max(OTHER_ORDER, math.sqrt(terms))


def next_to(x: torch.Tensor) -> torch.Tensor:
    """A copy of the numbers, each changed by up to one unit in the last place."""
    if not x.is_floating_point():
        return x.clone()
    stream = torch.Generator(x.device).manual_seed(0)
    signs = torch.empty_like(x).bernoulli_(0.5, generator=stream).mul_(2).sub_(1)
    return signs.mul_(torch.finfo(x.dtype).eps).add_(1).mul_(x)


def _usual(x: torch.Tensor, factor: float = FACTOR) -> float:
    if x.dtype in (torch.float16, torch.bfloat16):
        return UNITS_OF_HALVES
    return UNITS * max(1.0, factor / OTHER_ORDER)


def _are_near(wanted: torch.Tensor, got: torch.Tensor, most: float) -> bool:
    """Whether two tensors surely differ by at most so many `units`, at a fifth of their cost.

    The greatest difference is in units of the root mean square, which aren't greater than any
    element's.
    """
    if wanted.shape != got.shape or wanted.dtype is not got.dtype or not is_inexact(wanted.dtype):
        return False
    greatest, norms = 0.0, [0.0]
    for a, b in zip(_parts(wanted.detach()), _parts(got.detach()), strict=True):
        a = _wide(a)
        difference = float((a - _wide(b)).abs().max()) if a.numel() else 0.0
        norms.append(float(torch.linalg.vector_norm(a)))
        if not math.isfinite(difference + norms[-1]):
            return False
        greatest = max(greatest, difference)
    least = math.hypot(*norms) / max(wanted.numel(), 1) ** 0.5
    return greatest <= most * torch.finfo(wanted.dtype).eps * least


def units(wanted: torch.Tensor, got: torch.Tensor) -> float:
    """The largest difference of two elements, in units of the type in the last place.

    The unit is that of the element, or of the root mean square of all elements if that is greater:
    a small sum of large terms has the error of the terms. Infinite if shapes or types differ, and
    for any difference of integers, infinities and NaN.
    """
    if wanted.shape != got.shape or wanted.dtype is not got.dtype:
        return float("inf")
    if not is_inexact(wanted.dtype):
        return 0.0 if torch.equal(wanted, got) else float("inf")
    parts = list(zip(_parts(wanted.detach()), _parts(got.detach()), strict=True))
    norms, count = [0.0], 0
    for a, b in parts:
        finite = torch.isfinite(a)
        if not torch.equal(finite, torch.isfinite(b)):
            return float("inf")
        if not bool(finite.all()):
            if not torch.allclose(a[~finite], b[~finite], equal_nan=True):
                return float("inf")
            a = a[finite]
        norms.append(float(torch.linalg.vector_norm(_wide(a))))
        count += a.numel()
    least = max(math.hypot(*norms) / max(count, 1) ** 0.5, 1e-30)
    return max([_most_units(_wide(a), _wide(b), least, torch.finfo(wanted.dtype).eps)
                for a, b in parts], default=0.0)


def _parts(x: torch.Tensor) -> Sequence[torch.Tensor]:
    """Views of a tensor, one after the other, that are small enough to compute with."""
    most = PART if x.is_cpu else PART_OF_OTHERS
    if x.numel() <= most:
        return [x]
    dim = max(range(x.dim()), key=lambda dim: x.shape[dim])
    return x.split(max(1, x.shape[dim] * most // x.numel()), dim)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _most_units(a: torch.Tensor, b: torch.Tensor, least: float, eps: float) -> float:
    """The largest difference of two elements, in units of elements of at least this size."""
    unit = a.abs().clamp_(min=least).mul_(eps)
    difference = a - b
    size = difference.abs() if difference.is_complex() else difference.abs_()
    size = size.div_(unit).nan_to_num_(0.0, posinf=math.inf)  # NaN where both are infinite or NaN
    return float(size.max()) if size.numel() else 0.0
