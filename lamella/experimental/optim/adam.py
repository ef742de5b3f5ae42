"""Adam and its relatives: steps along a mean of gradients, over a mean of their squares."""

from __future__ import annotations

from typing import Any

import torch

from ...ops.primitives.update_rules import Raws, adam, held, kernels
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor
from .stepping import Stepping, check_above_0, check_betas, check_range

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


class _Moments(Stepping):
    """The base: checks what all take, and keeps both means."""

    _takes_0 = False  # whether `lr` and `eps` may be 0

    def __init__(self, params: Any, lr: Any, betas: Any, eps: float, weight_decay: float,
                 **options: Any):
        owner = type(self).__name__
        if self._takes_0:
            check_range(owner, "lr", lr)
            check_range(owner, "eps", eps)
        else:
            check_above_0(owner, lr=lr, eps=eps)
        check_range(owner, "weight_decay", weight_decay)
        check_betas(owner, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, **options})
        self.exp_avg = self._states("exp_avg")

    def _averaged(self, group: dict[str, Any], at: slice, grads: Raws) -> tuple[Raws, Raws]:
        """Both means, with these gradients."""
        m, v = self._of("exp_avg", at), self._of("exp_avg_sq", at)
        beta1, beta2 = group["betas"]
        kernels._foreach_lerp_(m, grads, 1 - beta1)
        kernels._foreach_mul_(v, beta2)
        kernels._foreach_addcmul_(v, grads, grads, 1 - beta2)
        return m, v


class Adam(_Moments):
    """Adam (Kingma and Ba 2014); weight decay is added to the gradients.

    Args:
        params: Parameters, or dicts with ``params`` and settings of their own.
        lr: the learning rate, a number or a Tensor of rank 0.
        betas: how much of each mean is kept.
        eps: keeps the divisor from 0.
        weight_decay: how much of a parameter is added to its gradient.
        amsgrad: divide by the largest mean so far (Reddi et al. 2018).
        maximize: whether to go up instead of down.

    Inputs:
        - **gradients** - a tuple of Tensors, one for each Parameter.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.Adam([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """

    _step_name = "state_step"
    _takes_0 = True

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize)
        self.exp_avg_sq = self._states("exp_avg_sq")
        self.max_exp_avg_sq = self._states("max_exp_avg_sq")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        beta1, beta2 = group["betas"]
        precise = step.double()  # 1 - 0.999 loses digits
        corrected = (lr * (1 - beta2 ** precise).sqrt() / (1 - beta1 ** precise)).float()
        adam(params, grads, self._of("exp_avg", at), self._of("exp_avg_sq", at), corrected, beta1,
             beta2, group["eps"], vhat=self._of("max_exp_avg_sq", at) if group["amsgrad"] else None)


class AdamW(_Moments):
    """Adam with weight decay apart from the gradients (Loshchilov and Hutter 2017).

    Arguments as for `Adam`; parameters shrink by ``lr * weight_decay`` in each step.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.AdamW([w], lr=0.1, weight_decay=0.5)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.85]
    """

    _step_name = "state_step"
    _decays_apart = True
    _takes_0 = True

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize)
        self.exp_avg_sq = self._states("exp_avg_sq")
        self.max_exp_avg_sq = self._states("max_exp_avg_sq")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        beta1, beta2 = group["betas"]
        largest = self._of("max_exp_avg_sq", at) if group["amsgrad"] else []
        kernels._fused_adamw_(
            params, grads, self._of("exp_avg", at), self._of("exp_avg_sq", at), largest,
            [step] * len(params), lr=lr, beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], amsgrad=group["amsgrad"], maximize=False)


class Adamax(_Moments):
    """Adam with the largest gradient in place of the root (Kingma and Ba 2014, section 7.1).

    Arguments as for `Adam`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.Adamax([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, *, maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)
        self.exp_inf = self._states("exp_inf")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        m, largest = self._of("exp_avg", at), self._of("exp_inf", at)
        beta1, beta2 = group["betas"]
        kernels._foreach_lerp_(m, grads, 1 - beta1)
        kernels._foreach_mul_(largest, beta2)
        kernels._foreach_maximum_(
            largest, kernels._foreach_add(kernels._foreach_abs(grads), group["eps"]))
        steps = kernels._foreach_div(m, largest)
        kernels._foreach_sub_(params, kernels._foreach_mul(steps, lr / (1 - beta1 ** step)))


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat 2016).

    Args:
        params, lr, betas, eps, weight_decay: as for `Adam`.
        momentum_decay: how fast the momentum rises to its full size.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.NAdam([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value().round(4))
        [0.8944]
    """

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3):
        check_range("NAdam", "momentum_decay", momentum_decay)
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay)
        self.exp_avg_sq = self._states("exp_avg_sq")
        self.mu_product = ParameterTuple(Parameter(Tensor(1.0), name=f"mu_product_{p.name}")
                                         for p in self.parameters)

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        beta1, beta2 = group["betas"]
        decay = group["momentum_decay"]
        mu = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        following = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        m, v = self._averaged(group, at, grads)
        products = self.mu_product[at]
        for p, g, mean, square, product in zip(params, grads, m, v, products, strict=True):
            done = held(product).mul_(mu)
            spread = (square / (1 - beta2 ** step)).sqrt_().add_(group["eps"])
            p.sub_(lr * (1 - mu) / (1 - done) * g / spread)
            p.sub_(lr * following / (1 - done * following) * mean / spread)


class RAdam(_Moments):
    """Adam that waits with its divisor until enough gradients are known (Liu et al. 2020).

    Arguments as for `Adam`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = optim.RAdam([w], lr=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8000001]
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0):
        super().__init__(params, lr, betas, eps, weight_decay)
        self.exp_avg_sq = self._states("exp_avg_sq")

    def _update(self, group: dict[str, Any], at: slice, params: Raws, grads: Raws, lr: Any,
                step: torch.Tensor) -> None:
        beta1, beta2 = group["betas"]
        power = beta2 ** step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * power / (1 - power)
        known = length > 5
        shown = torch.where(known, length, 6.0)  # what a root can be taken of
        rate = ((shown - 4) * (shown - 2) * longest
                / ((longest - 4) * (longest - 2) * shown)).sqrt_() * (1 - power).sqrt()
        m, v = self._averaged(group, at, grads)
        for p, mean, square in zip(params, m, v, strict=True):
            scale = torch.where(known, rate / (square.sqrt() + group["eps"]), 1.0)
            p.sub_(mean / (1 - beta1 ** step) * lr * scale)
