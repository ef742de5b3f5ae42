"""How far to go in a direction: a step that meets the strong Wolfe conditions.

Nocedal and Wright, Numerical Optimization (2nd edition), algorithms 3.5 (bracketing, by doubling)
and 3.6 (zooming in, by cubic and quadratic interpolation and bisection).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...autodiff import grad
from ...tensors.tensor import Tensor

__all__ = ["LineSearch", "line_search"]

_ZOOMS = 10
_NEAR_CUBIC, _NEAR_QUADRATIC = 0.2, 0.1  # how near an end, as a part of the interval, is too near


class _LineSearchResults(NamedTuple):
    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: float
    f_k: float
    g_k: Tensor
    status: int


class _Point(NamedTuple):
    """A step, and there the function, its slope in the direction, and its gradient."""

    step: float
    value: float
    slope: float
    gradient: Any


def _cubic(a: _Point, b: _Point, c: _Point) -> float:
    """Where the cubic through three points with the slope of the first has its minimum."""
    db, dc = b.step - a.step, c.step - a.step
    scale = (db * dc) ** 2 * (db - dc)
    if scale == 0:
        return math.nan
    rest_b = b.value - a.value - a.slope * db
    rest_c = c.value - a.value - a.slope * dc
    cubed = (dc**2 * rest_b - db**2 * rest_c) / scale
    squared = (db**3 * rest_c - dc**3 * rest_b) / scale
    radical = squared**2 - 3 * cubed * a.slope
    return a.step + (-squared + math.sqrt(radical)) / (3 * cubed) if radical >= 0 and cubed \
        else math.nan


def _quadratic(a: _Point, b: _Point) -> float:
    """Where the parabola through two points with the slope of the first has its minimum."""
    db = b.step - a.step
    squared = (b.value - a.value - a.slope * db) / db**2 if db else 0.0
    return a.step - a.slope / (2 * squared) if squared else math.nan


def _next_step(low: _Point, high: _Point, last: _Point | None) -> float:
    start, end = sorted((low.step, high.step))
    width = high.step - low.step  # below 0 a step may lie a bit outside, as in SciPy
    if last is not None:
        step = _cubic(low, high, last)
        if start + _NEAR_CUBIC * width < step < end - _NEAR_CUBIC * width:
            return step
    step = _quadratic(low, high)
    if start + _NEAR_QUADRATIC * width < step < end - _NEAR_QUADRATIC * width:
        return step
    return (start + end) / 2


class LineSearch:
    """Searches along directions for one function.

    Args:
        func: the function, of a vector.
        jac: its gradient.
    """

    def __init__(self, func: Callable[[Tensor], Tensor], jac: Callable[[Tensor], Tensor]):
        self.func, self.jac = func, jac

    def __call__(self, xk: Tensor, pk: Tensor, old_fval: Any = None, old_old_fval: Any = None,
                 gfk: Any = None, c1: float = 1e-4, c2: float = 0.9, maxiter: int = 20
                 ) -> _LineSearchResults:
        calls = 0

        def at(step: float) -> _Point:
            nonlocal calls
            calls += 1
            x = xk + step * pk
            gradient = self.jac(x)
            return _Point(step, float(self.func(x)), float((gradient * pk).sum()), gradient)

        if old_fval is None or gfk is None:
            start = at(0.0)
        else:
            start = _Point(0.0, float(old_fval), float((gfk * pk).sum()), gfk)

        def too_high(p: _Point) -> bool:
            return p.value > start.value + c1 * p.step * start.slope

        def flat(p: _Point) -> bool:
            return abs(p.slope) <= -c2 * start.slope

        def zoom(low: _Point, high: _Point) -> _Point | None:
            last = None
            for _ in range(_ZOOMS):
                point = at(_next_step(low, high, last))
                if too_high(point) or point.value >= low.value:
                    last, high = high, point
                    continue
                if flat(point):
                    return point
                if point.slope * (high.step - low.step) >= 0:
                    high = low
                last, low = low, point
            return None

        step = 1.0
        if old_old_fval is not None and start.slope:
            guess = 1.01 * 2 * (start.value - float(old_old_fval)) / start.slope
            step = min(guess, 1.0) if math.isfinite(guess) else 1.0
        previous, found, done, count = start, None, False, 0
        while count < maxiter and not done:
            count += 1
            point = at(step)
            if too_high(point) or count > 1 and point.value >= previous.value:
                found, done = zoom(previous, point), True
            elif flat(point):
                found, done = point, True
            elif point.slope >= 0:
                found, done = zoom(point, previous), True
            previous, step = point, step * 2
        best = found or start
        # in float32 a step of less would change nothing
        length = best.step if "64" in xk.dtype.name or abs(best.step) >= 1e-8 \
            else math.copysign(1e-8, best.step) if best.step else 0.0
        if done and found is None:
            length = 1.0  # what MindSpore gives where zooming fails
        return _LineSearchResults(
            failed=found is None, nit=count, nfev=calls, ngev=calls, k=count + 1,
            a_k=length, f_k=best.value, g_k=best.gradient,
            status=1 if done and found is None else 3 if not done else 0)


def line_search(f: Callable[[Tensor], Tensor], xk: Tensor, pk: Tensor,
                jac: Callable[[Tensor], Tensor] | None = None, gfk: Any = None,
                old_fval: Any = None, old_old_fval: Any = None, c1: float = 1e-4, c2: float = 0.9,
                maxiter: int = 20) -> _LineSearchResults:
    """A step in a direction that meets the strong Wolfe conditions.

    Args:
        f: a function of a vector that gives a number.
        xk: the point to start from.
        pk: the direction, in which `f` falls at first.
        jac: the gradient of `f`; default: by differentiation.
        gfk: the gradient at `xk`, if it is known.
        old_fval: the value at `xk`, if it is known.
        old_old_fval: the value at the point before.
        c1: how much of the first slope the function has to fall by.
        c2: how much of the first slope may be left.
        maxiter: how often the step is doubled at most.

    Returns:
        a named tuple: `failed`, `nit`, `nfev`, `ngev`, `k`, the step `a_k`, there the value `f_k`
        and the gradient `g_k`, and `status` (0: found, 1: zooming failed, 3: `maxiter` reached).

    Examples:
        >>> import lamella as ms
        >>> found = ms.scipy.optimize.line_search(lambda x: (x**2).sum(), ms.Tensor([2.0, 3.0]),
        ...                                       ms.Tensor([-1.0, -1.0]))
        >>> found.a_k, found.f_k
        (1.0, 5.0)
    """
    return LineSearch(f, jac or grad(f))(xk, pk, old_fval, old_old_fval, gfk, c1, c2, maxiter)
