"""SequentialLR: one schedule after the other."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ...core import dtype as mstype
from ...core.errors import explain_construction
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .optimizer import Optimizer
from .schedule import assign, snapshot

__all__ = ["SequentialLR"]


@explain_construction
class SequentialLR:
    """Steps one schedule after the other, the next from each milestone on.

    Args:
        optimizer: the optimizer of all of them.
        schedulers: the schedules.
        milestones: the epochs at which the next one starts, one less than schedules.
        last_epoch: the last epoch that is over; -1 starts.

    Raises:
        ValueError: if a schedule has another optimizer, or the number of milestones is wrong.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> parts = [optim.lr_scheduler.ConstantLR(optimizer, 0.5, 9),
        ...          optim.lr_scheduler.ExponentialLR(optimizer, 0.25)]
        >>> schedule = optim.lr_scheduler.SequentialLR(optimizer, parts, [2])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(float(schedule.get_last_lr()[0]))
        ...     schedule.step()
        >>> rates
        [0.5, 0.5, 1.0, 0.25]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int],
                 last_epoch: int = -1):
        for i, schedule in enumerate(schedulers):
            if schedule.optimizer is not optimizer:
                raise ValueError(f"For 'SequentialLR', all schedules must be of the same optimizer,"
                                 f" but schedulers[{i}] is of another.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"For 'SequentialLR', there must be one milestone less than schedules,"
                             f" but got {len(milestones)} and {len(schedulers)}.")
        self._schedulers, self.milestones, self.optimizer = schedulers, milestones, optimizer
        self.last_epoch = Parameter(Tensor(last_epoch + 1, mstype.float32),
                                    name="last_epoch_SequentialLR")
        groups = optimizer.param_groups
        assign([g["lr"] for g in groups], [g["initial_lr"] for g in groups])
        for schedule in schedulers:  # undo their first steps
            schedule.last_epoch.set_data(schedule.last_epoch.value() - 1)
        schedulers[0].step()
        self._last_lr = schedulers[0]._last_lr

    def step(self) -> None:
        """Set the learning rates for the next epoch."""
        self.last_epoch.set_data(self.last_epoch.value() + 1)
        epoch = int(self.last_epoch)
        place = bisect_right(self.milestones, epoch)
        if place > 0 and self.milestones[place - 1] == epoch:
            self._schedulers[place].step(0)
        else:
            self._schedulers[place].step()

    def get_last_lr(self) -> list[Tensor]:
        """The learning rate of each group, as the last step has set it."""
        return [snapshot(lr) for lr in self._last_lr]
