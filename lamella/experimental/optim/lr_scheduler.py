"""Schedules of learning rates for the optimizers of `experimental.optim`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ...core.require import of_type
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR
from .one_cycle import OneCycleLR
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .schedule import LRScheduler, each_group
from .sequence import SequentialLR

__all__ = ["StepLR", "LinearLR", "LRScheduler", "ExponentialLR", "PolynomialLR",
           "MultiplicativeLR", "ConstantLR", "MultiStepLR", "LambdaLR", "SequentialLR",
           "ReduceLROnPlateau", "CyclicLR", "CosineAnnealingWarmRestarts", "CosineAnnealingLR",
           "OneCycleLR"]


def _integer(value: Any, name: str, where: str) -> int:
    of_type(value, int, name, where)
    return value


def _float(value: Any, name: str, where: str) -> float:
    of_type(value, float, name, where)
    return value


class StepLR(LRScheduler):
    """Multiplies the learning rates by `gamma` every `step_size` epochs.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        step_size: after how many epochs.
        gamma: the factor.

    Raises:
        TypeError: if `step_size` is no int or `gamma` no float.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=0.5)
        >>> schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(float(schedule.get_last_lr()[0]))
        ...     schedule.step()
        >>> rates
        [0.5, 0.5, 0.25, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1,
                 last_epoch: int = -1):
        self.step_size = _integer(step_size, "step_size", "StepLR")
        self.gamma = _float(gamma, "gamma", "StepLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.get_last_lr()
        return [lr * self.gamma for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """Goes from one share of the learning rates to another in `total_iters` epochs.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        start_factor: the share in epoch 0, above 0 and up to 1.
        end_factor: the share from `total_iters` on, 0 to 1.
        total_iters: how many epochs.

    Raises:
        ValueError: if a factor is out of range.
        TypeError: if `total_iters` is no int.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.LinearLR(optimizer, 0.5, 1.0, 2)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.75
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3,
                 end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1):
        if not 0 < start_factor <= 1:
            raise ValueError(f"For 'LinearLR', 'start_factor' must be above 0 and up to 1, "
                             f"but got {start_factor}.")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"For 'LinearLR', 'end_factor' must be 0 to 1, but got {end_factor}.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = _integer(total_iters, "total_iters", "LinearLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._last_lr]
        if self.last_epoch > self.total_iters:
            return self.get_last_lr()
        rise = self.end_factor - self.start_factor
        factor = 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        return [lr * factor for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, float(self.last_epoch)) / self.total_iters
        share = self.start_factor + (self.end_factor - self.start_factor) * done
        return [lr * share for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the learning rates by `gamma` every epoch.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        gamma: the factor.

    Raises:
        TypeError: if `gamma` is no float.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = _float(gamma, "gamma", "ExponentialLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch == 0:
            return self.get_last_lr()
        return [lr * self.gamma for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lowers the learning rates to 0 in `total_iters` epochs, along a power.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        total_iters: how many epochs.
        power: the power.

    Raises:
        TypeError: if `power` is no float or `total_iters` no int.
        ValueError: if `power` is below 0.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.PolynomialLR(optimizer, 4)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.75
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0,
                 last_epoch: int = -1):
        self.power = _float(power, "power", "PolynomialLR")
        if power < 0:
            raise ValueError(f"For 'PolynomialLR', 'power' must be 0 or more, but got {power}.")
        self.total_iters = _integer(total_iters, "total_iters", "PolynomialLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self.get_last_lr()
        left = 1.0 - self.last_epoch / self.total_iters
        factor = (left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * factor for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, float(self.last_epoch)) / self.total_iters
        return [lr * (1.0 - done) ** self.power for lr in self.base_lrs]


class LambdaLR(LRScheduler):
    """Multiplies the first learning rates by what a function of the epoch gives.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        lr_lambda: the function, or a list with one for each group.

    Raises:
        ValueError: if the list has another length.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable | list, last_epoch: int = -1):
        self.lr_lambdas = each_group(optimizer, lr_lambda, "lr_lambda", "LambdaLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        return [lr * function(self.last_epoch)
                for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LRScheduler):
    """Multiplies the learning rates every epoch by what a function of the epoch gives.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        lr_lambda: the function, or a list with one for each group.

    Raises:
        ValueError: if the list has another length.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable | list, last_epoch: int = -1):
        self.lr_lambdas = each_group(optimizer, lr_lambda, "lr_lambda", "MultiplicativeLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch > 0:
            return [lr * function(self.last_epoch)
                    for function, lr in zip(self.lr_lambdas, self._last_lr, strict=True)]
        return self.get_last_lr()


class MultiStepLR(LRScheduler):
    """Multiplies the learning rates by `gamma` at each milestone.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        milestones: a list of epochs.
        gamma: the factor.

    Raises:
        TypeError: if `milestones` is no list of ints or `gamma` no number.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], 0.5)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1,
                 last_epoch: int = -1):
        of_type(milestones, list, "milestones", "MultiStepLR")
        for milestone in milestones:
            _integer(milestone, "milestones", "MultiStepLR")
        if isinstance(gamma, bool) or not isinstance(gamma, (int, float)):
            raise TypeError(f"For 'MultiStepLR', 'gamma' must be a number, but got {gamma!r}.")
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        times = self.milestones.get(int(self.last_epoch), 0)
        return [lr * self.gamma ** times for lr in self.get_last_lr()]

    def _get_closed_form_lr(self) -> list[Any]:
        times = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return [lr * self.gamma ** times for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """Takes a share of the learning rates until epoch `total_iters`.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        factor: the share, 0 to 1.
        total_iters: the epoch from which on they are whole.

    Raises:
        ValueError: if `factor` is out of range.
        TypeError: if `total_iters` is no int.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2)
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError(f"For 'ConstantLR', 'factor' must be 0 to 1, but got {factor}.")
        self.factor = factor
        self.total_iters = _integer(total_iters, "total_iters", "ConstantLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._last_lr]
        if self.last_epoch != self.total_iters:
            return self.get_last_lr()
        if not self.factor:
            return list(self.base_lrs)
        return [lr / self.factor for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        share = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [lr * share for lr in self.base_lrs]
