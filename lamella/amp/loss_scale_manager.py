"""Loss scales for `Model` and `build_train_network`."""

from __future__ import annotations

from typing import Any

from ..core.errors import explain_construction
from ..nn.checks import positive_int
from ..nn.wrap import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """The base of loss-scale managers; a subclass defines its methods."""

    def get_loss_scale(self) -> Any:
        """The scale."""

    def update_loss_scale(self, overflow: bool) -> None:
        """Change the scale, given whether the gradients overflowed."""

    def get_update_cell(self) -> Any:
        """A Cell that changes the scale within the training step, or None."""


@explain_construction
class FixedLossScaleManager(LossScaleManager):
    """A loss scale that stays.

    Args:
        loss_scale: the scale, 1 or more.
        drop_overflow_update: whether to leave out the update where gradients overflow. If not, the
            optimizer must be given the same `loss_scale`.

    Raises:
        ValueError: if `loss_scale` is less than 1.

    Examples:
        >>> import lamella as ms
        >>> ms.amp.FixedLossScaleManager(1024.0).get_loss_scale()
        1024.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True):
        if not loss_scale >= 1:
            raise ValueError(f"For 'FixedLossScaleManager', 'loss_scale' must be 1 or more, "
                             f"but got {loss_scale}.")
        self._loss_scale = loss_scale
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether the update is left out where gradients overflow."""
        return self._drop_overflow_update

    def get_update_cell(self) -> FixedLossScaleUpdateCell | None:
        """A Cell for `TrainOneStepWithLossScaleCell`; None if no update is to be left out."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


@explain_construction
class DynamicLossScaleManager(LossScaleManager):
    """A loss scale that grows after many steps without overflow and shrinks after one.

    Args:
        init_loss_scale: the first scale, 1 or more.
        scale_factor: what to multiply or divide by, above 0.
        scale_window: the steps without overflow after which the scale grows.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> manager = ms.amp.DynamicLossScaleManager(8, scale_factor=2, scale_window=2)
        >>> manager.update_loss_scale(True)
        >>> manager.get_loss_scale()
        4.0
    """

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2,
                 scale_window: int = 2000):
        if not init_loss_scale >= 1.0:
            raise ValueError(f"For 'DynamicLossScaleManager', 'init_loss_scale' must be 1 or more, "
                             f"but got {init_loss_scale}.")
        positive_int(scale_window, "scale_window", "DynamicLossScaleManager")
        if not scale_factor > 0:
            raise ValueError(f"For 'DynamicLossScaleManager', 'scale_factor' must be above 0, "
                             f"but got {scale_factor}.")
        self.loss_scale = init_loss_scale
        self.scale_window = scale_window
        self.scale_factor = scale_factor
        self.increase_ratio = scale_factor
        self.decrease_ratio = 1 / scale_factor
        self.cur_iter = 1
        self.last_overflow_iter = 0
        self.bad_step_max = 1000
        self.bad_step = 0

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale

    def update_loss_scale(self, overflow: bool) -> None:
        """Change the scale.

        Raises:
            RuntimeError: after more than 1000 overflows in a row.
        """
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter = self.cur_iter
            self.bad_step += 1
        else:
            if (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.loss_scale *= self.increase_ratio
            self.bad_step = 0
        if self.bad_step > self.bad_step_max:
            raise RuntimeError(f"The gradients overflowed {self.bad_step} times in a row; the loss "
                               f"itself seems to be infinite or no number.")
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """True: the update is left out where gradients overflow."""
        return True

    def get_update_cell(self) -> DynamicLossScaleUpdateCell:
        """A Cell for `TrainOneStepWithLossScaleCell`."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
