"""LRScheduler: the base of what sets the learning rates of an optimizer's groups."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...core.errors import explain_construction
from ...core.require import of_type
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["LRScheduler", "each_group"]


class LRScheduler:
    """The base of schedules; a subclass defines `get_lr`, and is stepped once an epoch.

    Args:
        optimizer: an optimizer of `experimental.optim`.
        last_epoch: the last epoch that is over; -1 starts, and keeps each group's learning rate as
            its ``initial_lr``.

    Attributes:
        last_epoch: a Parameter; 0 after the schedule was made.
        base_lrs: each group's ``initial_lr``.

    Raises:
        TypeError: if `optimizer` is no `Optimizer`, or `last_epoch` no int.
        ValueError: if `last_epoch` is below -1.
        KeyError: if it is 0 or more and a group has no ``initial_lr``.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> class Halves(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=0.5)
        >>> schedule = Halves(optimizer)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.25
    """

    def __init_subclass__(cls, **given: Any) -> None:
        """Let errors about the arguments of Lamella's own schedules name them."""
        super().__init_subclass__(**given)
        explain_construction(cls)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        where = type(self).__name__
        check_optimizer(optimizer, where)
        of_type(last_epoch, int, "last_epoch", where)
        if last_epoch < -1:
            raise ValueError(f"For '{where}', 'last_epoch' must be -1 or more, "
                             f"but got {last_epoch}.")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", snapshot(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"For '{where}', to go on after epoch {last_epoch}, "
                               f"param_groups[{i}] must have an 'initial_lr'.")
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr = list(optimizer.lrs)
        self.groups_num = len(optimizer.param_groups)
        self.last_epoch = Parameter(Tensor(last_epoch, mstype.float32), name=f"last_epoch_{where}")
        self.step()

    def get_lr(self) -> list[Any]:
        """The learning rate of each group in the epoch `last_epoch`."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'get_lr'.")

    def _get_closed_form_lr(self) -> list[Any]:
        """The same, from `base_lrs` and `last_epoch` alone."""
        return self.get_lr()

    def get_last_lr(self) -> list[Tensor]:
        """The learning rate of each group, as the last step has set it."""
        return [snapshot(lr) for lr in self._last_lr]

    def step(self, epoch: Any = None) -> None:
        """Set the learning rates for the next epoch, or for `epoch`."""
        if epoch is None:
            self.last_epoch.set_data(self.last_epoch.value() + 1)
            values = self.get_lr()
        else:
            self.last_epoch.set_data(Tensor(epoch, mstype.float32))
            values = self._get_closed_form_lr()
        assign(self._last_lr, values)


def check_optimizer(optimizer: Any, where: str) -> None:
    """Raise TypeError unless `optimizer` is one of `experimental.optim`."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"For '{where}', 'optimizer' must be an Optimizer of experimental.optim, "
                        f"but got {type(optimizer).__name__}.")


def snapshot(value: Any) -> Tensor:
    """A learning rate as a Tensor that keeps its value."""
    return value.value().copy() if isinstance(value, Parameter) else Tensor(value, mstype.float32)


def assign(rates: list[Any], values: list[Any]) -> None:
    """Give the groups' Parameters their new values, all of which are known before."""
    for rate, value in zip(rates, [snapshot(v) for v in values], strict=True):
        rate.set_data(value)


def each_group(optimizer: Optimizer, value: Any, name: str, where: str) -> list[Any]:
    """`value` for each group, which may be a list with one for each.

    Raises:
        ValueError: if the list has another length.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"For '{where}', '{name}' must have a value for each of {count} groups, "
                         f"but got {len(value)}.")
    return list(value)
