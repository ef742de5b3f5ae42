"""Callbacks that change the optimizer's learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core import checks as check
from ...core import dtype as mstype
from ...core import log
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .base import Callback, RunContext, parameters_of
from .monitored import Monitored

__all__ = ["LearningRateScheduler", "ReduceLROnPlateau"]


def _rate_of(params: Any, where: str) -> Parameter:
    rate = getattr(params.get("optimizer"), "learning_rate", None)
    if not isinstance(rate, Parameter):
        raise ValueError(f"For '{where}', the optimizer's learning rate must be one number, but "
                         f"it is a schedule, has groups, or there is no optimizer.")
    return rate


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step to what a function says.

    Args:
        learning_rate_function: called with the learning rate and the number of the step; returns
            the new learning rate.

    Raises:
        TypeError: if it can't be called.
        ValueError: on a step, if the optimizer has a schedule or groups.

    Examples:
        >>> import lamella as ms
        >>> halve = ms.train.LearningRateScheduler(lambda lr, step: lr / 2)
        >>> optimizer = ms.nn.SGD(ms.nn.Dense(1, 1).trainable_params(), 0.5)
        >>> from lamella.train.callback import _InternalCallbackParam
        >>> params = _InternalCallbackParam(optimizer=optimizer, cur_step_num=1)
        >>> halve.step_end(ms.train.RunContext(params))
        >>> print(optimizer.learning_rate.value())
        0.25
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]):
        super().__init__()
        if not callable(learning_rate_function):
            raise TypeError(f"For 'LearningRateScheduler', 'learning_rate_function' must be a "
                            f"function, but got {type(learning_rate_function).__name__}.")
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        """Set the learning rate."""
        params = parameters_of(run_context, self)
        rate = _rate_of(params, "LearningRateScheduler")
        old = float(str(rate.asnumpy()))  # 0.1, and not the float32 next to it
        new = self.learning_rate_function(old, params.cur_step_num)
        if not math.isclose(old, new, rel_tol=1e-10):
            rate.set_data(Tensor(new, mstype.float32))
            log.info(f"At step {params.cur_step_num}, learning_rate change to {new}")


class ReduceLROnPlateau(Monitored):
    """Lowers the learning rate when a value has not improved for `patience` epochs.

    Args:
        monitor, patience, verbose, mode, min_delta: as for `EarlyStopping`.
        factor: what the learning rate is multiplied by, between 0 and 1.
        cooldown: epochs after that in which none are counted.
        min_lr: the smallest learning rate.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        ValueError: at an epoch's end, if the optimizer has a schedule or groups.

    Examples:
        >>> import lamella as ms
        >>> ms.train.ReduceLROnPlateau(factor=0.5, patience=2).cooldown
        0
    """

    def __init__(self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10,
                 verbose: bool = False, mode: str = "auto", min_delta: float = 0.0001,
                 cooldown: int = 0, min_lr: float = 0):
        super().__init__(monitor, min_delta, patience, verbose, mode)
        where = "ReduceLROnPlateau"
        self.factor = check.check_float_range(factor, 0.0, 1.0, check.INC_NEITHER, "factor", where)
        self.cooldown = check.check_non_negative_int(cooldown, "cooldown", where)
        self.min_lr = check.check_value_type("min_lr", min_lr, [float, int], where)
        self.cooldown_counter = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget an earlier run."""
        self.restart()
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Look at the value, and lower the learning rate if it is time."""
        params = parameters_of(run_context, self)
        rate = _rate_of(params, "ReduceLROnPlateau")
        current = self.value_of(params)
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_improvement(current, self.best):
            self.best, self.wait = current, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._lower(rate, params)
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _lower(self, rate: Parameter, params: Any) -> None:
        old = rate.asnumpy()
        if old > self.min_lr:
            new = Tensor(max(old * old.dtype.type(self.factor), self.min_lr), mstype.float32)
            rate.set_data(new)
            if self.verbose:
                print(f"Epoch {params.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate "
                      f"to {new}.")
