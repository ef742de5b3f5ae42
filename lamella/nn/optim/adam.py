"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from ...compat.arguments import what_it_is_called
from ...core import dtype as mstype
from ...ops.primitives.optimizer_adaptive import Adam as AdamPrimitive
from ...ops.primitives.optimizer_adaptive import AdamWeightDecay as AdamWeightDecayPrimitive
from ...ops.primitives.update_rules import adam, adam_weight_decay, nesterov_adam, single
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..checks import float_within, of_type, positive_float
from .optimizer import Optimizer, opt_init_args_register

_ARGUMENTS = ("learning_rate", "beta1", "beta2", "eps", "use_locking", "use_nesterov",
              "weight_decay", "loss_scale", "use_amsgrad", "use_lazy", "use_offload")


def check_adam(where: str, beta1: float, beta2: float, eps: float) -> None:
    """Check what all relatives of Adam take."""
    float_within(beta1, 0.0, 1.0, "()", "beta1", where)
    float_within(beta2, 0.0, 1.0, "()", "beta2", where)
    positive_float(eps, "eps", where)


def _scalar(number: float) -> Tensor:
    return Tensor(number, mstype.float32)


class Adam(Optimizer):
    """Adam (Kingma & Ba 2014).

    ``m = beta1 m + (1 - beta1) g``; ``v = beta2 v + (1 - beta2) g²``;
    ``p -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)``.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`; the decay is added to the
            gradient.
        beta1, beta2: how much of the moments to keep, between 0 and 1.
        eps: keeps the divisor from 0.
        use_locking: accepted as MindSpore does.
        use_nesterov: step along the moment after the next gradient.
        use_amsgrad: divide by the largest `v` so far (Reddi et al. 2018).
        **kwargs: `use_lazy` and `use_offload`, accepted as MindSpore does; they have no effect on
            the numbers.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        KeyError: if there is an unknown keyword.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.Adam([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """

    _has_settable_target = True

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9,
                 beta2: float = 0.999, eps: float = 1e-8, use_locking: bool = False,
                 use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
                 use_amsgrad: bool = False, **kwargs: Any):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        where = type(self).__name__
        unknown = sorted(set(kwargs) - {"use_lazy", "use_offload"})
        if unknown:
            raise KeyError(f"For '{where}', the keywords can be 'use_lazy' and 'use_offload', "
                           f"but got {unknown}."
                           + "".join(f" {hint}." for name in unknown if (hint := what_it_is_called(
                               name, _ARGUMENTS))))
        use_lazy, use_offload = kwargs.get("use_lazy", False), kwargs.get("use_offload", False)
        check_adam(where, beta1, beta2, eps)
        flags = {"use_locking": use_locking, "use_nesterov": use_nesterov,
                 "use_amsgrad": use_amsgrad, "use_lazy": use_lazy, "use_offload": use_offload}
        for name, flag in flags.items():
            of_type(flag, bool, name, where)
            setattr(self, name, flag)
        if use_lazy and use_offload or use_amsgrad and (use_lazy or use_offload):
            raise ValueError(f"For '{where}', at most one of 'use_amsgrad', 'use_lazy' and "
                             f"'use_offload' can be True, but got {use_amsgrad}, {use_lazy} and "
                             f"{use_offload}.")
        self.beta1, self.beta2, self.eps = _scalar(beta1), _scalar(beta2), _scalar(eps)
        self._betas: dict[str, Any] = {"beta1": single(beta1), "beta2": single(beta2),
                                       "eps": single(eps)}
        self.beta1_power = Parameter(self._power(), name="beta1_power")
        self.beta2_power = Parameter(self._power(), name="beta2_power")
        self.moment1 = self.parameters.clone(prefix="moment1", init="zeros")
        self.moment2 = self.parameters.clone(prefix="moment2", init="zeros")
        if use_amsgrad:
            self.vhat = self.parameters.clone(prefix="vhat", init="zeros")
        self.opt = AdamPrimitive(use_locking, use_nesterov)

    @staticmethod
    def _power() -> Tensor:
        return Tensor(1.0, mstype.float32)

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        self.check_gradients(gradients)
        rates = self.get_lr()
        with self._unrecorded():
            power1 = self.beta1_power._data.mul_(self._betas["beta1"])
            power2 = self.beta2_power._data.mul_(self._betas["beta2"])
            correction = ((1.0 - power2).sqrt_() / (1.0 - power1)).reshape(())
            if isinstance(rates, tuple):
                found = {id(rate): rate._raw * correction for rate in rates}
                corrected: Any = tuple(found[id(rate)] for rate in rates)
            else:
                corrected = rates._raw * correction
        if self.use_amsgrad:
            return self.update_by(_amsgrad, gradients, self.moment1, self.moment2, self.vhat,
                                  lr=corrected, **self._betas)
        rule = nesterov_adam if self.use_nesterov else adam
        return self.update_by(rule, gradients, self.moment1, self.moment2, lr=corrected,
                              **self._betas)


def _amsgrad(params: list, grads: list, m: list, v: list, vhat: list, **options: Any) -> None:
    adam(params, grads, m, v, vhat=vhat, **options)


class AdamOffload(Adam):
    """`Adam`; in MindSpore it computes on the host, here where the parameters are.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.AdamOffload([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.90000004]
    """

    def __init__(self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9,
                 beta2: float = 0.999, eps: float = 1e-8, use_locking: bool = False,
                 use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0):
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov,
                         weight_decay, loss_scale)

    @staticmethod
    def _power() -> Tensor:
        return Tensor([1.0], mstype.float32)


class AdamWeightDecay(Optimizer):
    """Adam with decoupled weight decay and no bias correction (Loshchilov & Hutter 2017).

    ``m = beta1 m + (1 - beta1) g``; ``v = beta2 v + (1 - beta2) g²``;
    ``p -= lr * (m / (sqrt(v) + eps) + weight_decay * p)``.

    Args:
        params, learning_rate, weight_decay: as `Optimizer`.
        beta1, beta2: how much of the moments to keep, between 0 and 1.
        eps: keeps the divisor from 0.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.AdamWeightDecay([w], learning_rate=0.1, weight_decay=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.67377514]
    """

    _support_parallel_optimizer = True

    def __init__(self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9,
                 beta2: float = 0.999, eps: float = 1e-6, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay)
        check_adam(type(self).__name__, beta1, beta2, eps)
        self.beta1 = Tensor([beta1], mstype.float32)
        self.beta2 = Tensor([beta2], mstype.float32)
        self.eps = Tensor([eps], mstype.float32)
        self._betas: dict[str, Any] = {"beta1": single(beta1), "beta2": single(beta2),
                                       "eps": single(eps)}
        self.moments1 = self.parameters.clone(prefix="adam_m", init="zeros")
        self.moments2 = self.parameters.clone(prefix="adam_v", init="zeros")
        self.fused_opt = AdamWeightDecayPrimitive()
        self.use_fused_opt = True

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        return self.update_by(adam_weight_decay, gradients, self.moments1, self.moments2,
                              prepared=True, **self._betas)
