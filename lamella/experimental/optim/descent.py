"""Gradient descent with momentum, with averages, and by signs alone."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...core.require import of_type
from ...ops.primitives.update_rules import Raws, damped_sgd, sgd
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor
from .stepping import Stepping, check_above_0, check_range

__all__ = ["ASGD", "SGD", "Rprop"]


class SGD(Stepping):
    """Stochastic gradient descent, with momentum if asked for.

    The first momentum is the first gradient, whatever the dampening.

    Args:
        params: Parameters, or dicts with ``params`` and settings of their own.
        lr: the learning rate, a number or a Tensor of rank 0.
        momentum: how much of the last step is in the next one.
        dampening: how much less than all of a gradient goes into the momentum.
        weight_decay: how much of a parameter is added to its gradient.
        nesterov: whether the step looks ahead (Sutskever et al. 2013).
        maximize: whether to go up instead of down.

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.SGD([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    def __init__(self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False):
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            check_range("SGD", name, value)
        check_range("SGD", "dampening", dampening, -math.inf)
        for name, flag in (("nesterov", nesterov), ("maximize", maximize)):
            of_type(flag, bool, name, "SGD")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"For 'SGD', 'nesterov' needs a 'momentum' above 0 and a 'dampening' "
                             f"of 0, but got {momentum} and {dampening}.")
        super().__init__(params, {
            "lr": lr, "momentum": float(momentum), "dampening": float(dampening),
            "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
            "grad_centralization": False})
        self.accum = self._states("accum")
        self.stat = self._states("stat", "ones")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        accums, momentum = self._of("accum", at), group["momentum"]
        if group["dampening"] and momentum:
            damped_sgd(params, grads, accums, self._of("stat", at), lr, momentum,
                       group["dampening"])
        else:
            sgd(params, grads, accums, lr, momentum, group["nesterov"])


class ASGD(Stepping):
    """Averaged gradient descent (Polyak and Juditsky 1992).

    Args:
        params, lr, weight_decay, maximize: as for `SGD`.
        lambd: how fast parameters and learning rate decay.
        alpha: the power of the learning rate's decay.
        t0: the step after which averages are taken.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.ASGD([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.79999]
    """

    def __init__(self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0.0, maximize: bool = False):
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            check_range("ASGD", name, value, -math.inf)
        check_above_0("ASGD", lr=lr)
        check_range("ASGD", "weight_decay", weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                                  "weight_decay": weight_decay, "maximize": maximize})
        self.mu, self.eta = (ParameterTuple(Parameter(Tensor(start), name=f"{name}_{p.name}")
                                            for p in self.parameters)
                             for name, start in (("mu", 1.0), ("eta", 0.0)))
        self.ax = self._states("ax")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        lambd, alpha, t0 = group["lambd"], group["alpha"], group["t0"]
        following = lr / (1 + lambd * lr * step) ** alpha
        share = 1 / (step - t0).clamp(min=1.0)
        for p, g, mean, eta, mu in zip(params, grads, self._of("ax", at), self._of("eta", at),
                                       self._of("mu", at), strict=True):
            rate = torch.where(step == 1, lr, eta)
            p.copy_(p * (1 - lambd * rate) - rate * g)
            mean.copy_(torch.where(mu == 1, p, mean + (p - mean) * mu))
            eta.copy_(following)
            mu.copy_(share)


class Rprop(Stepping):
    """Resilient backpropagation (Riedmiller and Braun 1993): only signs of gradients count.

    Args:
        params, lr, maximize: as for `SGD`; `lr` is the size of the first steps.
        etas: what a step is multiplied by when the sign has changed, and when it has not.
        step_sizes: the smallest and the largest step.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.Rprop([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    def __init__(self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False):
        check_above_0("Rprop", lr=lr)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ValueError(f"For 'Rprop', '{name}' must be two numbers, but got {pair!r}.")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"For 'Rprop', 'etas' must lie below and above 1, but got {etas}.")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes,
                                  "maximize": maximize})
        self.prev = self._states("prev")
        self.step_size = self._states("step_size")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        less, more = group["etas"]
        low, high = group["step_sizes"]
        for p, g, before, size in zip(params, grads, self._of("prev", at),
                                      self._of("step_size", at), strict=True):
            start = torch.where(step == 1, lr, size)
            same = g * before
            factor = torch.where(same > 0, more, torch.where(same < 0, less, 1.0))
            size.copy_((start * factor).clamp(low, high))
            kept = torch.where(same < 0, torch.zeros_like(g), g)  # a step back isn't repeated
            before.copy_(kept)
            p.sub_(kept.sign() * size)
