"""Descent with steps scaled by the squares of past gradients: Adagrad, Adadelta, RMSprop."""

from __future__ import annotations

from typing import Any

import torch

from ...ops.primitives.update_rules import Raws, adadelta, adagrad, kernels
from .stepping import Stepping, check_above_0, check_range

__all__ = ["Adadelta", "Adagrad", "RMSprop"]


class Adagrad(Stepping):
    """Adagrad (Duchi et al. 2011): each step over the root of the sum of all squares.

    Args:
        params: Parameters, or dicts with ``params`` and settings of their own.
        lr: the learning rate.
        lr_decay: in step t the learning rate is ``lr / (1 + (t - 1) * lr_decay)``.
        weight_decay: how much of a parameter is added to its gradient.
        initial_accumulator_value: where the sums begin.
        eps: keeps the divisor from 0.
        maximize: whether to go up instead of down.

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.Adagrad([w], lr=0.5)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.5]
    """

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0.0,
                 weight_decay: float = 0.0, initial_accumulator_value: float = 0.0,
                 eps: float = 1e-10, *, maximize: bool = False):
        check_above_0("Adagrad", lr=lr, eps=eps)
        for name, value in (("lr_decay", lr_decay), ("weight_decay", weight_decay),
                            ("initial_accumulator_value", initial_accumulator_value)):
            check_range("Adagrad", name, value)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})
        self.accum = self._states("accum", initial_accumulator_value)

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        adagrad(params, grads, self._of("accum", at), lr / (1 + (step - 1) * group["lr_decay"]),
                group["eps"])


class Adadelta(Stepping):
    """Adadelta (Zeiler 2012): steps as large as recent steps were, over recent gradients.

    Args:
        params, lr, weight_decay, maximize: as for `Adagrad`.
        rho: how much of each mean of squares is kept.
        eps: keeps roots and divisor from 0.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.Adadelta([w])((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.99683774]
    """

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0.0, *, maximize: bool = False):
        check_range("Adadelta", "rho", rho, 0.0, 1.0 + 1e-12)
        check_above_0("Adadelta", lr=lr, eps=eps)
        check_range("Adadelta", "weight_decay", weight_decay)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})
        self.accum = self._states("accum")
        self.accum_update = self._states("accum_update")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        adadelta(params, grads, self._of("accum", at), self._of("accum_update", at), lr,
                 group["rho"], group["eps"])


class RMSprop(Stepping):
    """RMSprop (Hinton 2012): each step over the root of a mean of squares.

    Args:
        params, lr, weight_decay, maximize: as for `Adagrad`.
        alpha: how much of the mean of squares is kept.
        eps: keeps the divisor from 0.
        momentum: how much of the last step is in the next.
        centered: whether the square of the mean gradient is taken from the mean of squares.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.RMSprop([w], lr=0.1, alpha=0.75)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
                 maximize: bool = False):
        check_above_0("RMSprop", lr=lr, eps=eps)
        for name, value in (("alpha", alpha), ("weight_decay", weight_decay),
                            ("momentum", momentum)):
            check_range("RMSprop", name, value)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "maximize": maximize})
        self.mean_square = self._states("mean_square")
        self.mean_grad = self._states("mean_grad")
        self.moment = self._states("moment")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        alpha, squares = group["alpha"], self._of("mean_square", at)
        kernels._foreach_mul_(squares, alpha)
        kernels._foreach_addcmul_(squares, grads, grads, 1 - alpha)
        if group["centered"]:
            means = self._of("mean_grad", at)
            kernels._foreach_lerp_(means, grads, 1 - alpha)
            spread = kernels._foreach_addcmul(squares, means, means, -1.0)
            kernels._foreach_sqrt_(spread)
        else:
            spread = kernels._foreach_sqrt(squares)
        kernels._foreach_add_(spread, group["eps"])
        steps = kernels._foreach_div(grads, spread)
        if group["momentum"] > 0:
            moments = self._of("moment", at)
            kernels._foreach_mul_(moments, group["momentum"])
            kernels._foreach_add_(moments, steps)
            steps = moments
        kernels._foreach_sub_(params, kernels._foreach_mul(steps, lr))
