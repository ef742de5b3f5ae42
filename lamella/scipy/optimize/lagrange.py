"""Minimization under inequalities: the augmented Lagrangian method, with Adam's steps inside.

Nocedal and Wright, Numerical Optimization (2nd edition), framework 17.3, in the form for
inequalities of Birgin and Martínez, Practical Augmented Lagrangian Methods (2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...autodiff import value_and_grad
from ...core import log
from ...nn import Adam
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

_GROWTH, _TIGHTEN, _KEEP = 1.1, 0.9, 0.1


class LagrangeResults(NamedTuple):
    """What was found, as MindSpore names it."""

    succeeded: bool
    best_value: Any
    object_value: Any
    loss_value: Any


def _bounded(x: Tensor, lower: Tensor | None, upper: Tensor | None) -> Tensor:
    """Any numbers as numbers between bounds."""
    if lower is None:
        return x if upper is None else upper - x * x
    return x * x + lower if upper is None else (upper - lower) * ops.sigmoid(x) + lower


def minimize_lagrange(func: Callable[..., Tensor], x0: Tensor,
                      constraints: Sequence[Callable[..., Tensor]], save_tol: Any = None,
                      obj_weight: float = 1.0, lower: Any = None, upper: Any = None,
                      learning_rate: float = 0.1, coincide_fun: Callable[..., Any] | None = None,
                      rounds: int = 10, steps: int = 1000, log_sw: bool = False
                      ) -> LagrangeResults:
    """The least value of `func` where each constraint is below its tolerance.

    Args:
        func: the objective, of x, or of x and what `coincide_fun` gives.
        x0: where to start (before the bounds apply).
        constraints: functions of the same arguments that have to be below 0.
        save_tol: what each constraint has to be below for a point to count; default: 1.
        obj_weight: the weight of the objective.
        lower: the least values of x.
        upper: the greatest values of x.
        learning_rate: of Adam.
        coincide_fun: what objective and constraints have in common, a function of x.
        rounds: how often multipliers are changed.
        steps: Adam's steps in a round.
        log_sw: whether each step is logged.
    """
    low, high = (None if v is None else v if isinstance(v, Tensor) else Tensor(v)
                 for v in (lower, upper))
    position = Parameter(x0.copy(), name="param")
    optimizer = Adam([position], learning_rate=learning_rate)
    count = len(constraints)
    limits = np.ones(count) if save_tol is None else np.asarray(save_tol, float)
    penalty, tolerance = 1.0, 1.0
    multipliers = np.ones(count)

    def lagrangian(weight: Tensor, shifts: Tensor) -> tuple[Tensor, Any]:
        x = _bounded(position, low, high)
        shared = () if coincide_fun is None else (coincide_fun(x),)
        held = ops.stack([ops.reshape(c(x, *shared), ()) for c in constraints])
        value = func(x, *shared)
        excess = ops.relu(shifts + held) ** 2 - shifts**2
        return obj_weight * value + weight / 2 * excess.sum(), (held, value, x)

    step = value_and_grad(lagrangian, None, [position], has_aux=True)
    first, best, found, losses = None, x0.asnumpy(), False, np.ones(count, np.float32)
    held = losses
    for round_number in range(rounds):
        weight = Tensor(penalty, x0.dtype)
        shifts = Tensor((multipliers / penalty).astype(np.float32)).astype(x0.dtype)
        for number in range(steps):
            (total, (at, value, x)), gradients = step(weight, shifts)
            # without bounds `x` is the Parameter, which the optimizer moves on
            held, objective, place = at.asnumpy(), value.asnumpy(), x.asnumpy().copy()
            optimizer(gradients if isinstance(gradients, tuple) else (gradients,))
            if log_sw:
                log.info("round:%d, step:%d, object_value:%f, lagrange_value:%f", round_number,
                         number, float(objective), float(total))
            if first is None:
                first = objective
            if (held - limits < 0).all() and objective < first:
                found, losses, best, first = True, held, place, objective
        violation = math.sqrt((np.maximum(held, -multipliers / penalty) ** 2).sum())
        if violation <= tolerance:
            multipliers = np.maximum(multipliers + penalty * held, 0)
            tolerance = tolerance / penalty**_TIGHTEN
        else:
            penalty *= _GROWTH
            tolerance = 1 / penalty**_KEEP
    return LagrangeResults(found, best, first, losses)
