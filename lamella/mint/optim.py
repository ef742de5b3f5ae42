"""Optimizers of `mint`, as PyTorch defines them; groups of parameters are dicts."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..compat.missing import getattr_of
from ..core import dtype as mstype
from ..experimental.optim import (
    ASGD,
    Adadelta,
    Adagrad,
    Adamax,
    Muon,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    lr_scheduler,
)
from ..experimental.optim.stepping import Stepping, check_betas, check_range
from ..ops.primitives.update_rules import Raws, kernels
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.tensor import Tensor

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "FusedAdamW", "Muon",
           "NAdam", "RAdam", "RMSprop", "Rprop", "lr_scheduler"]
__getattr__ = getattr_of(__name__)


class _Adam(Stepping):
    """What Adam and AdamW share; the states are called as in MindSpore's checkpoints."""

    _step_name = "state_step"
    _start = 0

    def __init__(self, params: Any, lr: Any, betas: tuple[float, float], eps: float,
                 weight_decay: float, amsgrad: bool, maximize: bool):
        owner = type(self).__name__
        for name, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
            check_range(owner, name, value)
        check_betas(owner, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "amsgrad": amsgrad,
                                  "weight_decay": weight_decay, "maximize": maximize})
        self.exp_avg = self._states("exp_avg")
        self.exp_avg_sq = self._states("exp_avg_sq")
        self.state_step = Parameter(Tensor([self._start], mstype.float32), "state_step")
        for group in self.param_groups:
            if group["amsgrad"]:
                group["max_exp_avg_sq"] = ParameterTuple(group["params"]).clone(
                    prefix="max_exp_avg_sq", init="zeros")
        starts = self.group_start_id  # where a group has none, its squares, which are looked at too
        self._kept.append([p for i, group in enumerate(self.param_groups) for p in group.get(
            "max_exp_avg_sq", self.exp_avg_sq[starts[i]:starts[i + 1]])])

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        beta1, beta2 = group["betas"]
        kernels._fused_adamw_(
            params, grads, self._of("exp_avg", at), self._of("exp_avg_sq", at),
            [p._data for p in group.get("max_exp_avg_sq", ())],
            [step[0] - self._start] * len(params), lr=lr, beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"] * self._decays_apart,
            amsgrad=group["amsgrad"], maximize=False)


class Adam(_Adam):
    """Adam (Kingma and Ba, 2015), whose weight decay is added to the gradients.

    Args:
        params: Parameters, or dicts with ``params`` and settings of their own.
        lr: the learning rate.
        betas: how slowly the means of gradients and of their squares change.
        eps: added to the root of the latter.
        weight_decay: how much of a parameter is added to its gradient.
        amsgrad: whether the greatest mean of squares counts (Reddi et al., 2018).
        maximize: whether to go up instead of down.

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        ValueError: if a setting is out of range.

    Examples:
        >>> import lamella as ms
        >>> weight = ms.Parameter(ms.Tensor([1.0]))
        >>> ms.mint.optim.Adam([weight], lr=0.1)((ms.Tensor([0.5]),))
        True
        >>> print(weight.value().round(decimals=4))
        [0.9]
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class AdamW(_Adam):
    """Adam whose weight decay is apart from the gradients (Loshchilov and Hutter, 2019).

    Arguments as for `Adam`; the parameters shrink by ``lr * weight_decay`` in each step.

    Examples:
        >>> import lamella as ms
        >>> weight = ms.Parameter(ms.Tensor([1.0]))
        >>> ms.mint.optim.AdamW([weight], lr=0.1, weight_decay=0.5)((ms.Tensor([0.5]),))
        True
        >>> print(weight.value().round(decimals=4))
        [0.85]
    """

    _decays_apart = True
    _start = -1

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class FusedAdamW(AdamW):
    """`AdamW`, which works on all parameters at once here anyway."""


class SGD(Stepping):
    """Stochastic gradient descent, with momentum if asked for.

    The first momentum is the first gradient, whatever the dampening.

    Args:
        params: Parameters, or dicts with ``params`` and settings of their own.
        lr: the learning rate.
        momentum: how much of the last step is in the next one.
        dampening: how much less than all of a gradient goes into the momentum.
        weight_decay: how much of a parameter is added to its gradient.
        nesterov: whether the step looks ahead (Sutskever et al., 2013).
        maximize: whether to go up instead of down.

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        ValueError: if a setting is out of range, or `nesterov` has no momentum or has dampening.

    Examples:
        >>> import lamella as ms
        >>> weight = ms.Parameter(ms.Tensor([1.0]))
        >>> ms.mint.optim.SGD([weight], lr=0.1)((ms.Tensor([0.5]),))
        True
        >>> print(weight.value())
        [0.95]
    """

    def __init__(self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False):
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            check_range("SGD", name, value)
        check_range("SGD", "dampening", dampening, -math.inf)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"For 'SGD', 'nesterov' needs a 'momentum' above 0 and a 'dampening' "
                             f"of 0, but got momentum={momentum}, dampening={dampening}.")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov,
                                  "maximize": maximize})
        self.momentum_buf = self._states("momentum_buf")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        if group["momentum"]:
            buffers = self._of("momentum_buf", at)
            kernels._foreach_mul_(buffers, group["momentum"])
            new = grads
            if group["dampening"]:  # but not the first time
                new = kernels._foreach_mul(grads, 1 - group["dampening"] * (step > 1))
            kernels._foreach_add_(buffers, new)
            grads = (kernels._foreach_add(grads, buffers, alpha=group["momentum"])
                     if group["nesterov"] else buffers)
        kernels._foreach_sub_(params, kernels._foreach_mul(grads, lr))
