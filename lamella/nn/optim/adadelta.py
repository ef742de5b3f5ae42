"""Adadelta."""

from __future__ import annotations

from typing import Any

from ...ops.primitives.optimizer_adaptive import ApplyAdadelta
from ...ops.primitives.update_rules import adadelta
from ...tensors.tensor import Tensor
from ..checks import float_within, non_negative_float
from .optimizer import Optimizer, opt_init_args_register


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012): steps as large as recent steps were, over recent gradients.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        rho: how much of the squares to keep, from 0 to 1.
        epsilon: keeps the roots from 0.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.Adadelta([w])((ms.Tensor([1.0]),))
        >>> print(w.value())
        [0.99683774]
    """

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 1.0, rho: float = 0.9,
                 epsilon: float = 1e-6, loss_scale: float = 1.0, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        float_within(rho, 0.0, 1.0, "[]", "rho", "Adadelta")
        non_negative_float(epsilon, "epsilon", "Adadelta")
        self.accum = self.parameters.clone(prefix="accum", init=0)
        self.accum_update = self.parameters.clone(prefix="accum_update", init=0)
        self.opt = ApplyAdadelta()
        self.rho = rho
        self.epsilon = epsilon

    def construct(self, grads: Any) -> Any:
        """Update the parameters."""
        if not isinstance(grads, tuple) or not all(isinstance(g, Tensor) for g in grads):
            raise TypeError(f"For 'Adadelta', the gradients must be a tuple of Tensors, "
                            f"but got {type(grads).__name__}.")
        return self.update_by(adadelta, grads, self.accum, self.accum_update, rho=self.rho,
                              eps=self.epsilon)
