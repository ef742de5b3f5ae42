"""Adagrad."""

from __future__ import annotations

from typing import Any

from ...ops.primitives.optimizer_adaptive import ApplyAdagrad
from ...ops.primitives.update_rules import adagrad
from ..checks import non_negative_float, of_type
from .optimizer import Optimizer, opt_init_args_register


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011): ``a += g²``; ``p -= lr * g / sqrt(a)``.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        accum: where the sums of squares start, 0 or more.
        update_slots: whether the sums grow.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.Adagrad([w], accum=0.0, learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    @opt_init_args_register
    def __init__(self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001,
                 update_slots: bool = True, loss_scale: float = 1.0, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        non_negative_float(accum, "accum", "Adagrad")
        of_type(update_slots, bool, "update_slots", "Adagrad")
        self.accum = self.parameters.clone(prefix="accum", init=accum)
        self.update_slots = update_slots
        self.opt = ApplyAdagrad(update_slots=update_slots)

    def construct(self, grads: Any) -> Any:
        """Update the parameters."""
        return self.update_by(adagrad, grads, self.accum, update_slots=self.update_slots)
