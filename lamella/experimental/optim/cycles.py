"""Schedules that go up and down: triangles and cosines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core import dtype as mstype
from ...core.require import of_type
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .optimizer import Optimizer
from .schedule import LRScheduler, assign, each_group

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]


class CyclicLR(LRScheduler):
    """Goes up from one learning rate to another and back, again and again (Smith 2017).

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        base_lr, max_lr: the lowest and the highest, or lists with one for each group.
        step_size_up, step_size_down: the steps up, and down; default: as many.
        mode: ``"triangular"``; ``"triangular2"`` halves the height after each cycle;
            ``"exp_range"`` multiplies it by `gamma` at each step.
        gamma: the factor of ``"exp_range"``.
        scale_fn: a function that scales the height, in place of `mode`.
        scale_mode: what `scale_fn` gets: ``"cycle"`` or ``"iterations"``.

    Raises:
        ValueError: if `mode` is unknown and there is no `scale_fn`, or a list's length is wrong.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=0.1)
        >>> schedule = optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, step_size_up=2)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        2.0
    """

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any,
                 step_size_up: float = 2000, step_size_down: float | None = None,
                 mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable | None = None,
                 scale_mode: str = "cycle", last_epoch: int = -1):
        low = each_group(optimizer, base_lr, "base_lr", "CyclicLR")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"For 'CyclicLR', 'mode' must be 'triangular', 'triangular2' or "
                             f"'exp_range', but got {mode!r}.")
        if last_epoch == -1:
            assign([group["lr"] for group in optimizer.param_groups], low)
        self.max_lrs = each_group(optimizer, max_lr, "max_lr", "CyclicLR")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_step_size = float(step_size_up) + float(down)
        self.step_up_ratio = step_size_up / self.total_step_size
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else (
            "iterations" if mode == "exp_range" else "cycle")
        self._low = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = list(low)

    def scale_fn(self, x: Any) -> Any:
        """What the height is multiplied by."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma ** x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        turns = self.last_epoch.value() / self.total_step_size
        cycle = (1 + turns).floor()
        x = 1.0 + turns - cycle
        if x <= self.step_up_ratio:
            height = x / self.step_up_ratio
        else:
            height = (x - 1) / (self.step_up_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch.value())
        return [low + (high - low) * height * scale
                for low, high in zip(self._low, self.max_lrs, strict=True)]


class CosineAnnealingLR(LRScheduler):
    """Lowers the learning rates along half a cosine in `T_max` epochs, and raises them again.

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        T_max: the epochs down.
        eta_min: the lowest learning rate.

    Raises:
        TypeError: if `T_max` is no int or `eta_min` no number.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
        >>> schedule.step()
        >>> print(schedule.get_last_lr()[0])
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0,
                 last_epoch: int = -1):
        of_type(T_max, int, "T_max", "CosineAnnealingLR")
        if isinstance(eta_min, bool) or not isinstance(eta_min, (int, float)):
            raise TypeError(f"For 'CosineAnnealingLR', 'eta_min' must be a number, "
                            f"but got {eta_min!r}.")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        epoch, low = float(self.last_epoch), self.eta_min
        if epoch == 0:
            return self.get_last_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise
                    for base, lr in zip(self.base_lrs, self._last_lr, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / (
            1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [(lr - low) * ratio + low for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * float(self.last_epoch) / self.T_max)) / 2
        return [(base - self.eta_min) * share + self.eta_min for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lowers the learning rates along half a cosine, then starts anew (Loshchilov and Hutter 2016).

    Args:
        optimizer, last_epoch: as for `LRScheduler`.
        T_0: the epochs of the first cosine.
        T_mult: what that is multiplied by for each next one.
        eta_min: the lowest learning rate.

    Raises:
        ValueError: if `T_0` or `T_mult` is no int above 0.
        TypeError: if `eta_min` is no number.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(float(schedule.get_last_lr()[0]))
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0,
                 last_epoch: int = -1):
        where = "CosineAnnealingWarmRestarts"
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"For '{where}', '{name}' must be an int of 1 or more, "
                                 f"but got {value!r}.")
        if isinstance(eta_min, bool) or not isinstance(eta_min, (int, float)):
            raise TypeError(f"For '{where}', 'eta_min' must be a number, but got {eta_min!r}.")
        self.T_0 = Parameter(Tensor(T_0, mstype.float32), name="T_0")
        self.T_i = Parameter(Tensor(T_0, mstype.float32), name="T_i")
        self.T_cur = Parameter(Tensor(last_epoch, mstype.float32), name="T_cur")
        self.T_mult, self.eta_min = T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        share = (1 + math.cos(math.pi * float(self.T_cur) / float(self.T_i))) / 2
        return [(base - self.eta_min) * share + self.eta_min for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Set the learning rates for the next epoch, or for `epoch`, which may be a fraction."""
        now, length, first = float(self.T_cur), float(self.T_i), float(self.T_0)
        if epoch is None and self.last_epoch < 0:
            epoch = 0.0
        if epoch is None:
            epoch = float(self.last_epoch) + 1
            now += 1
            if now >= length:
                now, length = now - length, length * self.T_mult
        else:
            epoch = float(epoch)
            if epoch < 0:
                raise ValueError(f"For 'CosineAnnealingWarmRestarts.step', 'epoch' must be 0 or "
                                 f"more, but got {epoch}.")
            now, length = epoch, first
            while now >= length:
                now, length = now - length, length * self.T_mult
        self.T_cur.set_data(now)
        self.T_i.set_data(length)
        self.last_epoch.set_data(float(math.floor(epoch)))
        assign(self._last_lr, self.get_lr())
