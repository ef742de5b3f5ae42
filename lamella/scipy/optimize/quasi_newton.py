"""BFGS and L-BFGS: Newton's method with a curvature learnt from the gradients.

Nocedal and Wright, Numerical Optimization (2nd edition), algorithms 6.1, 7.4 and 7.5.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import ops
from ...autodiff import grad
from ...tensors.tensor import Tensor
from .line_search import LineSearch

__all__ = ["minimize_bfgs", "minimize_lbfgs"]

_LEAST_PRODUCT = 1e-10  # of a step and the gradient's change; below it there is nothing to learn


class Found(NamedTuple):
    """Where a search ended."""

    x: Tensor
    value: float
    gradient: Tensor
    curvature: Any  # the inverse of the Hessian, or what of it is known
    converged: bool
    status: int
    evaluations: int
    steps: int


class _Dense:
    """The inverse of the Hessian as a matrix."""

    def __init__(self, x: Tensor):
        self.matrix = self.one = ops.eye(x.shape[0], x.shape[0], x.dtype)

    def direction(self, gradient: Tensor) -> Tensor:
        return -ops.mv(self.matrix, gradient)

    def learn(self, step: Tensor, change: Tensor) -> None:
        share = 1 / (step * change).sum()
        left = self.one - share * ops.outer(step, change)
        self.matrix = left @ self.matrix @ left.T + share * ops.outer(step, step)


class _Recent:
    """The inverse of the Hessian as the last steps and changes of the gradient."""

    def __init__(self, size: int):
        self.pairs: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=size)
        self.noisy = False

    def direction(self, gradient: Tensor) -> Tensor:
        if self.noisy:
            return -gradient
        rest, parts = gradient, []
        for step, change, share in reversed(self.pairs):
            part = share * (step * rest).sum()
            rest = rest - part * change
            parts.append(part)
        if self.pairs:
            step, change, _ = self.pairs[-1]
            rest = rest * ((step * change).sum() / (change * change).sum())
        for (step, change, share), part in zip(self.pairs, reversed(parts), strict=True):
            rest = rest + step * (part - share * (change * rest).sum())
        return -rest

    def learn(self, step: Tensor, change: Tensor) -> None:
        product = float((step * change).sum())
        self.noisy = product <= _LEAST_PRODUCT
        if not self.noisy:
            self.pairs.append((step, change, 1 / product))


def _size(gradient: Tensor, norm: Any) -> float:
    return float(ops.abs(gradient).max() if norm == math.inf else ops.sqrt((gradient**2).sum()))


def _search(func: Callable[[Tensor], Tensor], x: Tensor, jac: Any, curvature: Any, maxiter: Any,
            norm: Any, gtol: float, line_search_maxiter: int) -> Found:
    jac = jac or grad(func)
    search = LineSearch(func, jac)
    limit = 200 * x.size if maxiter is None else maxiter
    value, gradient = float(func(x)), jac(x)
    before = value + _size(gradient, 2) / 2
    converged = _size(gradient, math.inf) < gtol
    evaluations, steps, status = 1, 0, None
    while not converged and status is None and steps < limit:
        direction = curvature.direction(gradient)
        found = search(x, direction, value, before, gradient, maxiter=line_search_maxiter)
        evaluations += found.nfev
        if found.failed:
            status = 2 + found.status
            break
        step, change = found.a_k * direction, found.g_k - gradient
        before, value, gradient, x = value, found.f_k, found.g_k, x + step
        converged = _size(gradient, norm) < gtol
        if not converged:
            curvature.learn(step, change)
            steps += 1
    if status is None:
        status = 0 if converged else 1
    return Found(x, value, gradient, curvature, converged, status, evaluations, steps)


def minimize_bfgs(func: Callable[[Tensor], Tensor], x0: Tensor, jac: Any = None,
                  maxiter: int | None = None, norm: Any = math.inf, gtol: float = 1e-5,
                  line_search_maxiter: int = 10) -> Found:
    """The minimum near `x0`, by the method of Broyden, Fletcher, Goldfarb and Shanno."""
    return _search(func, x0, jac, _Dense(x0), maxiter, norm, gtol, line_search_maxiter)


def minimize_lbfgs(func: Callable[[Tensor], Tensor], x0: Tensor, jac: Any = None,
                   history_size: int = 20, maxiter: int | None = None, norm: Any = math.inf,
                   gtol: float = 1e-5, line_search_maxiter: int = 10) -> Found:
    """As `minimize_bfgs`, keeping the last `history_size` steps instead of a matrix."""
    return _search(func, x0, jac, _Recent(history_size), maxiter, norm, gtol, line_search_maxiter)
