"""Loss scaling for training written as functions: scale the loss, unscale the gradients, adjust."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch

from ..autodiff.tree import map_tensors
from ..core import dtype as mstype
from ..core.errors import explain_construction, op
from ..nn.checks import of_type, positive_int
from ..nn.wrap.loss_scale import has_overflow
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite"]


def all_finite(inputs: Any) -> Tensor:
    """Whether all elements of all Tensors are finite.

    Args:
        inputs: a Tensor, or a tuple or list of them, such as gradients.

    Returns:
        Tensor of a boolean.

    Examples:
        >>> import lamella as ms
        >>> print(ms.amp.all_finite((ms.Tensor([1.0, float("inf")]), ms.Tensor([2.0]))))
        False
    """
    with torch.no_grad():
        return wrap(has_overflow(inputs).logical_not())


class LossScaler(ABC):
    """The base of loss scalers; a subclass defines `scale`, `unscale` and `adjust`."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Let errors about the arguments of Lamella's own loss scalers name them."""
        super().__init_subclass__(**given)
        explain_construction(cls)

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """The inputs times the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """The inputs divided by the scale."""

    @abstractmethod
    @op
    def adjust(self, grads_finite: Any) -> bool:
        """Change the scale, given whether the gradients were finite; whether it can change."""


def _times(scale: torch.Tensor, inputs: Any) -> Any:
    return map_tensors(lambda t: wrap(t._raw * scale.to(t._raw.dtype)), inputs)


def _grad_scale_map(scale_value: Tensor, inputs: Any) -> Any:
    """The inputs, a Tensor or a tuple of them, times a scale."""
    return _times(scale_value._raw, inputs)


def _grad_unscale_map(scale_value: Tensor, inputs: Any) -> Any:
    """The inputs, a Tensor or a tuple of them, divided by a scale."""
    return _times(scale_value._raw.reciprocal(), inputs)


class _Scaler(LossScaler):
    """A loss scaler with the scale in a Parameter."""

    def __init__(self, scale_value: float):
        where = type(self).__name__
        of_type(scale_value, (float, int), "scale_value", where)
        if scale_value < 1.0:
            raise ValueError(f"For '{where}', 'scale_value' must be 1 or more, "
                             f"but got {scale_value}.")
        self.scale_value = Parameter(Tensor(scale_value, mstype.float32), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        """The inputs, a Tensor or a tuple of them, times the scale."""
        return _grad_scale_map(self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        """The inputs, a Tensor or a tuple of them, divided by the scale."""
        return _grad_unscale_map(self.scale_value, inputs)


class StaticLossScaler(_Scaler):
    """A loss scale that stays.

    Args:
        scale_value: the scale, 1 or more.

    Raises:
        TypeError, ValueError: if `scale_value` is no number or less than 1.

    Examples:
        >>> import lamella as ms
        >>> scaler = ms.amp.StaticLossScaler(4)
        >>> print(scaler.scale(ms.Tensor([1.5])), scaler.unscale((ms.Tensor([8.0]),))[0])
        [6.] [2.]
    """

    def adjust(self, grads_finite: Any) -> bool:
        """False: the scale stays."""
        return False


class DynamicLossScaler(_Scaler):
    """A loss scale that grows after many finite steps and shrinks after one that was not.

    Args:
        scale_value: the first scale, 1 or more.
        scale_factor: what to multiply or divide by.
        scale_window: the finite steps in a row after which the scale grows.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> scaler = ms.amp.DynamicLossScaler(scale_value=8, scale_factor=2, scale_window=1)
        >>> scaler.adjust(ms.Tensor(True)), scaler.scale_value.asnumpy().item()
        (True, 16.0)
        >>> scaler.adjust(ms.Tensor(False)), scaler.scale_value.asnumpy().item()
        (True, 8.0)
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int):
        super().__init__(scale_value)
        positive_int(scale_window, "scale_window", "DynamicLossScaler")
        positive_int(scale_factor, "scale_factor", "DynamicLossScaler")
        self.scale_window = scale_window
        self.scale_factor = scale_factor
        self.counter = Parameter(Tensor(0, mstype.int32), name="counter")

    @op
    def adjust(self, grads_finite: Any) -> bool:
        """Change the scale, given whether the gradients were finite; True."""
        with torch.no_grad():
            scale, counter = self.scale_value._raw, self.counter._raw
            finite = torch.as_tensor(getattr(grads_finite, "_raw", grads_finite),
                                     device=scale.device).reshape(()).bool()
            grown = scale * self.scale_factor
            due = (counter == self.scale_window - 1) & grown.isfinite()
            kept = torch.where(due, grown, scale)
            lowered = (scale / self.scale_factor).clamp(min=1.0)
            count = ((counter + 1) % self.scale_window) * finite
            self.scale_value.assign_raw(torch.where(finite, kept, lowered))
            self.counter.assign_raw(count.to(counter.dtype))
        return True
