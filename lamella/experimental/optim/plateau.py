"""ReduceLROnPlateau: lower learning rates when a value no longer improves."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...core.errors import explain_construction
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .optimizer import Optimizer
from .schedule import check_optimizer, each_group, snapshot

__all__ = ["ReduceLROnPlateau"]


@explain_construction
class ReduceLROnPlateau:
    """Multiplies the learning rates by `factor` when a value has not improved for long.

    Args:
        optimizer: the optimizer.
        mode: ``"min"`` if smaller is better, ``"max"`` if larger.
        factor: the factor, below 1.
        patience: the epochs without improvement that are waited for.
        threshold: how much better counts as better.
        threshold_mode: ``"rel"``, a share of the best value, or ``"abs"``.
        cooldown: epochs after that in which none are counted.
        min_lr: the smallest learning rate, or a list with one for each group.
        eps: a smaller change is left out.

    Raises:
        TypeError: if `optimizer` is no `Optimizer`.
        ValueError: if `factor` is 1 or more, or a mode unknown.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        >>> for loss in (3.0, 2.0, 2.0):
        ...     schedule.step(loss)
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1,
                 patience: int = 10, threshold: float = 1e-4, threshold_mode: str = "rel",
                 cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8):
        where = "ReduceLROnPlateau"
        check_optimizer(optimizer, where)
        if factor >= 1.0:
            raise ValueError(f"For '{where}', 'factor' must be below 1, but got {factor}.")
        for name, value, allowed in (("mode", mode, ("min", "max")),
                                     ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if value not in allowed:
                raise ValueError(f"For '{where}', '{name}' must be {allowed[0]!r} or "
                                 f"{allowed[1]!r}, but got {value!r}.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = each_group(optimizer, min_lr, "min_lr", where)
        self.mode_worse = float("inf") if mode == "min" else float("-inf")
        self.last_epoch = Parameter(Tensor(0, mstype.int32), name=f"last_epoch_{where}")
        self.best = Parameter(Tensor(self.mode_worse, mstype.float32), name="best")
        self.cooldown_counter = Parameter(Tensor(0, mstype.float32), name="cooldown_counter")
        self.wait = Parameter(Tensor(0, mstype.float32), name="wait")
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics: Any) -> None:
        """Look at the value of this epoch, and lower the learning rates if it is time."""
        current = Tensor(metrics, mstype.float32)
        self.last_epoch.set_data(self.last_epoch.value() + 1)
        better = self._is_improvement(current)
        wait = 0.0 if better else float(self.wait) + 1
        if better:
            self.best.set_data(current)
        if self.in_cooldown():
            self.cooldown_counter.set_data(self.cooldown_counter.value() - 1)
            wait = 0.0
        if wait > self.patience:
            self._reduce_lr()
            self.cooldown_counter.set_data(self.cooldown)
            wait = 0.0
        self.wait.set_data(wait)

    def _reduce_lr(self) -> None:
        for rate, low in zip(self._last_lr, self.min_lrs, strict=True):
            old = snapshot(rate)
            new = (old * self.factor).maximum(Tensor(low, mstype.float32))
            if old > new + self.eps:
                rate.set_data(new)

    def in_cooldown(self) -> bool:
        """Whether epochs without improvement don't count now."""
        return bool(self.cooldown_counter > 0)

    def _is_improvement(self, current: Tensor) -> bool:
        best, sign = self.best.value(), -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            goal = best * (1 + sign * self.threshold)
        else:
            goal = best + sign * self.threshold
        return bool(current < goal if self.mode == "min" else current > goal)

    def get_last_lr(self) -> list[Tensor]:
        """The learning rate of each group, as the last step has set it."""
        return [snapshot(lr) for lr in self._last_lr]
