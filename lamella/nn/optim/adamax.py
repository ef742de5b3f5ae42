"""AdaMax."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...ops.primitives.update_rules import adamax, single
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .adam import check_adam
from .optimizer import Optimizer, opt_init_args_register


class AdaMax(Optimizer):
    """Adam that divides by the largest recent gradient (Kingma & Ba 2014, section 7.1).

    ``m = beta1 m + (1 - beta1) g``; ``v = max(beta2 v, |g|)``;
    ``p -= lr / (1 - beta1^t) * m / (v + eps)``.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        beta1, beta2, eps: as `Adam`.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.AdaMax([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 0.001, beta1: float = 0.9,
                 beta2: float = 0.999, eps: float = 1e-8, weight_decay: Any = 0.0,
                 loss_scale: float = 1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_adam("AdaMax", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = (Tensor(number, mstype.float32)
                                            for number in (beta1, beta2, eps))
        self._betas: dict[str, Any] = {"beta1": single(beta1), "beta2": single(beta2),
                                       "eps": single(eps)}
        self.beta1_power = Parameter(Tensor([1.0], mstype.float32), name="beta1_power")
        self.moment1 = self.parameters.clone(prefix="moment1", init="zeros")
        self.moment2 = self.parameters.clone(prefix="moment2", init="zeros")

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        self.check_gradients(gradients)
        rates = self.get_lr()
        with self._unrecorded():
            power = self.beta1_power._data.mul_(self._betas["beta1"])
            correction = (1.0 / (1.0 - power)).reshape(())
            if isinstance(rates, tuple):
                rates = tuple(rate._raw * correction for rate in rates)
            else:
                rates = rates._raw * correction
        return self.update_by(adamax, gradients, self.moment1, self.moment2, lr=rates,
                              **self._betas)
