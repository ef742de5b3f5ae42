"""FTRL."""

from __future__ import annotations

from typing import Any

from ...ops.primitives.optimizer_adaptive import ApplyFtrl
from ...ops.primitives.update_rules import ftrl
from ..checks import non_negative_float, of_type, positive_float
from .optimizer import Optimizer, opt_init_args_register


class FTRL(Optimizer):
    """Follow the regularized leader (McMahan et al. 2013).

    Args:
        params, weight_decay, loss_scale: as `Optimizer`; the decay applies to all parameters.
        initial_accum: where the sums of squares start, 0 or more.
        learning_rate: a float above 0.
        lr_power: the exponent of the sums in the learning rate, 0 or less.
        l1, l2: the strengths of the pull towards zero, 0 or more.
        use_locking: accepted as MindSpore does.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.FTRL([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value().shape)
        (1,)
    """

    _has_settable_target = True

    @opt_init_args_register
    def __init__(self, params: Any, initial_accum: float = 0.1, learning_rate: Any = 0.001,
                 lr_power: float = -0.5, l1: float = 0.0, l2: float = 0.0,
                 use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError("For 'FTRL', 'learning_rate' must be one number for all parameters "
                             "and steps.")
        positive_float(learning_rate, "learning_rate", "FTRL")
        for name, value in (("initial_accum", initial_accum), ("l1", l1), ("l2", l2)):
            non_negative_float(value, name, "FTRL")
        of_type(lr_power, float, "lr_power", "FTRL")
        if lr_power > 0:
            raise ValueError(f"For 'FTRL', 'lr_power' must be 0 or less, but got {lr_power}.")
        of_type(use_locking, bool, "use_locking", "FTRL")
        self.moments = self.parameters.clone(prefix="moments", init=initial_accum)
        self.linear = self.parameters.clone(prefix="linear", init="zeros")
        self.l1 = l1
        self.l2 = l2
        self.lr = learning_rate
        self.lr_power = lr_power
        self.use_locking = use_locking
        if not self.is_group:
            self.decay_flags = (True,) * self.param_length
        self.opt = ApplyFtrl(use_locking=use_locking)

    def construct(self, grads: Any) -> Any:
        """Update the parameters."""
        return self.update_by(ftrl, grads, self.moments, self.linear, l1=self.l1, l2=self.l2,
                              power=self.lr_power)
