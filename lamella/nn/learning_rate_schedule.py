"""Learning rates as functions of the step: Cells that an optimizer calls with its `global_step`.

The step is a Tensor of integers; the rate comes as a float32 Tensor of the same shape.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..tensors.tensor import Tensor, wrap
from .cell import Cell
from .checks import non_negative_float, of_type, positive_float, positive_int

__all__ = ["LearningRateSchedule", "ExponentialDecayLR", "NaturalExpDecayLR", "InverseDecayLR",
           "CosineDecayLR", "PolynomialDecayLR", "WarmUpLR"]


class LearningRateSchedule(Cell):
    """The base of learning-rate schedules: a subclass defines ``construct(global_step)``.

    Examples:
        >>> import lamella as ms
        >>> class Halving(ms.nn.learning_rate_schedule.LearningRateSchedule):
        ...     def construct(self, global_step):
        ...         return 0.5 ** (global_step * 1.0)
        >>> print(Halving()(ms.Tensor(3, ms.int32)))
        0.125
    """

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        raise NotImplementedError(f"'{type(self).__name__}' must define construct(global_step).")


def _steps(global_step: Any) -> torch.Tensor:
    if not isinstance(global_step, Tensor):
        global_step = Tensor(global_step)
    return global_step._raw.to(torch.float32)


class _Decay(LearningRateSchedule):
    """What the exponential and inverse schedules share."""

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int,
                 is_stair: bool = False):
        super().__init__()
        where = type(self).__name__
        positive_int(decay_steps, "decay_steps", where)
        positive_float(learning_rate, "learning_rate", where)
        positive_float(decay_rate, "decay_rate", where)
        of_type(is_stair, bool, "is_stair", where)
        self.learning_rate = learning_rate
        self.decay_rate = decay_rate
        self.decay_steps = decay_steps
        self.is_stair = is_stair

    def _progress(self, global_step: Any) -> torch.Tensor:
        progress = _steps(global_step) / self.decay_steps
        return progress.floor() if self.is_stair else progress


class ExponentialDecayLR(_Decay):
    """``learning_rate * decay_rate ** (step / decay_steps)``.

    Args:
        learning_rate: the first rate, above 0.
        decay_rate: the factor, above 0.
        decay_steps: the steps that one factor takes.
        is_stair: whether to round the exponent down.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or not above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.ExponentialDecayLR(0.1, 0.9, 4)(ms.Tensor(2, ms.int32)))
        0.094868325
    """

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        return wrap(self.learning_rate * torch.pow(self.decay_rate, self._progress(global_step)))


class NaturalExpDecayLR(_Decay):
    """``learning_rate * exp(-decay_rate * step)``; arguments as `ExponentialDecayLR`.

    With `is_stair` the step is rounded down to a multiple of `decay_steps`, which has no effect
    otherwise.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.NaturalExpDecayLR(0.1, 0.9, 4, True)(ms.Tensor(2, ms.int32)))
        0.1
    """

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        steps = _steps(global_step)
        if self.is_stair:
            steps = torch.floor_divide(steps, self.decay_steps) * self.decay_steps
        return wrap(self.learning_rate * torch.pow(math.e, -self.decay_rate * steps))


class InverseDecayLR(_Decay):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``; arguments as `ExponentialDecayLR`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.InverseDecayLR(0.1, 0.5, 1)(ms.Tensor(2, ms.int32)))
        0.05
    """

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        return wrap(self.learning_rate / (1 + self.decay_rate * self._progress(global_step)))


class CosineDecayLR(LearningRateSchedule):
    """Half a cosine from `max_lr` down to `min_lr`, which it then keeps (Loshchilov & Hutter 2016).

    Args:
        min_lr: the last rate, 0 or more.
        max_lr: the first rate, above `min_lr`.
        decay_steps: the number of steps of the decay.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.CosineDecayLR(0.01, 0.1, 4)(ms.Tensor(2, ms.int32)))
        0.055
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int):
        super().__init__()
        non_negative_float(min_lr, "min_lr", "CosineDecayLR")
        positive_float(max_lr, "max_lr", "CosineDecayLR")
        positive_int(decay_steps, "decay_steps", "CosineDecayLR")
        if min_lr >= max_lr:
            raise ValueError(f"For 'CosineDecayLR', 'max_lr' must be above 'min_lr', "
                             f"but got max_lr={max_lr}, min_lr={min_lr}.")
        self.min_lr = min_lr
        self.max_lr = max_lr
        self.decay_steps = decay_steps
        self.delta = 0.5 * (max_lr - min_lr)

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        progress = _steps(global_step).clamp(max=self.decay_steps) / self.decay_steps
        return wrap(self.min_lr + self.delta * (1.0 + torch.sin(math.pi * (progress + 0.5))))


class PolynomialDecayLR(LearningRateSchedule):
    """``(learning_rate - end) * (1 - step / decay_steps) ** power + end``.

    Args:
        learning_rate: the first rate, above 0.
        end_learning_rate: the last, 0 or more.
        decay_steps: the steps that the decay takes; afterwards the rate stays.
        power: the exponent, above 0.
        update_decay_steps: stretch the decay to the next multiple of `decay_steps` instead.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)(ms.Tensor(2, ms.int32)))
        0.07363961
    """

    def __init__(self, learning_rate: float, end_learning_rate: float, decay_steps: int,
                 power: float, update_decay_steps: bool = False):
        super().__init__()
        where = "PolynomialDecayLR"
        positive_float(learning_rate, "learning_rate", where)
        non_negative_float(end_learning_rate, "end_learning_rate", where)
        positive_int(decay_steps, "decay_steps", where)
        of_type(update_decay_steps, bool, "update_decay_steps", where)
        positive_float(power, "power", where)
        self.decay_steps = decay_steps
        self.start_learning_rate = learning_rate
        self.end_learning_rate = end_learning_rate
        self.diff_learning_rate = learning_rate - end_learning_rate
        self.power = power
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        steps = _steps(global_step)
        if self.update_decay_steps:
            length = self.decay_steps * (steps / self.decay_steps).ceil().clamp(min=1)
        else:
            length = self.decay_steps
            steps = steps.clamp(max=length)
        left = torch.pow(1.0 - steps / length, self.power)
        return wrap(self.diff_learning_rate * left + self.end_learning_rate)


class WarmUpLR(LearningRateSchedule):
    """From 0 up to `learning_rate` in `warmup_steps` steps, then constant.

    Args:
        learning_rate: the rate to reach, 0 or more.
        warmup_steps: the number of steps of the rise.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.WarmUpLR(0.1, 2)(ms.Tensor(1, ms.int32)))
        0.05
    """

    def __init__(self, learning_rate: float, warmup_steps: int):
        super().__init__()
        non_negative_float(learning_rate, "learning_rate", "WarmUpLR")
        positive_int(warmup_steps, "warmup_steps", "WarmUpLR")
        self.warmup_steps = warmup_steps
        self.learning_rate = learning_rate

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        steps = _steps(global_step)
        return wrap(self.learning_rate * (steps.clamp(max=self.warmup_steps) / self.warmup_steps))
