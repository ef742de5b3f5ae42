"""RMSProp."""

from __future__ import annotations

from typing import Any

from ...ops.primitives.optimizer_adaptive import ApplyCenteredRMSProp, ApplyRMSProp
from ...ops.primitives.update_rules import rmsprop, single
from ..checks import non_negative_float, of_type, positive_float
from .optimizer import Optimizer, opt_init_args_register


class RMSProp(Optimizer):
    """RMSProp (Tieleman & Hinton 2012; centered: Graves 2013).

    ``s = decay s + (1 - decay) g²``; ``m = momentum m + lr g / sqrt(s + epsilon)``; ``p -= m``.
    `s` starts at 1.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        decay: how much of `s` to keep.
        momentum: how much of `m` to keep.
        epsilon: keeps the divisor from 0.
        use_locking: accepted as MindSpore does.
        centered: take the square of the mean gradient from `s` first.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.RMSProp([w], learning_rate=0.1)((ms.Tensor([1.0]),))
        >>> print(w.value())
        [0.9]
    """

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 0.1, decay: float = 0.9,
                 momentum: float = 0.0, epsilon: float = 1e-10, use_locking: bool = False,
                 centered: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        non_negative_float(decay, "decay", "RMSProp")
        non_negative_float(momentum, "momentum", "RMSProp")
        positive_float(epsilon, "epsilon", "RMSProp")
        of_type(use_locking, bool, "use_locking", "RMSProp")
        of_type(centered, bool, "centered", "RMSProp")
        self.centered = centered
        self.momentum = momentum
        self.epsilon = epsilon
        self.decay = decay
        self._rho = single(decay)
        self.opt = ApplyCenteredRMSProp(use_locking) if centered else ApplyRMSProp(use_locking)
        if centered:
            self.mg = self.parameters.clone(prefix="mean_grad", init="zeros")
        self.ms = self.parameters.clone(prefix="mean_square", init="ones")
        self.moment = self.parameters.clone(prefix="moment", init="zeros")

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        options: dict[str, Any] = {"rho": self._rho, "momentum": self.momentum, "eps": self.epsilon}
        if self.centered:
            return self.update_by(_centered, gradients, self.ms, self.moment, self.mg, **options)
        return self.update_by(rmsprop, gradients, self.ms, self.moment, **options)


def _centered(params: list, grads: list, squares: list, moments: list, means: list,
              **options: Any) -> None:
    rmsprop(params, grads, squares, moments, means=means, **options)
