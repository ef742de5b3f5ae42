"""Optimizers of `mint`, as PyTorch defines them; groups of parameters are dicts."""

from __future__ import annotations

from typing import Any

import torch

from .. import dtype as mstype
from ..experimental.optim import Optimizer
from ..ops.primitives.update_rules import held, kernels, like_parameters, off_tape
from ..parameter import Parameter, ParameterTuple
from ..tensor import Tensor

__all__ = ["SGD", "Adam", "AdamW", "FusedAdamW"]


class _Adam(Optimizer):
    """What Adam and AdamW share."""

    _kernel: Any = None
    _start = 0  # of `state_step`, as MindSpore's checkpoints have it

    def __init__(self, params: Any, lr: Any, betas: tuple[float, float], eps: float,
                 weight_decay: float, amsgrad: bool, maximize: bool):
        _check(type(self).__name__, lr, eps, weight_decay, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "amsgrad": amsgrad,
                                  "weight_decay": weight_decay, "maximize": maximize})
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.state_step = Parameter(Tensor([self._start], mstype.float32), "state_step",
                                    requires_grad=False)
        for group in self.param_groups:
            if group["amsgrad"]:
                group["max_exp_avg_sq"] = ParameterTuple(group["params"]).clone(
                    prefix="max_exp_avg_sq", init="zeros")

    def construct(self, gradients: Any) -> bool:
        """Update the parameters."""
        with torch.no_grad(), off_tape(self.parameters):
            raws = _raw_gradients(self, gradients)
            self.state_step._data.add_(1)
            step = self.state_step._data[0] - self._start
            for group, at in zip(self.param_groups, _slices(self), strict=True):
                largest = group.get("max_exp_avg_sq", ())
                type(self)._kernel(
                    [p._data for p in self.parameters[at]], raws[at],
                    [p._data for p in self.exp_avg[at]], [p._data for p in self.exp_avg_sq[at]],
                    [p._data for p in largest], [step] * (at.stop - at.start),
                    amsgrad=group["amsgrad"], lr=_number(group["lr"]), beta1=group["betas"][0],
                    beta2=group["betas"][1], weight_decay=group["weight_decay"],
                    eps=group["eps"], maximize=group["maximize"])
        return True


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
        >>> print(weight.value())
        [0.90000004]
    """

    _kernel = kernels._fused_adam_

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
        >>> print(weight.value())
        [0.85]
    """

    _kernel = kernels._fused_adamw_
    _start = -1

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class FusedAdamW(AdamW):
    """`AdamW`, which works on all parameters at once here anyway."""


class SGD(Optimizer):
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
        _check("SGD", lr, 0.0, weight_decay)
        if momentum < 0:
            raise ValueError(f"For 'SGD', 'momentum' must be 0 or more, but got {momentum}.")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"For 'SGD', 'nesterov' needs a 'momentum' above 0 and a 'dampening' "
                             f"of 0, but got momentum={momentum}, dampening={dampening}.")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov,
                                  "maximize": maximize})
        self.momentum_buf = self.parameters.clone(prefix="momentum_buf", init="zeros")
        self.step_t = Parameter(Tensor(0, mstype.int32), "step_t", requires_grad=False)

    def construct(self, gradients: Any) -> bool:
        """Update the parameters."""
        with torch.no_grad(), off_tape(self.parameters):
            raws = _raw_gradients(self, gradients)
            for group, at in zip(self.param_groups, _slices(self), strict=True):
                self._update(group, at, raws[at])
            self.step_t._data.add_(1)
        return True

    def _update(self, group: dict[str, Any], at: slice, grads: list[torch.Tensor]) -> None:
        params = [p._data for p in self.parameters[at]]
        if group["maximize"]:
            grads = kernels._foreach_neg(grads)
        if group["weight_decay"]:
            grads = kernels._foreach_add(grads, params, alpha=group["weight_decay"])
        if group["momentum"]:
            buffers = [p._data for p in self.momentum_buf[at]]
            kernels._foreach_mul_(buffers, group["momentum"])
            # the buffers are zero before the first step
            is_damped = group["dampening"] and bool(self.step_t > 0)
            share = 1 - group["dampening"] if is_damped else 1
            kernels._foreach_add_(buffers, grads, alpha=share)
            grads = (kernels._foreach_add(grads, buffers, alpha=group["momentum"])
                     if group["nesterov"] else buffers)
        kernels._foreach_sub_(params, kernels._foreach_mul(grads, _number(group["lr"])))


def _check(name: str, lr: Any, eps: float, weight_decay: float,
           betas: tuple[float, float] = (0.0, 0.0)) -> None:
    for setting, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
        if not isinstance(value, Tensor) and value < 0:
            raise ValueError(f"For '{name}', '{setting}' must be 0 or more, but got {value}.")
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"For '{name}', 'betas' must be two numbers in [0, 1), but got {betas}.")


def _slices(optimizer: Optimizer) -> list[slice]:
    starts = optimizer.group_start_id
    return [slice(a, b) for a, b in zip(starts, starts[1:], strict=False)]


def _raw_gradients(optimizer: Optimizer, gradients: Any) -> list[torch.Tensor]:
    if len(gradients) != len(optimizer.parameters):
        raise ValueError(f"For '{type(optimizer).__name__}', there must be a gradient for each of "
                         f"the {len(optimizer.parameters)} parameters, but got {len(gradients)}.")
    return like_parameters(optimizer.parameters, [g._raw for g in gradients])


def _number(lr: Any) -> Any:
    return held(lr) if isinstance(lr, Tensor) else lr
