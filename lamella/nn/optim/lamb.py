"""Lamb."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...ops.primitives.update_rules import lamb, single
from ...tensors.tensor import Tensor
from .adam import check_adam
from .optimizer import Optimizer, opt_init_args_register


class Lamb(Optimizer):
    """Adam whose steps are as long as the parameters times the learning rate (You et al. 2019).

    Args:
        params, learning_rate, weight_decay: as `Optimizer`.
        beta1, beta2, eps: as `Adam`.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.Lamb([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    _support_parallel_optimizer = True
    _elementwise = False

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any, beta1: float = 0.9, beta2: float = 0.999,
                 eps: float = 1e-6, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay)
        check_adam("Lamb", beta1, beta2, eps)
        self.beta1 = Tensor([beta1], mstype.float32)
        self.beta2 = Tensor([beta2], mstype.float32)
        self.eps = Tensor([eps], mstype.float32)
        self._betas: dict[str, Any] = {"beta1": single(beta1), "beta2": single(beta2),
                                       "eps": single(eps)}
        self.params = self.parameters
        self.moments1 = self.parameters.clone(prefix="lamb_m", init="zeros")
        self.moments2 = self.parameters.clone(prefix="lamb_v", init="zeros")

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        gradients = self.gradients_centralization(gradients)
        step = (self.global_step._raw + 1).reshape(())
        return self.update_by(lamb, gradients, self.moments1, self.moments2, prepared=True,
                              step=step, **self._betas)
