"""What programs import from ``mindspore.train.model``, besides `Model`."""

from __future__ import annotations

from typing import Any

from ..device.runtime import synchronize
from ..tensors.tensor import Tensor
from .callback import Callback


def _transfer_tensor_to_tuple(inputs: Any) -> Any:
    """A Tensor as a tuple of one; anything else as it is."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


class _StepSync(Callback):
    """Waits after each step until the device has done it."""

    @staticmethod
    def step_end(run_context: Any) -> None:  # type: ignore[override]
        """Wait."""
        synchronize()
