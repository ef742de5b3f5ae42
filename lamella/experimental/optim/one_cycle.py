"""OneCycleLR: one rise and one fall of the learning rate over a whole training."""

from __future__ import annotations

import math
from typing import Any

from ...core.require import one_of
from .optimizer import Optimizer
from .schedule import LRScheduler, check_optimizer, each_group

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """Raises the learning rates to `max_lr`, then lowers them far below where they began.

    The momentum goes the other way. Stepped once a batch (Smith and Topin, 2018).

    Args:
        optimizer, last_epoch: as for `LRScheduler`; "epochs" are batches here.
        max_lr: the highest learning rate, or a list with one for each group.
        total_steps: the number of steps; or else
        epochs, steps_per_epoch: whose product it is.
        pct_start: the share of the steps that rise.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: whether the groups' ``momentum``, or first of ``betas``, moves as well.
        base_momentum, max_momentum: its bounds, or lists with one for each group.
        div_factor: the first learning rate is ``max_lr / div_factor``.
        final_div_factor: the last one is that over `final_div_factor`.
        three_phase: whether it falls as long as it rose, and then to the last one.

    Raises:
        ValueError: if the number of steps isn't given or not above 0, `pct_start` isn't 0 to 1,
            `anneal_strategy` is unknown, or there is no momentum to cycle.

    Examples:
        >>> import lamella as ms
        >>> from lamella.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], 0.1, momentum=0.9)
        >>> schedule = optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
        >>> rates = []
        >>> for _ in range(3):
        ...     rates.append(round(float(schedule.get_last_lr()[0]), 2))
        ...     schedule.step()
        >>> rates
        [0.04, 0.52, 1.0]
    """

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None,
                 pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85,
                 max_momentum: Any = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1):
        where = "OneCycleLR"
        check_optimizer(optimizer, where)
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        if isinstance(pct_start, bool) or not isinstance(pct_start, (int, float)) \
                or not 0 <= pct_start <= 1:
            raise ValueError(f"For '{where}', 'pct_start' must be 0 to 1, but got {pct_start!r}.")
        self.anneal_strategy = one_of(anneal_strategy, ("cos", "linear"), "anneal_strategy", where)
        self._highest = each_group(optimizer, max_lr, "max_lr", where)
        self._first = [high / div_factor for high in self._highest]
        self._last = [first / final_div_factor for first in self._first]
        self._momenta: list[tuple[str, float, float]] = []  # of each group: key, lowest, highest
        if cycle_momentum:
            self._momenta = [
                (_momentum_of(group), low, high) for group, low, high in zip(
                    optimizer.param_groups,
                    each_group(optimizer, base_momentum, "base_momentum", where),
                    each_group(optimizer, max_momentum, "max_momentum", where), strict=True)]
        top = pct_start * self.total_steps - 1
        # where each phase ends; what a phase leads from and to, as places in `levels`
        self._phases = [(top, 0, 1), (2 * top, 1, 0), (self.total_steps - 1, 0, 2)] \
            if three_phase else [(top, 0, 1), (self.total_steps - 1, 1, 2)]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The learning rates of this step; sets the groups' momentum."""
        at = float(self.last_epoch)
        if at > self.total_steps:
            raise ValueError(f"For 'OneCycleLR', there are {self.total_steps} steps, but this "
                             f"is step {at:.0f}.")
        for (key, low, high), group in zip(self._momenta, self.optimizer.param_groups,
                                           strict=False):
            momentum = self._level(at, (high, low, high))
            group[key] = (momentum, *group[key][1:]) if key == "betas" else momentum
        return [self._level(at, levels)
                for levels in zip(self._first, self._highest, self._last, strict=True)]

    def _level(self, at: float, levels: tuple[float, float, float]) -> float:
        begin = 0.0
        for end, start, goal in self._phases:
            if at <= end or end == self._phases[-1][0]:
                share = (at - begin) / (end - begin)
                if self.anneal_strategy == "cos":
                    share = (1 - math.cos(math.pi * share)) / 2
                return levels[start] + (levels[goal] - levels[start]) * share
            begin = end
        raise AssertionError


def _steps(total: Any, epochs: Any, each: Any) -> int:
    if total is None and (epochs is None or each is None):
        raise ValueError("For 'OneCycleLR', 'total_steps' must be given, or 'epochs' and "
                         "'steps_per_epoch'.")
    given = {"total_steps": total} if total is not None else {
        "epochs": epochs, "steps_per_epoch": each}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise ValueError(f"For 'OneCycleLR', '{name}' must be an int above 0, "
                             f"but got {value!r}.")
    return total if total is not None else epochs * each


def _momentum_of(group: dict[str, Any]) -> str:
    for key in ("betas", "momentum"):
        if key in group:
            return key
    raise ValueError("For 'OneCycleLR', 'cycle_momentum' must be False for an optimizer without "
                     "'momentum' or 'betas'.")
